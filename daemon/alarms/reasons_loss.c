// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns lost frames into reasons (lines of `status`) and events. Counted are the frames that a link lost, by
 * cause, and those that a group's policy dropped. Losses without a longer pause between them are one episode
 * (loss_episodes.h). It gives an event when it starts, one for each further cause, and one with totals when
 * it ends.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/alarms/private.h"
#include "daemon/core/text.h"
#include "slowctl/param/plural.h"

#define LOSS_RED     0.001	    /* of a minute's frames: more is red, less a warning */
#define FIRST_PPS_NS 10000000000ull /* of a board that is back: it comes within so long */
#define SAME_TIME_NS 2000000000ull  /* losses on all links so close have one cause */

/* A link loses by enum tdm_loss, a group by enum outcome. */
static unsigned names_of(enum reason_of of)
{
	return of == OF_LINK ? TDM_LOSSES : OUTCOMES;
}

static const char *name_of(enum reason_of of, unsigned n)
{
	return of == OF_LINK ? tdm_loss_name((enum tdm_loss)n) : outcome_name((enum outcome)n);
}

/* "520 link-down, 3 crc" */
static void list_names(enum reason_of of, const uint64_t *lost, char *text, size_t size)
{
	*text = '\0';
	for (unsigned n = 0; n < names_of(of); n++) {
		if (lost[n]) {
			text_list(text, size, "%llu %s", (unsigned long long)lost[n],
				  name_of(of, n));
		}
	}
}

/* All links lost frames so in the same seconds. When the first of them did; 0: they did not. */
static uint64_t all_lost(const struct judge *j, enum tdm_loss name)
{
	uint64_t first = UINT64_MAX, last = 0;
	unsigned links = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		uint64_t at = j->lost[link].grew_ns[name];

		if (j->v->link[link].enabled) {
			links++;
			first = at < first ? at : first;
			last = at > last ? at : last;
		}
	}
	return links > 1 && first > 0 && last - first < SAME_TIME_NS &&
			       j->v->now_ns - last < LOSS_WINDOW_S * 1000000000ull
		       ? first
		       : 0;
}

/* All links lose in the board at the same time: that is the board, or its way into this machine. */
static bool board_did_it(const struct judge *j)
{
	return all_lost(j, TDM_LOSS_BOARD_FIFO) > 0;
}

/* The first PPS of a board whose counts restarted moves its count, and with it every floor's numbers. */
static bool board_restarted_count(const struct judge *j)
{
	uint64_t at = all_lost(j, TDM_LOSS_TIME);

	return j->v->board.restarted_ns && at >= j->v->board.restarted_ns &&
	       at - j->v->board.restarted_ns < FIRST_PPS_NS;
}

/* Added after what a link lost by itself. */
static void add_common(uint64_t lost, enum tdm_loss name, const char *cause, char *text,
		       size_t size)
{
	if (lost) {
		text_add(text, size, "%s%llu %s on all links in the same seconds%s",
			 *text ? "; " : "", (unsigned long long)lost, tdm_loss_name(name), cause);
	}
}

/* What the board did on all links is listed apart: what a link lost besides has other causes. */
static void list_losses(const struct judge *j, const uint64_t lost[TDM_LOSSES], char *text,
			size_t size)
{
	uint64_t own[TDM_LOSSES], stood_still = 0, restarted = 0;

	memcpy(own, lost, sizeof(own));
	own[TDM_GOOD] = 0;
	if (board_did_it(j)) {
		stood_still = own[TDM_LOSS_BOARD_FIFO];
		own[TDM_LOSS_BOARD_FIFO] = 0;
	}
	if (board_restarted_count(j)) {
		restarted = own[TDM_LOSS_TIME];
		own[TDM_LOSS_TIME] = 0;
	}
	list_names(OF_LINK, own, text, size);
	add_common(stood_still, TDM_LOSS_BOARD_FIFO, ", so the board did it (its DMA stood still)",
		   text, size);
	add_common(restarted, TDM_LOSS_TIME, ": the board is back and its counts restarted", text,
		   size);
}

static unsigned largest(const uint64_t by_name[TDM_LOSSES])
{
	unsigned most = 1;

	for (unsigned n = 2; n < TDM_LOSSES; n++) {
		most = by_name[n] > by_name[most] ? n : most;
	}
	return most;
}

