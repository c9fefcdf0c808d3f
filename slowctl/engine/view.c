/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be seen of the command engine: commands, links, when it wants to be called next, and the
 * reasons why slow control is not well. Changes nothing.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <string.h>

#define MUTE_NS	 (5 * SECOND)
#define NEVER_NS (20 * SECOND) /* a usable floor's polled value should be there by then */

/* ------------------------------------------------------------------ views */

static const struct command *find_in(const struct command_list *list, uint64_t id)
{
	const struct command *c;

	TAILQ_FOREACH (c, list, next) {
		if (c->id == id) {
			return c;
		}
	}
	return NULL;
}

bool engine_command(const struct engine *e, uint64_t id, struct engine_command_view *ret_view)
{
	const struct command *c = find_in(&e->ending, id);
	bool untold = c && c->announce_by; /* the journal does not have its end yet */

	c = c ? c : find_in(&e->recent, id);
	for (unsigned i = 0; i < PARAM_LINKS && !c; i++) {
		c = find_in(&e->links[i].open, id);
	}
	if (!c) {
		return false;
	}
	*ret_view = (struct engine_command_view){
		.id = c->id,
		.told = c->ended && !untold,
		.journaled = c->journaled || c->ended,
		.client_id = c->client_id ? c->client_id : "",
		.parameter = c->param->name,
		.action = c->action,
		.ended = c->ended,
		.alarm = c->alarm,
		.old_value = c->old_value,
		.new_value = c->new_value,
		.readback = c->readback,
		.sequence = c->sequence,
		.attempts = c->attempts,
		.state = c->state,
		.detail = c->detail,
		.hint = c->hint,
		.time_ns = c->time_ns,
		.changed_ns = c->changed_ns,
		.boot = c->boot,
		.numbered = c->journaled && !c->unwritten,
		.row = c->row,
	};
	return true;
}

uint64_t engine_last_set(const struct engine *e, const struct param *p)
{
	const struct command *c;
	uint64_t id = 0;

	TAILQ_FOREACH (c, &e->links[p->link].open, next) {
		id = c->param == p && !c->action ? c->id : id;
	}
	return id;
}

void engine_link_view(const struct engine *e, unsigned link, struct engine_link_view *ret_view)
{
	const struct link *l = &e->links[link < PARAM_LINKS ? link : 0];

	*ret_view = (struct engine_link_view){0};
	if (link >= PARAM_LINKS) {
		return;
	}
	*ret_view = (struct engine_link_view){
		.configured = l->configured,
		.locked = l->locked,
		.identified = l->named_floor != 0xff,
		.swapped = l->configured && l->locked && l->named_floor != 0xff && !link_usable(l),
		.tower = l->tower,
		.floor = l->floor,
		.named_tower = l->named_tower,
		.named_floor = l->named_floor,
		.boot = l->boot,
		.boots = l->boots,
		.open = l->open_count,
		.in_flight = l->flights,
		.polls_in_flight = l->polls_flying,
		.words = l->words,
		.replies = l->replies,
		.timeouts = l->timeouts,
		.queries = l->queries,
		.retries = l->retries,
		.duplicates = l->duplicates,
		.strays = l->strays,
		.send_failures = l->send_failures,
		.last_reply_ns = l->last_reply_ns,
		.sequences_left = l->next_sequence > UINT32_MAX
					  ? 0
					  : (uint32_t)(UINT32_MAX - l->next_sequence + 1),
	};
}

void engine_counters(const struct engine *e, struct engine_counters *ret_counters)
{
	memcpy(ret_counters->by_state, e->by_state, sizeof(ret_counters->by_state));
	ret_counters->open = e->open_count;
}

/* ------------------------------------------------------------------ when */

static void earlier(uint64_t *due, uint64_t when)
{
	if (when < *due) {
		*due = when;
	}
}

static void link_due(const struct engine *e, const struct link *l, uint64_t *due)
{
	const struct command *c;

	TAILQ_FOREACH (c, &l->open, next) {
		if (journal_due(c)) {
			earlier(due, journal_due(c));
		} else if (c->flying) {
			earlier(due, c->deadline);
		} else if (c->after_failed) {
			earlier(due, 0);
		} else if (c->after) {
			continue;
		} else if (link_usable(l) && waits_for_number(l, c)) {
			earlier(due,
				l->asked_since ? l->asked_since + STRANDED_NS + MS : UINT64_MAX);
		} else if (c->want != WANT_NOTHING && link_usable(l) && window_free(e, l, c) &&
			   e->writers[c->param->number] == c) {
			earlier(due, c->not_before);
		}
	}
	if (link_usable(l) && sequences_wait(l)) {
		earlier(due, l->number_again);
	}
	for (unsigned i = 0; i < POLL_SLOTS; i++) {
		if (l->polls[i].param) {
			earlier(due, l->polls[i].deadline);
		}
	}
	if (l->reserve_cookie && !l->unreserved) {
		earlier(due, l->reserve_by);
	}
	if (l->reserve_again && link_wants_sequences(e, l)) {
		earlier(due, l->reserve_again);
	}
}

