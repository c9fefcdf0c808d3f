/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows from the daemon's own structs: ledger, losses, phase, clock, runs, events, words. Main thread. The order
 * of the values is that of schemas/rows.h.
 */
#include "daemon/store/private.h"

#include <errno.h>

#include "daemon/time/clock.h"

static const char *group_text(const char *const *names, unsigned group)
{
	return group < GROUPS_MAX && names && names[group] ? names[group] : "?";
}

/* A floor that has not named itself is not known: NULL. */
static void put_floor(struct row *r, uint8_t tower, uint8_t floor)
{
	if (floor == 0xff || floor == 0) {
		row_null(r);
		row_null(r);
	} else {
		row_int(r, tower);
		row_int(r, floor);
	}
}

static void put_tai(struct row *r, int64_t tai_ns)
{
	if (tai_ns == FCM_NO_TAI) {
		row_null(r);
	} else {
		row_int(r, tai_ns);
	}
}

static unsigned again(bool open)
{
	return open ? STORE_COMES_AGAIN : 0;
}

int store_put_link_row(struct store *s, uint32_t session, const struct ledger_link_row *row,
		       int64_t tai_ns, int64_t utc_ns, uint64_t cookie, unsigned flags)
{
	struct row r;

	row_begin(&r, ROW_LEDGER_LINK);
	row_int(&r, session);
	row_int(&r, row->dma_epoch);
	row_int(&r, row->link);
	row_int(&r, (int64_t)row->second);
	put_floor(&r, row->tower, row->floor);
	row_int(&r, row->cells);
	for (unsigned v = 0; v < TDM_LOSSES;
	     v++) { /* good, then the losses in the ledger's order */
		row_int(&r, row->verdicts[v]);
	}
	row_int(&r, row->partial);
	row_int(&r, row->restarts);
	row_int(&r, row->closed);
	row_int(&r, utc_ns);
	put_tai(&r, tai_ns);
	return store_submit(s, &r, cookie, flags | again(!row->closed));
}

int store_put_stream_row(struct store *s, uint32_t session, const struct ledger_stream_row *row,
			 const char *const *group_names, int64_t utc_ns, uint64_t cookie,
			 unsigned flags)
{
	struct row r;

	row_begin(&r, ROW_LEDGER_STREAM);
	row_int(&r, session);
	row_int(&r, row->dma_epoch);
	row_int(&r, row->link);
	row_text(&r, fcm_stream_name(row->stream));
	row_text(&r, group_text(group_names, row->group));
	row_int(&r, (int64_t)row->second);
	row_int(&r, row->offered);
	for (unsigned o = OUTCOME_ACKED; o < OUTCOMES; o++) {
		row_int(&r, row->outcome[o]);
	}
	row_int(&r, row->in_flight);
	row_int(&r, row->closed);
	row_int(&r, utc_ns);
	return store_submit(s, &r, cookie, flags | again(!row->closed));
}

int store_put_loss(struct store *s, uint32_t session, const struct ledger_loss *loss,
		   const char *const *group_names, int64_t utc_ns, uint64_t cookie, unsigned flags)
{
	bool of_group = loss->kind == 1;
	struct row r;

	row_begin(&r, ROW_LOSS);
	row_int(&r, session);
	row_int(&r, loss->kind);
	row_text(&r, of_group ? outcome_name(loss->code) : tdm_loss_name(loss->code));
	row_int(&r, loss->link);
	put_floor(&r, loss->tower, loss->floor);
	row_text(&r, of_group ? fcm_stream_name(loss->stream) : "");
	row_text(&r, of_group ? group_text(group_names, loss->group) : "");
	row_int(&r, loss->dma_epoch);
	row_int(&r, (int64_t)loss->first);
	row_int(&r, (int64_t)loss->frames);
	put_tai(&r, loss->tai_ns);
	row_int(&r, utc_ns);
	row_int(&r, loss->open);
	if (loss->next > loss->first + loss->frames) {
		row_int(&r, (int64_t)loss->next);
	} else {
		row_null(&r);
	}
	return store_submit(s, &r, cookie, flags | again(loss->open));
}

