// A worker: one role of one sample, as docs/worker-protocol.md has it.
#include "worker.h"

#include <stdlib.h>
#include <sys/mman.h>

const struct scenario *const scenario_table[] = {&ping_pong, &batch, &pipeline, &pipeline_batch, &snapshot, &lookup,
	&broadcast, &data_rate, NULL};

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
		else if (IS("endpoint") && p->endpoints < MAX_CONNS)
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
		else if (IS("channels"))
			p->channels = (int)number(key, value);
		else if (IS("port") && p->ports < MAX_CONNS)
			p->port[p->ports++] = (int)number(key, value);
		// Other dimensions do not concern these scenarios.
#undef IS
	}
	if (!p->role || !p->scenario || !p->transport)
		die("want role=, scenario= and transport=");
	if (p->payload < -1 || p->rate < 0 || p->count < 0 || p->window_ns <= 0 || p->depth < 1 ||
			p->channels < 1 || p->channels > MAX_CONNS)
		die("want payload_bytes, target_rps and count of 0 or more, depth and channels of 1 or more (channels at most %d), duration_ns above 0",
			MAX_CONNS);
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

// connect_side listens or dials, and says that it is ready.
static void connect_side(struct side *s, const struct scenario *scenario, bool listens) {
	const struct params *p = s->p;
	const struct transport *t = find_transport(p);
	struct options o = {.dir = p->dir ? p->dir : ".", .wait = p->wait, .pattern = scenario->pattern, .depth = p->depth,
		.max_message = scenario->max_message(p), .buffer = p->buffer, .nagle = p->nagle, .ipc = t->ipc};
	s->conns = listens ? scenario->broadcast ? 1 : p->channels : p->endpoints;
	if (s->conns < 1)
		die("want an endpoint=");
	s->conn = must_alloc((size_t)s->conns * sizeof *s->conn);
	for (int i = 0; i < s->conns; i++) {
		struct conn *c = &s->conn[i];
		c->t = t;
		if (!listens) {
			c->state = t->dial(&o, p->endpoint[i]);
			continue;
		}
		char endpoint[512];
		o.port = i < p->ports ? p->port[i] : 0;
		c->state = t->listen(&o, endpoint, sizeof endpoint);
		printf("%s\"%s\"", i ? "," : "ready {\"endpoints\":[", endpoint);
	}
	if (listens)
		printf("]}\n");
	else
		printf("ready {}\n");
	fflush(stdout);
	// In the order in which the other side dials.
	for (int i = 0; listens && i < s->conns; i++)
		t->accept(s->conn[i].state);
	s->options = o;
}

int main(int argc, char **argv) {
	if (argc == 3 && strcmp(argv[1], "worker") == 0 && strcmp(argv[2], "--describe") == 0) {
		describe();
		return 0;
	}
	if (argc < 3 || strcmp(argv[1], "worker"))
		die("want: worker --describe, or worker key=value…");
	static struct params p = {.payload = -1, .depth = 1, .channels = 1, .warmup_max_ns = 1000000000};
	parse(&p, argc - 2, argv + 2);
	watch_stdin(p.role);
	if (p.mlock && mlockall(MCL_CURRENT | MCL_FUTURE))
		die_errno("lock memory");
	const struct scenario *scenario = find_scenario(&p);
	const char *dialing = scenario->broadcast ? "publisher" : "client", *listening = scenario->broadcast ? "subscriber" : "server";
	bool listens = strcmp(p.role, listening) == 0;
	if ((!listens && strcmp(p.role, dialing)) || (listens && !scenario->server))
		die("scenario %s has no role \"%s\"", p.scenario, p.role);
	static struct side side;
	side.p = &p;
	if (scenario->no_transport)
		say("ready {}");
	else
		connect_side(&side, scenario, listens);
	side.start = await_start();
	(listens ? scenario->server : scenario->client)(&side);
	run_is_over();
	if (side.conns)
		side.conn->t->facts(side.conn->state, &side.m.facts);
	print_result(&side.m, p.role);
	await_stop();
	if (side.own.t)
		side.own.t->close(side.own.state);
	for (int i = 0; i < side.conns; i++)
		side.conn[i].t->close(side.conn[i].state);
	free(side.conn);
	void *made[] = {side.m.latency, side.m.service, side.m.lateness, side.m.sent_steps.at, side.m.received_steps.at, side.m.rss_sizes.at};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		free(made[i]);
	return 0;
}