/* The next poll of a floor that can be asked. */
static void poll_time(const struct engine *e, const struct link *l, uint64_t *due)
{
	uint64_t next = UINT64_MAX;

	if (!e->config.poll || !link_usable(l) || l->polls_flying >= e->config.poll_window) {
		return;
	}
	for (unsigned i = l->first_param; i < l->first_param + l->params; i++) {
		const struct param *p = params_at(e->params, i);

		if (p->kind->source == PARAM_POLLED && p->kind->access != PARAM_ACTION &&
		    p->kind->poll_s > 0 && !p->polling) {
			earlier(&next, p->next_poll_ns);
		}
	}
	earlier(due, next > l->poll_pause ? next : l->poll_pause);
}

uint64_t engine_next_due(const struct engine *e)
{
	const struct command *c;
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < PARAM_LINKS; i++) {
		const struct link *l = &e->links[i];

		if (l->configured) {
			link_due(e, l, &due);
			poll_time(e, l, &due);
			if (l->open_count > 0 && !link_usable(l)) { /* 0: now, to see it is down */
				earlier(&due, l->down_since ? l->down_since + STRANDED_NS + MS : 0);
			}
		}
	}
	TAILQ_FOREACH (c, &e->ending, next) {
		if (c->announce_by) {
			earlier(&due, c->announce_by);
		}
	}
	if (!STAILQ_EMPTY(&e->refusals)) {
		earlier(&due, STAILQ_FIRST(&e->refusals)->announce_by);
	}
	return due;
}

/* ------------------------------------------------------------------ reasons */

struct reasons {
	void (*fn)(void *context, const struct engine_reason *reason);
	void *context;
	unsigned count;
};

static void give(struct reasons *r, const struct engine_reason *reason)
{
	r->count++;
	if (r->fn) {
		r->fn(r->context, reason);
	}
}

static void unknown_reason(struct reasons *r, const struct param *p, uint64_t id,
			   const char *detail, const char *hint)
{
	struct engine_reason reason = {.code = "unknown-command", .red = true};

	snprintf(reason.object, sizeof(reason.object), "%s", p->name);
	snprintf(reason.text, sizeof(reason.text), "command %llu: %.280s", (unsigned long long)id,
		 detail);
	snprintf(reason.action, sizeof(reason.action), "%s", hint);
	give(r, &reason);
}

/* Open ones, and those that ended so and that no later one has made good. */
static void unknown_commands(struct engine *e, struct reasons *r)
{
	const struct command *c;

	for (unsigned i = 0; i < PARAM_LINKS; i++) {
		TAILQ_FOREACH (c, &e->links[i].open, next) {
			if (c->alarm) {
				unknown_reason(r, c->param, c->id, c->detail, c->hint);
			}
		}
	}
	for (unsigned i = 0; i < params_count(e->params); i++) {
		const struct undone *u = &e->undone[i];

		if (u->unknown) {
			unknown_reason(r, params_at(e->params, i), u->unknown, u->detail, u->hint);
		}
	}
}

/* What a daemon before us was to make safe, and had not. */
static void safe_cut(struct engine *e, struct reasons *r)
{
	struct engine_reason reason = {.code = "safe-cut", .red = true, .object = "safe"};
	unsigned count = 0, first = 0;

	for (unsigned i = 0; i < params_count(e->params); i++) {
		if (e->undone[i].cut) {
			first = count == 0 || e->undone[i].cut < e->undone[first].cut ? i : first;
			count++;
		}
	}
	if (count == 0) {
		return;
	}
	snprintf(reason.text, sizeof(reason.text),
		 "safe %llu was cut off by the daemon's end: %u of its commands were not done, %s "
		 "among them",
		 (unsigned long long)e->undone[first].cut_job, count,
		 params_at(e->params, first)->name);
	snprintf(reason.action, sizeof(reason.action),
		 "If it is still wanted: fcmctl safe. If not, set what it left undone as you want "
		 "it: fcmctl command list shows it.");
	give(r, &reason);
}

