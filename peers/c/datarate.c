// data-rate: messages one way over one or more channels, counted as received. Each channel has a thread of its own, unless there
// is only one.
#define _GNU_SOURCE
#include "oneway.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

// Reading the clock costs as much as a small message, so it is read once for CLOCK_EVERY of them, but for each from EACH_BYTES
// on and in windows of at most EACH_COUNT.
enum { CLOCK_EVERY = 32, EACH_BYTES = 4096, EACH_COUNT = 4096 };
// Steps of a series beyond the window's planned end, and of a window whose length nobody knows before.
enum { DRAIN_STEPS = 20, COUNTED_STEPS = 6000 };
// The time between the mark and the start that it tells, at first; it is doubled each time that the answers come too late.
enum { LEAD = 4000000, LEAD_TRIES = 9, SECOND = 1000000000 };

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

// share is how many of the count's messages are those of one channel.
static int64_t share(const struct params *p, int index, int channels) {
	return p->count / channels + (index < p->count % channels);
}

static int64_t timed_every(const struct params *p, int64_t most) {
	return p->rate || p->payload >= EACH_BYTES || (p->count && most <= EACH_COUNT) ? 1 : CLOCK_EVERY;
}

// planned is how long a window is at least, so that a stall at its end counts; 0 for a count at max, where the last message
// received ends it.
static int64_t planned(const struct params *p) {
	return p->rate ? schedule_at(0, p->rate, messages_due(p)) : p->count ? 0 : p->window_ns;
}

static void steps_make(struct counts *c, const struct params *p) {
	c->n = (int)(p->count ? COUNTED_STEPS : p->window_ns / STEP_NS + 1) + DRAIN_STEPS;
	c->at = must_alloc((size_t)c->n * sizeof *c->at);
}

static void steps_clear(struct counts *c) { memset(c->at, 0, (size_t)c->n * sizeof *c->at); }

static void steps_add(struct counts *c, int64_t since, int64_t n) {
	c->at[min64(max64(since, 0) / STEP_NS, c->n - 1)] += n;
}

// steps_sum adds one channel's to the sum, of a window of that length, and frees it.
static void steps_sum(struct counts *sum, struct counts *c, int64_t window) {
	int n = (int)min64((window + STEP_NS - 1) / STEP_NS, c->n);
	for (int i = n; n && i < c->n; i++)
		c->at[n - 1] += c->at[i]; // at the very end of the window
	c->n = n;
	if (!sum->at) {
		*sum = *c;
		return;
	}
	for (int i = 0; i < n; i++)
		sum->at[i] += c->at[i];
	free(c->at);
}

// parallel runs f for each channel, on a thread of its own if there are several.
static void parallel(void *(*f)(void *), void *self, size_t size, int n, void (*meanwhile)(void *), void *arg) {
	pthread_t thread[MAX_CONNS];
	if (n > 1)
		for (int i = 0; i < n; i++)
			if (pthread_create(&thread[i], NULL, f, (char *)self + (size_t)i * size))
				die("no thread for channel %d", i + 1);
	if (meanwhile)
		meanwhile(arg);
	if (n == 1)
		f(self);
	for (int i = 0; n > 1 && i < n; i++)
		pthread_join(thread[i], NULL);
}

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool open;
	int64_t start;
	struct cpu_window *cpu;
};

// Those of a schedule take turns: channel i of c has the operations i, i+c, ….
struct sender {
	struct conn *conn;
	const struct params *p;
	int64_t index, step, every, most; // most is of the window; 0: by time
	unsigned char *message;
	size_t size;
	uint64_t seq;
	int64_t n, start, begun, spun;
	bool crowd; // of senders that share a CPU
	struct counts steps;
	struct hist *lateness; // of a schedule
	struct gate *gate;
};

static void sender_begin(struct sender *x, int64_t start) {
	x->n = x->spun = 0;
	x->start = start;
	steps_clear(&x->steps);
	if (x->lateness)
		hist_reset(x->lateness);
}