/* Of the reason and of the event, and what the manual says by name. */
static const char *loss_advice(const struct judge *j, unsigned link, unsigned name)
{
	static const char *const advices[TDM_LOSSES] = {
		[TDM_LOSS_LINK_DOWN] = "light or lock went: was it unplugged or reset? Else look "
				       "at the received power: fcmctl link show LINK",
		[TDM_LOSS_BOARD_FIFO] = "the board overflowed on this link: watch it, and tell the "
					"expert if it goes on: fcmctl link show LINK",
		[TDM_LOSS_RING_FULL] = "the daemon emptied the ring too late: was it restarted, is "
				       "this machine overloaded? top; fcmctl event list",
		[TDM_LOSS_CRC] =
			"damaged on the way; if it goes on or comes again, look at received power "
			"and code errors: fcmctl link show LINK; then clean the connectors",
		[TDM_LOSS_ALIGNMENT] = "the frame border moved; if it goes on without a re-lock: "
				       "fcmctl link align LINK",
		[TDM_LOSS_TIME] = "the floor's frame numbers jumped: has it booted? If it goes on: "
				  "fcmctl link reset LINK",
	};

	if (name == TDM_LOSS_BOARD_FIFO && board_did_it(j)) {
		return "one cause, nothing to do at the fibres: see board-stalled in fcmctl event "
		       "list; if it comes again, reload the module nanet3";
	}
	if (name == TDM_LOSS_ALIGNMENT && j->v->link[link].offset != 0) {
		return "the frame border has moved (byte-slip): fcmctl link align LINK brings it "
		       "back, and a verdict of the phase";
	}
	if (name == TDM_LOSS_TIME && board_restarted_count(j)) {
		return "one cause, nothing to do at fibres or floors: see board-back";
	}
	return advices[name];
}

static bool grave(const struct judge *j, unsigned link)
{
	const uint64_t *by_name = j->v->link[link].lost;
	uint64_t lost = 0;

	for (unsigned n = TDM_GOOD + 1; n < TDM_LOSSES; n++) {
		lost += by_name[n];
	}
	return (double)lost > LOSS_RED * (double)(lost + by_name[TDM_GOOD]);
}

/* That it has ended is only known when nothing was lost for some seconds. */
static void last_text(const struct judge *j, const struct loss_episodes *b, char *text, size_t size)
{
	uint64_t now = j->v->now_ns;
	double ago_s = b->grown_ns ? (double)(now - b->grown_ns) / 1e9 : 0;

	*text = '\0';
	if (!loss_episodes_going_on(b, now)) {
		snprintf(text, size, "; ended %.0f s ago", ago_s);
	} else if (ago_s >= 1) {
		snprintf(text, size, "; none for %.0f s", ago_s);
	}
}

/* What it loses now is its beginning, until a good frame has come; a link without one is reported later. */
static bool just_restarted(const struct judge *j, unsigned link)
{
	uint64_t at = j->v->link[link].restarted_ns;

	return at && j->v->now_ns - at < START_GRACE_NS;
}

/* "1500 frames lost in 0.4 s: crc" */
static void name_text(const struct loss_episodes *b, enum reason_of of, unsigned n, char *text,
		      size_t size)
{
	double seconds = (double)(b->grew_ns[n] - b->run_ns[n]) / 1e9;
	char within[32] = "";

	if (seconds >= 0.1) {
		snprintf(within, sizeof(within), seconds < 10 ? " in %.1f s" : " in %.0f s",
			 seconds);
	}
	snprintf(text, size, "%llu frame%s %s%s: %s", (unsigned long long)b->run[n],
		 plural(b->run[n]), of == OF_LINK ? "lost" : "dropped", within, name_of(of, n));
}

/* Our command that lost these frames, and no more than such a command costs; NULL: none. */
static const char *own_command(const struct judge *j, unsigned link, unsigned name)
{
	const struct loss_episodes *b = &j->lost[link];

	return (name == TDM_LOSS_LINK_DOWN || name == TDM_LOSS_ALIGNMENT) &&
			       b->grew_ns[name] < j->own[link].last_ns + RELOCK_NS
		       ? judge_own_command(j, link, b->run_ns[name])
		       : NULL;
}

/* The same for all of these, of the last minute or episode; NULL: at least one has another cause. */
static const char *own_command_of(const struct judge *j, unsigned link,
				  const uint64_t lost[TDM_LOSSES])
{
	const char *own = NULL;

	if (!judge_own_command(j, link, loss_episodes_begin(&j->lost[link]))) {
		return NULL;
	}
	for (unsigned n = TDM_GOOD + 1; n < TDM_LOSSES; n++) {
		if (lost[n] && !(own = own_command(j, link, n))) {
			return NULL;
		}
	}
	return own;
}