/* "floor3.fcm.temperature was 41.2 degC, above 40.0 (not read for 12 s)" */
static void limits_text(const struct param *p, enum limits_level level, struct engine_now now,
			char *text, size_t size)
{
	const struct limits *l = &p->kind->limits;
	double passed = limits_passed(l, level, p->value);
	bool low = passed == (level == LEVEL_ALARM ? l->alarm_min : l->warn_min);
	bool inside = low ? p->value >= passed : p->value <= passed;
	enum param_quality quality = param_quality(p, now.mono_ns);
	const char *is = quality == PARAM_GOOD ? "is" : "was";
	char v[32], limit[32];
	size_t used;

	param_format(p, p->value, v, sizeof(v));
	if (p->kind->type == PARAM_BOOL || p->kind->type == PARAM_ENUM) {
		snprintf(text, size, "%s %s %s: %s", p->name, is, v, p->kind->description);
	} else {
		snprintf(text, size, "%s %s %s %s, %s %s", p->name, is, v, p->kind->unit,
			 inside ? "not yet well inside"
			 : low	? "below"
				: "above",
			 param_format(p, passed, limit, sizeof(limit)));
	}
	used = strlen(text);
	if (quality != PARAM_GOOD && used < size) {
		snprintf(text + used, size - used, " (not %s for %.0f s%s)",
			 quality == PARAM_BAD ? "known" : "read", param_age_s(p, now.mono_ns),
			 quality == PARAM_BAD ? ": it cannot be measured" : "");
	}
}

static void values_beyond_limits(struct engine *e, struct engine_now now, struct reasons *r)
{
	for (unsigned i = 0; i < params_count(e->params); i++) {
		const struct param *p = params_at(e->params, i);
		enum limits_level level = param_level(p, now.mono_ns);
		struct engine_reason reason = {.code = "alarm"};

		if (level == LEVEL_NORMAL) {
			continue;
		}
		reason.red = level == LEVEL_ALARM;
		reason.latch = p->kind->latch;
		reason.unknown_s = param_quality(p, now.mono_ns) == PARAM_GOOD
					   ? 0
					   : param_age_s(p, now.mono_ns);
		snprintf(reason.object, sizeof(reason.object), "%s", p->name);
		limits_text(p, level, now, reason.text, sizeof(reason.text));
		snprintf(reason.action, sizeof(reason.action), "%s", p->kind->on_alarm);
		give(r, &reason);
	}
}

/* Too old, or never read. A bad value of a floor also becomes stale, unless its FCM may lack the
 * register; a bad value of the shore means that there is none. */
static bool is_stale(const struct param *p, uint64_t never_since, struct engine_now now)
{
	const struct param_kind *k = p->kind;
	enum param_quality q = param_quality(p, now.mono_ns);

	if (q == PARAM_BAD && k->optional) {
		return false;
	}
	if (q == PARAM_STALE || q == PARAM_GOOD || !never_since || k->stale_s <= 0) {
		return q == PARAM_STALE;
	}
	return p->has_value ? param_age_s(p, now.mono_ns) > k->stale_s
			    : k->poll_s > 0 && now.mono_ns - never_since > NEVER_NS;
}

/* Stale and missing values of a stretch of the table, as one reason. */
static void stale_values(struct engine *e, unsigned first, unsigned count, uint64_t never_since,
			 const char *object, struct engine_now now, struct reasons *r)
{
	struct engine_reason reason = {.code = "stale"};
	const struct param *worst = NULL;
	unsigned stale = 0;
	double age = 0;

	for (unsigned i = first; i < first + count; i++) {
		const struct param *p = params_at(e->params, i);

		if (!is_stale(p, never_since, now)) {
			continue;
		}
		stale++;
		if (!worst || param_age_s(p, now.mono_ns) > age) {
			worst = p;
			age = param_age_s(p, now.mono_ns);
		}
	}
	if (stale == 0) {
		return;
	}
	snprintf(reason.object, sizeof(reason.object), "%s", object);
	if (age < 0) {
		snprintf(reason.text, sizeof(reason.text), "%u value%s never come: %s%s", stale,
			 stale == 1 ? " has" : "s have", worst->name,
			 stale > 1 ? " and others" : "");
	} else {
		snprintf(reason.text, sizeof(reason.text), "%u value%s stale; %s is %.0f s old",
			 stale, stale == 1 ? " is" : "s are", worst->name, age);
	}
	snprintf(reason.action, sizeof(reason.action),
		 "Do not trust them; fcmctl get %s shows how old one is.", worst->name);
	give(r, &reason);
}

double link_mute_s(const struct link *l, struct engine_now now)
{
	uint64_t since = l->last_reply_ns > l->usable_since ? l->last_reply_ns : l->usable_since;
	bool mute = link_usable(l) && l->silent >= MUTE_TIMEOUTS && now.mono_ns - since > MUTE_NS;

	return mute ? (double)(now.mono_ns - since) / 1e9 : (double)NAN;
}

static bool is_mute(const struct link *l, struct engine_now now)
{
	return !isnan(link_mute_s(l, now));
}

