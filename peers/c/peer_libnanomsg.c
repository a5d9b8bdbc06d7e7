// The peer `libnanomsg`: nng-tcp and nng-ipc by nanomsg. REQ connects to a REP that binds; pipelined, both are PAIR.
#define _GNU_SOURCE
#include "rawfd.h"

#include <errno.h>
#include <nanomsg/ipc.h>
#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <nanomsg/reqrep.h>
#include <nanomsg/tcp.h>
#include <pthread.h>
#include <stdlib.h>

#ifndef LIBRARY_VERSION // the library itself tells only the number of its interface
#define LIBRARY_VERSION "of unknown version"
#endif

enum { CONNECT_MS = 10000, WATCH_MS = 100, RESEND_MS = 0x7fffffff };

struct sp {
	int socket;
	struct options o;
	void *msg; // what recv returned
	char path[128];
	const char *type;
	bool ipc;
	pthread_t watcher;
	atomic_bool closing;
};

static _Noreturn void failed(const char *what) { die("libnanomsg: %s: %s", what, nn_strerror(nn_errno())); }

static void set(int socket, int level, int option, int value) {
	if (nn_setsockopt(socket, level, option, &value, sizeof value))
		failed("nn_setsockopt");
}

static int get(int socket, int level, int option) {
	int v = -1;
	size_t n = sizeof v;
	nn_getsockopt(socket, level, option, &v, &n);
	return v;
}

static struct sp *make(const struct options *o, bool ipc, bool listens) {
	struct sp *s = must_alloc(sizeof *s);
	s->o = *o;
	s->ipc = ipc;
	bool alternate = o->pattern == REQUEST_REPLY;
	s->type = !alternate ? "pair" : listens ? "rep" : "req";
	s->socket = nn_socket(AF_SP, !alternate ? NN_PAIR : listens ? NN_REP : NN_REQ);
	if (s->socket < 0)
		failed("nn_socket");
	// The library's own default is off: its small messages then wait for acknowledgements.
	if (!ipc)
		set(s->socket, NN_TCP, NN_TCP_NODELAY, !o->nagle);
	if (alternate && !listens)
		set(s->socket, NN_REQ, NN_REQ_RESEND_IVL, RESEND_MS); // a request that is sent again would be counted twice
	set(s->socket, NN_SOL_SOCKET, NN_RCVMAXSIZE, (int)o->max_message + 64);
	return s;
}

static bool is_connected(struct sp *s) { return nn_get_statistic(s->socket, NN_STAT_CURRENT_CONNECTIONS) > 0; }

// watch looks now and then whether the peer is still there: the library tells nobody, and has no call that waits for it.
static void *watch(void *arg) {
	struct sp *s = arg;
	while (!atomic_load(&s->closing)) {
		poll_sleep(WATCH_MS);
		if (atomic_load(&s->closing) || is_connected(s))
			continue;
		poll_sleep(WATCH_MS); // what it had sent may be the end of the run
		peer_gone("libnanomsg: the peer has gone");
		return NULL;
	}
	return NULL;
}

static void await_peer(struct sp *s, int ms) {
	int64_t until = now_ns() + (int64_t)ms * 1000000;
	while (!is_connected(s)) {
		if (ms >= 0 && now_ns() > until)
			die("libnanomsg: not connected within %d s", CONNECT_MS / 1000);
		poll_sleep(1);
	}
	if (pthread_create(&s->watcher, NULL, watch, s))
		die("no thread to watch the peer");
}

static void *listen_at(const struct options *o, char *endpoint, size_t room, bool ipc) {
	struct sp *s = make(o, ipc, true);
	if (ipc) {
		new_path(o->dir, ".s", s->path, sizeof s->path);
		snprintf(endpoint, room, "ipc://%s", s->path);
	} else if (!o->port) {
		die("libnanomsg can't tell which port the system chose: want port=");
	} else {
		snprintf(endpoint, room, "tcp://127.0.0.1:%d", o->port);
	}
	if (nn_bind(s->socket, endpoint) < 0) {
		if (nn_errno() == EADDRINUSE)
			die_port("port %d is taken", o->port);
		failed("nn_bind");
	}
	if (ipc)
		remember_path(s->path);
	return s;
}

static void *listen_tcp(const struct options *o, char *endpoint, size_t room) { return listen_at(o, endpoint, room, false); }
static void *listen_ipc(const struct options *o, char *endpoint, size_t room) { return listen_at(o, endpoint, room, true); }

static void sp_accept(void *conn) {
	struct sp *s = conn;
	await_peer(s, -1);
	if (s->path[0])
		forget_path(s->path);
}

static void *sp_dial(const struct options *o, const char *endpoint) {
	struct sp *s = make(o, strncmp(endpoint, "ipc:", 4) == 0, false);
	if (nn_connect(s->socket, endpoint) < 0)
		failed("nn_connect");
	await_peer(s, CONNECT_MS);
	return s;
}

static void sp_send(void *conn, const unsigned char *msg, size_t n) {
	struct sp *s = conn;
	while (nn_send(s->socket, msg, n, 0) < 0)
		if (nn_errno() != EINTR)
			failed("nn_send");
}

static ssize_t sp_recv(void *conn, unsigned char **msg) {
	struct sp *s = conn;
	if (s->msg)
		nn_freemsg(s->msg);
	s->msg = NULL;
	int n;
	while ((n = nn_recv(s->socket, &s->msg, NN_MSG, 0)) < 0)
		if (nn_errno() != EINTR)
			failed("nn_recv");
	*msg = s->msg;
	return n;
}

// The library has no queue of its own but the buffers that it asks the kernel for: NN_SNDBUF. A message is charged up to
// twice its bytes and 1 KiB there, and a writer is woken only when much of it is free.
static int sp_in_flight(void *conn, size_t size) {
	struct sp *s = conn;
	if (s->o.pattern == REQUEST_REPLY)
		return 1;
	return 1 + get(s->socket, NN_SOL_SOCKET, NN_SNDBUF) / 2 / (int)(2 * size + 1024);
}

static void sp_facts(void *conn, struct facts *f) {
	struct sp *s = conn;
	fact(f, "library", "libnanomsg %s", LIBRARY_VERSION);
	fact(f, "socket", "%s", s->type);
	fact(f, "sndbuf", "%d", get(s->socket, NN_SOL_SOCKET, NN_SNDBUF));
	fact(f, "rcvbuf", "%d", get(s->socket, NN_SOL_SOCKET, NN_RCVBUF));
	if (!s->ipc)
		fact(f, "nodelay", "%s", get(s->socket, NN_TCP, NN_TCP_NODELAY) ? "true" : "false");
}

static void sp_close(void *conn) {
	struct sp *s = conn;
	atomic_store(&s->closing, true);
	pthread_join(s->watcher, NULL);
	if (s->msg)
		nn_freemsg(s->msg);
	nn_close(s->socket);
	free(s);
}

#define TRANSPORT(name, listen) {name, listen, sp_accept, sp_dial, sp_send, sp_recv, sp_in_flight, sp_facts, sp_close}
static const struct transport tcp = TRANSPORT("nng-tcp", listen_tcp), ipc = TRANSPORT("nng-ipc", listen_ipc);

const char *const peer_name = "libnanomsg";
const bool peer_library = true;
const bool peer_port0 = false;
const struct transport *const peer_transports[] = {&tcp, &ipc, NULL};

void peer_versions(FILE *out) {
	fprintf(out, "\"libnanomsg\":\"%s\"", LIBRARY_VERSION);
}