int store_put_phase_row(struct store *s, unsigned link, const struct phase_row *row, int64_t utc_ns)
{
	struct row r;

	row_begin(&r, ROW_PHASE_ROW);
	row_int(&r, link);
	row_int(&r, utc_ns);
	row_real(&r, row->mean_ps);
	row_real(&r, row->sigma_ps);
	row_real(&r, row->min_ps);
	row_real(&r, row->max_ps);
	row_int(&r, row->samples);
	row_int(&r, row->rtt_frames);
	row_int(&r, row->rtt_bytes);
	row_int(&r, row->rtt_bits);
	return store_submit(s, &r, 0, 0);
}

int store_put_phase_event(struct store *s, unsigned link, const struct phase_judgement *j,
			  const char *who, const char *reason, int64_t utc_ns)
{
	struct row r;

	row_begin(&r, ROW_PHASE_EVENT);
	row_int(&r, link);
	row_int(&r, utc_ns);
	row_text(&r, phase_verdict_name(j->verdict));
	row_int(&r, j->slip);
	row_real(&r, j->difference_ps);
	row_real(&r, j->mean_ps);
	row_real(&r, j->sigma_ps);
	row_int(&r, j->samples);
	row_text(&r, who);
	row_text(&r, reason);
	return store_submit(s, &r, 0, STORE_URGENT);
}

int store_put_phase_reference(struct store *s, unsigned link, const struct phase_reference *ref,
			      const char *who, const char *reason)
{
	struct row r;

	row_begin(&r, ROW_PHASE_REFERENCE);
	row_int(&r, link);
	row_real(&r, ref->phase_ps);
	row_int(&r, ref->rtt_frames);
	row_int(&r, ref->rtt_bytes);
	row_int(&r, ref->rtt_bits);
	row_int(&r, ref->time_ns);
	row_text(&r, who);
	row_text(&r, reason);
	return store_submit(s, &r, 0, STORE_URGENT);
}

int store_put_clock_event(struct store *s, const struct label *label, const char *reason,
			  int64_t utc_ns)
{
	struct row r;

	row_begin(&r, ROW_CLOCK_EVENT);
	row_int(&r, utc_ns);
	row_text(&r, clock_state_name(label->state));
	row_text(&r, label_source_name(label->source));
	if (label->uncertainty_ns == UINT32_MAX) {
		row_null(&r);
	} else {
		row_int(&r, label->uncertainty_ns);
	}
	row_int(&r, label->time_epoch);
	row_text(&r, reason);
	return store_submit(s, &r, 0, 0);
}

int store_put_event(struct store *s, const char *severity, const char *code, const char *object,
		    const char *text, const char *action, int64_t utc_ns)
{
	struct row r;

	row_begin(&r, ROW_EVENT);
	row_int(&r, utc_ns);
	row_text(&r, severity);
	row_text(&r, code);
	row_text(&r, object);
	row_text(&r, text);
	row_text(&r, action);
	return store_submit(s, &r, 0, 0);
}

static void row_hand(struct row *r, const struct alarm_hand *hand)
{
	row_text(r, hand->who);
	row_text(r, hand->origin);
	row_text(r, hand->text);
}

static void row_time(struct row *r, bool known, int64_t utc_ns)
{
	if (known) {
		row_int(r, utc_ns);
	} else {
		row_null(r);
	}
}

