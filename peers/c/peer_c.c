// The peer `c`: the transports without a library.
#include "worker.h"

extern const struct transport pipe_transport, shm_transport, uds_transport, tcp_transport;

const char *const peer_name = "c";
const bool peer_library = false;
const bool peer_port0 = true;
const struct transport *const peer_transports[] = {&pipe_transport, &shm_transport, &uds_transport, &tcp_transport, NULL};

void peer_versions(FILE *out) { fprintf(out, "\"compiler\":\"%s\"", __VERSION__); }
