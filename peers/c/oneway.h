// One-way messages: who counts them, and how long each was under way (docs/wire-oneway.md).
#ifndef MSGBENCH_ONEWAY_H
#define MSGBENCH_ONEWAY_H

#include "worker.h"

// SEEN is how many numbers back a late message is still known. One that is even later counts as duplicated, and as lost.
enum { SEEN = 8192 };

// tracker follows the numbers of messages, as one receiver sees them. Where nothing may be lost, a wrong one ends the process.
struct tracker {
	bool lossy;
	uint64_t next; // the number that is expected
	int64_t received, lost, duplicated, reordered;
	uint64_t seen[SEEN / 64]; // which of the last have come
};
void tracker_begin(struct tracker *t, uint64_t first);
void tracker_out_of_turn(struct tracker *t, uint64_t seq);
static inline void tracker_see(struct tracker *t, uint64_t seq) {
	if (seq != t->next) {
		tracker_out_of_turn(t, seq);
		return;
	}
	t->received++;
	t->next++;
	if (t->lossy)
		t->seen[seq % SEEN / 64] |= (uint64_t)1 << seq % 64;
}
void tracker_end(struct tracker *t, uint64_t after); // after is the number after the last message sent
void tracker_fill(const struct tracker *t, struct measurement *m); // adds to it

// one_way records latencies from the stamps. A schedule begins with the message numbered first, which is its operation at; each
// further one is step more.
struct one_way {
	struct hist *sent, *due; // until received; due is NULL where nothing is due at any time
	int64_t rate, start, at, step;
	uint64_t first;
};
void one_way_make(struct one_way *o, int64_t rate, int index, int senders);
void one_way_begin(struct one_way *o, int64_t start, uint64_t first);
void one_way_record(struct one_way *o, uint64_t seq, int64_t sent, int64_t now);
void one_way_fill(struct one_way *o, struct measurement *m); // adds to it, and frees

// check_data compares every byte of a message with what was sent under its number, which it returns. own is the receiver's copy.
uint64_t check_data(const unsigned char *own, size_t size, const unsigned char *msg, size_t n);
// stamp_data makes own the message of that number and stamp.
void stamp_data(unsigned char *own, size_t size, uint64_t seq, int64_t stamp);
// same_time dies unless the answer to a mark is from this process's time namespace.
void same_time(const unsigned char *answer);
// broadcast_facts are the settings of the library's own broadcast, under names that differ from those of the connections.
void broadcast_facts(struct conn *own, struct facts *f);
// subscribe is the role subscriber of broadcast.
void subscribe(struct side *s);

#endif
