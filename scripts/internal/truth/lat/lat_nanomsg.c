// lat on libnanomsg: PAIR at both ends, with TCP_NODELAY as its own program has it.
//
//	cc -O2 -o lat_nanomsg lat_nanomsg.c -lnanomsg
#include "lat.h"

#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <nanomsg/tcp.h>
#include <unistd.h>

static int end;
static char *buffer;
static size_t want;

static int check(int rc, const char *what)
{
	if (rc < 0)
		failed(what, nn_strerror(nn_errno()));
	return rc;
}

static void open_end(bool listens, const char *address, size_t size)
{
	int on = 1, unlimited = -1;
	want = size;
	buffer = calloc(size ? size : 1, 1);
	end = check(nn_socket(AF_SP, NN_PAIR), "socket");
	check(nn_setsockopt(end, NN_TCP, NN_TCP_NODELAY, &on, sizeof on), "NN_TCP_NODELAY");
	check(nn_setsockopt(end, NN_SOL_SOCKET, NN_RCVMAXSIZE, &unlimited, sizeof unlimited), "NN_RCVMAXSIZE");
	check(listens ? nn_bind(end, address) : nn_connect(end, address), address);
}

static void send_one(void) { check(nn_send(end, buffer, want, 0), "send"); }

static void receive_one(void)
{
	if ((size_t)check(nn_recv(end, buffer, want, 0), "receive") != want)
		failed("receive", "a message of another size");
}

static void close_end(void)
{
	usleep(100000); // what was sent may still be in its queue
	nn_close(end);
}
