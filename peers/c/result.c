// The result of a role as JSON.
#include "worker.h"

#include <stdarg.h>

void fact(struct facts *f, const char *name, const char *format, ...) {
	int i = 0;
	while (i < f->n && strcmp(f->name[i], name))
		i++;
	if (i == (int)(sizeof f->name / sizeof *f->name))
		die("more than %d facts", i);
	f->n = i < f->n ? f->n : i + 1;
	va_list args;
	va_start(args, format);
	snprintf(f->name[i], sizeof *f->name, "%s", name);
	vsnprintf(f->value[i], sizeof *f->value, format, args);
	va_end(args);
}

static void number(const char *name, int64_t v) {
	if (v)
		printf(",\"%s\":%lld", name, (long long)v);
}

static void histogram(const char *name, const struct hist *h) {
	if (!h)
		return;
	printf(",\"%s\":", name);
	hist_json(h, stdout);
}

static void cpu(const struct cpu_window *w) {
	if (!w->n)
		return;
	printf(",\"cpu_ns\":{");
	const char *comma = "";
	for (int i = 0; i < w->n; i++) {
		if (i && strcmp(w->role[i], w->role[i - 1]) == 0)
			continue; // processes of one role stand together, and are added up
		int64_t sum = 0;
		for (int j = i; j < w->n && strcmp(w->role[i], w->role[j]) == 0; j++)
			sum += w->till[j] - w->from[j];
		printf("%s\"%s\":%lld", comma, w->role[i], (long long)sum);
		comma = ",";
	}
	printf("}");
}

static void numbers(const char *name, struct counts c) {
	if (!c.at)
		return;
	printf("%s[", name);
	for (int i = 0; i < c.n; i++)
		printf("%s%lld", i ? "," : "", (long long)c.at[i]);
	printf("]");
}

static void series(const struct measurement *m) {
	if (!m->sent_steps.at && !m->received_steps.at)
		return;
	printf(",\"series\":{\"step_ns\":%d", STEP_NS);
	numbers(",\"sent\":", m->sent_steps);
	numbers(",\"received\":", m->received_steps);
	numbers(",\"rss_bytes\":", m->rss_sizes);
	printf("}");
}

void print_result(const struct measurement *m, const char *role) {
	printf("result {\"rss_bytes\":{\"%s\":%lld}", role, (long long)m->rss);
	if (m->loop)
		printf(",\"loop\":\"%s\"", m->loop);
	if (m->latency_kind)
		printf(",\"latency\":\"%s\"", m->latency_kind);
	number("warmup_ns", m->warmup_ns);
	number("warmup_ops", m->warmup_ops);
	number("window_ns", m->window_ns);
	number("ops", m->ops);
	number("messages", m->messages);
	number("payload_bytes", m->payload_bytes);
	number("sent", m->sent);
	number("received", m->received);
	number("lost", m->lost);
	number("duplicated", m->duplicated);
	number("reordered", m->reordered);
	number("clock_error_ns", m->clock_error_ns);
	histogram("latency_hist", m->latency);
	histogram("service_hist", m->service);
	histogram("lateness_hist", m->lateness);
	if (m->loop || m->received_steps.at)
		printf(",\"thirds\":[%lld,%lld,%lld]", (long long)m->thirds[0], (long long)m->thirds[1], (long long)m->thirds[2]);
	if (m->thirds_ns[2])
		printf(",\"thirds_ns\":[%lld,%lld,%lld]", (long long)m->thirds_ns[0], (long long)m->thirds_ns[1], (long long)m->thirds_ns[2]);
	series(m);
	cpu(&m->cpu);
	number("pacer_ns", m->pacer_ns);
	number("request_bytes", m->request_bytes);
	number("response_bytes", m->response_bytes);
	number("hops", m->hops);
	printf(",\"facts\":{");
	for (int i = 0; i < m->facts.n; i++)
		printf("%s\"%s\":\"%s\"", i ? "," : "", m->facts.name[i], m->facts.value[i]);
	printf("}}\n");
	fflush(stdout);
}
