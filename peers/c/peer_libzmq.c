// The peer `libzmq`: zmq-tcp and zmq-ipc by the library itself. REQ connects to a REP that binds; pipelined, both are DEALER. A
// stream is a PUSH that connects to a PULL, and a pair of the same the other way for the way back; a broadcast is PUB and SUB.
#define _GNU_SOURCE
#include "rawfd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <zmq.h>

enum { HWM = 1000, HWM_BYTES = 64 << 20, LINGER_MS = 2000, CONNECT_MS = 10000 };

// link is one socket. It has a monitor unless it is of a broadcast, whose subscribers have connections to the publisher besides.
struct link {
	void *socket, *monitor;
	char path[PATH_ROOM];
	pthread_t watcher;
	bool watching;
};

struct zmq {
	struct link link[2]; // the second is the way back of a stream
	int links, in, out; // which of them to receive from and to send to
	const char *type, *back;
	struct options o;
	zmq_msg_t msg; // what recv returned
	bool held;
};

// One context for all connections of the process, as the library wants it.
static void *context;
static int users;

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

static struct zmq *make(const struct options *o) {
	struct zmq *z = must_alloc(sizeof *z);
	z->o = *o;
	if (o->nagle)
		die("libzmq sets TCP_NODELAY on every connection: nodelay=off can't be had");
	if (users++ == 0)
		context = zmq_ctx_new();
	return z;
}

// add makes the next socket of a connection.
static struct link *add(struct zmq *z, int type, int linger) {
	struct link *k = &z->link[z->links++];
	k->socket = zmq_socket(context, type);
	if (!k->socket)
		failed("zmq_socket");
	size_t fit = HWM_BYTES / z->o.max_message;
	int hwm = fit < HWM ? (int)fit : HWM;
	hwm = hwm < z->o.depth ? z->o.depth : hwm;
	hwm = hwm < 1 ? 1 : hwm; // 0 would be no mark at all
	set(k->socket, ZMQ_SNDHWM, hwm);
	set(k->socket, ZMQ_RCVHWM, hwm);
	set(k->socket, ZMQ_LINGER, linger);
	int64_t max = (int64_t)z->o.max_message + 4096; // the limit holds for the handshake, too
	zmq_setsockopt(k->socket, ZMQ_MAXMSGSIZE, &max, sizeof max);
	return k;
}

static void add_watched(struct zmq *z, int type) {
	static int monitors;
	struct link *k = add(z, type, LINGER_MS);
	char at[32];
	snprintf(at, sizeof at, "inproc://monitor-%d", monitors++);
	if (zmq_socket_monitor(k->socket, at, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED))
		failed("zmq_socket_monitor");
	k->monitor = zmq_socket(context, ZMQ_PAIR);
	if (!k->monitor || zmq_connect(k->monitor, at))
		failed("monitor");
}

// sockets makes those of one side. Of a stream the first carries what the dialing side sends.
static struct zmq *sockets(const struct options *o, bool listens) {
	struct zmq *z = make(o);
	switch (o->pattern) {
	case REQUEST_REPLY:
		z->type = listens ? "REP" : "REQ";
		add_watched(z, listens ? ZMQ_REP : ZMQ_REQ);
		break;
	case PIPELINED:
		z->type = "DEALER";
		add_watched(z, ZMQ_DEALER);
		break;
	case STREAM:
		z->type = listens ? "PULL" : "PUSH";
		z->back = listens ? "PUSH" : "PULL";
		add_watched(z, listens ? ZMQ_PULL : ZMQ_PUSH);
		add_watched(z, listens ? ZMQ_PUSH : ZMQ_PULL);
		z->in = !listens;
		z->out = listens;
		break;
	}
	return z;
}

