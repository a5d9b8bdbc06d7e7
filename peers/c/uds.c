// uds: SOCK_SEQPACKET, each packet with a u32 that says what is left of its message (docs/wire.md).
#define _GNU_SOURCE
#include "rawfd.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEAD = 4, PACKET = 80 << 10, COPY_LIMIT = 16 << 10 };

struct uds {
	struct rawfd fd;
	int listener;
	char path[128];
	struct options o;
	size_t max, packet, out_room;
	int sndbuf;
	unsigned char *in, *out;
};

static struct uds *make(const struct options *o) {
	struct uds *u = must_alloc(sizeof *u);
	u->listener = -1;
	u->o = *o;
	return u;
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static void use(struct uds *u, int fd) {
	set_buffers(fd, u->o.buffer);
	rawfd_make(&u->fd, fd, fd, true, wait_of(u->o.wait, BLOCK));
	u->sndbuf = sockopt(fd, SOL_SOCKET, SO_SNDBUF);
	u->max = u->o.max_message;
	u->packet = min_size(PACKET, (size_t)u->sndbuf - 32); // 32 B of the buffer are the kernel's
	u->out_room = min_size(HEAD + min_size(u->max, COPY_LIMIT), (size_t)u->sndbuf - 32);
	u->in = must_alloc(HEAD + u->max + PACKET); // one packet more, so that one too long is seen and not cut
	u->out = must_alloc(u->out_room);
}

static struct sockaddr_un address(const char *path) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof a.sun_path)
		die("the path \"%s\" is too long for a socket", path);
	memcpy(a.sun_path, path, strlen(path));
	return a;
}

static void *uds_listen(const struct options *o, char *endpoint, size_t room) {
	struct uds *u = make(o);
	new_path(o->dir, ".sock", u->path, sizeof u->path);
	struct sockaddr_un a = address(u->path);
	u->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (u->listener < 0 || bind(u->listener, (struct sockaddr *)&a, sizeof a))
		die_errno("listen uds");
	remember_path(u->path);
	if (listen(u->listener, 1))
		die_errno("listen uds");
	snprintf(endpoint, room, "%s", u->path);
	return u;
}

static void uds_accept(void *conn) {
	struct uds *u = conn;
	int fd;
	do
		fd = accept4(u->listener, NULL, NULL, SOCK_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		die_errno("accept uds");
	close(u->listener);
	forget_path(u->path);
	use(u, fd);
}

static void *uds_dial(const struct options *o, const char *endpoint) {
	struct uds *u = make(o);
	struct sockaddr_un a = address(endpoint);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a))
		die_errno("dial uds %s", endpoint);
	use(u, fd);
	return u;
}

static void uds_send(void *conn, const unsigned char *msg, size_t n) {
	struct uds *u = conn;
	put32(u->out, (uint32_t)n);
	if (n <= u->out_room - HEAD) {
		memcpy(u->out + HEAD, msg, n);
		rawfd_write(&u->fd, u->out, HEAD + n, NULL, 0);
		return;
	}
	while (n > 0) {
		size_t part = min_size(n, u->packet - HEAD);
		put32(u->out, (uint32_t)n);
		rawfd_write(&u->fd, u->out, HEAD, msg, part);
		msg += part;
		n -= part;
	}
}

// read_packet returns the bytes of the message in it; -1 at the peer's end. *left is what its head says.
static ssize_t read_packet(struct uds *u, unsigned char *at, size_t *left) {
	size_t room = HEAD + u->max + PACKET - (size_t)(at - u->in);
	size_t n = rawfd_read(&u->fd, at, room, true);
	if (n == 0)
		return -1;
	if (n < HEAD || n > room)
		die("malformed packet of %zu B", n);
	*left = get32(at);
	return (ssize_t)(n - HEAD);
}

static ssize_t uds_recv(void *conn, unsigned char **msg) {
	struct uds *u = conn;
	size_t size, left;
	ssize_t n = read_packet(u, u->in, &size);
	if (n < 0)
		return -1;
	if (size > u->max)
		die("a packet announces %zu B, at most %zu B were agreed on", size, u->max);
	size_t have = (size_t)n;
	while (have < size) {
		// The head of a further packet goes where the last bytes of the message are; they are put back.
		unsigned char kept[HEAD], *at = u->in + have;
		memcpy(kept, at, HEAD);
		n = read_packet(u, at, &left);
		memcpy(at, kept, HEAD);
		if (n < 0)
			die("the peer went away inside a message");
		if (left != size - have || n == 0)
			die("a packet says %zu B are left of a message, want %zu", left, size - have);
		have += (size_t)n;
	}
	if (have > size)
		die("a packet with %zu B more than its message", have - size);
	*msg = u->in + HEAD;
	return (ssize_t)size;
}

// uds_in_flight sends one message through a socket pair and asks the kernel what it took: it counts memory, not bytes.
static int uds_in_flight(void *conn, size_t size) {
	struct uds *u = conn;
	int fd[2], half = u->sndbuf / 2, cost = u->sndbuf + 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd))
		return 1;
	setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &half, sizeof half);
	unsigned char *b = must_alloc(u->packet);
	size_t left = size;
	for (;;) {
		size_t n = min_size(left, u->packet - HEAD);
		if (write(fd[0], b, HEAD + n) < 0)
			break;
		left -= n;
		if (left == 0) {
			ioctl(fd[0], SIOCOUTQ, &cost);
			break;
		}
	}
	free(b);
	close(fd[0]);
	close(fd[1]);
	return cost < 1 ? 1 : u->sndbuf / cost;
}

static void uds_facts(void *conn, struct facts *f) {
	struct uds *u = conn;
	fact(f, "socket", "SOCK_SEQPACKET");
	fact(f, "sndbuf", "%d", u->sndbuf);
	fact(f, "rcvbuf", "%d", sockopt(u->fd.r, SOL_SOCKET, SO_RCVBUF));
	fact(f, "packet", "%zu", u->packet);
}

static void uds_close(void *conn) {
	struct uds *u = conn;
	rawfd_close(&u->fd);
	free(u->in);
	free(u->out);
	free(u);
}

const struct transport uds_transport = {.name = "uds", .listen = uds_listen, .accept = uds_accept, .dial = uds_dial, .send = uds_send,
	.recv = uds_recv, .in_flight = uds_in_flight, .facts = uds_facts, .close = uds_close};