/* Each name has a cause of its own, and is explained while it goes on. */
static void explain_names(struct judge *j, const struct observation *o,
			  const struct loss_episodes *b)
{
	char object[ALARM_OBJECT_BYTES], text[ALARM_TEXT_BYTES], action[ALARM_TEXT_BYTES];
	const struct alarm *alarm =
		alarms_find(j->alarms, object_name(&o->object, object, sizeof(object)), o->code);

	for (unsigned n = 1; n < names_of(o->object.of); n++) {
		struct observation one = *o;
		const char *own = NULL;

		if (!loss_episodes_run(b, n, j->v->now_ns)) {
			continue;
		}
		one.past = false;
		one.loss = name_of(o->object.of, n);
		one.since_ns = b->run_ns[n];
		one.text = text;
		one.action = action;
		name_text(b, o->object.of, n, text, sizeof(text));
		if (o->object.of == OF_LINK) {
			own = own_command(j, (unsigned)o->object.link, n);
			one.much.frames = b->run[n];
			one.advice = own ? "" : loss_advice(j, (unsigned)o->object.link, n);
		} else {
			one.much.dropped = b->run[n];
		}
		if (own) {
			one.expected = true;
			one.red = false;
			text_add(text, sizeof(text), " (%s)", own);
		}
		observation_advice(&one, action, sizeof(action));
		judge_explain(j, one, alarm);
	}
}

void reasons_link_loss(struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];
	const struct loss_episodes *b = &j->lost[link];
	struct observation o = {.red = grave(j, link) && loss_episodes_going_on(b, j->v->now_ns) &&
				       !own_command_of(j, link, l->lost),
				.past = true, /* as a whole */
				.code = "link-loss",
				.object = object_link(link)};
	char text[300], last[40];

	list_losses(j, l->lost, text, sizeof(text));
	if (!*text || (!l->accounted && just_restarted(j, link))) {
		return;
	}
	last_text(j, b, last, sizeof(last));
	o.advice = loss_advice(j, link, largest(l->lost));
	observe(j, &o, "frames lost in the last minute: %s%s", text, last);
	explain_names(j, &o, b);
}

/* For texts: a policy that is not the usual one. */
static const char *policy_words(const struct judge *j, unsigned group)
{
	enum fcm_policy policy = j->v->publisher->group[group].policy;
	static const char *const words[FCM_POLICIES] = {
		[FCM_DROP_OLDEST] = "",
		[FCM_DROP_NEWEST] = " (policy drop-newest)",
		[FCM_DISCONNECT] = " (policy disconnect)",
		[FCM_WAIT] = " (policy wait: 3/4 of the ring, or all its memory, was used)",
	};

	return policy < FCM_POLICIES && !judge_is_feed(j, group) ? words[policy] : "";
}

/* Frames of a group count once in each stream of each floor: ", of 8 streams". */
static const char *streams_words(const struct judge *j, unsigned group, char *text, size_t size)
{
	unsigned kinds = (unsigned)__builtin_popcount(j->v->publisher->group[group].streams);
	unsigned floors = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		floors += j->v->link[link].enabled;
	}
	*text = '\0';
	if (kinds * floors > 1) {
		snprintf(text, size, ", of %u streams", kinds * floors);
	}
	return text;
}

/* Without those that the feed withholds because there is no time yet: the clock has a reason of its own for them, and
 * each start has some. */
static void copy_drops(const uint64_t all[OUTCOMES], uint64_t *ret)
{
	memcpy(ret, all, OUTCOMES * sizeof(*ret));
	memset(ret, 0, OUTCOME_DROP_NO_MEMBER * sizeof(*ret));
	ret[OUTCOME_DROP_NO_TIME] = 0;
}

static const char drops_advice[] =
	"fcmctl ledger show names floors and frames; who is slow: fcmctl consumer list";