static inline void send_one(struct sender *x, int64_t stamp) {
	stamp_data(x->message, x->size, ++x->seq, stamp);
	conn_send(x->conn, x->message, x->size);
}

// flood sends as fast as it goes, until that time or so many. The stamp is the last reading of the clock.
static void flood(struct sender *x, int64_t until, int64_t most) {
	for (int64_t t = now_ns(); t < until && x->n < most;) {
		int64_t k = min64(x->every, most - x->n);
		for (int64_t i = 0; i < k; i++)
			send_one(x, t);
		x->n += k;
		t = now_ns();
		steps_add(&x->steps, t - x->start, k);
	}
}

// paced sends what is due: at its time, or at once when that has passed. It stops before the first that is due at until, when
// that time has come, or before operation n of all channels.
static void paced(struct sender *x, int64_t n, int64_t until) {
	for (;;) {
		int64_t op = x->index + x->n * x->step, due = schedule_at(x->start, x->p->rate, op);
		if (op >= n || due >= until)
			return;
		int64_t sent = now_ns(), late = 0;
		if (sent < due) {
			sent = x->crowd ? pace_asleep(due) : pace(due, &x->spun);
			late = sent - due;
		}
		if (sent >= until)
			return;
		send_one(x, sent);
		x->n++;
		// Not ours is what the send before took: lateness counts from the later of the due time and its return.
		hist_record(x->lateness, late);
		steps_add(&x->steps, sent - x->start, 1);
	}
}

static void *warm_up(void *arg) {
	struct sender *x = arg;
	const struct params *p = x->p;
	int64_t last = x->begun + p->warmup_max_ns, step = x->begun;
	sender_begin(x, x->begun);
	for (;;) {
		step += max64(p->warmup_ns / 4, 1000000);
		int64_t until = min64(step, last);
		if (p->rate)
			paced(x, INT64_MAX, until);
		else
			flood(x, until, INT64_MAX);
		int64_t now = now_ns();
		if (until == last || (now - x->begun >= p->warmup_ns && x->n * x->step >= p->warmup_ops))
			return NULL;
		step = max64(step, now);
	}
}

// control sends a mark or a finish and waits for the answer, which comes when all before it was received.
static void control(struct sender *x, enum kind k, int64_t stamp) {
	unsigned char m[ENVELOPE], *answer;
	put_envelope(m, sizeof m, ++x->seq, stamp, k);
	conn_send(x->conn, m, sizeof m);
	ssize_t n = conn_recv(x->conn, &answer);
	if (n < 0)
		die("receive the answer to message %llu: the server has gone", (unsigned long long)x->seq);
	check_envelope(answer, (size_t)n, x->seq, k);
	if (k == MARK)
		same_time(answer);
}

static void *window(void *arg) {
	struct sender *x = arg;
	const struct params *p = x->p;
	pthread_mutex_lock(&x->gate->lock);
	while (!x->gate->open)
		pthread_cond_wait(&x->gate->changed, &x->gate->lock);
	pthread_mutex_unlock(&x->gate->lock);
	if (p->rate) {
		int64_t n = messages_due(p), end = schedule_at(x->start, p->rate, n);
		paced(x, n, p->count ? INT64_MAX : end); // a number of messages: all of them, however late
		if (x->crowd)
			pace_asleep(end);
		else
			pace(end, &x->spun);
	} else if (x->most) {
		flood(x, INT64_MAX, x->most);
	} else if (!p->count) {
		flood(x, x->start + p->window_ns, INT64_MAX);
	}
	control(x, FINISH, 0);
	return NULL;
}

