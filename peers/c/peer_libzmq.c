// The peer `libzmq`: zmq-tcp and zmq-ipc by the library itself. REQ connects to a REP that binds; pipelined, both are DEALER.
#define _GNU_SOURCE
#include "rawfd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <zmq.h>

enum { HWM = 1000, LINGER_MS = 2000, GRACE_MS = 100, CONNECT_MS = 10000 };

struct zmq {
	void *context, *socket, *monitor;
	struct options o;
	zmq_msg_t msg; // what recv returned
	bool held;
	char path[128];
	pthread_t watcher;
	bool watching;
	const char *type;
};

static _Noreturn void failed(const char *what) { die("%s: %s", what, zmq_strerror(zmq_errno())); }

static void set(void *socket, int option, int value) {
	if (zmq_setsockopt(socket, option, &value, sizeof value))
		failed("zmq_setsockopt");
}

static int get(void *socket, int option) {
	int v = -1;
	size_t n = sizeof v;
	zmq_getsockopt(socket, option, &v, &n);
	return v;
}

static struct zmq *make(const struct options *o, int type) {
	struct zmq *z = must_alloc(sizeof *z);
	z->o = *o;
	if (o->nagle)
		die("libzmq sets TCP_NODELAY on every connection: nodelay=off can't be had");
	z->context = zmq_ctx_new();
	z->socket = zmq_socket(z->context, type);
	if (!z->socket)
		failed("zmq_socket");
	z->type = type == ZMQ_REQ ? "REQ" : type == ZMQ_REP ? "REP" : "DEALER";
	int hwm = o->depth > HWM ? o->depth : HWM;
	set(z->socket, ZMQ_SNDHWM, hwm);
	set(z->socket, ZMQ_RCVHWM, hwm);
	set(z->socket, ZMQ_LINGER, LINGER_MS);
	int64_t max = (int64_t)o->max_message + 4096; // the limit holds for the handshake, too
	zmq_setsockopt(z->socket, ZMQ_MAXMSGSIZE, &max, sizeof max);
	if (zmq_socket_monitor(z->socket, "inproc://monitor", ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED))
		failed("zmq_socket_monitor");
	z->monitor = zmq_socket(z->context, ZMQ_PAIR);
	if (!z->monitor || zmq_connect(z->monitor, "inproc://monitor"))
		failed("monitor");
	return z;
}

// next_event waits for the next event of the connection, for so many ms; 0 when there was none, or the context has ended.
static unsigned next_event(struct zmq *z, int ms) {
	zmq_msg_t m;
	unsigned event = 0;
	set(z->monitor, ZMQ_RCVTIMEO, ms);
	for (bool more = true; more;) {
		zmq_msg_init(&m);
		if (zmq_msg_recv(&m, z->monitor, 0) < 0) {
			zmq_msg_close(&m);
			return 0;
		}
		if (!event && zmq_msg_size(&m) >= 2) {
			uint16_t e;
			memcpy(&e, zmq_msg_data(&m), sizeof e);
			event = e;
		}
		more = zmq_msg_more(&m);
		zmq_msg_close(&m);
	}
	return event;
}

