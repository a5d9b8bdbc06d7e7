/* raw.c: the ping-pong that a transport of ours is measured against: two processes on two CPUs, blocking read and write,
 * no framing, no checks, one reading of the clock a round trip.
 *
 *   raw pipe|uds SECONDS BYTES CPU CPU
 *
 * pipe is a pair of FIFOs, uds a pair of connected SOCK_SEQPACKET sockets. Prints the p50 of a round trip in ns and round
 * trips per second. Exit status 0, or 1 with a line on standard error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SAMPLES = 1 << 22, MAX_BYTES = 1 << 20 };

static void die(const char *what)
{
	fprintf(stderr, "raw: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		die("sched_setaffinity");
}

static void send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, p, n);
		if (k < 0)
			die("write");
		p += k;
		n -= (size_t)k;
	}
}

/* Returns 0 at the end of the stream. */
static int receive_all(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = read(fd, p, n);
		if (k < 0)
			die("read");
		if (k == 0)
			return 0;
		p += k;
		n -= (size_t)k;
	}
	return 1;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Makes a FIFO and opens both ends of it. */
static void fifo(int ends[2])
{
	char dir[] = "/tmp/msgbench-raw-XXXXXX", path[64];
	if (mkdtemp(dir) == NULL)
		die("mkdtemp");
	snprintf(path, sizeof path, "%s/f", dir);
	if (mkfifo(path, 0600) != 0)
		die("mkfifo");
	ends[0] = open(path, O_RDONLY | O_NONBLOCK);
	ends[1] = open(path, O_WRONLY);
	if (ends[0] < 0 || ends[1] < 0 || fcntl(ends[0], F_SETFL, 0) != 0)
		die("open fifo");
	unlink(path);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	static char buf[MAX_BYTES];
	static uint32_t samples[MAX_SAMPLES];
	int in[2], out[2]; /* as the client sees them: [0] reads, [1] writes */
	if (argc != 6 || (strcmp(argv[1], "pipe") != 0 && strcmp(argv[1], "uds") != 0)) {
		fprintf(stderr, "usage: raw pipe|uds SECONDS BYTES CPU CPU\n");
		return 1;
	}
	double seconds = atof(argv[2]);
	size_t bytes = (size_t)atol(argv[3]);
	if (seconds <= 0 || bytes < 1 || bytes > MAX_BYTES) {
		fprintf(stderr, "raw: want SECONDS above 0 and BYTES from 1 to %d\n", MAX_BYTES);
		return 1;
	}
	if (argv[1][0] == 'p') {
		fifo(in);
		fifo(out);
	} else {
		int s[2];
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s) != 0)
			die("socketpair");
		in[0] = out[1] = s[0];
		out[0] = in[1] = s[1];
	}
	pid_t child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		pin(atoi(argv[5]));
		close(in[0]);
		if (out[1] != in[0])
			close(out[1]);
		while (receive_all(out[0], buf, bytes))
			send_all(in[1], buf, bytes);
		_exit(0);
	}
	pin(atoi(argv[4]));
	close(out[0]);
	if (in[1] != out[0])
		close(in[1]);
	size_t n = 0;
	uint64_t start = 0, end = 0, t = now();
	uint64_t warm = t + 200000000u;
	for (;;) {
		send_all(out[1], buf, bytes);
		if (!receive_all(in[0], buf, bytes))
			die("the other side has gone");
		uint64_t u = now();
		if (start == 0) {
			if (u >= warm) {
				start = u;
				end = u + (uint64_t)(seconds * 1e9);
			}
		} else {
			if (n < MAX_SAMPLES)
				samples[n] = (uint32_t)(u - t);
			n++;
			if (u >= end)
				break;
		}
		t = u;
	}
	double took = (double)(now() - start) / 1e9;
	close(out[1]);
	if (in[0] != out[1])
		close(in[0]);
	waitpid(child, NULL, 0);
	size_t kept = n < MAX_SAMPLES ? n : MAX_SAMPLES;
	qsort(samples, kept, sizeof samples[0], by_value);
	printf("%u %.0f\n", samples[kept / 2], (double)n / took);
	return 0;
}
