// shm: meeting over a Unix socket, a memfd passed over it, and a thread that notices the peer's end (docs/wire-shm.md).
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { VERSION = 1, MEET_MS = 10000, MIN_SLOTS = 512, MAX_SLOTS = 65536, MIN_AREA = 1 << 20, MAX_AREA = 16 << 20, MAX_MESSAGE = 8 << 20 };
static const uint64_t MAGIC = 0x314d48534247534d;

struct hello {
	uint64_t magic;
	uint32_t version, zero;
};

struct shm {
	struct sender tx;
	struct receiver rx;
	int listener, sock;
	char path[128];
	struct options o;
	struct geometry g;
	unsigned char *segment;
	atomic_bool gone;
	pthread_t watcher;
};

static struct shm *make(const struct options *o) {
	struct shm *s;
	// The rings of one connection do not share lines with those of others.
	if (posix_memalign((void **)&s, 128, (sizeof *s + 127) & ~(size_t)127))
		die("no memory");
	memset(s, 0, sizeof *s);
	s->o = *o;
	return s;
}

// watch reads from the socket, on which nothing is sent any more: it ends when the peer closes or dies.
static void *watch(void *arg) {
	struct shm *s = arg;
	char b[16];
	ssize_t n;
	do
		n = read(s->sock, b, sizeof b);
	while (n > 0 || (n < 0 && errno == EINTR));
	atomic_store(&s->gone, true);
	futex_wake_always(s->tx.wait.sleeps);
	futex_wake_always(s->rx.wait.sleeps);
	return NULL;
}

static void use(struct shm *s, int memfd, int direction) {
	s->segment = mmap(NULL, segment_size(&s->g), PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (s->segment == MAP_FAILED)
		die_errno("shm: map");
	enum wait wait = wait_of(s->o.wait, HYBRID);
	sender_make(&s->tx, s->segment, &s->g, direction, wait, &s->gone);
	receiver_make(&s->rx, s->segment, &s->g, 1 - direction, wait, &s->gone);
}

static void begin_watch(struct shm *s) {
	if (pthread_create(&s->watcher, NULL, watch, s))
		die("shm: no thread to watch the peer");
}

static struct sockaddr_un address(const char *path) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof a.sun_path)
		die("the path \"%s\" is too long for a socket", path);
	memcpy(a.sun_path, path, strlen(path));
	return a;
}

// The endpoint is the path, percent-escaped.
static void escape(const char *path, char *out, size_t room) {
	size_t n = 0;
	for (const char *p = path; *p && n + 4 < room; p++) {
		char c = *p;
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-_.", c))
			out[n++] = c;
		else
			n += (size_t)snprintf(out + n, room - n, "%%%02X", (unsigned char)c);
	}
	out[n] = 0;
}

static void unescape(const char *text, char *out, size_t room) {
	size_t n = 0;
	for (; *text && n + 1 < room; text++) {
		unsigned v;
		if (*text == '%' && sscanf(text + 1, "%2x", &v) == 1) {
			out[n++] = (char)v;
			text += 2;
		} else {
			out[n++] = *text;
		}
	}
	out[n] = 0;
}

static void *shm_listen(const struct options *o, char *endpoint, size_t room) {
	struct shm *s = make(o);
	if (o->max_message > MAX_MESSAGE)
		die("shm: messages of at most %d B", MAX_MESSAGE);
	new_path(o->dir, ".shm", s->path, sizeof s->path);
	struct sockaddr_un a = address(s->path);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&a, sizeof a))
		die_errno("listen shm");
	remember_path(s->path);
	if (listen(s->listener, 1))
		die_errno("listen shm");
	escape(s->path, endpoint, room);
	return s;
}

static uint64_t bounded_pow2(uint64_t n, uint64_t low, uint64_t high) {
	while (low < n && low < high)
		low *= 2;
	return low;
}

