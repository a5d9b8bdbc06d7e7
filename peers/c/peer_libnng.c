// The peer `libnng`: nng-tcp and nng-ipc by the library itself. REQ dials a REP that listens; pipelined and streams are PAIR on
// both sides (version 0 of the protocol), a broadcast is PUB and SUB.
#define _GNU_SOURCE
#include "rawfd.h"

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <stdlib.h>

enum { QUEUE = 128, QUEUE_BYTES = 32 << 20 };

struct sp {
	nng_socket socket;
	struct options o;
	nng_msg *msg; // what recv returned
	char path[PATH_ROOM];
	const char *type;
	int send_queue, recv_queue; // 0: none
	int nodelay; // as read back; -1: not known
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool up;
};

static int users; // of the library

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
	peer_gone("libnng: the peer has gone");
}

static struct sp *make(const struct options *o, int (*open)(nng_socket *), const char *type) {
	struct sp *s = must_alloc(sizeof *s);
	s->o = *o;
	s->type = type;
	s->nodelay = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	check(open(&s->socket), "open socket");
	check(nng_socket_set_size(s->socket, NNG_OPT_RECVMAXSZ, o->max_message + 64), "largest message");
	users++;
	return s;
}

static void queues(struct sp *s, bool send, bool recv) {
	size_t fit = QUEUE_BYTES / s->o.max_message;
	int n = fit < QUEUE ? (int)fit : QUEUE;
	n = n < s->o.depth ? s->o.depth : n;
	n = n < 1 ? 1 : n;
	if (send)
		check(nng_socket_set_int(s->socket, NNG_OPT_SENDBUF, s->send_queue = n), "send queue");
	if (recv)
		check(nng_socket_set_int(s->socket, NNG_OPT_RECVBUF, s->recv_queue = n), "receive queue");
}

static struct sp *make_pair(const struct options *o, bool listens) {
	struct sp *s;
	if (o->pattern == REQUEST_REPLY) {
		s = make(o, listens ? nng_rep0_open : nng_req0_open, listens ? "rep" : "req");
		// A request that is sent again would be counted twice.
		if (!listens)
			check(nng_socket_set_ms(s->socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE), "resend time");
	} else {
		s = make(o, nng_pair0_open, "pair");
		queues(s, true, true);
	}
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

static void bind_at(struct sp *s, char *endpoint, size_t room) {
	nng_listener l;
	char address[ADDRESS_ROOM];
	new_address(&s->o, "0", address, s->path);
	check(nng_listener_create(&l, s->socket, address), "listener");
	if (!s->o.ipc)
		check(nng_listener_set_bool(l, NNG_OPT_TCP_NODELAY, !s->o.nagle), "TCP_NODELAY");
	check(nng_listener_start(l, 0), "listen");
	if (s->o.ipc) {
		remember_path(s->path);
		snprintf(endpoint, room, "%s", address);
		return;
	}
	nng_sockaddr a;
	bool nodelay;
	check(nng_listener_get_addr(l, NNG_OPT_LOCADDR, &a), "address");
	if (nng_listener_get_bool(l, NNG_OPT_TCP_NODELAY, &nodelay) == 0)
		s->nodelay = nodelay;
	const unsigned char *port = (const unsigned char *)&a.s_in.sa_port; // in network order
	snprintf(endpoint, room, "tcp://127.0.0.1:%d", port[0] << 8 | port[1]);
}

static void *sp_listen(const struct options *o, char *endpoint, size_t room) {
	struct sp *s = make_pair(o, true);
	bind_at(s, endpoint, room);
	return s;
}

static void sp_unlisted(void *conn) {
	struct sp *s = conn;
	if (s->path[0])
		forget_path(s->path);
}

static void sp_accept(void *conn) {
	await_peer(conn);
	sp_unlisted(conn);
}

// connect_to returns once the library has the connection.
static void connect_to(struct sp *s, const char *endpoint) {
	nng_dialer d;
	bool nodelay;
	check(nng_dialer_create(&d, s->socket, endpoint), "dialer");
	if (!s->o.ipc) {
		check(nng_dialer_set_bool(d, NNG_OPT_TCP_NODELAY, !s->o.nagle), "TCP_NODELAY");
		if (nng_dialer_get_bool(d, NNG_OPT_TCP_NODELAY, &nodelay) == 0)
			s->nodelay = nodelay;
	}
	check(nng_dialer_start(d, 0), "dial");
}

static void *sp_dial(const struct options *o, const char *endpoint) {
	struct sp *s = make_pair(o, false);
	connect_to(s, endpoint);
	await_peer(s);
	return s;
}

static void *sp_publish(const struct options *o, char *endpoint, size_t room) {
	struct sp *s = make(o, nng_pub0_open, "pub");
	queues(s, true, false);
	bind_at(s, endpoint, room);
	return s;
}

static void *sp_subscribe(const struct options *o, const char *endpoint) {
	struct sp *s = make(o, nng_sub0_open, "sub");
	queues(s, false, true);
	check(nng_socket_set(s->socket, NNG_OPT_SUB_SUBSCRIBE, "", 0), "subscribe");
	connect_to(s, endpoint);
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
	return s->o.pattern == REQUEST_REPLY ? 1 : s->send_queue + 1;
}

static void sp_facts(void *conn, struct facts *f) {
	struct sp *s = conn;
	fact(f, "library", "libnng %s", nng_version());
	fact(f, "socket", "%s", s->type);
	fact(f, "send_queue", "%d", s->send_queue);
	fact(f, "recv_queue", "%d", s->recv_queue);
	if (s->nodelay >= 0)
		fact(f, "nodelay", "%s", s->nodelay ? "on" : "off");
}

static void sp_close(void *conn) {
	struct sp *s = conn;
	if (s->msg)
		nng_msg_free(s->msg);
	nng_close(s->socket);
	free(s);
	if (--users == 0)
		nng_fini();
}

#define OVER(name, ipc) {name, ipc, sp_listen, sp_accept, sp_dial, sp_send, sp_recv, sp_in_flight, sp_facts, sp_close, sp_publish, \
	sp_subscribe, sp_unlisted}
static const struct transport over_tcp = OVER("nng-tcp", false), over_ipc = OVER("nng-ipc", true);

const char *const peer_name = "libnng";
const bool peer_library = true;
const bool peer_port0 = true;
const struct transport *const peer_transports[] = {&over_tcp, &over_ipc, NULL};

void peer_versions(FILE *out) { fprintf(out, "\"libnng\":\"%s\"", nng_version()); }
