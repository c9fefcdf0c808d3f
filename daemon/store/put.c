/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes rows from the daemon's structs: ledger, losses, phase, clock, runs, events, words. Main
 * thread. schemas/rows.h gives the order of the values.
 */
#include "daemon/store/private.h"

#include "daemon/core/text.h"
#include "daemon/time/clock.h"

#define N    ROW_VNULL
#define I    ROW_VI
#define I_IF ROW_VI_IF
#define R    ROW_VR
#define T    ROW_VT

/* put(s, ROW_STATION, cookie, flags, value, ...) */
#define put(s, id, cookie, flags, ...)                                                             \
	submit(s, id, cookie, flags, (const struct row_in[]){__VA_ARGS__},                         \
	       sizeof((const struct row_in[]){__VA_ARGS__}) / sizeof(struct row_in))

static int submit(struct store *s, enum row_id id, uint64_t cookie, unsigned flags,
		  const struct row_in *values, unsigned count)
{
	struct row r;

	row_fill(&r, id, values, count);
	return store_submit(s, &r, cookie, flags);
}

static const char *group_text(const char *const *names, unsigned group)
{
	return group < GROUPS_MAX && names && names[group] ? names[group] : "?";
}

/* Two values. A floor that has not named itself is unknown: NULL. */
#define FLOOR(of)                                                                                  \
	I_IF((of)->floor != 0xff && (of)->floor != 0, (of)->tower),                                \
		I_IF((of)->floor != 0xff && (of)->floor != 0, (of)->floor)
#define TAI(tai_ns) I_IF((tai_ns) != FCM_NO_TAI, tai_ns)
#define HAND(of)    T((of)->who), T((of)->origin), T((of)->text)

static unsigned again(bool open)
{
	return open ? STORE_COMES_AGAIN : 0;
}

int store_put_link_row(struct store *s, uint32_t session, const struct ledger_link_row *row,
		       int64_t tai_ns, int64_t utc_ns, uint64_t cookie, unsigned flags)
{
	const uint32_t *v = row->verdicts;

	return put(s, ROW_LEDGER_LINK, cookie, flags | again(!row->closed), I(session),
		   I(row->dma_epoch), I(row->link), I(row->second), FLOOR(row), I(row->cells),
		   I(v[TDM_GOOD]), I(v[TDM_LOSS_LINK_DOWN]), I(v[TDM_LOSS_BOARD_FIFO]),
		   I(v[TDM_LOSS_RING_FULL]), I(v[TDM_LOSS_CRC]), I(v[TDM_LOSS_ALIGNMENT]),
		   I(v[TDM_LOSS_TIME]), I(row->partial), I(row->restarts), I(row->closed),
		   I(utc_ns), TAI(tai_ns));
}

int store_put_stream_row(struct store *s, uint32_t session, const struct ledger_stream_row *row,
			 const char *const *group_names, int64_t utc_ns, uint64_t cookie,
			 unsigned flags)
{
	const uint32_t *o = row->outcome;

	return put(s, ROW_LEDGER_STREAM, cookie, flags | again(!row->closed), I(session),
		   I(row->dma_epoch), I(row->link), T(fcm_stream_name(row->stream)),
		   T(group_text(group_names, row->group)), I(row->second), I(row->offered),
		   I(o[OUTCOME_ACKED]), I(o[OUTCOME_DROP_NO_MEMBER]), I(o[OUTCOME_DROP_SLOW]),
		   I(o[OUTCOME_DROP_SHUTDOWN]), I(o[OUTCOME_DROP_POOL]), I(o[OUTCOME_DROP_NO_TIME]),
		   I(row->in_flight), I(row->closed), I(utc_ns));
}

int store_put_loss(struct store *s, uint32_t session, const struct ledger_loss *loss,
		   const char *const *group_names, int64_t utc_ns, uint64_t cookie, unsigned flags)
{
	bool of_group = loss->kind == 1;

	return put(s, ROW_LOSS, cookie, flags | again(loss->open), I(session), I(loss->kind),
		   T(of_group ? outcome_name(loss->code) : tdm_loss_name(loss->code)),
		   I(loss->link), FLOOR(loss), T(of_group ? fcm_stream_name(loss->stream) : ""),
		   T(of_group ? group_text(group_names, loss->group) : ""), I(loss->dma_epoch),
		   I(loss->first), I(loss->frames), TAI(loss->tai_ns), I(utc_ns), I(loss->open),
		   I_IF(loss->next > loss->first + loss->frames, loss->next));
}

int store_put_phase_row(struct store *s, unsigned link, const struct phase_row *row, int64_t utc_ns)
{
	return put(s, ROW_PHASE_ROW, 0, 0, I(link), I(utc_ns), R(row->mean_ps), R(row->sigma_ps),
		   R(row->min_ps), R(row->max_ps), I(row->samples), I(row->rtt_frames),
		   I(row->rtt_bytes), I(row->rtt_bits));
}

