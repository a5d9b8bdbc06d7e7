// The loops of a client: warm-up, and one window, as fast as replies come or on a schedule.
#define _GNU_SOURCE
#include "worker.h"

#include <sys/prctl.h>

struct loop {
	const struct op *op;
	int64_t ops, items, next; // operations, what they counted for, operation of the schedule
	int64_t start, end, spun;
	struct hist *latency, *service, *lateness;
};

const char *latency_kind(const struct params *p) { return p->rate ? "response" : "rtt"; }

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static void reset(struct loop *l) {
	l->ops = l->items = l->next = l->spun = 0;
	hist_reset(l->latency);
	if (l->service) {
		hist_reset(l->service);
		hist_reset(l->lateness);
	}
}

// closed sends the next operation as soon as the last is done. One reading of the clock ends one and starts the next, so
// that latencies add up to the window.
static void closed(struct loop *l, int64_t t, int64_t until, int64_t most) {
	const struct op op = *l->op;
	while (t < until && l->ops < most) {
		int64_t since = t;
		l->items += op.run(op.self, t, &since);
		t = now_ns();
		hist_record(l->latency, t - since);
		l->ops++;
	}
	l->end = t;
}

// paced goes on with the schedule: each operation goes out when it is due, or at once when that has passed. It stops before
// the first that is due at until, or when that time has come.
static void paced(struct loop *l, int64_t start, int64_t rate, int64_t until, int64_t give_up) {
	int64_t done = l->end;
	for (; done < give_up; l->next++) {
		int64_t intended = schedule_at(start, rate, l->next), sent = done, since;
		if (intended >= until)
			break;
		if (sent < intended)
			sent = pace(intended, &l->spun);
		l->items += l->op->run(l->op->self, sent, &since);
		int64_t due = max64(intended, done);
		done = now_ns();
		hist_record(l->latency, done - intended);
		hist_record(l->service, done - sent);
		hist_record(l->lateness, sent - due);
		l->ops++;
	}
	l->end = done;
}

static void prime(struct loop *l, int64_t now) {
	if (l->op->prime)
		l->op->prime(l->op->self, now);
}

static void drain(struct loop *l) {
	if (l->op->drain)
		l->op->drain(l->op->self);
}

// warm_up runs the same loop as the window, on one schedule, in slices, until it has run long enough in time and in operations,
// or nothing more is due before its latest end.
static void warm_up(struct loop *l, const struct params *p, struct measurement *m) {
	int64_t start = now_ns(), last = start + p->warmup_max_ns, step = start;
	prime(l, start);
	l->end = start;
	for (;;) {
		step += max64(p->warmup_ns / 4, 1000000);
		int64_t until = min64(step, last);
		if (p->rate)
			paced(l, start, p->rate, until, until);
		else
			closed(l, now_ns(), until, INT64_MAX);
		int64_t now = now_ns();
		if (until == last || (now - start >= p->warmup_ns && l->ops >= p->warmup_ops)) {
			m->warmup_ns = now - start;
			m->warmup_ops = l->ops;
			drain(l);
			return;
		}
	}
}

static void window(struct loop *l, const struct params *p, int64_t *thirds, int64_t *thirds_ns) {
	// A whole number of intervals: a paced window ends when the operation after its last would be due.
	int64_t n = messages_due(p);
	if (l->start)
		l->end = pace(l->start, &l->spun);
	else
		l->start = l->end = now_ns();
	if (!p->rate)
		prime(l, l->start);
	for (int i = 0; i < 3; i++) {
		int64_t before = l->ops, began = l->end, until = 0;
		if (p->rate) {
			began = max64(began, schedule_at(l->start, p->rate, n * i / 3));
			until = schedule_at(l->start, p->rate, n * (i + 1) / 3);
			// A number of operations: all of them, however late.
			paced(l, l->start, p->rate, until, p->count ? INT64_MAX : until);
		}
		else if (p->count)
			closed(l, l->end, INT64_MAX, p->count * (i + 1) / 3);
		else
			closed(l, l->end, l->start + p->window_ns / 3 * (i + 1) + (i == 2 ? p->window_ns % 3 : 0), INT64_MAX);
		thirds[i] = l->ops - before;
		thirds_ns[i] = max64(l->end, until) - began;
	}
	if (p->rate)
		l->end = max64(l->end, pace(schedule_at(l->start, p->rate, n), &l->spun));
	if (l->op->settle) {
		l->op->settle(l->op->self);
		if (!p->rate)
			l->end = now_ns(); // of a schedule, those who receive know when it was over
	}
}

void say(const char *word) {
	puts(word);
	fflush(stdout);
}

void drive(struct side *s, struct requester *r, const struct op *op) {
	const struct params *p = s->p;
	struct measurement *m = &s->m;
	struct loop l = {.op = op, .latency = hist_new()};
	if (p->rate) {
		l.service = hist_new();
		l.lateness = hist_new();
		prctl(PR_SET_TIMERSLACK, 1);
	}
	warm_up(&l, p, m);
	cpu_window_of(&m->cpu, s->start);
	say("measuring");
	if (r)
		requester_control(r, MARK);
	if (op->mark)
		l.start = op->mark(op->self);
	reset(&l);
	if (op->begin)
		op->begin(op->self);
	cpu_read(&m->cpu, m->cpu.from);
	window(&l, p, m->thirds, m->thirds_ns);
	cpu_read(&m->cpu, m->cpu.till);
	drain(&l);
	m->rss = resident_bytes();
	if (r)
		requester_control(r, FINISH);
	if (op->finish)
		op->finish(op->self);
	say("done");
	m->loop = p->rate ? "paced" : "closed";
	m->hops = 1;
	m->window_ns = l.end - l.start;
	m->ops = l.items;
	m->messages = m->sent = m->received = l.ops;
	m->latency = l.latency;
	m->service = l.service;
	m->lateness = l.lateness;
	m->latency_kind = latency_kind(p);
	m->pacer_ns = l.spun;
}
