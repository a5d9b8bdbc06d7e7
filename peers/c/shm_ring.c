// The rings of a shared segment: sending, receiving, sleeping and waking.
#define _GNU_SOURCE
#include "shm.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CONTROL_AT = 4096, CONTROL = 512, CONSUMED_SLOTS = 128, CONSUMED_BYTES = 136, SENDER_SLEEPS = 256 };
enum { TAG_INLINE = 1, TAG_AREA = 2, LENGTH_BITS = 24, AHEAD = 6 };
// Times in ns; polls before a receiver gives back, and between two looks at the clock.
enum { MAX_SPIN = 50000, MIN_SPIN = 1000, YIELD_AFTER = 100000, NAP = 500000000, MIN_PROBE = 32, MAX_PROBE = 4096,
	FIRST_POLLS = 32, CHUNK = 32 };

static inline void hint(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

// prefetch_write asks for the line of p, to be written soon. The builtin would only do so where every CPU has it.
static inline void prefetch_write(const void *p) {
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

static uint64_t round64(uint64_t n) { return (n + 63) & ~(uint64_t)63; }

uint64_t segment_size(const struct geometry *g) { return SLOTS_AT + 2 * g->slots * SLOT + 2 * g->area; }

static uint64_t lag(const struct geometry *g) { return g->slots / 8; }
static uint64_t lag_bytes(const struct geometry *g) { return g->area / 16; }

// at is where a message of n bytes begins if the one before ended at pos: one that does not fit before the end of the area
// begins at its start.
static uint64_t at(const struct geometry *g, uint64_t pos, uint64_t n) {
	uint64_t offset = pos & (g->area - 1);
	return offset + n > g->area ? pos + g->area - offset : pos;
}

int ring_in_flight(const struct geometry *g, size_t size) {
	uint64_t n = g->slots - lag(g) - 1;
	if (size > INLINE) {
		uint64_t each = round64(size), lost = lag_bytes(g) + round64(g->max_message) + each;
		uint64_t fit = lost < g->area ? (g->area - lost) / each : 0;
		n = fit < n ? fit : n;
	}
	return n < 1 ? 1 : (int)n;
}

static void waiter_make(struct waiter *w, enum wait mode, unsigned char *sleeps, atomic_bool *gone) {
	*w = (struct waiter){mode, (_Atomic uint32_t *)(void *)sleeps, gone, MAX_SPIN, 0, MIN_PROBE};
}

#define WORD64(p) ((_Atomic uint64_t *)(void *)(p))
#define WORD32(p) ((_Atomic uint32_t *)(void *)(p))

void sender_make(struct sender *s, unsigned char *b, const struct geometry *g, int d, enum wait wait, atomic_bool *gone) {
	unsigned char *control = b + CONTROL_AT + d * CONTROL;
	*s = (struct sender){.g = *g, .slots = b + SLOTS_AT + (uint64_t)d * g->slots * SLOT,
		.area = b + SLOTS_AT + 2 * g->slots * SLOT + (uint64_t)d * g->area, .full = g->slots,
		.consumed = WORD64(control + CONSUMED_SLOTS), .consumed_bytes = WORD64(control + CONSUMED_BYTES),
		.peer_sleeps = WORD32(control)};
	waiter_make(&s->wait, wait, control + SENDER_SLEEPS, gone);
}

void receiver_make(struct receiver *r, unsigned char *b, const struct geometry *g, int d, enum wait wait, atomic_bool *gone) {
	unsigned char *control = b + CONTROL_AT + d * CONTROL;
	*r = (struct receiver){.g = *g, .slots = b + SLOTS_AT + (uint64_t)d * g->slots * SLOT,
		.area = b + SLOTS_AT + 2 * g->slots * SLOT + (uint64_t)d * g->area, .release_at = lag(g),
		.consumed = WORD64(control + CONSUMED_SLOTS), .consumed_bytes = WORD64(control + CONSUMED_BYTES),
		.peer_sleeps = WORD32(control + SENDER_SLEEPS)};
	waiter_make(&r->wait, wait, control, gone);
}

static void futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, (void *)word, FUTEX_WAKE, 1, NULL, NULL, 0); }

