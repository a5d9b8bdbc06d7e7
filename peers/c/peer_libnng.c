// The peer `libnng`: nng-tcp and nng-ipc by the library itself. REQ dials a REP that listens; pipelined, both are PAIR
// (version 0 of the protocol).
#define _GNU_SOURCE
#include "rawfd.h"

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <stdlib.h>

enum { QUEUE = 128, QUEUE_BYTES = 32 << 20, GRACE_MS = 100, CONNECT_MS = 10000 };

struct sp {
	nng_socket socket;
	struct options o;
	nng_msg *msg; // what recv returned
	char path[128];
	const char *type;
	int queue;
	bool ipc;
	int nodelay; // as read back; -1: not known
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool up;
};

static void check(int err, const char *what) {
	if (err)
		die("%s: %s", what, nng_strerror(err));
}

// event is called by the library's threads.
static void event(nng_pipe p, nng_pipe_ev ev, void *arg) {
	(void)p;
	struct sp *s = arg;
	if (ev == NNG_PIPE_EV_ADD_POST) {
		pthread_mutex_lock(&s->lock);
		s->up = true;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		return;
	}
	poll_sleep(GRACE_MS); // what it had sent may be the end of the run
	peer_gone("libnng: the peer has gone");
}

static struct sp *make(const struct options *o, bool ipc, bool listens) {
	struct sp *s = must_alloc(sizeof *s);
	s->o = *o;
	s->ipc = ipc;
	s->nodelay = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (o->pattern == REQUEST_REPLY) {
		s->type = listens ? "rep" : "req";
		check(listens ? nng_rep0_open(&s->socket) : nng_req0_open(&s->socket), "open socket");
		// A request that is sent again would be counted twice.
		if (!listens)
			check(nng_socket_set_ms(s->socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE), "resend time");
	} else {
		size_t fit = QUEUE_BYTES / o->max_message;
		s->queue = fit < QUEUE ? (int)fit : QUEUE;
		s->queue = s->queue < o->depth ? o->depth : s->queue;
		s->type = "pair";
		check(nng_pair0_open(&s->socket), "open socket");
		check(nng_socket_set_int(s->socket, NNG_OPT_SENDBUF, s->queue), "send queue");
		check(nng_socket_set_int(s->socket, NNG_OPT_RECVBUF, s->queue), "receive queue");
	}
	check(nng_socket_set_size(s->socket, NNG_OPT_RECVMAXSZ, o->max_message + 64), "largest message");
	check(nng_pipe_notify(s->socket, NNG_PIPE_EV_ADD_POST, event, s), "notify");
	check(nng_pipe_notify(s->socket, NNG_PIPE_EV_REM_POST, event, s), "notify");
	return s;
}

static void await_peer(struct sp *s) {
	pthread_mutex_lock(&s->lock);
	while (!s->up)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void *listen_at(const struct options *o, char *endpoint, size_t room, bool ipc) {
	struct sp *s = make(o, ipc, true);
	nng_listener l;
	char address[160] = "tcp://127.0.0.1:0";
	if (ipc) {
		new_path(o->dir, ".s", s->path, sizeof s->path);
		snprintf(address, sizeof address, "ipc://%s", s->path);
	}
	check(nng_listener_create(&l, s->socket, address), "listener");
	if (!ipc)
		check(nng_listener_set_bool(l, NNG_OPT_TCP_NODELAY, !o->nagle), "TCP_NODELAY");
	check(nng_listener_start(l, 0), "listen");
	if (ipc) {
		remember_path(s->path);
		snprintf(endpoint, room, "%s", address);
		return s;
	}
	nng_sockaddr a;
	bool nodelay;
	check(nng_listener_get_addr(l, NNG_OPT_LOCADDR, &a), "address");
	if (nng_listener_get_bool(l, NNG_OPT_TCP_NODELAY, &nodelay) == 0)
		s->nodelay = nodelay;
	const unsigned char *port = (const unsigned char *)&a.s_in.sa_port; // in network order
	snprintf(endpoint, room, "tcp://127.0.0.1:%d", port[0] << 8 | port[1]);
	return s;
}

static void *listen_tcp(const struct options *o, char *endpoint, size_t room) { return listen_at(o, endpoint, room, false); }
static void *listen_ipc(const struct options *o, char *endpoint, size_t room) { return listen_at(o, endpoint, room, true); }

static void sp_accept(void *conn) {
	struct sp *s = conn;
	await_peer(s);
	if (s->path[0])
		forget_path(s->path);
}

static void *sp_dial(const struct options *o, const char *endpoint) {
	bool ipc = strncmp(endpoint, "ipc:", 4) == 0, nodelay;
	struct sp *s = make(o, ipc, false);
	nng_dialer d;
	check(nng_dialer_create(&d, s->socket, endpoint), "dialer");
	if (!ipc) {
		check(nng_dialer_set_bool(d, NNG_OPT_TCP_NODELAY, !o->nagle), "TCP_NODELAY");
		if (nng_dialer_get_bool(d, NNG_OPT_TCP_NODELAY, &nodelay) == 0)
			s->nodelay = nodelay;
	}
	check(nng_dialer_start(d, 0), "dial");
	await_peer(s);
	return s;
}

static void sp_send(void *conn, const unsigned char *msg, size_t n) {
	// The library takes a message of its own; nng_send would do the same.
	struct sp *s = conn;
	nng_msg *m;
	check(nng_msg_alloc(&m, n), "nng_msg_alloc");
	memcpy(nng_msg_body(m), msg, n);
	check(nng_sendmsg(s->socket, m, 0), "nng_sendmsg");
}

static ssize_t sp_recv(void *conn, unsigned char **msg) {
	struct sp *s = conn;
	if (s->msg)
		nng_msg_free(s->msg);
	s->msg = NULL;
	check(nng_recvmsg(s->socket, &s->msg, 0), "nng_recvmsg");
	*msg = nng_msg_body(s->msg);
	return (ssize_t)nng_msg_len(s->msg);
}

// Our own queue, and the message that the library is writing.
static int sp_in_flight(void *conn, size_t size) {
	(void)size;
	struct sp *s = conn;
	return s->o.pattern == REQUEST_REPLY ? 1 : s->queue + 1;
}

static void sp_facts(void *conn, struct facts *f) {
	struct sp *s = conn;
	fact(f, "library", "libnng %s", nng_version());
	fact(f, "socket", "%s", s->type);
	fact(f, "send_queue", "%d", s->queue);
	fact(f, "recv_queue", "%d", s->queue);
	if (s->nodelay >= 0)
		fact(f, "nodelay", "%s", s->nodelay ? "true" : "false");
}

static void sp_close(void *conn) {
	struct sp *s = conn;
	if (s->msg)
		nng_msg_free(s->msg);
	nng_close(s->socket);
	nng_fini();
	free(s);
}

#define TRANSPORT(name, listen) {name, listen, sp_accept, sp_dial, sp_send, sp_recv, sp_in_flight, sp_facts, sp_close}
static const struct transport tcp = TRANSPORT("nng-tcp", listen_tcp), ipc = TRANSPORT("nng-ipc", listen_ipc);

const char *const peer_name = "libnng";
const bool peer_library = true;
const bool peer_port0 = true;
const struct transport *const peer_transports[] = {&tcp, &ipc, NULL};

void peer_versions(FILE *out) { fprintf(out, "\"libnng\":\"%s\"", nng_version()); }