int store_put_phase_event(struct store *s, unsigned link, const struct phase_judgement *j,
			  const char *who, const char *reason, int64_t utc_ns)
{
	return put(s, ROW_PHASE_EVENT, 0, STORE_URGENT, I(link), I(utc_ns),
		   T(phase_verdict_name(j->verdict)), I(j->slip), R(j->difference_ps),
		   R(j->mean_ps), R(j->sigma_ps), I(j->samples), T(who), T(reason));
}

int store_put_phase_reference(struct store *s, unsigned link, const struct phase_reference *ref,
			      const char *who, const char *reason)
{
	return put(s, ROW_PHASE_REFERENCE, 0, STORE_URGENT, I(link), R(ref->phase_ps),
		   I(ref->rtt_frames), I(ref->rtt_bytes), I(ref->rtt_bits), I(ref->time_ns), T(who),
		   T(reason));
}

int store_put_clock_event(struct store *s, const struct label *label, const char *reason,
			  int64_t utc_ns)
{
	return put(s, ROW_CLOCK_EVENT, 0, 0, I(utc_ns), T(clock_state_name(label->state)),
		   T(label_source_name(label->source)),
		   I_IF(label->uncertainty_ns != UINT32_MAX, label->uncertainty_ns),
		   I(label->time_epoch), T(reason));
}

int store_put_event(struct store *s, const char *severity, const char *code, const char *object,
		    const char *text, const char *action, int64_t utc_ns)
{
	return put(s, ROW_EVENT, 0, 0, I(utc_ns), T(severity), T(code), T(object), T(text),
		   T(action));
}

int store_put_remark(struct store *s, const char *code, const char *object, const char *text,
		     int64_t utc_ns)
{
	return put(s, ROW_EVENT, 0, STORE_URGENT, I(utc_ns), T("info"), T(code), T(object), T(text),
		   T(""));
}

int store_put_observation(struct store *s, const struct alarm *a)
{
	return put(s, ROW_OBSERVATION, 0, STORE_URGENT, T(a->object), T(a->code),
		   T(alarm_state_name(a->state)), I(a->level), I(a->highest), I(a->latch),
		   I(a->parts), I(a->count), I(a->since_ns), I_IF(a->over_ns, a->over_ns),
		   T(a->text), T(a->action), I_IF(a->acknowledged, a->ack.utc_ns), HAND(&a->ack),
		   I_IF(a->paused_until_ns, a->pause.utc_ns), I(a->paused_until_ns),
		   I(a->paused_level), HAND(&a->pause));
}

int store_put_observation_forget(struct store *s, const struct alarm *a)
{
	return put(s, ROW_OBSERVATION_FORGET, 0, STORE_URGENT, T(a->object), T(a->code));
}

int store_put_incident(struct store *s, const struct store_incident *i, unsigned flags)
{
	return put(s, ROW_INCIDENT, 0, flags, I(i->number), T(i->code), T(i->object), I(i->red),
		   T(i->text), T(i->action), I(i->since_ns), I_IF(i->until_ns, i->until_ns),
		   T(i->own), I(i->observations), I(i->frames), I(i->dropped), I(i->hits),
		   I(i->dark_ms), I_IF(*i->ack.who, i->ack.utc_ns), HAND(&i->ack), I(0));
}

int store_put_incident_end(struct store *s, uint32_t number, int64_t until_ns, bool joined)
{
	return put(s, ROW_INCIDENT_END, 0, 0, I(number), I(until_ns), I(joined));
}

int store_put_dark(struct store *s, int64_t time_ns, const struct store_dark *d)
{
	return put(s, ROW_DARK, 0, 0, I(time_ns), I(d->incident), I(d->link), I(d->tower),
		   I(d->floor), I(d->modules), I(d->dark_ms), I(d->hits));
}

int store_put_station(struct store *s, const char *key, const char *value)
{
	return put(s, ROW_STATION, 0, 0, T(key), T(value));
}

int store_put_alive(struct store *s, int64_t utc_ns)
{
	return put(s, ROW_ALIVE, 0, 0, I(utc_ns));
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
		words[0] = '\0';
		for (unsigned value = 0; param_enum_name(k, value); value++) {
			text_add(words, sizeof(words), "%s%s", value ? " " : "",
				 param_enum_name(k, value));
		}
		snprintf(key, sizeof(key), "words.%s", k->section);
		store_put_station(s, key, words);
	}
}

int store_put_run_begin(struct store *s, uint32_t number, const char *note, const char *who,
			int64_t utc_ns)
{
	return put(s, ROW_RUN_BEGIN, 0, STORE_URGENT | STORE_ANSWER | STORE_NOW_OR_NEVER, I(number),
		   T(note), T(who), I(utc_ns), N);
}

int store_put_run_slice(struct store *s, uint32_t number, uint64_t slice, bool exact,
			uint64_t cookie)
{
	return put(s, ROW_RUN_SLICE, cookie, STORE_URGENT | (cookie ? STORE_ANSWER : 0), I(number),
		   I(slice), I(exact));
}

int store_put_run_end(struct store *s, uint32_t number, int64_t utc_ns, uint64_t slice,
		      uint64_t cookie)
{
	return put(s, ROW_RUN_END, cookie, STORE_URGENT | (cookie ? STORE_ANSWER : 0), I(number),
		   I_IF(utc_ns, utc_ns), I_IF(slice, slice));
}
