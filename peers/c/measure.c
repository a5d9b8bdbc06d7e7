// The clock, pacing, CPU clocks and memory.
#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t); // without a system call on Linux
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// LEAD is how long before a deadline sleeping ends. A step between two readings of the clock that is longer than
// MAX_STEP means that the thread did not run: what ran then is not the pacer's.
enum { LEAD = 60000, MAX_STEP = 5000 };

int64_t pace(int64_t deadline, int64_t *spun) {
	int64_t now = now_ns();
	while (deadline - now > LEAD) {
		int64_t t = deadline - LEAD;
		struct timespec until = {t / 1000000000, t % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		now = now_ns();
	}
	while (now < deadline) {
		int64_t t = now_ns();
		if (t - now <= MAX_STEP)
			*spun += t - now;
		now = t;
	}
	return now;
}

int64_t pace_asleep(int64_t deadline) {
	int64_t now;
	while ((now = now_ns()) < deadline) {
		struct timespec until = {deadline / 1000000000, deadline % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	return now;
}

int64_t schedule_at(int64_t start, int64_t rate, int64_t i) {
	// Whole seconds and the rest apart: i * 10^9 would overflow.
	return start + i / rate * 1000000000 + i % rate * 1000000000 / rate;
}

int64_t messages_due(const struct params *p) {
	if (p->count)
		return p->count;
	int64_t n = p->window_ns / 1000000000 * p->rate + p->window_ns % 1000000000 * p->rate / 1000000000;
	return n > 1 ? n : 1;
}

int64_t resident_bytes(void) {
	// One descriptor for all readings: some of them are taken within a window.
	static int fd = -1;
	char text[64];
	long total, resident;
	if (fd < 0 && (fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) < 0)
		return 0;
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "%ld %ld", &total, &resident) == 2 ? (int64_t)resident * sysconf(_SC_PAGESIZE) : 0;
}

void stable_clock(void) {
	static const char *const stable[] = {"tsc", "tsc-early", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter",
		"riscv_clocksource", "timebase", "tod", "stick"};
	char name[64];
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
	if (!f)
		return; // containers often hide it
	bool told = fscanf(f, "%63s", name) == 1;
	fclose(f);
	if (!told)
		return;
	for (size_t i = 0; i < sizeof stable / sizeof *stable; i++)
		if (strcmp(name, stable[i]) == 0)
			return;
	die("one-way: the clock source is \"%s\", which is not a stable one (tsc, kvm-clock, arch_sys_counter, …)", name);
}

int64_t clock_error(void) {
	enum { READINGS = 2000 };
	int64_t start = now_ns(), last = start, step = 1000000000;
	for (int i = 0; i < READINGS; i++) {
		int64_t t = now_ns();
		if (t > last && t - last < step)
			step = t - last;
		last = t;
	}
	return step + (last - start) / READINGS;
}

uint64_t time_namespace(void) {
	struct stat st;
	return stat("/proc/self/ns/time", &st) ? 0 : (uint64_t)st.st_ino;
}

void cpu_window_of(struct cpu_window *w, const char *start) {
	static const char *const roles[] = {"client", "server", "broker", "publisher", "subscriber"};
	w->n = 0;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		char key[32];
		snprintf(key, sizeof key, "\"%s\":[", roles[i]);
		const char *p = strstr(start, key);
		if (!p)
			continue;
		p += strlen(key);
		while (w->n < MAX_CLOCKS) {
			char *end;
			long pid = strtol(p, &end, 10);
			clockid_t clock;
			if (end == p)
				break;
			if (pid < 1 || clock_getcpuclockid((pid_t)pid, &clock))
				die("no CPU clock of process %ld, the %s", pid, roles[i]);
			snprintf(w->role[w->n], sizeof w->role[0], "%s", roles[i]);
			w->clock[w->n++] = clock;
			p = end + (*end == ',');
		}
	}
}

void cpu_read(const struct cpu_window *w, int64_t *into) {
	for (int i = 0; i < w->n; i++) {
		struct timespec t;
		if (clock_gettime(w->clock[i], &t))
			die_errno("CPU clock of the %s (has it ended?)", w->role[i]);
		into[i] = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	}
}