double engine_mute_s(const struct engine *e, const struct param *p, struct engine_now now)
{
	return p->link >= 0 ? link_mute_s(&e->links[p->link], now) : (double)NAN;
}

enum param_quality engine_quality(const struct engine *e, const struct param *p,
				  struct engine_now now)
{
	enum param_quality quality = param_quality(p, now.mono_ns);

	return quality == PARAM_GOOD && p->kind->source == PARAM_POLLED && p->link >= 0 &&
			       is_mute(&e->links[p->link], now)
		       ? PARAM_STALE
		       : quality;
}

static void link_reasons(const struct link *l, struct engine_now now, struct reasons *r)
{
	struct engine_reason reason = {.red = true};

	if (l->locked && l->named_floor != 0xff && !link_usable(l)) {
		reason.code = "swapped";
		snprintf(reason.object, sizeof(reason.object), "link%u", l->number);
		snprintf(reason.text, sizeof(reason.text),
			 "link %u ends at tower %u floor %u, configured is tower %u floor %u: "
			 "writes are refused",
			 l->number, l->named_tower, l->named_floor, l->tower, l->floor);
		snprintf(reason.action, sizeof(reason.action),
			 "Put the fibres right, or correct the configuration and restart.");
		give(r, &reason);
	}
	if (is_mute(l, now)) {
		reason.code = "mute";
		snprintf(reason.object, sizeof(reason.object), "tower%u.floor%u", l->tower,
			 l->floor);
		snprintf(reason.text, sizeof(reason.text),
			 "the FCM of tower %u floor %u does not answer slow control, though link "
			 "%u is locked",
			 l->tower, l->floor, l->number);
		snprintf(reason.action, sizeof(reason.action),
			 "Wait half a minute for a boot to end; then try fcmctl link reset %u; "
			 "then tell the detector expert.",
			 l->number);
		give(r, &reason);
	}
	if (l->configured && l->next_sequence > UINT32_MAX - UINT32_MAX / 10) {
		reason.code = "sequences";
		reason.red = l->next_sequence > UINT32_MAX;
		snprintf(reason.object, sizeof(reason.object), "tower%u.floor%u", l->tower,
			 l->floor);
		snprintf(reason.text, sizeof(reason.text),
			 "tower %u floor %u: nine tenths of all sequence numbers are used up",
			 l->tower, l->floor);
		snprintf(reason.action, sizeof(reason.action), "Tell the maintainer.");
		give(r, &reason);
	}
}

struct journal_trouble journal_trouble(int result)
{
	static const struct {
		int result;
		struct journal_trouble trouble;
	} known[] = {
		{-ENOSPC, {"the disk is full", "Free space on its disk: df -h."}},
		{-EDQUOT, {"the disk quota is used up", "Free space, or raise the quota."}},
		{-EFBIG, {"the file may not grow further", "Raise the limit of file sizes."}},
		{-EROFS, {"it is read-only", "Make its file system writable: dmesg tells why."}},
		{-EACCES, {"no permission", "Give the daemon's user the file and its directory."}},
		{-EBUSY, {"another program holds it", "End what writes to it: fuser -v FILE."}},
		{-EUCLEAN,
		 {"it is damaged",
		  "Put a good copy in its place, or move it away (with its -wal and -shm)."}},
		{-EIO, {"the disk fails", "Look at the disk: dmesg, smartctl."}},
		{-ETIMEDOUT, {"the disk does not answer", "Look at the disk: dmesg, iostat."}},
		{-ENOBUFS, {"too many rows wait for a slow disk", "Is the disk slow? iostat."}},
	};

	for (size_t n = 0; n < sizeof(known) / sizeof(known[0]); n++) {
		if (known[n].result == result) {
			return known[n].trouble;
		}
	}
	return (struct journal_trouble){strerror(-result), "Look at the disk and the system log."};
}

unsigned engine_reasons(struct engine *e, struct engine_now now,
			void (*fn)(void *context, const struct engine_reason *reason),
			void *context)
{
	struct reasons r = {.fn = fn, .context = context};
	unsigned shore = 0;
	char object[PARAM_NAME_MAX];

	unknown_commands(e, &r);
	safe_cut(e, &r);
	for (unsigned i = 0; i < PARAM_LINKS; i++) {
		struct link *l = &e->links[i];

		link_reasons(l, now, &r);
		if (e->config.poll && link_usable(l) && l->silent < MUTE_TIMEOUTS) {
			snprintf(object, sizeof(object), "tower%u.floor%u", l->tower, l->floor);
			stale_values(e, l->first_param, l->params, l->usable_since, object, now,
				     &r);
		}
		shore += l->params;
	}
	stale_values(e, shore, params_count(e->params) - shore, 0, "shore", now, &r);
	values_beyond_limits(e, now, &r);
	return r.count;
}
