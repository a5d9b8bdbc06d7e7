// Everything that the files of a C worker share. A worker is one process with one role in one sample, so a failure
// anywhere ends it: die prints the reason as the protocol wants it. Times are ns of CLOCK_MONOTONIC, sizes are bytes.
#ifndef MSGBENCH_WORKER_H
#define MSGBENCH_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire is little-endian, and these workers read it as it stands"
#endif

// ---- failing and leaving (leave.c)

// die prints `error {"reason":…}`, removes what this process made, and ends it with status 1.
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
// die_errno is die with the text of errno behind.
_Noreturn void die_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));
// die_port is die for a port that somebody else has: the runner tries another one.
_Noreturn void die_port(const char *format, ...) __attribute__((format(printf, 1, 2)));
// remember a path of the file system that must be gone when this process ends; forget unlinks it now.
void remember_path(const char *path);
void forget_path(const char *path);
// watch_stdin starts the thread that reads what the runner says; when the runner is gone it ends the process.
void watch_stdin(const char *role);
// await_start returns the JSON of the line `start`, await_stop when `stop` has come.
const char *await_start(void);
void await_stop(void);
// run_is_over: from now on the peer may go away. peer_gone is for threads that watch it, and ends the process if it may not; what
// it had sent is still read, and may be the end of the run.
void run_is_over(void);
void peer_gone(const char *what);
void *must_alloc(size_t bytes); // zeroed

// ---- clocks (measure.c)

