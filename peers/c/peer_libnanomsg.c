// The peer `libnanomsg`: nng-tcp and nng-ipc by nanomsg. REQ connects to a REP that binds; pipelined and streams are PAIR on both
// sides, a broadcast is PUB and SUB.
#define _GNU_SOURCE
#include "rawfd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nanomsg/ipc.h>
#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <nanomsg/pubsub.h>
#include <nanomsg/reqrep.h>
#include <nanomsg/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef LIBRARY_VERSION // the library itself tells only the number of its interface
#define LIBRARY_VERSION "of unknown version"
#endif

enum { CONNECT_MS = 10000, WATCH_MS = 100, RESEND_MS = 0x7fffffff, PORT_TRIES = 20 };

struct sp {
	int socket;
	struct options o;
	void *msg; // what recv returned
	char path[PATH_ROOM];
	const char *type;
	pthread_t watcher;
	bool watching, closing;
	pthread_mutex_t lock;
	pthread_cond_t closed;
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

static struct sp *make(const struct options *o, int protocol, const char *type) {
	struct sp *s = must_alloc(sizeof *s);
	s->o = *o;
	s->type = type;
	s->socket = nn_socket(AF_SP, protocol);
	if (s->socket < 0)
		failed("nn_socket");
	// The library's own default is off: its small messages then wait for acknowledgements.
	if (!o->ipc)
		set(s->socket, NN_TCP, NN_TCP_NODELAY, !o->nagle);
	return s;
}

static void limit(struct sp *s) { set(s->socket, NN_SOL_SOCKET, NN_RCVMAXSIZE, (int)s->o.max_message + 64); }

static struct sp *make_pair(const struct options *o, bool listens) {
	bool alternate = o->pattern == REQUEST_REPLY;
	struct sp *s = make(o, !alternate ? NN_PAIR : listens ? NN_REP : NN_REQ, !alternate ? "pair" : listens ? "rep" : "req");
	if (alternate && !listens)
		set(s->socket, NN_REQ, NN_REQ_RESEND_IVL, RESEND_MS); // a request that is sent again would be counted twice
	limit(s);
	return s;
}

static bool is_connected(struct sp *s) { return nn_get_statistic(s->socket, NN_STAT_CURRENT_CONNECTIONS) > 0; }

// watch looks now and then whether the peer is still there: the library tells nobody, and has no call that waits for it.
static void *watch(void *arg) {
	struct sp *s = arg;
	pthread_mutex_lock(&s->lock);
	while (!s->closing && is_connected(s)) {
		int64_t t = now_ns() + WATCH_MS * 1000000LL;
		struct timespec until = {t / 1000000000, t % 1000000000};
		pthread_cond_timedwait(&s->closed, &s->lock, &until);
	}
	bool closing = s->closing;
	pthread_mutex_unlock(&s->lock);
	if (!closing)
		peer_gone("libnanomsg: the peer has gone");
	return NULL;
}

static void await_peer(struct sp *s, int ms) {
	int64_t until = now_ns() + (int64_t)ms * 1000000;
	while (!is_connected(s)) {
		if (ms >= 0 && now_ns() > until)
			die("libnanomsg: not connected within %d s", CONNECT_MS / 1000);
		poll_sleep(1);
	}
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->closed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&s->lock, NULL);
	if (pthread_create(&s->watcher, NULL, watch, s))
		die("no thread to watch the peer");
	s->watching = true;
}

// bind_at tells whether the port is still free.
static bool bind_at(struct sp *s, int port, char *endpoint, size_t room) {
	char address[ADDRESS_ROOM], digits[16];
	snprintf(digits, sizeof digits, "%d", port);
	new_address(&s->o, digits, address, s->path);
	if (nn_bind(s->socket, address) < 0) {
		if (nn_errno() == EADDRINUSE)
			return false;
		failed("nn_bind");
	}
	if (s->path[0])
		remember_path(s->path);
	snprintf(endpoint, room, "%s", address);
	return true;
}

static void *sp_listen(const struct options *o, char *endpoint, size_t room) {
	struct sp *s = make_pair(o, true);
	if (!o->ipc && !o->port)
		die("libnanomsg can't tell which port the system chose: want port=");
	if (!bind_at(s, o->port, endpoint, room))
		die_port("port %d is taken", o->port);
	return s;
}

static void sp_unlisted(void *conn) {
	struct sp *s = conn;
	if (s->path[0])
		forget_path(s->path);
}

static void sp_accept(void *conn) {
	await_peer(conn, -1);
	sp_unlisted(conn);
}

static void *sp_dial(const struct options *o, const char *endpoint) {
	struct sp *s = make_pair(o, false);
	if (nn_connect(s->socket, endpoint) < 0)
		failed("nn_connect");
	await_peer(s, CONNECT_MS);
	return s;
}

// free_port is one that the system has just chosen and had back.
static int free_port(void) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) || getsockname(fd, (struct sockaddr *)&a, &size))
		die_errno("reserve a port");
	close(fd);
	return ntohs(a.sin_port);
}

// The runner reserves ports for those who listen for a peer, but not for a publisher, who is told none.
static void *sp_publish(const struct options *o, char *endpoint, size_t room) {
	struct sp *s = make(o, NN_PUB, "pub");
	for (int i = 0; !bind_at(s, o->ipc ? 0 : free_port(), endpoint, room); i++)
		if (i == PORT_TRIES)
			die("libnanomsg: %d ports were taken by others as soon as they were free", PORT_TRIES);
	return s;
}

static void *sp_subscribe(const struct options *o, const char *endpoint) {
	struct sp *s = make(o, NN_SUB, "sub");
	limit(s);
	if (nn_setsockopt(s->socket, NN_SUB, NN_SUB_SUBSCRIBE, "", 0) || nn_connect(s->socket, endpoint) < 0)
		failed("subscribe");
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
	if (!s->o.ipc)
		fact(f, "nodelay", "%s", get(s->socket, NN_TCP, NN_TCP_NODELAY) ? "on" : "off");
}

static void sp_close(void *conn) {
	struct sp *s = conn;
	if (s->watching) {
		pthread_mutex_lock(&s->lock);
		s->closing = true;
		pthread_cond_signal(&s->closed);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->watcher, NULL);
	}
	if (s->msg)
		nn_freemsg(s->msg);
	nn_close(s->socket);
	free(s);
}

#define OVER(name, ipc) {name, ipc, sp_listen, sp_accept, sp_dial, sp_send, sp_recv, sp_in_flight, sp_facts, sp_close, sp_publish, \
	sp_subscribe, sp_unlisted}
static const struct transport over_tcp = OVER("nng-tcp", false), over_ipc = OVER("nng-ipc", true);

const char *const peer_name = "libnanomsg";
const bool peer_library = true;
const bool peer_port0 = false;
const struct transport *const peer_transports[] = {&over_tcp, &over_ipc, NULL};

void peer_versions(FILE *out) {
	fprintf(out, "\"libnanomsg\":\"%s\"", LIBRARY_VERSION);
}
