// broadcast, the publisher: each message goes to all subscribers, through the library's own broadcast where there is one, else
// over their connections one after the other.
#define _GNU_SOURCE
#include "oneway.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_ENDPOINT = 512, AGAIN_NS = 5000000 };
// How long before its start the window is announced, at first: twice that where the answers come too late, and so on.
enum { LEAD = 20000000, LEAD_TRIES = 6, EARLIER = 1000000 };

struct publisher {
	struct side *s;
	uint64_t seq;
	unsigned char *message;
	size_t size;
	bool pull;
};

static size_t broadcast_message(const struct params *p) {
	return ENVELOPE + (size_t)(p->payload > MAX_ENDPOINT ? p->payload : MAX_ENDPOINT);
}

static void to_all(struct publisher *x, const unsigned char *msg, size_t n) {
	if (x->s->own.t) {
		conn_send(&x->s->own, msg, n);
		return;
	}
	for (int i = 0; i < x->s->conns; i++)
		conn_send(&x->s->conn[i], msg, n);
}

// answers receives one message of that kind and number from every subscriber.
static void answers(struct publisher *x, enum kind k, uint64_t seq) {
	for (int i = 0; i < x->s->conns; i++) {
		unsigned char *msg;
		ssize_t n = conn_recv(&x->s->conn[i], &msg);
		if (n < 0)
			die("subscriber %d has gone", i + 1);
		check_envelope(msg, (size_t)n, seq, k);
		if (k == MARK)
			same_time(msg);
	}
}

struct listener {
	struct publisher *x;
	enum kind k;
	uint64_t seq;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool answered;
};

static void *hear(void *arg) {
	struct listener *l = arg;
	answers(l->x, l->k, l->seq);
	pthread_mutex_lock(&l->lock);
	l->answered = true;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

// announce sends a control message, again and again where it may be lost, until every subscriber has answered it.
static void announce(struct publisher *x, enum kind k, uint64_t seq, int64_t stamp) {
	unsigned char msg[ENVELOPE];
	put_envelope(msg, sizeof msg, seq, stamp, k);
	to_all(x, msg, sizeof msg);
	if (!x->s->own.t) {
		answers(x, k, seq);
		return;
	}
	struct listener l = {.x = x, .k = k, .seq = seq, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l.changed, &attr);
	pthread_t thread;
	if (pthread_create(&thread, NULL, hear, &l))
		die("no thread to hear the subscribers");
	pthread_mutex_lock(&l.lock);
	while (!l.answered) {
		int64_t t = now_ns() + AGAIN_NS;
		struct timespec until = {t / 1000000000, t % 1000000000};
		if (pthread_cond_timedwait(&l.changed, &l.lock, &until) == ETIMEDOUT && !l.answered) {
			pthread_mutex_unlock(&l.lock);
			to_all(x, msg, sizeof msg);
			pthread_mutex_lock(&l.lock);
		}
	}
	pthread_mutex_unlock(&l.lock);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&l.changed);
	pthread_condattr_destroy(&attr);
}

// hello tells every subscriber where the library's own broadcast is, if there is one.
static void hello(struct publisher *x) {
	unsigned char msg[ENVELOPE + MAX_ENDPOINT];
	char endpoint[MAX_ENDPOINT] = "";
	const struct transport *t = x->s->conn->t;
	if (t->publish) {
		struct options o = x->s->options;
		x->s->own = (struct conn){t, t->publish(&o, endpoint, sizeof endpoint)};
	}
	size_t n = ENVELOPE + strlen(endpoint);
	memcpy(msg + ENVELOPE, endpoint, strlen(endpoint));
	put_envelope(msg, n, 0, 0, HELLO);
	for (int i = 0; i < x->s->conns; i++)
		conn_send(&x->s->conn[i], msg, n);
	if (!t->publish)
		return;
	// Whoever has the first announcement is connected; before that, a broadcast reaches nobody, and says nothing.
	announce(x, HELLO, 0, 0);
	t->unlisted(x->s->own.state);
}

static int64_t mark(void *self) {
	struct publisher *x = self;
	int64_t lead = LEAD;
	for (int try = 0; try < LEAD_TRIES; try++) {
		int64_t start = now_ns() + lead;
		announce(x, MARK, x->seq, start);
		// Shortly before, so that reading the CPU clocks does not make the first publication late.
		if (now_ns() < start - EARLIER) {
			pace_asleep(start - EARLIER);
			return start;
		}
		lead *= 2;
	}
	die("the subscribers take more than %lld ms to answer that the window begins", (long long)lead / 2000000);
}

// settle ends a window, which lasts until the last message has arrived. In pull mode everyone has asked for the next already.
static void settle(void *self) {
	struct publisher *x = self;
	if (!x->pull)
		announce(x, FINISH, x->seq, 0);
}

static void finish(void *self) {
	struct publisher *x = self;
	if (x->pull)
		announce(x, FINISH, x->seq, 0);
}

static int64_t publication(void *self, int64_t now, int64_t *since) {
	(void)since;
	struct publisher *x = self;
	stamp_data(x->message, x->size, ++x->seq, now);
	to_all(x, x->message, x->size);
	if (x->pull)
		answers(x, NEXT, x->seq);
	return 1;
}

static void facts(struct publisher *x, struct facts *f) {
	if (!x->s->own.t) {
		fact(f, "broadcast", "fan-out");
		return;
	}
	fact(f, "broadcast", "native");
	fact(f, "lossy", "yes");
	broadcast_facts(&x->s->own, f);
}

static void publish(struct side *s) {
	const struct params *p = s->p;
	const char *mode = p->mode ? p->mode : "";
	stable_clock();
	struct publisher x = {.s = s, .message = counter_message(p), .size = counter_size(p), .pull = strcmp(mode, "pull") == 0};
	hello(&x);
	struct op op = {.run = publication, .mark = mark, .settle = settle, .finish = finish, .self = &x};
	drive(s, NULL, &op);
	struct measurement *m = &s->m;
	free(m->latency); // the publisher's own calls: subscribers know the latencies
	free(m->service);
	m->latency = m->service = NULL;
	m->loop = x.pull ? "closed" : "open";
	m->latency_kind = strcmp(mode, "flood") ? "one-way" : NULL;
	m->request_bytes = (int64_t)x.size;
	facts(&x, &m->facts);
	free(x.message);
}

const struct scenario broadcast = {.name = "broadcast", .pattern = STREAM, .broadcast = true, .max_message = broadcast_message,
	.client = publish, .server = subscribe};
