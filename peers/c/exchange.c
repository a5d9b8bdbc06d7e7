// The envelope of each message, who counts them, and the server that answers.
#include "worker.h"

void put_envelope(unsigned char *msg, size_t n, uint64_t seq, int64_t stamp, enum kind k) {
	put64(msg, seq);
	put64(msg + 8, (uint64_t)stamp);
	put32(msg + 16, k);
	put32(msg + 20, (uint32_t)(n - ENVELOPE));
	put64(msg + 24, 0);
}

void wrong_envelope(const unsigned char *msg, size_t n, uint64_t seq, enum kind k) {
	if (n < ENVELOPE)
		die("a message of %zu B is shorter than its envelope of %d B", n, ENVELOPE);
	unsigned long long got = get64(msg), want = seq;
	if (get32(msg + 20) != n - ENVELOPE)
		die("message %llu says it carries %u B, but %zu B came", got, get32(msg + 20), n - ENVELOPE);
	if (get32(msg + 16) != k)
		die("message %llu is of kind %u, want %d", got, get32(msg + 16), (int)k);
	if (got == want - 1)
		die("message %llu came twice", got);
	if (got < want)
		die("message %llu came late: %llu was expected", got, want);
	if (got > want)
		die("message %llu came where %llu was expected: %llu lost", got, want, got - want);
	die("message %llu: the last 8 B of its envelope are not zero", got);
}

void request_send(struct requester *r, unsigned char *msg, size_t n, int64_t now, enum kind k) {
	put_envelope(msg, n, ++r->seq, now, k);
	conn_send(r->conn, msg, n);
}

size_t reply_receive(struct requester *r, unsigned char **msg, enum kind k) {
	ssize_t n = conn_recv(r->conn, msg);
	if (n < 0)
		die("receive reply %llu: the server has gone", (unsigned long long)r->replied + 1);
	check_envelope(*msg, (size_t)n, ++r->replied, k);
	return (size_t)n;
}

void requester_control(struct requester *r, enum kind k) {
	unsigned char msg[ENVELOPE], *reply;
	request_send(r, msg, sizeof msg, 0, k);
	reply_receive(r, &reply, k);
}

unsigned char *answer(unsigned char *out, unsigned char *request, size_t n) {
	if (n > SMALL_MESSAGE)
		return request; // writing into a shared line of the client's costs less than copying all of this
	return memcpy(out, request, n);
}

void serve(struct side *s, handler *handle, void *self) {
	uint64_t seq = 0;
	for (;;) {
		unsigned char *request, *reply;
		ssize_t got = conn_recv(s->conn, &request);
		if (got < 0)
			die("receive request %llu: the client went away before it had finished", (unsigned long long)seq + 1);
		size_t n = (size_t)got;
		uint32_t k = kind_of(request, n);
		check_envelope(request, n, ++seq, (enum kind)k);
		reply = request;
		switch (k) {
		case REQUEST:
			n = handle(self, request, n, seq, &reply);
			s->m.received++;
			put32(reply + 16, REPLY);
			break;
		case MARK:
			s->m.received = 0;
			break;
		case FINISH:
			s->m.rss = resident_bytes();
			break;
		default:
			die("message %llu is of kind %u, which a client does not send", (unsigned long long)seq, k);
		}
		conn_send(s->conn, reply, n);
		if (k == FINISH)
			return;
	}
}