int store_put_alarm(struct store *s, const struct alarm *alarm)
{
	struct row r;

	row_begin(&r, ROW_ALARM);
	row_text(&r, alarm->object);
	row_text(&r, alarm->code);
	row_text(&r, alarm_state_name(alarm->state));
	row_int(&r, alarm->level);
	row_int(&r, alarm->highest);
	row_int(&r, alarm->latch);
	row_int(&r, alarm->parts);
	row_int(&r, alarm->count);
	row_int(&r, alarm->since_ns);
	row_time(&r, alarm->over_ns != 0, alarm->over_ns);
	row_text(&r, alarm->text);
	row_text(&r, alarm->action);
	row_time(&r, alarm->acknowledged, alarm->ack.utc_ns);
	row_hand(&r, &alarm->ack);
	row_time(&r, alarm->paused_until_ns != 0, alarm->pause.utc_ns);
	row_int(&r, alarm->paused_until_ns);
	row_int(&r, alarm->paused_level);
	row_hand(&r, &alarm->pause);
	return store_submit(s, &r, 0, STORE_URGENT);
}

int store_put_alarm_forget(struct store *s, const struct alarm *alarm)
{
	struct row r;

	row_begin(&r, ROW_ALARM_FORGET);
	row_text(&r, alarm->object);
	row_text(&r, alarm->code);
	return store_submit(s, &r, 0, STORE_URGENT);
}

int store_put_station(struct store *s, const char *key, const char *value)
{
	struct row r;

	row_begin(&r, ROW_STATION);
	row_text(&r, key);
	row_text(&r, value);
	return store_submit(s, &r, 0, 0);
}

int store_put_alive(struct store *s, int64_t utc_ns)
{
	struct row r;

	row_begin(&r, ROW_ALIVE);
	row_int(&r, utc_ns);
	return store_submit(s, &r, 0, 0);
}

static bool first_of_kind(struct params *params, unsigned number)
{
	unsigned n = 0;

	while (params_at(params, n)->kind != params_at(params, number)->kind) {
		n++;
	}
	return n == number;
}

void store_put_words(struct store *s, struct params *params)
{
	for (unsigned n = 0; n < params_count(params); n++) {
		const struct param_kind *k = params_at(params, n)->kind;
		char key[sizeof(k->section) + 12], words[PARAM_ENUM_MAX * sizeof(k->enum_names[0])];
		size_t used = 0;

		if (!first_of_kind(params, n)) {
			continue;
		}
		snprintf(key, sizeof(key), "unit.%s", k->section);
		store_put_station(s, key, k->unit);
		snprintf(key, sizeof(key), "deadband.%s", k->section);
		snprintf(words, sizeof(words), "%g", k->deadband);
		store_put_station(s, key, words);
		if (!param_enum_name(k, 0)) {
			continue;
		}
		for (unsigned value = 0; param_enum_name(k, value); value++) {
			used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
						 value ? " " : "", param_enum_name(k, value));
		}
		snprintf(key, sizeof(key), "words.%s", k->section);
		store_put_station(s, key, words);
	}
}

int store_put_run_begin(struct store *s, uint32_t number, const char *note, const char *who,
			int64_t utc_ns)
{
	struct row r;

	row_begin(&r, ROW_RUN_BEGIN);
	row_int(&r, number);
	row_text(&r, note);
	row_text(&r, who);
	row_int(&r, utc_ns);
	row_null(&r);
	return store_submit(s, &r, 0, STORE_URGENT | STORE_ANSWER | STORE_NOW_OR_NEVER);
}

int store_put_run_slice(struct store *s, uint32_t number, uint64_t slice, bool exact,
			uint64_t cookie)
{
	struct row r;

	row_begin(&r, ROW_RUN_SLICE);
	row_int(&r, number);
	row_int(&r, (int64_t)slice);
	row_int(&r, exact);
	return store_submit(s, &r, cookie, STORE_URGENT | (cookie ? STORE_ANSWER : 0));
}

int store_put_run_end(struct store *s, uint32_t number, int64_t utc_ns, uint64_t slice,
		      uint64_t cookie)
{
	struct row r;

	row_begin(&r, ROW_RUN_END);
	row_int(&r, number);
	if (utc_ns) {
		row_int(&r, utc_ns);
	} else {
		row_null(&r);
	}
	if (slice) {
		row_int(&r, (int64_t)slice);
	} else {
		row_null(&r);
	}
	return store_submit(s, &r, cookie, STORE_URGENT | (cookie ? STORE_ANSWER : 0));
}