// watch ends the process when the peer goes away before it may: the library would wait for another one for ever.
static void *watch(void *arg) {
	struct zmq *z = arg;
	for (;;) {
		unsigned e = next_event(z, -1);
		if (e == ZMQ_EVENT_DISCONNECTED) {
			poll_sleep(GRACE_MS); // what it had sent is still read, and may be the end of the run
			peer_gone("libzmq: the peer has gone");
		}
		if (e != ZMQ_EVENT_DISCONNECTED && e != ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
			return NULL;
	}
}

static void connected(struct zmq *z, int ms) {
	int64_t until = now_ns() + (int64_t)ms * 1000000;
	while (next_event(z, ms < 0 ? -1 : CONNECT_MS) != ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
		if (ms >= 0 && now_ns() > until)
			die("libzmq: not connected within %d s", CONNECT_MS / 1000);
	if (pthread_create(&z->watcher, NULL, watch, z))
		die("no thread to watch the peer");
	z->watching = true;
}

static void *listen_at(const struct options *o, char *endpoint, size_t room, bool ipc) {
	struct zmq *z = make(o, o->pattern == REQUEST_REPLY ? ZMQ_REP : ZMQ_DEALER);
	char address[160] = "tcp://127.0.0.1:*";
	if (ipc) {
		new_path(o->dir, ".s", z->path, sizeof z->path);
		snprintf(address, sizeof address, "ipc://%s", z->path);
	}
	if (zmq_bind(z->socket, address))
		failed("zmq_bind");
	if (ipc)
		remember_path(z->path);
	size_t n = room;
	if (zmq_getsockopt(z->socket, ZMQ_LAST_ENDPOINT, endpoint, &n))
		failed("ZMQ_LAST_ENDPOINT");
	return z;
}

static void *listen_tcp(const struct options *o, char *endpoint, size_t room) { return listen_at(o, endpoint, room, false); }
static void *listen_ipc(const struct options *o, char *endpoint, size_t room) { return listen_at(o, endpoint, room, true); }

static void zmq_wait_for_peer(void *conn) {
	struct zmq *z = conn;
	connected(z, -1);
	// Unbinding would end the connection too, so only the name goes.
	if (z->path[0])
		forget_path(z->path);
}

static void *zmq_dial(const struct options *o, const char *endpoint) {
	struct zmq *z = make(o, o->pattern == REQUEST_REPLY ? ZMQ_REQ : ZMQ_DEALER);
	if (zmq_connect(z->socket, endpoint))
		failed("zmq_connect");
	connected(z, CONNECT_MS);
	return z;
}

static void zmq_send_message(void *conn, const unsigned char *msg, size_t n) {
	struct zmq *z = conn;
	while (zmq_send(z->socket, msg, n, 0) < 0)
		if (zmq_errno() != EINTR)
			failed("zmq_send");
}

static ssize_t zmq_recv_message(void *conn, unsigned char **msg) {
	struct zmq *z = conn;
	if (z->held)
		zmq_msg_close(&z->msg);
	zmq_msg_init(&z->msg);
	z->held = true;
	for (bool first = true;; first = false) {
		while (zmq_msg_recv(&z->msg, z->socket, 0) < 0)
			if (zmq_errno() != EINTR)
				failed("zmq_recv");
		if (!zmq_msg_more(&z->msg))
			break;
		// go-zeromq v0.17.0 puts an empty frame before the reply to an empty request.
		if (!first || zmq_msg_size(&z->msg))
			die("libzmq: a message of several frames");
	}
	*msg = zmq_msg_data(&z->msg);
	return (ssize_t)zmq_msg_size(&z->msg);
}

// The library reads up to its high-water mark ahead, whether anybody receives or not.
static int zmq_in_flight(void *conn, size_t size) {
	(void)size;
	struct zmq *z = conn;
	return z->o.pattern == REQUEST_REPLY ? 1 : get(z->socket, ZMQ_SNDHWM);
}

static void zmq_facts(void *conn, struct facts *f) {
	struct zmq *z = conn;
	int major, minor, patch;
	zmq_version(&major, &minor, &patch);
	fact(f, "library", "libzmq %d.%d.%d", major, minor, patch);
	fact(f, "socket", "%s", z->type);
	fact(f, "send_queue", "%d", get(z->socket, ZMQ_SNDHWM));
	fact(f, "recv_queue", "%d", get(z->socket, ZMQ_RCVHWM));
	fact(f, "hwm", "%d", get(z->socket, ZMQ_SNDHWM));
	fact(f, "linger_ms", "%d", get(z->socket, ZMQ_LINGER));
	// -1: the system's own. The library does not tell what that is.
	fact(f, "sndbuf", "%d", get(z->socket, ZMQ_SNDBUF));
	fact(f, "rcvbuf", "%d", get(z->socket, ZMQ_RCVBUF));
	if (!z->path[0])
		fact(f, "nodelay", "true");
}

static void zmq_end(void *conn) {
	struct zmq *z = conn;
	if (z->held)
		zmq_msg_close(&z->msg);
	// Ends the watcher's wait. Before all else: libzmq 4.3.4 leaks the events for a monitor that has closed.
	zmq_socket_monitor(z->socket, NULL, 0);
	if (z->watching)
		pthread_join(z->watcher, NULL);
	zmq_close(z->monitor);
	zmq_close(z->socket);
	zmq_ctx_term(z->context);
	free(z);
}

#define TRANSPORT(name, listen) {name, listen, zmq_wait_for_peer, zmq_dial, zmq_send_message, zmq_recv_message, zmq_in_flight, \
	zmq_facts, zmq_end}
static const struct transport tcp = TRANSPORT("zmq-tcp", listen_tcp), ipc = TRANSPORT("zmq-ipc", listen_ipc);

const char *const peer_name = "libzmq";
const bool peer_library = true;
const bool peer_port0 = true;
const struct transport *const peer_transports[] = {&tcp, &ipc, NULL};

void peer_versions(FILE *out) {
	int major, minor, patch;
	zmq_version(&major, &minor, &patch);
	fprintf(out, "\"libzmq\":\"%d.%d.%d\"", major, minor, patch);
}
