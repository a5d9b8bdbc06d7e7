// lat: the plainest latency program on a messaging library, as the libraries' own are: send, receive, and nothing else in the
// loop; the mean of one way at the end. scripts/truth compares workers with it where a machine lacks the library's own.
//
//	lat local  ADDRESS SIZE COUNT    echoes COUNT messages
//	lat remote ADDRESS SIZE COUNT    sends them, and prints "average latency: 12.345 [us]", which is RTT/2
//
// Exit code 0; 1 with a line on stderr when a call of the library fails or a message has another size.
#ifndef LAT_H
#define LAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// What each library gives. send_one sends the message in hand, receive_one puts
// the next one in its place.
static void open_end(bool listens, const char *address, size_t size);
static void send_one(void);
static void receive_one(void);
static void close_end(void);

static _Noreturn void failed(const char *what, const char *why)
{
	fprintf(stderr, "lat: %s: %s\n", what, why);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: lat local|remote ADDRESS SIZE COUNT\n");
		return 2;
	}
	bool listens = strcmp(argv[1], "local") == 0;
	long count = atol(argv[4]);
	open_end(listens, argv[2], (size_t)atol(argv[3]));
	double begun = now_us();
	for (long i = 0; i < count; i++) {
		if (listens) {
			receive_one();
			send_one();
		} else {
			send_one();
			receive_one();
		}
	}
	if (!listens)
		printf("average latency: %.3f [us]\n", (now_us() - begun) / (double)(2 * count));
	close_end();
	return 0;
}

#endif
