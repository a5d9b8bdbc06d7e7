#define _GNU_SOURCE
#include "rawfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD = 4, COPY_LIMIT = 16 << 10, SLACK = 64 << 10, HYBRID_SPIN = 50000 };

enum wait wait_of(const char *text, enum wait standard) {
	if (!text)
		return standard;
	if (strcmp(text, "block") == 0)
		return BLOCK;
	if (strcmp(text, "spin") == 0)
		return SPIN;
	if (strcmp(text, "hybrid") == 0)
		return HYBRID;
	die("no wait strategy \"%s\"", text);
}

static void nonblock(int fd, bool on) {
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0)
		die_errno("fcntl");
}

void rawfd_make(struct rawfd *f, int r, int w, bool socket, enum wait wait) {
	*f = (struct rawfd){r, w, socket, wait};
	// Sockets stay in blocking mode, since a flag makes a single call non-blocking. Pipes have no such flag.
	nonblock(r, !socket && wait != BLOCK);
	nonblock(w, !socket && wait != BLOCK);
}

void rawfd_close(struct rawfd *f) {
	close(f->r);
	if (f->w != f->r)
		close(f->w);
}

// idle is called when there is nothing to do: it sleeps, or returns to try again.
static void idle(struct rawfd *f, int fd, short events, int64_t *since) {
	if (f->wait == SPIN)
		return;
	if (f->wait == HYBRID) {
		int64_t now = now_ns();
		if (!*since)
			*since = now;
		if (now - *since <= HYBRID_SPIN)
			return;
	}
	struct pollfd p = {.fd = fd, .events = events};
	poll(&p, 1, -1);
}

size_t rawfd_read(struct rawfd *f, unsigned char *p, size_t n, bool packet) {
	int64_t since = 0;
	int flags = (packet ? MSG_TRUNC : 0) | (f->wait == BLOCK ? 0 : MSG_DONTWAIT);
	for (;;) {
		ssize_t got = f->socket ? recv(f->r, p, n, flags) : read(f->r, p, n);
		if (got >= 0)
			return (size_t)got;
		// A packet socket tells a reset once, before what the peer had sent.
		if (errno == EINTR || (errno == ECONNRESET && packet))
			continue;
		if (errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN)
			die_errno("read");
		idle(f, f->r, POLLIN, &since);
	}
}

void rawfd_write(struct rawfd *f, const unsigned char *a, size_t na, const unsigned char *b, size_t nb) {
	int64_t since = 0;
	int flags = MSG_NOSIGNAL | (f->wait == BLOCK ? 0 : MSG_DONTWAIT);
	while (na + nb > 0) {
		struct iovec v[2] = {{(void *)(uintptr_t)a, na}, {(void *)(uintptr_t)b, nb}};
		struct msghdr h = {.msg_iov = v, .msg_iovlen = 2};
		ssize_t n;
		if (f->socket)
			n = nb ? sendmsg(f->w, &h, flags) : send(f->w, a, na, flags);
		else
			n = nb ? writev(f->w, v, 2) : write(f->w, a, na);
		if (n < 0) {
			if (errno == EAGAIN)
				idle(f, f->w, POLLOUT, &since);
			else if (errno != EINTR)
				die_errno("write");
			continue;
		}
		size_t done = (size_t)n, from_a = done < na ? done : na;
		a += from_a;
		na -= from_a;
		if (nb) {
			b += done - from_a;
			nb -= done - from_a;
		}
	}
}

void stream_make(struct stream *s, size_t max) {
	s->max = max;
	s->room = HEAD + max + SLACK;
	s->in = must_alloc(s->room);
	s->out = must_alloc(HEAD + (max < COPY_LIMIT ? max : COPY_LIMIT));
}

void stream_free(struct stream *s) {
	rawfd_close(&s->fd);
	free(s->in);
	free(s->out);
}

void stream_send(struct stream *s, const unsigned char *msg, size_t n) {
	put32(s->out, (uint32_t)n);
	if (n > COPY_LIMIT) {
		rawfd_write(&s->fd, s->out, HEAD, msg, n);
		return;
	}
	memcpy(s->out + HEAD, msg, n);
	rawfd_write(&s->fd, s->out, HEAD + n, NULL, 0);
}

// fill reads until n bytes of the current frame are there. false: the peer's end, before the first of them.
static bool fill(struct stream *s, size_t n) {
	if (s->w - s->r >= n)
		return true;
	if (s->r == s->w) {
		s->r = s->w = 0; // the same cache lines again and again
	} else if (s->r + n > s->room) {
		memmove(s->in, s->in + s->r, s->w - s->r);
		s->w -= s->r;
		s->r = 0;
	}
	while (s->w - s->r < n) {
		size_t got = rawfd_read(&s->fd, s->in + s->w, s->room - s->w, false);
		if (got == 0) {
			if (s->w > s->r)
				die("the peer went away inside a message");
			return false;
		}
		s->w += got;
	}
	return true;
}

ssize_t stream_recv(struct stream *s, unsigned char **msg) {
	if (!fill(s, HEAD))
		return -1;
	size_t n = get32(s->in + s->r);
	if (n > s->max)
		die("a frame announces %zu B, at most %zu B were agreed on", n, s->max);
	if (!fill(s, HEAD + n))
		die("the peer went away inside a message");
	*msg = s->in + s->r + HEAD;
	s->r += HEAD + n;
	return (ssize_t)n;
}

bool read_within(int fd, void *p, size_t n, int ms) {
	int64_t until = now_ns() + (int64_t)ms * 1000000;
	for (unsigned char *b = p; n > 0;) {
		int64_t left = (until - now_ns() + 999999) / 1000000;
		struct pollfd f = {.fd = fd, .events = POLLIN};
		if (left <= 0 || poll(&f, 1, (int)left) == 0)
			return false;
		ssize_t got = read(fd, b, n);
		if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
			return false;
		if (got > 0) {
			b += got;
			n -= (size_t)got;
		}
	}
	return true;
}

bool write_all(int fd, const void *p, size_t n) {
	for (const unsigned char *b = p; n > 0;) {
		ssize_t done = write(fd, b, n);
		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0) {
			b += done;
			n -= (size_t)done;
		}
	}
	return true;
}

void poll_sleep(int ms) { poll(NULL, 0, ms); }

void set_buffers(int fd, int bytes) {
	int half = bytes / 2;
	if (bytes && (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof half) || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof half)))
		die_errno("buffer of %d B", bytes);
}

int sockopt(int fd, int level, int option) {
	int v = -1;
	socklen_t n = sizeof v;
	return getsockopt(fd, level, option, &v, &n) ? -1 : v;
}

void new_path(const char *dir, const char *ending, char *path, size_t room) {
	char real[4096];
	if (!realpath(dir, real))
		die_errno("folder for endpoints %s", dir);
	// The pid makes it unique among processes, the clock among those with the same pid in other namespaces.
	int n = snprintf(path, room, "%s/c%d-%llx%s", real, (int)getpid(), (unsigned long long)now_ns() & 0xffffff, ending);
	if (n >= (int)room || n > 100)
		die("the path \"%s\" is longer than the 100 B that a socket's may have", path);
}

void new_address(const struct options *o, const char *port, char *address, char *path) {
	path[0] = 0;
	if (o->ipc)
		new_path(o->dir, ".s", path, PATH_ROOM);
	snprintf(address, ADDRESS_ROOM, "%s%s", o->ipc ? "ipc://" : "tcp://127.0.0.1:", o->ipc ? path : port);
}
