// Histograms of durations. Values below 2048 ns have a bucket each; above, each power of two has 1024.
#include "worker.h"

enum { HALF = 1024, SHIFTS = 26 };
static const int64_t HIGHEST = 60000000000;

struct hist {
	int64_t min, max, sum, count, clamped;
	int64_t buckets[(SHIFTS + 2) * HALF];
};

struct hist *hist_new(void) {
	struct hist *h = must_alloc(sizeof *h);
	memset(h->buckets, 1, sizeof h->buckets); // so that its pages are there
	hist_reset(h);
	return h;
}

void hist_reset(struct hist *h) {
	memset(h, 0, sizeof *h);
	h->min = INT64_MAX;
	h->max = INT64_MIN;
}

void hist_record(struct hist *h, int64_t ns) {
	h->min = ns < h->min ? ns : h->min;
	h->max = ns > h->max ? ns : h->max;
	h->sum += ns;
	h->count++;
	if (ns < 1 || ns > HIGHEST) {
		h->clamped++;
		ns = ns < 1 ? 1 : HIGHEST;
	}
	// The 11 highest bits of ns.
	int shift = 53 - __builtin_clzll((uint64_t)ns);
	if (shift < 0)
		shift = 0;
	h->buckets[(int64_t)shift * HALF + (ns >> shift)]++;
}

void hist_add(struct hist *h, const struct hist *from) {
	h->min = from->min < h->min ? from->min : h->min;
	h->max = from->max > h->max ? from->max : h->max;
	h->sum += from->sum;
	h->count += from->count;
	h->clamped += from->clamped;
	for (size_t i = 0; i < sizeof h->buckets / sizeof *h->buckets; i++)
		h->buckets[i] += from->buckets[i];
}

// hist_json prints {"min":…,"values":[[ns,count],…]}, or null when it is empty.
void hist_json(const struct hist *h, FILE *out) {
	if (!h->count) {
		fputs("null", out);
		return;
	}
	fprintf(out, "{\"min\":%lld,\"max\":%lld,\"sum\":%lld,", (long long)h->min, (long long)h->max, (long long)h->sum);
	if (h->clamped)
		fprintf(out, "\"clamped\":%lld,", (long long)h->clamped);
	fputs("\"values\":[", out);
	const char *comma = "";
	for (int64_t i = 1; i < (int64_t)(sizeof h->buckets / sizeof *h->buckets); i++) {
		if (!h->buckets[i])
			continue;
		// Bucket i holds (i - shift*HALF) << shift and what follows; the middle of it stands for all.
		int64_t shift = i < 2 * HALF ? 0 : i / HALF - 1;
		int64_t low = (i - shift * HALF) << shift, middle = low + ((int64_t)1 << shift) / 2;
		fprintf(out, "%s[%lld,%lld]", comma, (long long)(middle > HIGHEST ? HIGHEST : middle), (long long)h->buckets[i]);
		comma = ",";
	}
	fputs("]}", out);
}
