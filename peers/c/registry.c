#include "registry.h"

#include <stdlib.h>

enum { HEADER = 24, ENTRY = 8, FIXED = 32, ALIGNMENT = 8, VERSION = 1, SYSTEMD = 1, MAX_ITEMS = 4096, MAX_STRING = 4095 };

static size_t aligned(size_t n) { return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

void bench_items(struct item *items, char (*text)[64]) {
	for (uint32_t i = 0; i < BENCH_ITEMS; i++) {
		int n = snprintf(text[2 * i], sizeof *text, "cgroup-%u", i);
		int m = snprintf(text[2 * i + 1], sizeof *text, "/sys/fs/cgroup/bench/cg-%u", i);
		items[i] = (struct item){1000 + i, 0, i % 2, (uint32_t)n, (uint32_t)m, text[2 * i], text[2 * i + 1]};
	}
}

size_t registry_encode(unsigned char *b, const struct item *items, uint32_t n, uint64_t generation) {
	put32(b, VERSION);
	put32(b + 4, n);
	put32(b + 8, SYSTEMD);
	put32(b + 12, 0);
	put64(b + 16, generation);
	unsigned char *area = b + HEADER + ENTRY * (size_t)n;
	size_t at = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct item *it = &items[i];
		memset(area + at, 0, aligned(at) - at);
		at = aligned(at);
		unsigned char *p = area + at;
		uint32_t path = FIXED + it->name_len + 1;
		put32(p, VERSION);
		put32(p + 4, it->hash);
		put32(p + 8, it->options);
		put32(p + 12, it->enabled);
		put32(p + 16, FIXED);
		put32(p + 20, it->name_len);
		put32(p + 24, path);
		put32(p + 28, it->path_len);
		memcpy(p + FIXED, it->name, it->name_len + 1);
		memcpy(p + path, it->path, it->path_len + 1);
		uint32_t size = path + it->path_len + 1;
		put32(b + HEADER + ENTRY * i, (uint32_t)at);
		put32(b + HEADER + ENTRY * i + 4, size);
		at += size;
	}
	return (size_t)(area - b) + at;
}

// table holds items and an index over them: open addressing, each slot the item itself. It never changes once published.
struct slot {
	struct item item;
	bool used;
};

struct table {
	uint32_t n, mask;
	uint64_t changes;
	struct table *older;
	struct item *items;
	struct slot *slots;
	char *text;
};

static uint32_t home(uint32_t hash) { return (uint32_t)((uint64_t)hash * 0x9e3779b97f4a7c15u >> 48); }

struct message {
	uint64_t generation;
	uint32_t n;
	const unsigned char *directory, *area;
	size_t area_size;
};

static const char *parse(struct message *m, const unsigned char *b, size_t n) {
	if (n < HEADER)
		return "a registry is shorter than its header";
	if (get32(b) != VERSION || get32(b + 8) != SYSTEMD || get32(b + 12) != 0)
		return "wrong header of a registry";
	m->n = get32(b + 4);
	if (m->n > MAX_ITEMS || n < HEADER + ENTRY * (size_t)m->n)
		return "a registry has no room for its directory";
	m->generation = get64(b + 16);
	m->directory = b + HEADER;
	m->area = b + HEADER + ENTRY * (size_t)m->n;
	m->area_size = n - HEADER - ENTRY * (size_t)m->n;
	return NULL;
}

// next_item decodes item i, which begins at *at, and moves *at to where the next one must begin. There is one encoding of
// a list of items, so each offset is compared with where the bytes before it end.
static const char *next_item(const struct message *m, struct item *it, uint32_t i, size_t *at) {
	size_t offset = get32(m->directory + ENTRY * (size_t)i), size = get32(m->directory + ENTRY * (size_t)i + 4);
	if (offset != *at || *at > m->area_size || size > m->area_size - *at || size < FIXED + 2)
		return "the directory of a registry is wrong";
	const unsigned char *b = m->area + *at;
	*it = (struct item){.hash = get32(b + 4), .options = get32(b + 8), .enabled = get32(b + 12),
		.name_len = get32(b + 20), .path_len = get32(b + 28)};
	if (get32(b) != VERSION || it->enabled > 1 || get32(b + 16) != FIXED || it->name_len > MAX_STRING || it->path_len > MAX_STRING)
		return "an item of a registry is wrong";
	uint32_t path = FIXED + it->name_len + 1;
	if (get32(b + 24) != path || size != path + it->path_len + 1 || b[path - 1] || b[size - 1])
		return "the strings of an item are wrong";
	it->name = (const char *)b + FIXED;
	it->path = (const char *)b + path;
	size_t end = *at + size;
	if (i == m->n - 1) {
		*at = end;
		return NULL;
	}
	*at = aligned(end);
	if (*at > m->area_size)
		return "items of a registry are missing";
	for (; end < *at; end++)
		if (m->area[end])
			return "the padding of an item is not zero";
	return NULL;
}