// open_gate begins the window.
static void open_gate(void *arg) {
	struct gate *g = arg;
	int64_t spun = 0;
	pace(g->start, &spun);
	cpu_read(g->cpu, g->cpu->from);
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

// mark_all tells every receiver when the window starts, and returns that time.
static int64_t mark_all(struct sender *x, int n) {
	int64_t lead = LEAD;
	for (int try = 0; try < LEAD_TRIES; try++) {
		int64_t start = now_ns() + lead;
		for (int i = 0; i < n; i++)
			control(&x[i], MARK, start);
		if (now_ns() < start)
			return start;
		lead *= 2;
	}
	die("the receiver takes more than %lld ms to answer that the window begins", (long long)lead / 2000000);
}

static void client(struct side *s) {
	const struct params *p = s->p;
	struct measurement *m = &s->m;
	int n = s->conns;
	stable_clock();
	if (p->rate)
		prctl(PR_SET_TIMERSLACK, 1); // of the threads that are made, too
	struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .cpu = &m->cpu};
	struct sender *x = must_alloc((size_t)n * sizeof *x);
	int64_t begun = now_ns();
	for (int i = 0; i < n; i++) {
		int64_t most = share(p, i, n);
		x[i] = (struct sender){.conn = &s->conn[i], .p = p, .index = i, .step = n, .most = most, .every = timed_every(p, most),
			.message = counter_message(p), .size = counter_size(p), .crowd = n > 1, .lateness = p->rate ? hist_new() : NULL,
			.begun = begun, .gate = &gate};
		steps_make(&x[i].steps, p);
	}
	parallel(warm_up, x, sizeof *x, n, NULL, NULL);
	m->warmup_ns = now_ns() - begun;
	for (int i = 0; i < n; i++)
		m->warmup_ops += x[i].n;
	cpu_window_of(&m->cpu, s->start);
	say("measuring");
	gate.start = mark_all(x, n);
	for (int i = 0; i < n; i++)
		sender_begin(&x[i], gate.start);
	parallel(window, x, sizeof *x, n, open_gate, &gate);
	cpu_read(&m->cpu, m->cpu.till);
	m->window_ns = now_ns() - gate.start;
	m->rss = resident_bytes();
	say("done");
	m->loop = "open";
	m->hops = 1;
	m->request_bytes = (int64_t)counter_size(p);
	for (int i = 0; i < n; i++) {
		m->sent += x[i].n;
		m->pacer_ns += x[i].spun;
		steps_sum(&m->sent_steps, &x[i].steps, m->window_ns);
		if (m->lateness) {
			hist_add(m->lateness, x[i].lateness);
			free(x[i].lateness);
		} else {
			m->lateness = x[i].lateness;
		}
		free(x[i].message);
	}
	if (n > 1)
		fact(&m->facts, "channels", "%d", n);
	free(x);
}

struct receiver {
	struct conn *conn;
	const struct params *p;
	int64_t every, most, span; // span is the planned length of a window by time
	unsigned char *own;
	size_t size;
	bool sizes; // notes the resident size, as one of the channels does
	struct tracker tracker;
	struct one_way latency; // at max it would only tell how long the buffers are
	int64_t start, last, pending, noted; // last: when a message of the window was received; pending: messages since then
	struct counts steps, rss;
	int rss_room;
	int64_t thirds[3], next_size;
};

static void note_size(struct receiver *x, int64_t now) {
	if (x->rss.n < x->rss_room)
		x->rss.at[x->rss.n++] = resident_bytes();
	x->next_size = x->start + (max64(now - x->start, 0) / SECOND + 1) * SECOND;
}

// note counts the messages since the last reading of the clock.
static void note(struct receiver *x, int64_t now) {
	int64_t third = x->most ? x->noted * 3 / x->most : max64(now - x->start, 0) * 3 / x->span;
	x->thirds[min64(third, 2)] += x->pending;
	steps_add(&x->steps, now - x->start, x->pending);
	x->noted += x->pending;
	x->last = now;
	x->pending = 0;
	if (x->sizes && now >= x->next_size)
		note_size(x, now);
}

