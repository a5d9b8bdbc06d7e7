// batch and pipeline-batch: a directory of n entries {u32 offset, u32 length}, then n items, each a u64; all are echoed plus
// one. The sizes are drawn from xorshift32 with seed 12345: 2 to 1000 items.
#include "worker.h"

#include <stdlib.h>

enum { MIN_BATCH = 2, MAX_BATCH = 1000, ITEM = 8, ENTRY = 8, SEED = 12345 };
enum { BATCH_MESSAGE = ENVELOPE + MAX_BATCH * (ENTRY + ITEM) };

struct flight {
	uint64_t n, base; // items, and the value of the first
};

struct batcher {
	struct requester r;
	uint32_t random;
	uint64_t base;
	int64_t bytes; // of all messages of the window
	int depth;
	struct flight *flight;
	unsigned char *message;
};

static size_t batch_message(const struct params *p) {
	(void)p;
	return BATCH_MESSAGE;
}

static inline uint64_t entry(uint64_t j) { return j * ITEM | (uint64_t)ITEM << 32; }

// next makes the next batch and sends it.
static struct flight next(struct batcher *b, int64_t now) {
	b->random = xorshift32(b->random);
	uint64_t n = b->random % (MAX_BATCH - MIN_BATCH + 1) + MIN_BATCH;
	unsigned char *p = b->message + ENVELOPE;
	for (uint64_t j = 0; j < n; j++)
		put64(p + j * ENTRY, entry(j));
	p += n * ENTRY;
	for (uint64_t j = 0; j < n; j++)
		put64(p + j * ITEM, b->base + j);
	struct flight f = {n, b->base};
	size_t size = ENVELOPE + n * (ENTRY + ITEM);
	b->base += n;
	b->bytes += (int64_t)size;
	request_send(&b->r, b->message, size, now, REQUEST);
	return f;
}

// items checks the directory of a batch and returns its items and how many there are.
static unsigned char *items(unsigned char *msg, size_t size, uint64_t seq, uint64_t *n) {
	size_t payload = size - ENVELOPE;
	*n = payload / (ENTRY + ITEM);
	if (payload % (ENTRY + ITEM) || *n < MIN_BATCH || *n > MAX_BATCH)
		die("message %llu: %zu B are not a batch of %d to %d items", (unsigned long long)seq, payload, MIN_BATCH, MAX_BATCH);
	for (uint64_t j = 0; j < *n; j++)
		if (get64(msg + ENVELOPE + j * ENTRY) != entry(j))
			die("message %llu: entry %llu of the directory is wrong", (unsigned long long)seq, (unsigned long long)j);
	return msg + ENVELOPE + *n * ENTRY;
}

// echo receives a reply and checks every byte of it.
static void echo(struct batcher *b, struct flight f) {
	unsigned char *msg;
	uint64_t n;
	size_t size = reply_receive(&b->r, &msg, REPLY);
	unsigned long long seq = b->r.replied;
	unsigned char *p = items(msg, size, seq, &n);
	if (n != f.n)
		die("reply %llu carries %llu items, want %llu", seq, (unsigned long long)n, (unsigned long long)f.n);
	for (uint64_t j = 0; j < n; j++)
		if (get64(p + j * ITEM) != f.base + j + 1)
			die("reply %llu: item %llu is wrong", seq, (unsigned long long)j);
}

// run_cycle sends depth batches, then receives their echoes. An operation is an item.
static int64_t run_cycle(void *self, int64_t now, int64_t *since) {
	(void)since;
	struct batcher *b = self;
	int64_t done = 0;
	for (int i = 0; i < b->depth; i++)
		b->flight[i] = next(b, now);
	for (int i = 0; i < b->depth; i++) {
		echo(b, b->flight[i]);
		done += (int64_t)b->flight[i].n;
	}
	return done;
}

static void begin(void *self) { ((struct batcher *)self)->bytes = 0; }

static void client(struct side *s, int depth) {
	struct batcher b = {.r = {.conn = s->conn}, .random = SEED, .depth = depth};
	b.message = must_alloc(BATCH_MESSAGE);
	b.flight = must_alloc((size_t)depth * sizeof *b.flight);
	struct op op = {.run = run_cycle, .begin = begin, .self = &b};
	drive(s, &b.r, &op);
	struct measurement *m = &s->m;
	int64_t messages = m->sent * depth;
	m->messages = m->sent = m->received = messages;
	m->payload_bytes = b.bytes - messages * ENVELOPE;
	m->request_bytes = m->response_bytes = b.bytes / (messages ? messages : 1);
	free(b.message);
	free(b.flight);
}

static void batch_client(struct side *s) { client(s, 1); }

static void pipeline_batch_client(struct side *s) {
	int depth = effective_depth(s, BATCH_MESSAGE);
	client(s, depth);
	s->m.latency_kind = "cycle";
	fact(&s->m.facts, "depth", "%d", depth);
}

static size_t plus_one(void *self, unsigned char *msg, size_t size, uint64_t seq, unsigned char **reply) {
	uint64_t n;
	items(msg, size, seq, &n);
	*reply = answer(self, msg, size);
	unsigned char *p = *reply + ENVELOPE + n * ENTRY;
	for (uint64_t j = 0; j < n; j++)
		put64(p + j * ITEM, get64(p + j * ITEM) + 1);
	return size;
}

static void batch_server(struct side *s) {
	unsigned char out[SMALL_MESSAGE];
	serve(s, plus_one, out);
}

const struct scenario batch = {.name = "batch", .pattern = REQUEST_REPLY, .max_message = batch_message,
	.client = batch_client, .server = batch_server};
const struct scenario pipeline_batch = {.name = "pipeline-batch", .pattern = PIPELINED, .max_message = batch_message,
	.client = pipeline_batch_client, .server = batch_server};