static bool same_item(const struct item *a, const struct item *b) {
	return a->hash == b->hash && a->options == b->options && a->enabled == b->enabled && a->name_len == b->name_len &&
		a->path_len == b->path_len && !memcmp(a->name, b->name, a->name_len) && !memcmp(a->path, b->path, a->path_len);
}

static void table_free(struct table *t) {
	free(t->items);
	free(t->slots);
	free(t->text);
	free(t);
}

static bool insert(struct table *t, const struct item *it) {
	for (uint32_t i = home(it->hash);; i++) {
		struct slot *s = &t->slots[i & t->mask];
		if (!s->used) {
			*s = (struct slot){*it, true};
			return true;
		}
		if (s->item.hash == it->hash && s->item.name_len == it->name_len && !memcmp(s->item.name, it->name, it->name_len))
			return false;
	}
}

// table_new copies the items out of a message, all of which have been checked.
static const char *table_new(const struct message *m, struct table **made) {
	struct table *t = must_alloc(sizeof *t);
	uint32_t slots = 2;
	while (slots < 2 * m->n)
		slots *= 2;
	t->n = m->n;
	t->mask = slots - 1;
	t->items = must_alloc(m->n * sizeof *t->items);
	t->slots = must_alloc(slots * sizeof *t->slots);
	t->text = must_alloc(m->area_size);
	memcpy(t->text, m->area, m->area_size);
	size_t at = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		struct item *it = &t->items[i];
		next_item(m, it, i, &at);
		const char *wrong = NULL;
		if (memchr(it->name, 0, it->name_len) || memchr(it->path, 0, it->path_len))
			wrong = "a NUL inside of a string";
		it->name = t->text + (it->name - (const char *)m->area);
		it->path = t->text + (it->path - (const char *)m->area);
		if (!wrong && !insert(t, it))
			wrong = "an item stands there twice";
		if (wrong) {
			table_free(t);
			return wrong;
		}
	}
	*made = t;
	return NULL;
}

const char *cache_refresh(struct cache *c, const unsigned char *encoded, size_t n) {
	struct message m;
	const char *wrong = parse(&m, encoded, n);
	if (wrong)
		return wrong;
	if (m.generation <= atomic_load_explicit(&c->generation, memory_order_relaxed))
		return "the generation does not grow";
	struct table *t = atomic_load_explicit(&c->table, memory_order_relaxed);
	bool same = t && t->n == m.n;
	size_t at = 0;
	for (uint32_t i = 0; i < m.n; i++) {
		struct item it;
		if ((wrong = next_item(&m, &it, i, &at)))
			return wrong;
		same = same && same_item(&it, &t->items[i]);
	}
	if (at != m.area_size)
		return "bytes follow the last item of a registry";
	if (!same) {
		struct table *fresh;
		if ((wrong = table_new(&m, &fresh)))
			return wrong;
		fresh->changes = cache_changes(c) + 1;
		fresh->older = c->old;
		c->old = fresh;
		atomic_store_explicit(&c->table, fresh, memory_order_release);
	}
	atomic_store_explicit(&c->generation, m.generation, memory_order_release);
	return NULL;
}

bool cache_get(struct cache *c, uint32_t hash, const char *name, uint32_t name_len, struct item *out) {
	struct table *t = atomic_load_explicit(&c->table, memory_order_acquire);
	if (!t)
		return false;
	for (uint32_t i = home(hash);; i++) {
		struct slot *s = &t->slots[i & t->mask];
		if (!s->used)
			return false;
		if (s->item.hash == hash && s->item.name_len == name_len && !memcmp(s->item.name, name, name_len)) {
			*out = s->item;
			return true;
		}
	}
}

uint64_t cache_changes(struct cache *c) {
	struct table *t = atomic_load_explicit(&c->table, memory_order_acquire);
	return t ? t->changes : 0;
}

bool cache_equal(struct cache *c, const struct item *items, uint32_t n) {
	struct table *t = atomic_load_explicit(&c->table, memory_order_acquire);
	if (!t || t->n != n)
		return !t && !n;
	for (uint32_t i = 0; i < n; i++)
		if (!same_item(&t->items[i], &items[i]))
			return false;
	return true;
}

void cache_free(struct cache *c) {
	while (c->old) {
		struct table *t = c->old;
		c->old = t->older;
		table_free(t);
	}
}