static void receiver_begin(struct receiver *x, int64_t start, uint64_t first) {
	tracker_begin(&x->tracker, first);
	x->start = x->last = start;
	x->pending = x->noted = 0;
	memset(x->thirds, 0, sizeof x->thirds);
	x->rss.n = 0;
	steps_clear(&x->steps);
	if (x->latency.sent)
		one_way_begin(&x->latency, start, first);
	if (x->sizes)
		note_size(x, start);
}

static void data(struct receiver *x, const unsigned char *msg, size_t n) {
	uint64_t seq = check_data(x->own, x->size, msg, n);
	int64_t stamp = (int64_t)get64(msg + 8);
	tracker_see(&x->tracker, seq);
	if (++x->pending < x->every)
		return;
	int64_t now = now_ns();
	note(x, now);
	if (x->latency.sent)
		one_way_record(&x->latency, seq, stamp, now);
}

// receive ends when the sender has finished.
static void *receive(void *arg) {
	struct receiver *x = arg;
	for (;;) {
		unsigned char *msg, answer[ENVELOPE];
		ssize_t got = conn_recv(x->conn, &msg);
		if (got < 0)
			die("receive message %llu: the client went away before it had finished", (unsigned long long)x->tracker.next);
		size_t n = (size_t)got;
		enum kind k = (enum kind)kind_of(msg, n);
		if (k == DATA) {
			data(x, msg, n);
			continue;
		}
		uint64_t seq = x->tracker.next;
		if (k != MARK && k != FINISH)
			die("message %llu is of kind %u, which a sender does not send", (unsigned long long)seq, (unsigned)k);
		check_envelope(msg, n, seq, k);
		if (n != ENVELOPE)
			die("message %llu of kind %u carries %zu B, want none", (unsigned long long)seq, (unsigned)k, n - ENVELOPE);
		if (k == FINISH && x->pending)
			note(x, now_ns());
		if (k == MARK)
			receiver_begin(x, (int64_t)get64(msg + 8), seq + 1);
		put_envelope(answer, sizeof answer, seq, (int64_t)time_namespace(), k);
		conn_send(x->conn, answer, sizeof answer);
		if (k == FINISH)
			return NULL;
	}
}

static void server(struct side *s) {
	const struct params *p = s->p;
	struct measurement *m = &s->m;
	int n = s->conns;
	stable_clock();
	struct receiver *x = must_alloc((size_t)n * sizeof *x);
	for (int i = 0; i < n; i++) {
		struct receiver *r = &x[i];
		r->conn = &s->conn[i];
		r->p = p;
		r->most = share(p, i, n);
		r->every = timed_every(p, r->most);
		r->span = p->rate ? planned(p) : p->window_ns;
		r->own = counter_message(p);
		r->size = counter_size(p);
		steps_make(&r->steps, p);
		if (p->rate)
			one_way_make(&r->latency, p->rate, i, n);
		tracker_begin(&r->tracker, 1);
	}
	x->sizes = true;
	x->rss_room = x->steps.n / 10 + 1;
	x->rss.at = must_alloc((size_t)x->rss_room * sizeof *x->rss.at);
	parallel(receive, x, sizeof *x, n, NULL, NULL);
	m->rss = resident_bytes();
	m->window_ns = planned(p);
	for (int i = 0; i < n; i++)
		m->window_ns = max64(m->window_ns, x[i].last - x[i].start);
	for (int i = 0; i < n; i++) {
		tracker_fill(&x[i].tracker, m);
		for (int j = 0; j < 3; j++)
			m->thirds[j] += x[i].thirds[j];
		steps_sum(&m->received_steps, &x[i].steps, m->window_ns);
		if (x[i].latency.sent)
			one_way_fill(&x[i].latency, m);
		free(x[i].own);
	}
	m->rss_sizes = x->rss;
	m->payload_bytes = m->received * p->payload;
	free(x);
}

const struct scenario data_rate = {.name = "data-rate", .pattern = STREAM, .max_message = counter_size,
	.client = client, .server = server};
