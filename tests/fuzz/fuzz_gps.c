// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What somebody at gpsd's port says, read by our client and by the real libgps, and what the clock makes of it. The
 * first byte says how the rest is cut up.
 *
 * What must be true: the same reports however the bytes come; a report's numbers are in their ranges; the clock has
 * words for each of its states, and no date before the one that is believed.
 */
#include "daemon/time/gps.c"

#include "daemon/time/clock.h"
#include "tests/fuzz/fuzz.h"

#define REPORTS	    64u
#define TEXT_MAX    30000u /* a socket takes as much at once */
#define SECOND_NS   1000000000ull
#define NOW_UTC_S   1795176000ll
#define FLOOR_UTC_S 1700000000ll

struct seen {
	struct clock_gps report[REPORTS];
	unsigned count;
};

static void on_report(void *context, const struct clock_gps *r)
{
	struct seen *s = context;

	must(r->mode <= 3 && r->satellites_used >= -1);
	must(!r->has_time || r->utc_ns > 0);
	s->report[s->count++ % REPORTS] = *r;
}

static void hear(const uint8_t *data, size_t size, size_t piece, struct seen *s)
{
	struct gps *g = gps_create("127.0.0.1", "1");
	int pair[2];

	must(g && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	g->fd = pair[0];
	g->connected = true;
	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;

		must(send(pair[1], data + at, n, MSG_NOSIGNAL) == (ssize_t)n);
		must(gps_read_reports(g, on_report, s) == 0);
	}
	close(pair[1]);
	must(gps_read_reports(g, on_report, s) == -EPIPE && gps_fd(g) == -1);
	gps_destroy(g);
}

static bool same(const struct clock_gps *a, const struct clock_gps *b)
{
	return a->mode == b->mode && a->has_time == b->has_time && a->utc_ns == b->utc_ns &&
	       (a->ept_s == b->ept_s || (isnan(a->ept_s) && isnan(b->ept_s))) &&
	       a->leapseconds == b->leapseconds && a->satellites_used == b->satellites_used;
}

/* A board with a PPS each second, and the host's clock. */
static void tell_clock(const struct seen *s)
{
	const struct clock_config config = {
		.silence_ms = 3000,
		.confirm = 3,
		.holdover_ppb = 50,
		.receiver_ns = 50,
		.fault_ns = 1000000,
		.floor_utc_s = FLOOR_UTC_S,
		.far_s = s->count % 2 ? 86400 : 0,
		.system_tolerance_ms = 500,
		.system_clock = true,
		.leaps = {37, INT64_MAX, NOW_UTC_S + 86400},
	};
	struct clock *c = clock_create(&config);
	struct clock_view v;
	struct label label;
	char text[512];
	int leap;

	must(c);
	clock_gpsd(c, true, SECOND_NS);
	for (unsigned n = 0; n < s->count && n < REPORTS; n++) {
		uint64_t now_ns = (n + 2) * SECOND_NS, count = (n + 2) * 8000ull;

		clock_board(c, count, (NOW_UTC_S + n) * (int64_t)SECOND_NS, true, now_ns);
		clock_pps(c, count, n, now_ns);
		clock_tpv(c, &s->report[n], now_ns + SECOND_NS / 10);
		clock_tick(c, now_ns + SECOND_NS / 5);
		clock_get_view(c, &v);
		must(v.reason[0] && v.action);
		clock_system_words(&v, text, sizeof(text));
		clock_relabelled_words(&v.relabelled, text, sizeof(text));
		if (clock_take_label(c, &label) && label.anchor_tai_ns != INT64_MIN) {
			int64_t tai_ns = label_tai_ns(&label, count);

			must(label_utc_ns(&label, tai_ns, &leap) >=
			     (FLOOR_UTC_S - 1) * (int64_t)SECOND_NS);
			clock_words(&label, text, sizeof(text));
			must(text[0]);
		}
	}
	clock_destroy(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seen whole, pieces;

	if (size < 2 || size > TEXT_MAX) {
		return 0;
	}
	memset(&whole, 0, sizeof(whole));
	memset(&pieces, 0, sizeof(pieces));
	hear(data + 1, size - 1, size, &whole);
	hear(data + 1, size - 1, 1 + data[0] * 7u, &pieces);
	must(whole.count == pieces.count);
	for (unsigned n = 0; n < whole.count && n < REPORTS; n++) {
		must(same(&whole.report[n], &pieces.report[n]));
	}
	tell_clock(&whole);
	return 0;
}