static int new_segment(struct shm *s) {
	uint64_t m = (s->o.max_message + 63) & ~(uint64_t)63, depth = (uint64_t)s->o.depth, want = 4 * m;
	if (depth > 1 && (depth + 3) * m > want)
		want = (depth + 3) * m;
	s->g = (struct geometry){bounded_pow2(depth + depth / 4 + 2, MIN_SLOTS, MAX_SLOTS), bounded_pow2(want, MIN_AREA, MAX_AREA),
		s->o.max_message};
	off_t size = (off_t)segment_size(&s->g);
	int fd = memfd_create("msgbench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, size) || fallocate(fd, 0, 0, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		die_errno("shm: segment of %lld B", (long long)size);
	return fd;
}

static void shm_accept(void *conn) {
	struct shm *s = conn;
	do
		s->sock = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	while (s->sock < 0 && errno == EINTR);
	if (s->sock < 0)
		die_errno("accept shm");
	int fd = new_segment(s);
	use(s, fd, 1);
	put64(s->segment, MAGIC);
	put32(s->segment + 8, VERSION);
	put32(s->segment + 12, SLOT);
	put64(s->segment + 16, segment_size(&s->g));
	put64(s->segment + 24, s->g.slots);
	put64(s->segment + 32, s->g.area);
	put64(s->segment + 40, s->g.max_message);
	struct hello h = {MAGIC, VERSION, 0}, back;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec v = {&h, sizeof h};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (sendmsg(s->sock, &m, MSG_NOSIGNAL) != sizeof h || !read_within(s->sock, &back, sizeof back, MEET_MS) ||
			back.magic != MAGIC || back.version != VERSION)
		die("shm: the peer did not join");
	close(fd);
	close(s->listener);
	forget_path(s->path);
	begin_watch(s);
}

// receive_segment takes the listener's hello and the descriptor that comes with it.
static int receive_segment(struct shm *s) {
	struct hello h;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec v = {&h, sizeof h};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	struct timeval t = {MEET_MS / 1000, 0};
	setsockopt(s->sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	if (recvmsg(s->sock, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof h || h.magic != MAGIC || h.version != VERSION)
		die("shm: the listener did not greet");
	t.tv_sec = 0;
	setsockopt(s->sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		die("shm: no segment came");
	int fd;
	memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

static bool power_within(uint64_t n, uint64_t low, uint64_t high) { return n >= low && n <= high && !(n & (n - 1)); }

static void *shm_dial(const struct options *o, const char *endpoint) {
	struct shm *s = make(o);
	char path[256];
	unescape(endpoint, path, sizeof path);
	struct sockaddr_un a = address(path);
	s->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->sock < 0 || connect(s->sock, (struct sockaddr *)&a, sizeof a))
		die_errno("dial shm %s", endpoint);
	int fd = receive_segment(s), seals = fcntl(fd, F_GET_SEALS);
	unsigned char b[64];
	off_t size = lseek(fd, 0, SEEK_END);
	if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW) || pread(fd, b, sizeof b, 0) != sizeof b)
		die("shm: not a sealed segment");
	s->g = (struct geometry){get64(b + 24), get64(b + 32), get64(b + 40)};
	if (get64(b) != MAGIC || get32(b + 8) != VERSION || get32(b + 12) != SLOT || !power_within(s->g.slots, MIN_SLOTS, MAX_SLOTS) ||
			!power_within(s->g.area, MIN_AREA, MAX_AREA) || s->g.max_message > MAX_MESSAGE ||
			2 * ((s->g.max_message + 63) & ~(uint64_t)63) > s->g.area || get64(b + 16) != segment_size(&s->g) ||
			size != (off_t)segment_size(&s->g))
		die("shm: the header of the segment is wrong");
	if (s->g.max_message < o->max_message)
		die("shm: the segment takes messages of %llu B, this side sends %zu B", (unsigned long long)s->g.max_message, o->max_message);
	use(s, fd, 0);
	close(fd);
	struct hello h = {MAGIC, VERSION, 0};
	if (!write_all(s->sock, &h, sizeof h))
		die_errno("shm: the listener has gone");
	begin_watch(s);
	return s;
}

static void shm_send(void *conn, const unsigned char *msg, size_t n) { ring_send(&((struct shm *)conn)->tx, msg, n); }
static ssize_t shm_recv(void *conn, unsigned char **msg) { return ring_recv(&((struct shm *)conn)->rx, msg); }
static int shm_in_flight(void *conn, size_t size) { return ring_in_flight(&((struct shm *)conn)->g, size); }

static void shm_facts(void *conn, struct facts *f) {
	struct shm *s = conn;
	static const char *const names[] = {"block", "spin", "hybrid"};
	fact(f, "wait", "%s", names[s->tx.wait.mode]);
	fact(f, "slots", "%llu", (unsigned long long)s->g.slots);
	fact(f, "slot_bytes", "%d", SLOT);
	fact(f, "area_bytes", "%llu", (unsigned long long)s->g.area);
	fact(f, "segment_bytes", "%llu", (unsigned long long)segment_size(&s->g));
	if (s->tx.wait.mode == HYBRID)
		fact(f, "max_spin_us", "50");
}

static void shm_close(void *conn) {
	struct shm *s = conn;
	shutdown(s->sock, SHUT_RDWR);
	pthread_join(s->watcher, NULL);
	close(s->sock);
	munmap(s->segment, segment_size(&s->g));
	free(s);
}

const struct transport shm_transport = {.name = "shm", .listen = shm_listen, .accept = shm_accept, .dial = shm_dial, .send = shm_send,
	.recv = shm_recv, .in_flight = shm_in_flight, .facts = shm_facts, .close = shm_close};
