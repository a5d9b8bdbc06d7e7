// The shared memory of docs/wire-shm.md: its layout and the rings of one connection.
#ifndef MSGBENCH_SHM_H
#define MSGBENCH_SHM_H

#include "rawfd.h"

enum { SLOT = 128, INLINE = 120, LINE = 64, SLOTS_AT = 8192 };

struct geometry {
	uint64_t slots, area, max_message;
};

// waiter waits for one word of the segment to change.
struct waiter {
	enum wait mode;
	_Atomic uint32_t *sleeps; // futex in the segment
	atomic_bool *gone;        // of the connection: the peer has closed or died
	int64_t limit;            // how long hybrid spins now
	int unspun, probe;        // waits since the last try, and between two tries, while limit is 0
};

struct sender {
	struct geometry g;
	unsigned char *slots, *area;
	uint64_t next, full, pos, freed; // message, first without a slot as known, area position, given back as known
	_Atomic uint64_t *consumed, *consumed_bytes;
	_Atomic uint32_t *peer_sleeps;
	struct waiter wait;
};

struct receiver {
	struct geometry g;
	unsigned char *slots, *area;
	uint64_t next, released, release_at, pos, released_pos;
	_Atomic uint64_t *consumed, *consumed_bytes;
	_Atomic uint32_t *peer_sleeps;
	struct waiter wait;
};

uint64_t segment_size(const struct geometry *g);
void sender_make(struct sender *s, unsigned char *segment, const struct geometry *g, int direction, enum wait wait, atomic_bool *gone);
void receiver_make(struct receiver *r, unsigned char *segment, const struct geometry *g, int direction, enum wait wait, atomic_bool *gone);
void ring_send(struct sender *s, const unsigned char *msg, size_t n);
ssize_t ring_recv(struct receiver *r, unsigned char **msg); // -1 at the peer's end
int ring_in_flight(const struct geometry *g, size_t size);
void futex_wake_always(_Atomic uint32_t *word);

#endif
