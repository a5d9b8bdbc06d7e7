// pipe: two FIFOs, frames (docs/wire.md).
#define _GNU_SOURCE
#include "rawfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GREETING = 8, DIAL_MS = 10000 };
static const char MAGIC[] = "msgbpip1";

struct pipes {
	struct stream s;
	int up;
	char up_path[128], down_path[128];
	struct options o;
};

static struct pipes *make(const struct options *o) {
	struct pipes *p = must_alloc(sizeof *p);
	p->up = -1;
	p->o = *o;
	return p;
}

static void use(struct pipes *p, int r, int w) {
	if (p->o.buffer && (fcntl(r, F_SETPIPE_SZ, p->o.buffer) < 0 || fcntl(w, F_SETPIPE_SZ, p->o.buffer) < 0))
		die_errno("pipe: buffer of %d B", p->o.buffer);
	rawfd_make(&p->s.fd, r, w, false, wait_of(p->o.wait, BLOCK));
	stream_make(&p->s, p->o.max_message);
}

static int open_fifo(const char *path, int mode) {
	struct stat st;
	int fd = open(path, mode | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		die_errno("pipe: open %s", path);
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode))
		die("pipe: %s is not a FIFO", path);
	return fd;
}

static void *pipe_listen(const struct options *o, char *endpoint, size_t room) {
	struct pipes *p = make(o);
	char base[120];
	new_path(o->dir, "", base, sizeof base);
	snprintf(p->up_path, sizeof p->up_path, "%s.up", base);
	snprintf(p->down_path, sizeof p->down_path, "%s.down", base);
	const char *paths[] = {p->up_path, p->down_path};
	for (int i = 0; i < 2; i++) {
		if (mkfifo(paths[i], 0600))
			die_errno("pipe: make %s", paths[i]);
		remember_path(paths[i]);
	}
	p->up = open_fifo(p->up_path, O_RDONLY);
	snprintf(endpoint, room, "%s", base);
	return p;
}

static void pipe_accept(void *conn) {
	struct pipes *p = conn;
	unsigned char hello[GREETING];
	// Before the first writer has come there is no POLLHUP, so this sleeps until then.
	struct pollfd f = {.fd = p->up, .events = POLLIN};
	while (poll(&f, 1, -1) < 0 && errno == EINTR) {
	}
	if (!read_within(p->up, hello, GREETING, DIAL_MS) || memcmp(hello, MAGIC, GREETING))
		die("pipe: the peer did not greet");
	int down = open_fifo(p->down_path, O_WRONLY);
	forget_path(p->up_path);
	forget_path(p->down_path);
	if (!write_all(down, MAGIC, GREETING))
		die_errno("pipe: the peer has gone");
	use(p, p->up, down);
}

static void *pipe_dial(const struct options *o, const char *endpoint) {
	struct pipes *p = make(o);
	snprintf(p->up_path, sizeof p->up_path, "%.110s.up", endpoint);
	snprintf(p->down_path, sizeof p->down_path, "%.110s.down", endpoint);
	int down = open_fifo(p->down_path, O_RDONLY), up = open_fifo(p->up_path, O_WRONLY);
	unsigned char hello[GREETING];
	if (!write_all(up, MAGIC, GREETING))
		die_errno("pipe: the listener has gone");
	// POLLERR at our end of the way up: the listener has gone without an answer.
	int64_t until = now_ns() + DIAL_MS * 1000000LL;
	struct pollfd f[2] = {{.fd = down, .events = POLLIN}, {.fd = up}};
	while (!f[0].revents) {
		int left = (int)((until - now_ns()) / 1000000);
		if (left <= 0)
			die("pipe: not accepted within %d s", DIAL_MS / 1000);
		poll(f, 2, left);
		if (f[1].revents && !f[0].revents)
			die("pipe: the listener has gone");
	}
	if (!read_within(down, hello, GREETING, DIAL_MS) || memcmp(hello, MAGIC, GREETING))
		die("pipe: the listener did not greet");
	use(p, down, up);
	return p;
}

static void pipe_send(void *conn, const unsigned char *msg, size_t n) { stream_send(&((struct pipes *)conn)->s, msg, n); }
static ssize_t pipe_recv(void *conn, unsigned char **msg) { return stream_recv(&((struct pipes *)conn)->s, msg); }

static int capacity(const struct pipes *p) {
	int r = fcntl(p->s.fd.r, F_GETPIPE_SZ), w = fcntl(p->s.fd.w, F_GETPIPE_SZ);
	return r < w ? r : w;
}

// The kernel counts pages: one may be taken by the rest of what is being read.
static int pipe_in_flight(void *conn, size_t size) {
	int page = (int)sysconf(_SC_PAGESIZE), frame = (int)size + 4, pages = capacity(conn) / page - 1;
	pages = pages < 1 ? 1 : pages;
	return frame <= page ? pages * (page / frame) : pages / ((frame + page - 1) / page);
}

static void pipe_facts(void *conn, struct facts *f) { fact(f, "pipe_size", "%d", capacity(conn)); }

static void pipe_close(void *conn) {
	struct pipes *p = conn;
	stream_free(&p->s);
	free(p);
}

const struct transport pipe_transport = {.name = "pipe", .listen = pipe_listen, .accept = pipe_accept, .dial = pipe_dial, .send = pipe_send,
	.recv = pipe_recv, .in_flight = pipe_in_flight, .facts = pipe_facts, .close = pipe_close};
