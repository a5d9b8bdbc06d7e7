#include "oneway.h"

#include <stdlib.h>

static _Noreturn void wrong_number(uint64_t seq, uint64_t want) {
	unsigned char m[ENVELOPE];
	put_envelope(m, sizeof m, seq, 0, DATA);
	wrong_envelope(m, sizeof m, want, DATA);
}

void tracker_begin(struct tracker *t, uint64_t first) {
	*t = (struct tracker){.lossy = t->lossy, .next = first};
	memset(t->seen, 0xff, sizeof t->seen); // what came before is none of ours, so that it would count as duplicated
}

// skip counts all before seq that have not come as lost; they may still come late.
static void skip(struct tracker *t, uint64_t seq) {
	t->lost += (int64_t)(seq - t->next);
	if (seq - t->next > SEEN)
		t->next = seq - SEEN;
	for (; t->next < seq; t->next++)
		t->seen[t->next % SEEN / 64] &= ~((uint64_t)1 << t->next % 64);
}

void tracker_out_of_turn(struct tracker *t, uint64_t seq) {
	if (!t->lossy)
		wrong_number(seq, t->next);
	uint64_t *seen = &t->seen[seq % SEEN / 64], bit = (uint64_t)1 << seq % 64;
	if (seq > t->next) {
		skip(t, seq);
		tracker_see(t, seq);
	} else if (t->next - seq > SEEN || *seen & bit) {
		t->duplicated++;
	} else {
		*seen |= bit;
		t->received++;
		t->reordered++;
		t->lost--;
	}
}

void tracker_end(struct tracker *t, uint64_t after) {
	if (after < t->next)
		die("message %llu came, but the sender's last one is %llu", (unsigned long long)t->next - 1, (unsigned long long)after - 1);
	if (after > t->next && !t->lossy)
		wrong_number(after, t->next);
	skip(t, after);
}

void tracker_fill(const struct tracker *t, struct measurement *m) {
	m->received += t->received;
	m->lost += t->lost;
	m->duplicated += t->duplicated;
	m->reordered += t->reordered;
}

void one_way_make(struct one_way *o, int64_t rate, int index, int senders) {
	*o = (struct one_way){.sent = hist_new(), .due = rate ? hist_new() : NULL, .rate = rate, .at = index, .step = senders};
}

void one_way_begin(struct one_way *o, int64_t start, uint64_t first) {
	hist_reset(o->sent);
	if (o->due)
		hist_reset(o->due);
	o->start = start;
	o->first = first;
}

static const char CLOCKS[] = "the clocks of the two sides do not agree: message";

void one_way_record(struct one_way *o, uint64_t seq, int64_t sent, int64_t now) {
	if (now < sent)
		die("%s %llu came %lld ns before it was sent", CLOCKS, (unsigned long long)seq, (long long)(sent - now));
	hist_record(o->sent, now - sent);
	if (!o->due || !o->start)
		return;
	int64_t due = schedule_at(o->start, o->rate, o->at + (int64_t)(seq - o->first) * o->step);
	if (sent < due)
		die("%s %llu was sent %lld ns before its time", CLOCKS, (unsigned long long)seq, (long long)(due - sent));
	hist_record(o->due, now - due);
}

static void merge(struct hist **into, struct hist *h) {
	if (!*into) {
		*into = h;
		return;
	}
	hist_add(*into, h);
	free(h);
}

void one_way_fill(struct one_way *o, struct measurement *m) {
	m->latency_kind = "one-way";
	m->clock_error_ns = clock_error();
	merge(&m->latency, o->due ? o->due : o->sent);
	if (o->due)
		merge(&m->service, o->sent);
}

uint64_t check_data(const unsigned char *own, size_t size, const unsigned char *msg, size_t n) {
	uint64_t seq = n < ENVELOPE ? 0 : get64(msg);
	unsigned long long number = seq;
	check_envelope(msg, n, seq, DATA);
	if (n != size)
		die("message %llu carries %zu B, want %zu B", number, n - ENVELOPE, size - ENVELOPE);
	size_t from = ENVELOPE;
	if (n >= ENVELOPE + 8) {
		if (get64(msg + ENVELOPE) != seq)
			die("message %llu carries the counter %llu, want %llu", number, (unsigned long long)get64(msg + ENVELOPE), number);
		from += 8;
	}
	if (memcmp(msg + from, own + from, n - from))
		die("message %llu is not what was sent", number);
	return seq;
}

void stamp_data(unsigned char *own, size_t size, uint64_t seq, int64_t stamp) {
	if (size >= ENVELOPE + 8)
		put64(own + ENVELOPE, seq);
	put_envelope(own, size, seq, stamp, DATA);
}

void same_time(const unsigned char *answer) {
	unsigned long long own = time_namespace(), other = get64(answer + 8);
	if (own != other)
		die("one-way: the two sides are in different time namespaces (%llu and %llu): their clocks can't be compared", own, other);
}