// next_event waits for the next event of the connection, for so many ms; 0 when there was none, or the context has ended.
static unsigned next_event(struct link *k, int ms) {
	zmq_msg_t m;
	unsigned event = 0;
	set(k->monitor, ZMQ_RCVTIMEO, ms);
	for (bool more = true; more;) {
		zmq_msg_init(&m);
		if (zmq_msg_recv(&m, k->monitor, 0) < 0) {
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
	struct link *k = arg;
	for (;;) {
		unsigned e = next_event(k, -1);
		if (e == ZMQ_EVENT_DISCONNECTED)
			peer_gone("libzmq: the peer has gone");
		if (e != ZMQ_EVENT_DISCONNECTED && e != ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
			return NULL;
	}
}

static void connected(struct zmq *z, int ms) {
	int64_t until = now_ns() + (int64_t)ms * 1000000;
	for (int i = 0; i < z->links; i++) {
		struct link *k = &z->link[i];
		while (next_event(k, ms < 0 ? -1 : CONNECT_MS) != ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
			if (ms >= 0 && now_ns() > until)
				die("libzmq: not connected within %d s", CONNECT_MS / 1000);
		if (pthread_create(&k->watcher, NULL, watch, k))
			die("no thread to watch the peer");
		k->watching = true;
	}
}

// bind_link makes an endpoint.
static void bind_link(struct zmq *z, struct link *k, char *endpoint, size_t room) {
	char address[ADDRESS_ROOM];
	new_address(&z->o, "*", address, k->path);
	if (zmq_bind(k->socket, address))
		failed("zmq_bind");
	if (k->path[0])
		remember_path(k->path);
	if (zmq_getsockopt(k->socket, ZMQ_LAST_ENDPOINT, endpoint, &room))
		failed("ZMQ_LAST_ENDPOINT");
}

static void *zmq_listen(const struct options *o, char *endpoint, size_t room) {
	struct zmq *z = sockets(o, true);
	size_t n = 0;
	for (int i = 0; i < z->links; i++) {
		if (i)
			endpoint[n++] = ',';
		bind_link(z, &z->link[i], endpoint + n, room - n);
		n += strlen(endpoint + n);
	}
	return z;
}

// Unbinding would end the connections too, so only the names go.
static void zmq_unlisted(void *conn) {
	struct zmq *z = conn;
	for (int i = 0; i < z->links; i++)
		if (z->link[i].path[0])
			forget_path(z->link[i].path);
}

static void zmq_wait_for_peer(void *conn) {
	connected(conn, -1);
	zmq_unlisted(conn);
}

static void *zmq_dial(const struct options *o, const char *endpoint) {
	struct zmq *z = sockets(o, false);
	char address[512];
	for (int i = 0; i < z->links; i++) {
		size_t n = strcspn(endpoint, ",");
		snprintf(address, sizeof address, "%.*s", (int)n, endpoint);
		if (!n || (endpoint[n] == ',') != (i + 1 < z->links))
			die("endpoint \"%s\": want %d addresses: the two sides have different patterns", endpoint, z->links);
		if (zmq_connect(z->link[i].socket, address))
			failed("zmq_connect");
		endpoint += n + 1;
	}
	connected(z, CONNECT_MS);
	return z;
}

// Whatever counts has been answered when a PUB closes, so that it need not linger.
static void *zmq_publish(const struct options *o, char *endpoint, size_t room) {
	struct zmq *z = make(o);
	z->type = "PUB";
	bind_link(z, add(z, ZMQ_PUB, 0), endpoint, room);
	return z;
}

static void *zmq_subscribe(const struct options *o, const char *endpoint) {
	struct zmq *z = make(o);
	z->type = "SUB";
	struct link *k = add(z, ZMQ_SUB, 0);
	if (zmq_setsockopt(k->socket, ZMQ_SUBSCRIBE, "", 0) || zmq_connect(k->socket, endpoint))
		failed("zmq_connect");
	return z;
}

static void zmq_send_message(void *conn, const unsigned char *msg, size_t n) {
	struct zmq *z = conn;
	while (zmq_send(z->link[z->out].socket, msg, n, 0) < 0)
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
		while (zmq_msg_recv(&z->msg, z->link[z->in].socket, 0) < 0)
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
	return z->o.pattern == REQUEST_REPLY ? 1 : get(z->link[z->out].socket, ZMQ_SNDHWM);
}

static void zmq_facts(void *conn, struct facts *f) {
	struct zmq *z = conn;
	void *socket = z->link[0].socket;
	int major, minor, patch;
	zmq_version(&major, &minor, &patch);
	fact(f, "library", "libzmq %d.%d.%d", major, minor, patch);
	fact(f, "socket", "%s", z->type);
	if (z->back)
		fact(f, "way_back_socket", "%s", z->back);
	fact(f, "send_queue", "%d", get(socket, ZMQ_SNDHWM));
	fact(f, "recv_queue", "%d", get(socket, ZMQ_RCVHWM));
	fact(f, "hwm", "%d", get(socket, ZMQ_SNDHWM));
	fact(f, "linger_ms", "%d", get(socket, ZMQ_LINGER));
	fact(f, "io_threads", "%d", zmq_ctx_get(context, ZMQ_IO_THREADS)); // for all connections of the process
	// -1: the system's own. The library does not tell what that is.
	fact(f, "sndbuf", "%d", get(socket, ZMQ_SNDBUF));
	fact(f, "rcvbuf", "%d", get(socket, ZMQ_RCVBUF));
	if (!z->o.ipc)
		fact(f, "nodelay", "on");
}

static void zmq_end(void *conn) {
	struct zmq *z = conn;
	if (z->held)
		zmq_msg_close(&z->msg);
	for (int i = 0; i < z->links; i++) {
		struct link *k = &z->link[i];
		// Ends the watcher's wait. Before all else: libzmq 4.3.4 leaks the events for a monitor that has closed.
		if (k->monitor)
			zmq_socket_monitor(k->socket, NULL, 0);
		if (k->watching)
			pthread_join(k->watcher, NULL);
		if (k->monitor)
			zmq_close(k->monitor);
		zmq_close(k->socket);
	}
	free(z);
	if (--users == 0)
		zmq_ctx_term(context);
}

#define OVER(name, ipc) {name, ipc, zmq_listen, zmq_wait_for_peer, zmq_dial, zmq_send_message, zmq_recv_message, zmq_in_flight, \
	zmq_facts, zmq_end, zmq_publish, zmq_subscribe, zmq_unlisted}
static const struct transport over_tcp = OVER("zmq-tcp", false), over_ipc = OVER("zmq-ipc", true);

const char *const peer_name = "libzmq";
const bool peer_library = true;
const bool peer_port0 = true;
const struct transport *const peer_transports[] = {&over_tcp, &over_ipc, NULL};

void peer_versions(FILE *out) {
	int major, minor, patch;
	zmq_version(&major, &minor, &patch);
	fprintf(out, "\"libzmq\":\"%d.%d.%d\"", major, minor, patch);
}
