// stream: the straightforward ring that a shared-memory stream is held against. One process copies messages into a ring
// of bytes, another copies them out and checks the sequence; each is pinned on its own CPU. Head and tail stand on
// lines of their own, each side keeps a copy of the other's counter and looks again only when the ring seems full or
// empty. The ring has 1 MiB, or room for four messages. Nobody ever sleeps, but a side that waits for long yields its CPU, so that
// the program ends on a busy machine too.
//
//	cc -std=c11 -O2 -Wall -Wextra -Werror -o stream stream.c
//	./stream <bytes of a message> <messages> [sender CPU, 0] [receiver CPU, 1]
//
// Prints "messages_per_s=… mb_per_s=…". Exit code 0, 1 if the sequence was broken, 2 for bad usage or a failing call.
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct ring {
	_Alignas(128) _Atomic uint64_t head; // bytes written
	_Alignas(128) _Atomic uint64_t tail; // bytes read
	_Alignas(128) unsigned char bytes[];
};

static size_t ring_size = 1u << 20; // bytes, a power of two

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		die("sched_setaffinity");
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void relax(void)
{
	static long polls;
	if (++polls % 10000 == 0) // somebody else may have the peer's CPU, or want ours
		sched_yield();
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static void copy_in(struct ring *r, uint64_t at, const void *from, size_t n)
{
	size_t off = at & (ring_size - 1), first = n < ring_size - off ? n : ring_size - off;
	memcpy(r->bytes + off, from, first);
	memcpy(r->bytes, (const char *)from + first, n - first);
}

static void copy_out(struct ring *r, uint64_t at, void *to, size_t n)
{
	size_t off = at & (ring_size - 1), first = n < ring_size - off ? n : ring_size - off;
	memcpy(to, r->bytes + off, first);
	memcpy((char *)to + first, r->bytes, n - first);
}

int main(int argc, char **argv)
{
	long size = argc > 1 ? atol(argv[1]) : 0, n = argc > 2 ? atol(argv[2]) : 0;
	int sender = argc > 3 ? atoi(argv[3]) : 0, receiver = argc > 4 ? atoi(argv[4]) : 1;
	if (size < 8 || size > 64 << 20 || n < 1) {
		fprintf(stderr, "usage: stream <bytes> <messages> [sender CPU] [receiver CPU]\n");
		return 2;
	}
	uint64_t each = 8 + (((uint64_t)size + 7) & ~7ull), head = 0, tail = 0;
	while (ring_size < 4 * each)
		ring_size *= 2;
	struct ring *r = mmap(NULL, sizeof *r + ring_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	unsigned char *msg = calloc(1, (size_t)size);
	if (r == MAP_FAILED || msg == NULL)
		die("memory");
	pid_t child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		pin(receiver);
		for (long i = 0; i < n; i++) {
			while (head == tail && (head = atomic_load_explicit(&r->head, memory_order_acquire)) == tail)
				relax();
			uint64_t length, sequence;
			copy_out(r, tail, &length, sizeof length);
			copy_out(r, tail + 8, msg, length);
			memcpy(&sequence, msg, sizeof sequence);
			if (length != (uint64_t)size || sequence != (uint64_t)i)
				_exit(1);
			tail += each;
			atomic_store_explicit(&r->tail, tail, memory_order_release);
		}
		_exit(0);
	}
	pin(sender);
	double begin = now_s();
	for (long i = 0; i < n; i++) {
		uint64_t length = (uint64_t)size, sequence = (uint64_t)i;
		memcpy(msg, &sequence, sizeof sequence);
		while (head + each - tail > ring_size && head + each - (tail = atomic_load_explicit(&r->tail, memory_order_acquire)) > ring_size)
			relax();
		copy_in(r, head, &length, sizeof length);
		copy_in(r, head + 8, msg, length);
		head += each;
		atomic_store_explicit(&r->head, head, memory_order_release);
	}
	int status = 0;
	if (waitpid(child, &status, 0) < 0)
		die("waitpid");
	double s = now_s() - begin;
	printf("messages_per_s=%.0f mb_per_s=%.1f\n", (double)n / s, (double)n * (double)size / s / 1e6);
	return status != 0;
}
