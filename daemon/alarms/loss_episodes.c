// SPDX-License-Identifier: GPL-2.0-or-later
/* Episodes of losses. See loss_episodes.h. */
#include "daemon/alarms/loss_episodes.h"

#include <string.h>

#include "tdm/frame.h"

/* Losses that are farther apart are not of one episode: it would have ended between them. */
#define NEAR_FRAMES                                                                                \
	((LOSS_EPISODES_CALM_NS + LOSS_EPISODES_QUIET_NS) / 1000000000u * TDM_FRAMES_PER_SECOND)

void loss_episodes_start(struct loss_episodes *b, const uint64_t counts[LOSS_EPISODES_NAMES],
			 uint32_t epoch, uint64_t count, bool again)
{
	if (!again) {
		memset(b, 0, sizeof(*b));
	}
	for (unsigned n = 0; n < LOSS_EPISODES_NAMES; n++) {
		b->base[n] += counts[n] - b->counts[n];
		b->counts[n] = counts[n];
	}
	b->from_epoch = epoch;
	b->from = count;
}

void loss_episodes_span(struct loss_episodes *b, uint32_t epoch, uint64_t first, uint64_t next)
{
	if (epoch == b->from_epoch && next <= b->from) {
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct loss_episodes_range *r = &b->range[i];

		if (r->next > 0 && r->epoch == epoch && first <= r->next + NEAR_FRAMES &&
		    r->first <= next + NEAR_FRAMES) {
			r->first = first < r->first ? first : r->first;
			r->next = next > r->next ? next : r->next;
			return;
		}
	}
	b->before += b->range[1].next - b->range[1].first;
	b->range[1] = b->range[0];
	b->range[0] = (struct loss_episodes_range){epoch, first, next};
}

bool loss_episodes_run(const struct loss_episodes *b, unsigned name, uint64_t now_ns)
{
	return b->grew_ns[name] && now_ns - b->grew_ns[name] < LOSS_EPISODES_QUIET_NS;
}

/* Adds what is new. The counters before it are the base of an episode that starts with it. True: there was something. */
static bool grow(struct loss_episodes *b, const uint64_t counts[LOSS_EPISODES_NAMES],
		 uint64_t now_ns)
{
	bool grown = memcmp(b->counts, counts, sizeof(b->counts)) != 0;

	if (grown && !b->open) {
		memcpy(b->base, b->counts, sizeof(b->base));
	}
	for (unsigned n = 0; grown && n < LOSS_EPISODES_NAMES; n++) {
		if (counts[n] == b->counts[n]) {
			continue;
		}
		if (!loss_episodes_run(b, n, now_ns)) {
			b->run[n] = 0;
			b->run_ns[n] = now_ns;
		}
		b->run[n] += counts[n] - b->counts[n];
		b->grew_ns[n] = now_ns;
		b->counts[n] = counts[n];
	}
	b->grown_ns = grown ? now_ns : b->grown_ns;
	return grown;
}

static void report(const struct loss_episodes *b, struct loss_episodes_report *ret)
{
	ret->sum = 0;
	for (unsigned n = 0; n < LOSS_EPISODES_NAMES; n++) {
		ret->lost[n] = b->counts[n] - b->base[n];
		ret->sum += ret->lost[n];
	}
	ret->seconds = (double)(b->before + b->range[0].next - b->range[0].first +
				b->range[1].next - b->range[1].first) /
		       TDM_FRAMES_PER_SECOND;
}

/* Whether there is a name that was not reported in this episode; marks it. */
static bool new_name(struct loss_episodes *b)
{
	bool new = false;

	for (unsigned n = 0; n < LOSS_EPISODES_NAMES; n++) {
		if (!b->reported[n] && b->counts[n] != b->base[n]) {
			b->reported[n] = new = true;
		}
	}
	return new;
}

static void begin(struct loss_episodes *b, bool grave, uint64_t now_ns)
{
	uint64_t oldest = b->starts_ns[b->starts % LOSS_EPISODES_A_MINUTE];

	b->open = true;
	b->grave = grave;
	b->joined = oldest && now_ns - oldest < LOSS_EPISODES_CALM_NS;
	b->starts_ns[b->starts++ % LOSS_EPISODES_A_MINUTE] = now_ns;
	memset(b->reported, 0, sizeof(b->reported));
	new_name(b);
}

enum loss_episodes_news loss_episodes_step(struct loss_episodes *b,
					   const uint64_t counts[LOSS_EPISODES_NAMES], bool grave,
					   uint64_t now_ns, struct loss_episodes_report *ret_report)
{
	bool grown = grow(b, counts, now_ns);
	enum loss_episodes_news news = LOSS_EPISODES_NOTHING;

	if (grown && !b->open) {
		begin(b, grave, now_ns);
		news = LOSS_EPISODES_STARTED;
	} else if (b->open && grown) {
		bool more = new_name(b) | (grave && !b->grave);

		b->grave = b->grave || grave;
		news = more || now_ns - b->reported_ns >= LOSS_EPISODES_CALM_NS
			       ? LOSS_EPISODES_MORE
			       : LOSS_EPISODES_NOTHING;
	} else if (b->open && now_ns - b->grown_ns >= (b->joined ? LOSS_EPISODES_CALM_NS
								 : LOSS_EPISODES_QUIET_NS)) {
		b->open = false;
		news = LOSS_EPISODES_ENDED;
	}
	if (news != LOSS_EPISODES_NOTHING) {
		b->reported_ns = now_ns;
		report(b, ret_report);
	}
	if (news == LOSS_EPISODES_ENDED) {
		memset(b->range, 0, sizeof(b->range));
		b->before = 0;
	}
	return news;
}

bool loss_episodes_going_on(const struct loss_episodes *b, uint64_t now_ns)
{
	return !b->grown_ns || now_ns - b->grown_ns < LOSS_EPISODES_QUIET_NS;
}

uint64_t loss_episodes_begin(const struct loss_episodes *b)
{
	return b->starts ? b->starts_ns[(b->starts - 1) % LOSS_EPISODES_A_MINUTE] : 0;
}
