// snapshot refreshes a local cache of 16 items from the server; lookup gets items from that cache, without a transport.
#include "registry.h"

#include <stdlib.h>

enum { ASK_SNAPSHOT = 1, REQUEST_SIZE = ENVELOPE + 4, REPLY_SIZE = ENVELOPE + BENCH_SIZE, LOOKUP_BLOCK = 1024 };

static size_t snapshot_message(const struct params *p) {
	(void)p;
	return REPLY_SIZE;
}

struct refresher {
	struct requester r;
	struct cache cache;
	uint64_t changes;
	struct item items[BENCH_ITEMS];
	char text[2 * BENCH_ITEMS][64];
	unsigned char request[REQUEST_SIZE];
};

static int64_t refresh(void *self, int64_t now, int64_t *since) {
	(void)since;
	struct refresher *x = self;
	unsigned char *reply;
	request_send(&x->r, x->request, REQUEST_SIZE, now, REQUEST);
	size_t n = reply_receive(&x->r, &reply, REPLY);
	const char *wrong = cache_refresh(&x->cache, reply + ENVELOPE, n - ENVELOPE);
	if (wrong)
		die("reply %llu: %s", (unsigned long long)x->r.replied, wrong);
	// The cache compared the items with those before: only a change has to be checked again.
	uint64_t changes = cache_changes(&x->cache);
	if (changes != x->changes) {
		if (!cache_equal(&x->cache, x->items, BENCH_ITEMS))
			die("reply %llu: the items are not those of the registry", (unsigned long long)x->r.replied);
		x->changes = changes;
	}
	return 1;
}

static void snapshot_client(struct side *s) {
	static struct refresher x;
	x.r.conn = s->conn;
	bench_items(x.items, x.text);
	put32(x.request + ENVELOPE, ASK_SNAPSHOT);
	struct op op = {.run = refresh, .self = &x};
	drive(s, &x.r, &op);
	s->m.payload_bytes = s->m.ops * BENCH_SIZE;
	s->m.request_bytes = REQUEST_SIZE;
	s->m.response_bytes = REPLY_SIZE;
	cache_free(&x.cache);
}

struct registry {
	uint64_t generation;
	struct item items[BENCH_ITEMS];
	char text[2 * BENCH_ITEMS][64];
	unsigned char out[REPLY_SIZE];
};

static size_t give(void *self, unsigned char *request, size_t n, uint64_t seq, unsigned char **reply) {
	struct registry *x = self;
	if (n != REQUEST_SIZE || get32(request + ENVELOPE) != ASK_SNAPSHOT)
		die("request %llu does not ask for a snapshot", (unsigned long long)seq);
	memcpy(x->out, request, ENVELOPE);
	size_t size = registry_encode(x->out + ENVELOPE, x->items, BENCH_ITEMS, ++x->generation);
	put32(x->out + 20, (uint32_t)size);
	*reply = x->out;
	return ENVELOPE + size;
}

static void snapshot_server(struct side *s) {
	static struct registry x;
	bench_items(x.items, x.text);
	serve(s, give, &x);
}

// look is a block of lookups, since a reading of the clock costs as much as several of them.
static int64_t look(void *self, int64_t now, int64_t *since) {
	(void)now;
	(void)since;
	struct refresher *x = self;
	for (int i = 0; i < LOOKUP_BLOCK; i++) {
		const struct item *want = &x->items[i & (BENCH_ITEMS - 1)];
		struct item got;
		if (!cache_get(&x->cache, want->hash, want->name, want->name_len, &got) || got.enabled != want->enabled ||
				got.path_len != want->path_len)
			die("a lookup did not find its item");
	}
	return LOOKUP_BLOCK;
}

static void lookup_client(struct side *s) {
	static struct refresher x;
	unsigned char encoded[BENCH_SIZE];
	bench_items(x.items, x.text);
	size_t n = registry_encode(encoded, x.items, BENCH_ITEMS, 1);
	const char *wrong = cache_refresh(&x.cache, encoded, n);
	if (wrong)
		die("%s", wrong);
	struct op op = {.run = look, .self = &x};
	drive(s, NULL, &op);
	s->m.latency_kind = NULL;
	free(s->m.latency);
	s->m.latency = NULL;
	s->m.hops = 0;
	s->m.messages = s->m.sent = s->m.received = 0;
	cache_free(&x.cache);
}

const struct scenario snapshot = {.name = "snapshot", .pattern = REQUEST_REPLY, .max_message = snapshot_message,
	.client = snapshot_client, .server = snapshot_server};
const struct scenario lookup = {.name = "lookup", .no_transport = true, .client = lookup_client};
