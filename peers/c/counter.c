// ping-pong and pipeline: a counter comes back plus one. Payloads of 8 B and more start with the message's sequence
// number, the rest is a fixed pattern; shorter ones are the pattern alone.
#include "worker.h"

#include <stdlib.h>

uint32_t xorshift32(uint32_t x) {
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}

struct pinger {
	struct requester r;
	unsigned char *message;
	size_t size; // of it, envelope included
	int depth;
	int64_t *stamps; // mode window: when each request in flight was sent, by sequence number
};

size_t counter_size(const struct params *p) { return ENVELOPE + (size_t)p->payload; }

unsigned char *counter_message(const struct params *p) {
	size_t n = counter_size(p);
	unsigned char *m = must_alloc(n);
	uint32_t v = 12345;
	for (size_t i = ENVELOPE; i < n; i++) {
		v = xorshift32(v);
		m[i] = (unsigned char)v;
	}
	return m;
}

static void pinger_make(struct pinger *x, struct side *s) {
	*x = (struct pinger){.r.conn = s->conn, .size = counter_size(s->p), .message = counter_message(s->p)};
}

static void request(struct pinger *x, int64_t now) {
	if (x->size >= ENVELOPE + 8)
		put64(x->message + ENVELOPE, x->r.seq + 1);
	request_send(&x->r, x->message, x->size, now, REQUEST);
}

// reply checks every byte of the next reply.
static void reply(struct pinger *x) {
	unsigned char *got;
	size_t n = reply_receive(&x->r, &got, REPLY), from = ENVELOPE;
	unsigned long long seq = x->r.replied;
	if (n != x->size)
		die("reply %llu carries %zu B, want %zu B", seq, n - ENVELOPE, x->size - ENVELOPE);
	if (n >= ENVELOPE + 8) {
		if (get64(got + ENVELOPE) != seq + 1)
			die("reply %llu carries the counter %llu, want %llu", seq, (unsigned long long)get64(got + ENVELOPE), seq + 1);
		from += 8;
	}
	if (memcmp(got + from, x->message + from, n - from))
		die("reply %llu is not what was sent", seq);
}

static int64_t run_ping(void *self, int64_t now, int64_t *since) {
	(void)since;
	request(self, now);
	reply(self);
	return 1;
}

static void counts(struct side *s, struct pinger *x) {
	s->m.messages = s->m.ops;
	s->m.payload_bytes = s->m.ops * s->p->payload;
	s->m.request_bytes = s->m.response_bytes = (int64_t)x->size;
	free(x->message);
	free(x->stamps);
}

static void ping_client(struct side *s) {
	struct pinger x;
	pinger_make(&x, s);
	struct op op = {.run = run_ping, .self = &x};
	drive(s, &x.r, &op);
	counts(s, &x);
}

struct counter_server {
	size_t size;
	unsigned char out[SMALL_MESSAGE];
};

static size_t count(void *self, unsigned char *msg, size_t n, uint64_t seq, unsigned char **into) {
	struct counter_server *x = self;
	if (n != x->size)
		die("request %llu carries %zu B, want %zu B", (unsigned long long)seq, n - ENVELOPE, x->size - ENVELOPE);
	*into = answer(x->out, msg, n);
	if (n >= ENVELOPE + 8)
		put64(*into + ENVELOPE, get64(*into + ENVELOPE) + 1);
	return n;
}

static void counter_server(struct side *s) {
	struct counter_server x = {.size = counter_size(s->p)};
	serve(s, count, &x);
}

// A client that sends more than the buffers of one direction take, while its server waits for room in the other one,
// would never receive.
int effective_depth(struct side *s, size_t size) {
	int fit = s->conn->t->in_flight(s->conn->state, size), depth = s->p->depth < fit ? s->p->depth : fit;
	return depth < 1 ? 1 : depth;
}

// run_cycle sends depth requests, then receives as many replies.
static int64_t run_cycle(void *self, int64_t now, int64_t *since) {
	(void)since;
	struct pinger *x = self;
	for (int i = 0; i < x->depth; i++)
		request(x, now);
	for (int i = 0; i < x->depth; i++)
		reply(x);
	return x->depth;
}

static void put(struct pinger *x, int64_t now) {
	request(x, now);
	x->stamps[x->r.seq % (uint64_t)x->depth] = now;
}

// prime puts all but one request in flight, drain receives what is in flight still.
static void prime_window(void *self, int64_t now) {
	struct pinger *x = self;
	for (int i = 1; i < x->depth; i++)
		put(x, now);
}

static void drain_window(void *self) {
	struct pinger *x = self;
	while (x->r.replied < x->r.seq)
		reply(x);
}

static int64_t run_window(void *self, int64_t now, int64_t *since) {
	struct pinger *x = self;
	put(x, now);
	reply(x);
	*since = x->stamps[x->r.replied % (uint64_t)x->depth];
	return 1;
}

static void pipeline_client(struct side *s) {
	struct pinger x;
	pinger_make(&x, s);
	x.depth = effective_depth(s, x.size);
	bool windowed = s->p->mode && strcmp(s->p->mode, "window") == 0;
	struct op op = {.run = run_cycle, .self = &x};
	if (windowed) {
		x.stamps = must_alloc((size_t)x.depth * sizeof *x.stamps);
		op = (struct op){.run = run_window, .prime = prime_window, .drain = drain_window, .self = &x};
	}
	drive(s, &x.r, &op);
	s->m.latency_kind = windowed ? "rtt" : "cycle";
	counts(s, &x);
	s->m.sent = s->m.received = s->m.ops + (windowed ? x.depth - 1 : 0);
	fact(&s->m.facts, "depth", "%d", x.depth);
}

const struct scenario ping_pong = {.name = "ping-pong", .pattern = REQUEST_REPLY, .max_message = counter_size,
	.client = ping_client, .server = counter_server};
const struct scenario pipeline = {.name = "pipeline", .pattern = PIPELINED, .max_message = counter_size,
	.client = pipeline_client, .server = counter_server};
