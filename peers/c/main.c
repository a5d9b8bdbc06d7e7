// A worker: one role of one sample, as docs/worker-protocol.md has it.
#include "worker.h"

#include <stdlib.h>
#include <errno.h>
#include <sys/mman.h>

const struct scenario *const scenario_table[] = {&ping_pong, &batch, &pipeline, &pipeline_batch, &snapshot, &lookup, NULL};

static void describe(void) {
	printf("hello 1 {\"peer\":\"%s\",\"transports\":[", peer_name);
	for (int i = 0; peer_transports[i]; i++)
		printf("%s\"%s\"", i ? "," : "", peer_transports[i]->name);
	printf("],\"scenarios\":[");
	for (int i = 0; scenario_table[i]; i++)
		if (!scenario_table[i]->no_transport || !peer_library)
			printf("%s\"%s\"", i ? "," : "", scenario_table[i]->name);
	printf("],\"versions\":{");
	peer_versions(stdout);
	printf("},\"port0\":%s}\n", peer_port0 ? "true" : "false");
}

static int64_t number(const char *key, const char *value) {
	char *end;
	long long v = strtoll(value, &end, 10);
	if (end == value || *end)
		die("%s: \"%s\" is not a number", key, value);
	return v;
}

static void parse(struct params *p, int argc, char **argv) {
	for (int i = 0; i < argc; i++) {
		char *key = argv[i], *value = strchr(key, '=');
		if (!value)
			die("\"%s\": want key=value", key);
		*value++ = 0;
#define IS(name) (strcmp(key, name) == 0)
		if (IS("role"))
			p->role = value;
		else if (IS("scenario"))
			p->scenario = value;
		else if (IS("transport"))
			p->transport = value;
		else if (IS("dir"))
			p->dir = value;
		else if (IS("mode"))
			p->mode = value;
		else if (IS("wait"))
			p->wait = value;
		else if (IS("nodelay"))
			p->nagle = strcmp(value, "off") == 0;
		else if (IS("endpoint") && p->endpoints < 64)
			p->endpoint[p->endpoints++] = value;
		else if (IS("payload_bytes"))
			p->payload = (int)number(key, value);
		else if (IS("target_rps"))
			p->rate = strcmp(value, "max") == 0 ? 0 : number(key, value);
		else if (IS("warmup_ns"))
			p->warmup_ns = number(key, value);
		else if (IS("warmup_ops"))
			p->warmup_ops = number(key, value);
		else if (IS("warmup_max_ns"))
			p->warmup_max_ns = number(key, value);
		else if (IS("duration_ns"))
			p->window_ns = number(key, value);
		else if (IS("count"))
			p->count = number(key, value);
		else if (IS("depth"))
			p->depth = (int)number(key, value);
		else if (IS("buffer"))
			p->buffer = (int)number(key, value);
		else if (IS("mlock"))
			p->mlock = strcmp(value, "on") == 0;
		else if (IS("port"))
			p->port = (int)number(key, value);
		// Other dimensions do not concern these scenarios.
#undef IS
	}
	if (!p->role || !p->scenario || !p->transport)
		die("want role=, scenario= and transport=");
	if (p->payload < -1 || p->rate < 0 || p->count < 0 || p->window_ns <= 0 || p->depth < 1)
		die("want payload_bytes, target_rps and count of 0 or more, depth of 1 or more, duration_ns above 0");
}

static const struct scenario *find_scenario(const struct params *p) {
	for (int i = 0; scenario_table[i]; i++)
		if (strcmp(scenario_table[i]->name, p->scenario) == 0)
			return scenario_table[i];
	die("unknown scenario \"%s\"", p->scenario);
}

static const struct transport *find_transport(const struct params *p) {
	for (int i = 0; peer_transports[i]; i++)
		if (strcmp(peer_transports[i]->name, p->transport) == 0)
			return peer_transports[i];
	die("unknown transport \"%s\"", p->transport);
}

static void ready(const char *endpoint) {
	if (endpoint)
		printf("ready {\"endpoints\":[\"%s\"]}\n", endpoint);
	else
		printf("ready {}\n");
	fflush(stdout);
}

// connect_side listens or dials, and says that it is ready.
static void connect_side(struct conn *c, const struct scenario *s, const struct params *p, bool listens) {
	c->t = find_transport(p);
	struct options o = {.dir = p->dir ? p->dir : ".", .wait = p->wait, .pattern = s->pattern, .max_message = s->max_message(p),
		.depth = p->depth, .port = p->port, .buffer = p->buffer, .nagle = p->nagle};
	if (listens) {
		char endpoint[512];
		c->state = c->t->listen(&o, endpoint, sizeof endpoint);
		ready(endpoint);
		c->t->accept(c->state);
		return;
	}
	if (p->endpoints != 1)
		die("want one endpoint=, got %d", p->endpoints);
	c->state = c->t->dial(&o, p->endpoint[0]);
	ready(NULL);
}

int main(int argc, char **argv) {
	if (argc == 3 && strcmp(argv[1], "worker") == 0 && strcmp(argv[2], "--describe") == 0) {
		describe();
		return 0;
	}
	if (argc < 3 || strcmp(argv[1], "worker"))
		die("want: worker --describe, or worker key=value…");
	static struct params p = {.payload = -1, .depth = 1, .warmup_max_ns = 1000000000};
	parse(&p, argc - 2, argv + 2);
	watch_stdin(p.role);
	if (p.mlock && mlockall(MCL_CURRENT | MCL_FUTURE))
		die("lock memory: %s", strerror(errno));
	const struct scenario *scenario = find_scenario(&p);
	bool listens = strcmp(p.role, "server") == 0;
	if ((!listens && strcmp(p.role, "client")) || (listens && !scenario->server))
		die("scenario %s has no role \"%s\"", p.scenario, p.role);
	struct conn conn = {0};
	static struct side side;
	side.p = &p;
	if (scenario->no_transport) {
		ready(NULL);
	} else {
		connect_side(&conn, scenario, &p, listens);
		side.conn = &conn;
	}
	side.start = await_start();
	(listens ? scenario->server : scenario->client)(&side);
	run_is_over();
	if (conn.t)
		conn.t->facts(conn.state, &side.m.facts);
	print_result(&side.m, p.role);
	await_stop();
	if (conn.t)
		conn.t->close(conn.state);
	for (int i = 0; i < 3; i++) {
		struct hist *h[] = {side.m.latency, side.m.service, side.m.lateness};
		hist_free(h[i]);
	}
	return 0;
}
