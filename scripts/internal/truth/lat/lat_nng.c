// lat on libnng: PAIR (version 0) at both ends.
//
//	cc -O2 -o lat_nng lat_nng.c -lnng
#include "lat.h"

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/supplemental/util/platform.h>

static nng_socket end;
static nng_msg *msg;
static size_t want;

static void check(int rv, const char *what)
{
	if (rv)
		failed(what, nng_strerror(rv));
}

static void open_end(bool listens, const char *address, size_t size)
{
	want = size;
	check(nng_pair0_open(&end), "socket");
	check(listens ? nng_listen(end, address, NULL, 0) : nng_dial(end, address, NULL, 0), address);
	check(nng_msg_alloc(&msg, size), "message");
}

static void send_one(void) { check(nng_sendmsg(end, msg, 0), "send"); } // which then belongs to the library

static void receive_one(void)
{
	check(nng_recvmsg(end, &msg, 0), "receive");
	if (nng_msg_len(msg) != want)
		failed("receive", "a message of another size");
}

static void close_end(void)
{
	nng_msleep(100); // what was sent may still be in its queue
	nng_close(end);
}