void futex_wake_always(_Atomic uint32_t *word) {
	atomic_store(word, 0);
	futex_wake(word);
}

static inline void wake(_Atomic uint32_t *word) {
	if (atomic_load(word) && atomic_exchange(word, 0))
		futex_wake(word);
}

// spin polls until the word is not old, the peer has gone, or limit is over: then it returns false.
static bool spin(struct waiter *w, _Atomic uint64_t *word, uint64_t old, int64_t limit) {
	int64_t end = 0;
	for (;;) {
		for (int i = 0; i < CHUNK; i++) {
			if (atomic_load_explicit(word, memory_order_acquire) != old)
				return true;
			hint();
		}
		if (atomic_load_explicit(w->gone, memory_order_relaxed))
			return true;
		int64_t now = now_ns();
		if (!end)
			end = now + limit;
		else if (now >= end)
			return false;
	}
}

// budget is how long to spin this time: without success the limit falls to 0 within a few waits, so that two processes on
// one core do not keep each other from running; a try now and then finds out when the peer has got a core of its own.
static int64_t budget(struct waiter *w) {
	if (w->limit)
		return w->limit;
	if (++w->unspun < w->probe)
		return 0;
	w->unspun = 0;
	return MAX_SPIN;
}

static void learn(struct waiter *w, int64_t limit, bool ok) {
	if (ok && !w->limit) {
		w->limit = MAX_SPIN;
		w->probe = MIN_PROBE;
	} else if (ok) {
		w->limit = 2 * limit < MAX_SPIN ? 2 * limit : MAX_SPIN;
	} else if (!w->limit) {
		w->probe = 2 * w->probe < MAX_PROBE ? 2 * w->probe : MAX_PROBE;
	} else {
		w->limit = limit / 2 < MIN_SPIN ? 0 : limit / 2;
	}
}

// change waits until the word is not old, or the peer has gone.
static void change(struct waiter *w, _Atomic uint64_t *word, uint64_t old) {
	if (w->mode == SPIN) {
		while (!spin(w, word, old, YIELD_AFTER))
			sched_yield(); // the peer may be waiting for this very core
		return;
	}
	int64_t limit = w->mode == HYBRID ? budget(w) : 0;
	if (limit) {
		bool ok = spin(w, word, old, limit);
		learn(w, limit, ok);
		if (ok)
			return;
	}
	struct timespec nap = {0, NAP};
	for (;;) {
		// The word says 1 before the last look; whoever changes something looks at the word afterwards.
		atomic_store(w->sleeps, 1);
		if (atomic_load(word) != old || atomic_load(w->gone)) {
			atomic_store(w->sleeps, 0);
			return;
		}
		syscall(SYS_futex, (void *)w->sleeps, FUTEX_WAIT, 1, &nap, NULL, 0); // whatever it says: look again
	}
}

// room waits until there is a slot, and the area is free up to end.
static void room(struct sender *s, uint64_t end) {
	for (;;) {
		if (atomic_load_explicit(s->wait.gone, memory_order_relaxed))
			die("shm: send: the peer has gone");
		// Slots first: the receiver gives back bytes before slots.
		uint64_t used = atomic_load_explicit(s->consumed, memory_order_acquire);
		uint64_t freed = atomic_load_explicit(s->consumed_bytes, memory_order_acquire);
		if (s->next - used > s->g.slots || s->pos - freed > s->g.area || freed - s->freed > s->g.area)
			die("shm: the segment is corrupt: receiver at slot %llu", (unsigned long long)used);
		s->full = used + s->g.slots;
		s->freed = freed;
		if (s->next != s->full && end - s->freed <= s->g.area)
			return;
		change(&s->wait, s->consumed, used);
	}
}

