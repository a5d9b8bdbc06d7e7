// tcp: a token, then frames (docs/wire.md).
#define _GNU_SOURCE
#include "rawfd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TOKEN = 16, GREETING = 16, GUESTS = 16, HANDSHAKE_MS = 5000, SEGMENT_COST = 2304 };
static const char MAGIC[] = "msgbtcp1";

struct tcp {
	struct stream s;
	int listener;
	unsigned char token[TOKEN];
	struct options o;
};

static struct tcp *make(const struct options *o) {
	struct tcp *t = must_alloc(sizeof *t);
	t->listener = -1;
	t->o = *o;
	return t;
}

static void use(struct tcp *t, int fd) {
	int nodelay = !t->o.nagle;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof nodelay))
		die_errno("TCP_NODELAY");
	set_buffers(fd, t->o.buffer);
	rawfd_make(&t->s.fd, fd, fd, true, wait_of(t->o.wait, BLOCK));
	stream_make(&t->s, t->o.max_message);
}

static void *tcp_listen(const struct options *o, char *endpoint, size_t room) {
	struct tcp *t = make(o);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	if (getrandom(t->token, TOKEN, 0) != TOKEN)
		die_errno("random token");
	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->listener < 0 || bind(t->listener, (struct sockaddr *)&a, sizeof a) || listen(t->listener, GUESTS) ||
			getsockname(t->listener, (struct sockaddr *)&a, &size))
		die_errno("listen tcp");
	int n = snprintf(endpoint, room, "127.0.0.1:%d/", ntohs(a.sin_port));
	for (int i = 0; i < TOKEN; i++)
		n += snprintf(endpoint + n, room - (size_t)n, "%02x", t->token[i]);
	return t;
}

// tcp_accept serves those who connect side by side, so that one that says nothing holds up nobody.
static void tcp_accept(void *conn) {
	struct tcp *t = conn;
	struct guest {
		int fd;
		size_t have;
		int64_t until;
		unsigned char hello[GREETING];
	} guest[GUESTS];
	unsigned char want[GREETING], answer[GREETING];
	memcpy(want, MAGIC, 8);
	memcpy(want + 8, t->token, 8);
	memcpy(answer, MAGIC, 8);
	memcpy(answer + 8, t->token + 8, 8);
	for (int i = 0; i < GUESTS; i++)
		guest[i].fd = -1;
	int found = -1;
	while (found < 0) {
		struct pollfd p[GUESTS + 1];
		int vacant = -1;
		for (int i = 0; i < GUESTS; i++) {
			if (guest[i].fd >= 0 && now_ns() > guest[i].until) {
				close(guest[i].fd);
				guest[i].fd = -1;
			}
			if (guest[i].fd < 0)
				vacant = i;
			p[i] = (struct pollfd){.fd = guest[i].fd, .events = POLLIN};
		}
		p[GUESTS] = (struct pollfd){.fd = vacant < 0 ? -1 : t->listener, .events = POLLIN};
		poll(p, GUESTS + 1, 100);
		if (p[GUESTS].revents) {
			int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0)
				guest[vacant] = (struct guest){.fd = fd, .until = now_ns() + HANDSHAKE_MS * 1000000LL};
			continue;
		}
		for (int i = 0; i < GUESTS && found < 0; i++) {
			struct guest *g = &guest[i];
			if (g->fd < 0 || !p[i].revents)
				continue;
			ssize_t n = recv(g->fd, g->hello + g->have, GREETING - g->have, MSG_DONTWAIT);
			if (n > 0)
				g->have += (size_t)n;
			if (n > 0 && g->have < GREETING)
				continue;
			if (n > 0 && memcmp(g->hello, want, GREETING) == 0 && write_all(g->fd, answer, GREETING)) {
				found = g->fd;
			} else {
				close(g->fd);
			}
			g->fd = -1;
		}
	}
	for (int i = 0; i < GUESTS; i++)
		if (guest[i].fd >= 0)
			close(guest[i].fd);
	close(t->listener);
	t->listener = -1;
	use(t, found);
}

static void *tcp_dial(const struct options *o, const char *endpoint) {
	struct tcp *t = make(o);
	char host[64], digits[2 * TOKEN + 1];
	unsigned port;
	if (sscanf(endpoint, "%63[0-9.]:%u/%32[0-9a-f]", host, &port, digits) != 3 || strlen(digits) != 2 * TOKEN)
		die("endpoint \"%s\": want 127.0.0.1:PORT/TOKEN", endpoint);
	for (int i = 0; i < TOKEN; i++) {
		char two[3] = {digits[2 * i], digits[2 * i + 1], 0};
		t->token[i] = (unsigned char)strtoul(two, NULL, 16);
	}
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || inet_pton(AF_INET, host, &a.sin_addr) != 1 || connect(fd, (struct sockaddr *)&a, sizeof a))
		die_errno("dial tcp %s", endpoint);
	unsigned char hello[GREETING];
	memcpy(hello, MAGIC, 8);
	memcpy(hello + 8, t->token, 8);
	if (!write_all(fd, hello, GREETING) || !read_within(fd, hello, GREETING, 2 * HANDSHAKE_MS))
		die("dial tcp: the listener did not answer");
	if (memcmp(hello, MAGIC, 8) || memcmp(hello + 8, t->token + 8, 8))
		die("dial tcp: who listens there is not the one meant");
	use(t, fd);
	return t;
}

static void tcp_send(void *conn, const unsigned char *msg, size_t n) { stream_send(&((struct tcp *)conn)->s, msg, n); }
static ssize_t tcp_recv(void *conn, unsigned char **msg) { return stream_recv(&((struct tcp *)conn)->s, msg); }

// Only the sender's buffer is counted on, and half of it is left for rounding.
static int tcp_in_flight(void *conn, size_t size) {
	struct tcp *t = conn;
	return sockopt(t->s.fd.r, SOL_SOCKET, SO_SNDBUF) / 2 / (int)(4 + size + SEGMENT_COST);
}

static void tcp_facts(void *conn, struct facts *f) {
	int fd = ((struct tcp *)conn)->s.fd.r;
	fact(f, "nodelay", "%s", sockopt(fd, IPPROTO_TCP, TCP_NODELAY) > 0 ? "on" : "off");
	fact(f, "sndbuf", "%d", sockopt(fd, SOL_SOCKET, SO_SNDBUF));
	fact(f, "rcvbuf", "%d", sockopt(fd, SOL_SOCKET, SO_RCVBUF));
}

static void tcp_close(void *conn) {
	struct tcp *t = conn;
	stream_free(&t->s);
	free(t);
}

const struct transport tcp_transport = {.name = "tcp", .listen = tcp_listen, .accept = tcp_accept, .dial = tcp_dial, .send = tcp_send,
	.recv = tcp_recv, .in_flight = tcp_in_flight, .facts = tcp_facts, .close = tcp_close};
