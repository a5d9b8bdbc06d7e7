// The registry of the snapshot scenario (docs/wire-snapshot.md): its encoding and the local cache.
#ifndef MSGBENCH_REGISTRY_H
#define MSGBENCH_REGISTRY_H

#include "worker.h"

enum { BENCH_ITEMS = 16, BENCH_SIZE = 1301 };

// Strings end with a NUL that their length does not count.
struct item {
	uint32_t hash, options, enabled, name_len, path_len;
	const char *name, *path;
};

// bench_items makes the 16 items that the scenario sends; their strings live in text.
void bench_items(struct item *items, char (*text)[64]);
// registry_encode writes a message to b, which has room for it, and returns its size.
size_t registry_encode(unsigned char *b, const struct item *items, uint32_t n, uint64_t generation);

struct table;
struct cache {
	_Atomic(struct table *) table;
	_Alignas(128) _Atomic uint64_t generation; // on a line of its own, so that lookups do not wait for refreshes
	_Alignas(128) struct table *old; // tables that a reader may still hold, freed at the end
};
// cache_refresh decodes a message and makes it the contents; it checks every byte of it each time. NULL, or what is wrong.
const char *cache_refresh(struct cache *c, const unsigned char *encoded, size_t n);
// cache_get finds the item with this hash and name. One thread may refresh meanwhile.
bool cache_get(struct cache *c, uint32_t hash, const char *name, uint32_t name_len, struct item *out);
uint64_t cache_changes(struct cache *c); // refreshes that changed the items
bool cache_equal(struct cache *c, const struct item *items, uint32_t n);
void cache_free(struct cache *c);

#endif
