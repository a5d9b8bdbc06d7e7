// bounce: the floor under a shared-memory round trip. Two processes, each pinned on its own CPU, bounce two slots of
// two cache lines (one slot each way): 8 B of payload after an envelope of 32 B, a sequence that each side checks, a
// flag word that says whether the other side sleeps (it never does here), and one clock read for each round trip. The
// Go transport is held against this figure (see transports/shm, TestRatioToC).
//
//	cc -std=c11 -O2 -Wall -Wextra -Werror -o bounce bounce.c
//	./bounce [round trips, default 1000000] [client CPU, 0] [server CPU, 1] [pause: 1 uses the CPU's spin hint, 0]
//
// Prints "p50_ns=… ops_per_s=…". Exit code 0, 1 if the sequence was broken, 2 for bad usage or a failing system call.
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

struct slot {
	_Alignas(128) _Atomic uint64_t word; // sequence and length; the store of it publishes the message
	unsigned char msg[56];
	_Alignas(128) _Atomic uint32_t sleeps;
};

struct envelope {
	uint64_t sequence, stamp;
	uint32_t kind, length;
	uint64_t zero;
	uint64_t payload;
};

static int use_pause;

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

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put(struct slot *s, uint64_t index, const struct envelope *e)
{
	memcpy(s->msg, e, sizeof *e);
	// Sequentially consistent, since a sleeping peer must not be missed.
	atomic_store(&s->word, (index + 1) << 32 | sizeof *e);
	if (atomic_load(&s->sleeps) != 0)
		abort(); // would be the wake: nobody sleeps in this program
}

static void get(struct slot *s, uint64_t index, struct envelope *e)
{
	long polls = 0;
	while (atomic_load_explicit(&s->word, memory_order_acquire) >> 32 != ((index + 1) & 0xffffffff)) {
		if (++polls > 10000) // some 50 us: somebody else has the peer's CPU, or wants ours
			sched_yield();
#if defined(__x86_64__)
		if (use_pause)
			__builtin_ia32_pause();
#endif
	}
	memcpy(e, s->msg, sizeof *e);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000, warm = 100000;
	int client = argc > 2 ? atoi(argv[2]) : 0, server = argc > 3 ? atoi(argv[3]) : 1;
	use_pause = argc > 4 && atoi(argv[4]) != 0;
	if (n < 1) {
		fprintf(stderr, "usage: bounce [round trips] [client CPU] [server CPU] [pause]\n");
		return 2;
	}
	struct slot *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t *ns = malloc((size_t)n * sizeof *ns);
	if (s == MAP_FAILED || ns == NULL)
		die("memory");
	memset(ns, 0, (size_t)n * sizeof *ns);

	pid_t child = fork();
	if (child < 0)
		die("fork");
	struct envelope e;
	if (child == 0) {
		pin(server);
		for (long i = 0; i < warm + n; i++) {
			get(&s[0], (uint64_t)i, &e);
			if (e.sequence != (uint64_t)i)
				_exit(1);
			e.payload++;
			put(&s[1], (uint64_t)i, &e);
		}
		_exit(0);
	}
	pin(client);
	int broken = 0;
	uint64_t begin = 0, before = now_ns();
	for (long i = 0; i < warm + n; i++) {
		if (i == warm)
			begin = before;
		e = (struct envelope){.sequence = (uint64_t)i, .stamp = before, .length = 8, .payload = (uint64_t)i};
		put(&s[0], (uint64_t)i, &e);
		get(&s[1], (uint64_t)i, &e);
		broken |= e.sequence != (uint64_t)i || e.payload != (uint64_t)i + 1;
		uint64_t after = now_ns();
		if (i >= warm)
			ns[i - warm] = (uint32_t)(after - before);
		before = after;
	}
	int status = 0;
	if (waitpid(child, &status, 0) < 0)
		die("waitpid");
	qsort(ns, (size_t)n, sizeof *ns, by_value);
	printf("p50_ns=%u ops_per_s=%.0f\n", ns[n / 2], (double)n * 1e9 / (double)(before - begin));
	return broken || status != 0;
}