/* What a group's policy dropped in the last minute, by name. */
void reasons_drops(struct judge *j, unsigned group)
{
	const struct loss_episodes *b = &j->dropped[group];
	struct observation o = {.red = loss_episodes_going_on(b, j->v->now_ns),
				.past = true, /* as a whole */
				.code = "consumer-dropping",
				.object = object_group(group, j->v->publisher->group[group].name),
				.advice = drops_advice};
	uint64_t dropped[OUTCOMES];
	char text[160], last[40], streams[32];

	copy_drops(j->v->dropped[group], dropped);
	list_names(OF_GROUP, dropped, text, sizeof(text));
	if (!*text) {
		return;
	}
	last_text(j, b, last, sizeof(last));
	observe(j, &o, "frames dropped in the last minute: %s%s%s%s", text,
		streams_words(j, group, streams, sizeof(streams)), policy_words(j, group), last);
	explain_names(j, &o, b);
}

/* --- events --- */

struct loss_news {
	enum loss_episodes_news news;
	bool grave;
	struct loss_episodes_report report;
};

static void put_news(struct judge *j, const struct loss_news *t, const char *code,
		     struct alarm_object object, const char *names, const char *cause,
		     bool expected, const char *action)
{
	char text[400];

	switch (t->news) {
	case LOSS_EPISODES_STARTED:
		snprintf(text, sizeof(text), "frames are being lost: %s%s", names, cause);
		break;
	case LOSS_EPISODES_MORE:
		snprintf(text, sizeof(text), "more frames were lost, until now: %s%s", names,
			 cause);
		break;
	default:
		snprintf(text, sizeof(text), "is over: %llu frame%s lost in %.1f s: %s%s",
			 (unsigned long long)t->report.sum, plural(t->report.sum),
			 t->report.seconds, names, cause);
		break;
	}
	judge_put_event(j,
			t->news == LOSS_EPISODES_ENDED || expected ? "info"
			: t->grave				   ? "red"
								   : "warning",
			code, object, text, t->news == LOSS_EPISODES_ENDED ? "" : action, NULL);
}

static void say_link(struct judge *j, unsigned link, const struct loss_news *t)
{
	struct observation o = {.object = object_link(link)};
	const char *own = own_command_of(j, link, t->report.lost);
	char names[300], action[200], cause[100];

	list_losses(j, t->report.lost, names, sizeof(names));
	o.advice = own ? "" : loss_advice(j, link, largest(t->report.lost));
	observation_advice(&o, action, sizeof(action));
	snprintf(cause, sizeof(cause), own ? ": %s" : "%s", own ? own : "");
	put_news(j, t, "link-loss", o.object, names, cause, own != NULL, action);
}

/* All are counted before one is reported: then it is known what they have in common. */
void events_lost(struct judge *j)
{
	struct loss_news found[NANET3_LINKS] = {{.news = LOSS_EPISODES_NOTHING}};
	uint64_t counts[LOSS_EPISODES_NAMES] = {0};

	_Static_assert((int)TDM_LOSSES <= (int)LOSS_EPISODES_NAMES, "a counter for each loss");
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct judge_link *l = &j->v->link[link];
		struct loss_news *t = &found[link];

		if (l->accounted) {
			memcpy(counts, l->cells, sizeof(l->cells));
			counts[TDM_GOOD] = 0;
			t->grave = grave(j, link);
			t->news = loss_episodes_step(&j->lost[link], counts, t->grave, j->v->now_ns,
						     &t->report);
		}
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (found[link].news != LOSS_EPISODES_NOTHING) {
			say_link(j, link, &found[link]);
		}
	}
}

static void group_news(struct judge *j, unsigned group)
{
	uint64_t counts[LOSS_EPISODES_NAMES] = {0};
	struct loss_news t = {.grave = true};
	char names[160], streams[32], cause[160];

	copy_drops(j->v->publisher->group[group].dropped_frames, counts);
	t.news = loss_episodes_step(&j->dropped[group], counts, true, j->v->now_ns, &t.report);
	if (t.news == LOSS_EPISODES_NOTHING) {
		return;
	}
	list_names(OF_GROUP, t.report.lost, names, sizeof(names));
	snprintf(cause, sizeof(cause), "%s%s", streams_words(j, group, streams, sizeof(streams)),
		 policy_words(j, group));
	put_news(j, &t, "consumer-dropping",
		 object_group(group, j->v->publisher->group[group].name), names, cause, false,
		 drops_advice);
}

void events_dropped(struct judge *j)
{
	_Static_assert((int)OUTCOMES <= (int)LOSS_EPISODES_NAMES, "a counter for each outcome");
	for (unsigned n = 0; n < j->v->publisher->groups; n++) {
		group_news(j, n);
	}
}