void ring_send(struct sender *s, const unsigned char *msg, size_t n) {
	uint64_t i = s->next, tag = n > INLINE ? TAG_AREA : TAG_INLINE;
	unsigned char *slot = s->slots + (i & (s->g.slots - 1)) * SLOT;
	bool gone = atomic_load_explicit(s->wait.gone, memory_order_relaxed);
	if (tag == TAG_INLINE) {
		if (gone || i == s->full)
			room(s, s->pos);
		memcpy(slot + 8, msg, n);
	} else {
		if (n > s->g.max_message)
			die("shm: a message of %zu B, at most %llu B", n, (unsigned long long)s->g.max_message);
		uint64_t from = at(&s->g, s->pos, n), end = from + round64(n);
		if (gone || i == s->full || end - s->freed > s->g.area)
			room(s, end);
		memcpy(s->area + (from & (s->g.area - 1)), msg, n);
		put64(slot + 8, from);
		s->pos = end;
	}
	atomic_store(WORD64(slot), (uint64_t)(uint32_t)(i + 1) << 32 | tag << LENGTH_BITS | n);
	s->next = i + 1;
	wake(s->peer_sleeps);
	slot = s->slots + ((s->next + AHEAD) & (s->g.slots - 1)) * SLOT;
	prefetch_write(slot);
	if (n > LINE - 8 && n <= INLINE)
		prefetch_write(slot + LINE);
}

static void release(struct receiver *r) {
	if (r->pos != r->released_pos) {
		atomic_store(r->consumed_bytes, r->pos);
		r->released_pos = r->pos;
	}
	atomic_store(r->consumed, r->next);
	r->released = r->next;
	r->release_at = r->next + lag(&r->g);
	wake(r->peer_sleeps);
}

// fresh: the word is that of the next message. stale: it is what may stand there before.
static inline bool fresh(const struct receiver *r, uint64_t w) {
	return (uint32_t)(w >> 32) == (uint32_t)(r->next + 1) && (w >> LENGTH_BITS & 0xff);
}

static bool stale(const struct receiver *r, uint64_t w) {
	if (r->next < r->g.slots)
		return w == 0;
	return (uint32_t)(w >> 32) == (uint32_t)(r->next - r->g.slots + 1);
}

// await waits for the next message's word; 0 at the peer's end. What was received is given back first: the sender may be
// waiting for that.
static uint64_t await(struct receiver *r, _Atomic uint64_t *word) {
	uint64_t w;
	if (r->wait.mode != BLOCK)
		for (int i = 0; i < FIRST_POLLS; i++) {
			w = atomic_load_explicit(word, memory_order_acquire);
			if (fresh(r, w))
				return w;
			hint();
		}
	if (r->next != r->released)
		release(r);
	for (;;) {
		bool gone = atomic_load(r->wait.gone);
		w = atomic_load(word); // after the look at gone: what the peer sent before is there by now
		if (fresh(r, w))
			return w;
		if (!stale(r, w))
			die("shm: message %llu: the segment is corrupt: header word %llx", (unsigned long long)r->next, (unsigned long long)w);
		if (gone)
			return 0;
		change(&r->wait, word, w);
	}
}

ssize_t ring_recv(struct receiver *r, unsigned char **msg) {
	if (r->next >= r->release_at)
		release(r);
	unsigned char *slot = r->slots + (r->next & (r->g.slots - 1)) * SLOT;
	uint64_t w = atomic_load_explicit(WORD64(slot), memory_order_acquire);
	if (!fresh(r, w)) {
		w = await(r, WORD64(slot));
		if (!w)
			return -1;
	}
	uint64_t n = w & ((1u << LENGTH_BITS) - 1), tag = w >> LENGTH_BITS & 0xff;
	if (tag == TAG_INLINE && n <= INLINE) {
		r->next++;
		*msg = slot + 8;
		return (ssize_t)n;
	}
	uint64_t from = at(&r->g, r->pos, n);
	if (tag != TAG_AREA || n <= INLINE || n > r->g.max_message || get64(slot + 8) != from)
		die("shm: message %llu: the segment is corrupt: header word %llx", (unsigned long long)r->next, (unsigned long long)w);
	r->next++;
	r->pos = from + round64(n);
	if (r->pos - r->released_pos > lag_bytes(&r->g))
		r->release_at = r->next;
	*msg = r->area + (from & (r->g.area - 1));
	return (ssize_t)n;
}
