// broadcast, a subscriber: it receives publications until the publisher has finished.
#include "oneway.h"

#include <stdlib.h>

struct subscriber {
	struct side *s;
	struct conn *in; // where publications come from
	bool own; // it is the library's own broadcast, so announcements may come more than once
	unsigned char *message;
	size_t size;
	bool pull, timed, greeted, marked;
	uint64_t mark; // number of the mark that was answered last
	int64_t start, last; // its start; when the last publication came
	struct tracker tracker;
	struct one_way latency; // not in flood mode
};

void broadcast_facts(struct conn *own, struct facts *f) {
	static struct facts theirs;
	own->t->facts(own->state, &theirs);
	for (int i = 0; i < theirs.n; i++) {
		char name[64];
		snprintf(name, sizeof name, "broadcast_%s", theirs.name[i]);
		fact(f, strcmp(theirs.name[i], "library") ? name : "library", "%s", theirs.value[i]);
	}
}

static void reply(struct subscriber *r, enum kind k, uint64_t seq, uint64_t stamp) {
	unsigned char msg[ENVELOPE];
	put_envelope(msg, sizeof msg, seq, (int64_t)stamp, k);
	conn_send(r->s->conn, msg, sizeof msg);
}

static ssize_t next(struct subscriber *r, unsigned char **msg) {
	ssize_t n = conn_recv(r->in, msg);
	if (n < 0)
		die("receive publication %llu: the publisher went away before it had finished", (unsigned long long)r->tracker.next);
	return n;
}

// greet receives the first message and connects to the broadcast that it names.
static void greet(struct subscriber *r) {
	char endpoint[513];
	unsigned char *msg;
	ssize_t got = next(r, &msg);
	check_envelope(msg, (size_t)got, 0, HELLO);
	size_t n = (size_t)got - ENVELOPE;
	if (n == 0)
		return;
	if (n >= sizeof endpoint)
		die("broadcast: an endpoint of %zu B", n);
	memcpy(endpoint, msg + ENVELOPE, n);
	endpoint[n] = 0;
	const struct transport *t = r->s->conn->t;
	if (!t->subscribe)
		die("the publisher has a broadcast of its own, this side has none");
	r->s->own = (struct conn){t, t->subscribe(&r->s->options, endpoint)};
	r->in = &r->s->own;
	r->own = r->tracker.lossy = true;
}

static void publication(struct subscriber *r, const unsigned char *msg, size_t n) {
	int64_t now = r->timed ? now_ns() : 0;
	uint64_t seq = check_data(r->message, r->size, msg, n);
	tracker_see(&r->tracker, seq);
	if (r->marked && r->timed) {
		one_way_record(&r->latency, seq, (int64_t)get64(msg + 8), now);
		r->last = now;
	}
	if (r->pull)
		reply(r, NEXT, seq, 0);
}

// begin begins the window: seq is the number of the last publication before it.
static void begin(struct subscriber *r, uint64_t seq, int64_t start) {
	if (r->marked && r->mark == seq && r->start == start)
		return; // it came again
	tracker_begin(&r->tracker, seq + 1);
	if (r->timed)
		one_way_begin(&r->latency, start, seq + 1);
	r->marked = true;
	r->mark = seq;
	r->start = start;
	reply(r, MARK, seq, time_namespace());
}

static void receive(struct subscriber *r) {
	for (;;) {
		unsigned char *msg;
		size_t n = (size_t)next(r, &msg);
		enum kind k = (enum kind)kind_of(msg, n);
		uint64_t seq = n < ENVELOPE ? 0 : get64(msg);
		if (k == DATA) {
			publication(r, msg, n);
			continue;
		}
		if (k != HELLO && k != MARK && k != FINISH)
			wrong_envelope(msg, n, r->tracker.next, DATA);
		if (k == HELLO && r->own && !r->greeted) {
			r->greeted = true;
			reply(r, HELLO, 0, 0);
		} else if (k == MARK) {
			begin(r, seq, (int64_t)get64(msg + 8));
		} else if (k == FINISH) {
			tracker_end(&r->tracker, seq + 1);
			reply(r, FINISH, seq, 0);
			return;
		}
	}
}

void subscribe(struct side *s) {
	const struct params *p = s->p;
	struct measurement *m = &s->m;
	const char *mode = p->mode ? p->mode : "";
	stable_clock();
	struct subscriber r = {.s = s, .in = s->conn, .message = counter_message(p), .size = counter_size(p),
		.pull = strcmp(mode, "pull") == 0, .timed = strcmp(mode, "flood") != 0};
	if (r.timed)
		one_way_make(&r.latency, p->rate, 0, 1);
	greet(&r);
	tracker_begin(&r.tracker, 1);
	receive(&r);
	m->rss = resident_bytes();
	tracker_fill(&r.tracker, m);
	if (r.timed) {
		one_way_fill(&r.latency, m);
		m->window_ns = r.last > r.start ? r.last - r.start : 0;
	}
	if (r.own)
		broadcast_facts(&s->own, &m->facts);
	free(r.message);
}
