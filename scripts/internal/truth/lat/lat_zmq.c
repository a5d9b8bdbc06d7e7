// lat on libzmq: REQ connects to a REP that binds.
//
//	cc -O2 -o lat_zmq lat_zmq.c -lzmq
#include "lat.h"

#include <zmq.h>

static void *context, *end;
static zmq_msg_t msg;
static size_t want;

static void check(int rc, const char *what)
{
	if (rc < 0)
		failed(what, zmq_strerror(zmq_errno()));
}

static void open_end(bool listens, const char *address, size_t size)
{
	want = size;
	context = zmq_ctx_new();
	end = zmq_socket(context, listens ? ZMQ_REP : ZMQ_REQ);
	check(listens ? zmq_bind(end, address) : zmq_connect(end, address), address);
	check(zmq_msg_init_size(&msg, size), "message");
	memset(zmq_msg_data(&msg), 0, size);
}

static void send_one(void) { check(zmq_msg_send(&msg, end, 0), "send"); }

static void receive_one(void)
{
	check(zmq_msg_recv(&msg, end, 0), "receive");
	if (zmq_msg_size(&msg) != want)
		failed("receive", "a message of another size");
}

static void close_end(void)
{
	zmq_msg_close(&msg);
	zmq_close(end);
	zmq_ctx_term(context);
}