static inline uint32_t get32(const unsigned char *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t get64(const unsigned char *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline void put32(unsigned char *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void put64(unsigned char *p, uint64_t v) { memcpy(p, &v, 8); }

int64_t now_ns(void);
// pace waits until the deadline: it sleeps to 60 µs before, then spins. It adds the time spun to *spun.
int64_t pace(int64_t deadline, int64_t *spun);
// pace_asleep only sleeps, for threads that share a CPU with others that have to keep a schedule.
int64_t pace_asleep(int64_t deadline);
// schedule_at is when operation i at a constant rate is due.
int64_t schedule_at(int64_t start, int64_t rate, int64_t i);
// messages_due is how many messages a window of a schedule has, in all channels.
struct params;
int64_t messages_due(const struct params *p);
int64_t resident_bytes(void);
// stable_clock dies where readings of now_ns by two processes can't be subtracted. clock_error bounds the error of such a
// difference, and time_namespace is the inode of this process's; 0 where there is none.
void stable_clock(void);
int64_t clock_error(void);
uint64_t time_namespace(void);

enum { MAX_CLOCKS = 80 };
struct cpu_window {
	int n;
	char role[MAX_CLOCKS][16];
	int clock[MAX_CLOCKS];
	int64_t from[MAX_CLOCKS], till[MAX_CLOCKS];
};
// cpu_window_of finds the CPU clocks of all processes that the JSON of `start` names.
void cpu_window_of(struct cpu_window *w, const char *start);
void cpu_read(const struct cpu_window *w, int64_t *into);

// ---- histograms (hist.c): 1 ns to 60 s, buckets 0.1 % wide, exact extremes and sum

struct hist;
struct hist *hist_new(void); // for free
void hist_reset(struct hist *h);
void hist_record(struct hist *h, int64_t ns);
void hist_add(struct hist *h, const struct hist *from);
void hist_json(const struct hist *h, FILE *out);

// ---- what was asked for, and what was found

enum { MAX_CONNS = 64 };

struct params {
	const char *role, *scenario, *transport, *dir, *mode;
	const char *endpoint[MAX_CONNS];
	int endpoints;
	int payload; // -1: none
	int64_t rate; // 0: max
	int64_t warmup_ns, warmup_ops, warmup_max_ns, window_ns, count;
	int depth, channels;
	const char *wait; // NULL: the transport's first
	bool nagle, mlock;
	int port[MAX_CONNS], ports; // that the runner reserved; none: choose them
	int buffer; // of the kernel in each direction; 0: its default
};

struct facts {
	int n;
	char name[32][24], value[32][64];
};
void fact(struct facts *f, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

enum { STEP_NS = 100000000 };
// counts are numbers in a row, such as the messages of each step of a window.
struct counts {
	int n;
	int64_t *at; // NULL: none
};

struct measurement {
	const char *loop, *latency_kind;
	int64_t warmup_ns, warmup_ops, window_ns, ops, messages, payload_bytes, sent, received, lost, duplicated, reordered;
	struct hist *latency, *service, *lateness; // NULL: none
	int64_t clock_error_ns;
	int64_t thirds[3], thirds_ns[3], pacer_ns, request_bytes, response_bytes, rss;
	struct counts sent_steps, received_steps, rss_sizes; // of one-way streams
	int hops;
	struct cpu_window cpu;
	struct facts facts;
};
void print_result(const struct measurement *m, const char *role);

// ---- transports: what one side of a connection can do

enum pattern { REQUEST_REPLY, PIPELINED, STREAM };

struct options {
	const char *dir, *wait;
	enum pattern pattern;
	size_t max_message;
	int depth, port, buffer;
	bool nagle;
	bool ipc; // of a library's transport
};

struct transport {
	const char *name;
	bool ipc; // of a library: over Unix sockets, not TCP
	// listen makes an endpoint, one word; accept waits for the one peer, after which nothing is left of it in the file
	// system. dial returns once it is connected. Each returns, or takes, the connection's own state.
	void *(*listen)(const struct options *o, char *endpoint, size_t room);
	void (*accept)(void *conn);
	void *(*dial)(const struct options *o, const char *endpoint);
	void (*send)(void *conn, const unsigned char *msg, size_t n);
	// recv returns the next message, valid and writable until the next recv, and its length, or -1 at the peer's end.
	ssize_t (*recv)(void *conn, unsigned char **msg);
	int (*in_flight)(void *conn, size_t size);
	void (*facts)(void *conn, struct facts *f);
	void (*close)(void *conn);
	// Of a library that has a broadcast of its own, else NULL: publish makes the publisher's end, which only sends, to whoever
	// is connected then; subscribe makes a subscriber's, which only receives. It may lose messages.
	void *(*publish)(const struct options *o, char *endpoint, size_t room);
	void *(*subscribe)(const struct options *o, const char *endpoint);
	// unlisted: nobody else will subscribe.
	void (*unlisted)(void *publisher);
};

// Of the peer that this program is: peer_*.c.
extern const char *const peer_name;
extern const bool peer_library; // its transports are those of a library: without one, it has nothing to show
extern const bool peer_port0; // can listen on a port that the system chooses
extern const struct transport *const peer_transports[]; // NULL ends it
void peer_versions(FILE *out); // "name":"version",…

struct conn {
	const struct transport *t;
	void *state;
};
static inline void conn_send(struct conn *c, const unsigned char *msg, size_t n) { c->t->send(c->state, msg, n); }
static inline ssize_t conn_recv(struct conn *c, unsigned char **msg) { return c->t->recv(c->state, msg); }

// ---- scenarios

struct side {
	struct conn *conn; // the first of them; NULL where there is no transport
	int conns;
	struct options options; // that they were made with
	struct conn own; // of the transport's own broadcast, where it has one
	const struct params *p;
	const char *start; // JSON
	struct measurement m;
};

struct scenario {
	const char *name;
	enum pattern pattern;
	bool no_transport;
	bool broadcast; // its roles are publisher and subscriber, in the place of client and server
	size_t (*max_message)(const struct params *p);
	void (*client)(struct side *s);
	void (*server)(struct side *s);
};
extern const struct scenario *const scenario_table[]; // NULL ends it

// One client's unit of work (drive.c). run performs one operation whose first message is stamped with now and returns how
// many it counts for; *since is when its latency began, now if it is left alone. The others may be NULL.
struct op {
	int64_t (*run)(void *self, int64_t now, int64_t *since);
	void (*prime)(void *self, int64_t now);
	void (*drain)(void *self);
	void (*begin)(void *self); // the window begins
	// Of a window that others take part in: mark tells them that it begins and returns when, finish that it has ended.
	// settle waits until they have all that was sent, which belongs to the window.
	int64_t (*mark)(void *self);
	void (*settle)(void *self);
	void (*finish)(void *self);
	void *self;
};
struct requester;
void say(const char *word); // a line of the protocol
// drive warms up and runs op through one window. r tells the server where it begins and ends; NULL: there is none.
void drive(struct side *s, struct requester *r, const struct op *op);
const char *latency_kind(const struct params *p);

// Messages (exchange.c): the envelope, and who counts them.
enum { ENVELOPE = 32, SMALL_MESSAGE = 4096 };
enum kind { REQUEST = 1, REPLY = 2, MARK = 3, FINISH = 4, DATA = 5, HELLO = 6, NEXT = 7 };

void put_envelope(unsigned char *msg, size_t n, uint64_t seq, int64_t stamp, enum kind k);
_Noreturn void wrong_envelope(const unsigned char *msg, size_t n, uint64_t seq, enum kind k);
// check_envelope dies if the message is not whole, or not the one expected.
static inline void check_envelope(const unsigned char *msg, size_t n, uint64_t seq, enum kind k) {
	if (n < ENVELOPE || get64(msg) != seq || get32(msg + 16) != k || get32(msg + 20) != n - ENVELOPE || get64(msg + 24))
		wrong_envelope(msg, n, seq, k);
}
static inline uint32_t kind_of(const unsigned char *msg, size_t n) { return n < ENVELOPE ? 0 : get32(msg + 16); }

struct requester {
	struct conn *conn;
	uint64_t seq, replied; // of the last message sent, of the last reply
};
void request_send(struct requester *r, unsigned char *msg, size_t n, int64_t now, enum kind k);
size_t reply_receive(struct requester *r, unsigned char **msg, enum kind k); // length of the whole message
void requester_control(struct requester *r, enum kind k); // MARK or FINISH, there and back

// serve answers requests with what handle makes of them until the client has finished. handle returns the length of
// the reply and where it stands; it begins with the envelope of the request.
typedef size_t handler(void *self, unsigned char *request, size_t n, uint64_t seq, unsigned char **reply);
void serve(struct side *s, handler *handle, void *self);
// answer is where a reply is made: a copy of a small request in out, or the request itself.
unsigned char *answer(unsigned char *out, unsigned char *request, size_t n);
uint32_t xorshift32(uint32_t x);
// counter_message is an envelope and the pattern, as long as the payload says.
size_t counter_size(const struct params *p);
unsigned char *counter_message(const struct params *p);
int effective_depth(struct side *s, size_t size);

extern const struct scenario ping_pong, batch, pipeline, pipeline_batch, snapshot, lookup, broadcast, data_rate;

#endif
