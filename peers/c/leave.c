// Failing, leaving, and what the runner says meanwhile.
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

enum { GRACE_MS = 100, EXIT_FAILED = 1, EXIT_ORPHAN = 3, MAX_PATHS = 2 * MAX_CONNS + 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *paths[MAX_PATHS];
static char *start_line;
static bool stopped;
static atomic_bool over;
static const char *own_role = "worker";
static pthread_t watcher;
static bool watching;

void remember_path(const char *path) {
	pthread_mutex_lock(&lock);
	int i = 0;
	while (i < MAX_PATHS && paths[i])
		i++;
	if (i < MAX_PATHS)
		paths[i] = strdup(path);
	pthread_mutex_unlock(&lock);
	if (i == MAX_PATHS)
		die("more than %d paths", MAX_PATHS);
}

void forget_path(const char *path) {
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_PATHS; i++)
		if (paths[i] && strcmp(paths[i], path) == 0) {
			unlink(path);
			free(paths[i]);
			paths[i] = NULL;
		}
	pthread_mutex_unlock(&lock);
}

// remove_paths is for the end. The lock is held on return, so that nothing is made any more.
static void remove_paths(void) {
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_PATHS; i++)
		if (paths[i])
			unlink(paths[i]);
}

// fail prints the reason as one JSON string. Whoever comes second waits for the first to end the process.
static _Noreturn void fail(const char *more, const char *format, va_list args, int err) {
	char text[1024];
	int n = snprintf(text, sizeof text, "%s: ", own_role);
	n += vsnprintf(text + n, sizeof text - (size_t)n, format, args);
	if (err && n < (int)sizeof text)
		snprintf(text + n, sizeof text - (size_t)n, ": %s", strerror(err));
	remove_paths();
	printf("error {%s\"reason\":\"", more);
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else
			putchar(c < 0x20 || c > 0x7e ? '?' : c);
	}
	printf("\"}\n");
	fflush(stdout);
	_exit(EXIT_FAILED);
}

void die(const char *format, ...) {
	va_list args;
	va_start(args, format);
	fail("", format, args, 0);
}

void die_errno(const char *format, ...) {
	int err = errno;
	va_list args;
	va_start(args, format);
	fail("", format, args, err);
}

void die_port(const char *format, ...) {
	va_list args;
	va_start(args, format);
	fail("\"port_taken\":true,", format, args, 0);
}

void *must_alloc(size_t bytes) {
	void *p = calloc(1, bytes ? bytes : 1);
	if (!p)
		die("no memory for %zu B", bytes);
	return p;
}

static void *watch(void *arg) {
	(void)arg;
	char *line = NULL;
	size_t room = 0;
	bool stop = false;
	// The descriptor itself: stdin's lock must not be held while a line is awaited.
	while (!stop && getline(&line, &room, stdin) > 0) {
		pthread_mutex_lock(&lock);
		if (strncmp(line, "start ", 6) == 0 && !start_line)
			start_line = strdup(line + 6);
		stopped = stop = strcmp(line, "stop\n") == 0;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	free(line);
	if (!stop) { // the runner is gone
		remove_paths();
		_exit(EXIT_ORPHAN);
	}
	return NULL;
}

static void terminated(int sig) {
	(void)sig;
	// unlink is safe in a handler, the lock is not: what another thread is about to forget is unlinked twice at worst.
	for (int i = 0; i < MAX_PATHS; i++)
		if (paths[i])
			unlink(paths[i]);
	_exit(EXIT_ORPHAN);
}

void watch_stdin(const char *role) {
	own_role = role;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, terminated);
	if (pthread_create(&watcher, NULL, watch, NULL))
		die("no thread to watch standard input");
	watching = true;
}

const char *await_start(void) {
	pthread_mutex_lock(&lock);
	while (!start_line && !stopped)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	if (!start_line)
		die("stopped before it was started");
	return start_line;
}

void await_stop(void) {
	pthread_mutex_lock(&lock);
	while (!stopped)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	if (watching)
		pthread_join(watcher, NULL);
	free(start_line);
	start_line = NULL;
}

void run_is_over(void) { atomic_store(&over, true); }

void peer_gone(const char *what) {
	if (!atomic_load(&over))
		poll(NULL, 0, GRACE_MS);
	if (!atomic_load(&over))
		die("%s", what);
}
