// I/O on descriptors with the three wait strategies, and frames over byte streams.
#ifndef MSGBENCH_RAWFD_H
#define MSGBENCH_RAWFD_H

#include "worker.h"

enum wait { BLOCK, SPIN, HYBRID };
// wait_of reads a wait strategy; NULL is the default.
enum wait wait_of(const char *text, enum wait standard);

// rawfd is one connection: a socket, or the reading end of one pipe and the writing end of another.
struct rawfd {
	int r, w;
	bool socket;
	enum wait wait;
};
void rawfd_make(struct rawfd *f, int r, int w, bool socket, enum wait wait);
// rawfd_read reads what is there and waits if there is nothing; 0 at the peer's end. For packets, the packet's whole length.
size_t rawfd_read(struct rawfd *f, unsigned char *p, size_t n, bool packet);
// rawfd_write writes a and then b, all of them, with one call where there is room.
void rawfd_write(struct rawfd *f, const unsigned char *a, size_t na, const unsigned char *b, size_t nb);
void rawfd_close(struct rawfd *f);

// stream carries frames: u32 length, message.
struct stream {
	struct rawfd fd;
	size_t max, room, r, w; // in[r..w] is read and not yet returned
	unsigned char *in, *out;
};
void stream_make(struct stream *s, size_t max);
void stream_send(struct stream *s, const unsigned char *msg, size_t n);
ssize_t stream_recv(struct stream *s, unsigned char **msg);
void stream_free(struct stream *s);

// For handshakes: read or write exactly n bytes before ms have passed. false: it did not come, or the peer has gone.
bool read_within(int fd, void *p, size_t n, int ms);
bool write_all(int fd, const void *p, size_t n);
void poll_sleep(int ms);
// set_buffers asks the kernel for buffers of so many bytes, which it doubles; 0 leaves them.
void set_buffers(int fd, int bytes);
int sockopt(int fd, int level, int option);
// a new path of at most 100 B in dir, with this ending
void new_path(const char *dir, const char *ending, char *path, size_t room);
enum { PATH_ROOM = 128, ADDRESS_ROOM = 160 };
// new_address is where a socket of a library may listen: this port of 127.0.0.1, or for ipc a new path, which is empty for tcp.
void new_address(const struct options *o, const char *port, char *address, char *path);

#endif
