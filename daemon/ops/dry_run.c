// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dry runs: what a command would do. The engine's own checks, then the answer in words. Nothing is journaled, nothing
 * is sent. A plan asks this for each of its rows.
 */
#include "daemon/ops/private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/core/text.h"

/* It is set to that value and reads so, and no open command changes it. */
static bool is_so(const struct param *p, double wanted, uint64_t behind, enum param_quality quality)
{
	return behind == 0 && p->has_setpoint && p->has_value &&
	       param_to_raw(p->kind, p->setpoint) == param_to_raw(p->kind, wanted) &&
	       quality == PARAM_GOOD && fabs(p->value - wanted) <= p->kind->tolerance + 1e-9;
}

static double now_set(const struct param *p)
{
	return p->has_setpoint ? p->setpoint : p->has_value ? p->value : NAN;
}

static void set_words(const struct param *p, double wanted, bool unchanged, uint64_t behind,
		      enum param_quality quality, char *text, size_t size)
{
	char to[64], from[64] = "an unknown value", reads[96] = "";

	param_text(p, wanted, to, sizeof(to));
	if (unchanged) {
		snprintf(text, size, "%s is %s already", p->name, to);
		return;
	}
	if (!isnan(now_set(p))) {
		param_text(p, now_set(p), from, sizeof(from));
	}
	if (behind > 0) {
		snprintf(reads, sizeof(reads), ", behind command %llu", (unsigned long long)behind);
	} else if (p->has_setpoint && p->has_value &&
		   param_to_raw(p->kind, p->setpoint) == param_to_raw(p->kind, wanted)) {
		char is[64];

		param_text(p, p->value, is, sizeof(is));
		if (quality == PARAM_GOOD) {
			snprintf(reads, sizeof(reads), ": it is set so, but reads %s", is);
		} else {
			snprintf(reads, sizeof(reads),
				 ": it is set so, and was last read %.0f s ago",
				 param_age_s(p, now_mono_ns()));
		}
	}
	snprintf(text, size, "would set %s from %s to %s%s", p->name, from, to, reads);
}

static json_t *repeat_json(const struct param *p, uint64_t id)
{
	char text[96];

	snprintf(text, sizeof(text), "a repeat: would do nothing, command %llu has this client id",
		 (unsigned long long)id);
	return json_pack("{s:b,s:s,s:I,s:s}", "dry_run", 1, "parameter", p->name, "command",
			 (json_int_t)id, "text", text);
}

static json_t *would_json(struct ops *ops, const struct engine_request *q, const struct param *p,
			  bool yes)
{
	bool dangerous = p->kind->danger == PARAM_DANGEROUS;
	double wanted = q->action ? NAN : param_from_raw(p->kind, param_to_raw(p->kind, q->value));
	uint64_t behind = q->action ? 0 : engine_last_set(ops->engine, p);
	struct engine_now now = station_now();
	enum param_quality quality = engine_quality(ops->engine, p, now);
	double age_s = param_age_s(p, now.mono_ns), mute_s = engine_mute_s(ops->engine, p, now);
	bool unchanged = !q->action && is_so(p, wanted, behind, quality);
	const struct param *needs = params_sibling(ops->params, p, p->kind->needs);
	/* Of a plan. For an unknown present value that of raising: the later one for what is dangerous. */
	double step = wanted < now_set(p) ? p->kind->order_lower : p->kind->order_raise;
	char text[400];

	if (q->action) {
		snprintf(text, sizeof(text), "would do %s: %s", p->name, p->kind->description);
	} else {
		set_words(p, wanted, unchanged, behind, quality, text, sizeof(text));
	}
	if (!isnan(mute_s)) { /* sent anyway: the outcome is unknown until the floor answers */
		text_add(text, sizeof(text), "; the floor has not answered for %.0f s", mute_s);
	}
	return json_pack(
		"{s:b,s:s,s:s,s:o,s:o,s:o,s:s,s:i,s:s,s:b,s:b,s:o,s:f,s:n,s:s?,s:s,s:s,s:s,s:o,s:"
		"o}",
		"dry_run", 1, "parameter", p->name, "op", q->action ? "action" : "set", "value",
		p->has_value ? status_value(p, p->value) : json_null(), "setpoint",
		p->has_setpoint ? status_value(p, p->setpoint) : json_null(), "new",
		q->action ? json_null() : status_value(p, wanted), FIELD(p->kind, unit),
		FIELD(p, link), "danger", param_danger_names[p->kind->danger], "needs_yes",
		dangerous && !yes, "unchanged", unchanged, "behind",
		behind > 0 ? json_integer((json_int_t)behind) : json_null(), "step", step,
		"command", "needs", needs ? needs->name : NULL, FIELD(p->kind, description), "text",
		text, "quality", param_quality_names[quality], "age_s",
		age_s < 0 ? json_null() : json_real(age_s), "mute_s", json_number_or_null(mute_s));
}

/*
 * A refusal by the FCM that can be foreseen: a higher value while the module has tripped, a setting while it is off. Only
 * a dry run says so; a command itself is left to the FCM, which knows trip and power as they are now.
 */
static int check_power(struct params *params, const struct engine_request *q, const struct param *p,
		       struct sc_error *error)
{
	struct param *power = params_sibling(params, p, p->kind->powered_by);
	char hint[200];

	if (q->action || !power || power->value != 0 ||
	    param_quality(power, now_mono_ns()) != PARAM_GOOD) {
		return 0;
	}
	power->next_poll_ns = now_mono_ns();
	snprintf(hint, sizeof(hint), "Switch it on first: fcmctl set %s on.", power->name);
	return sc_fail(error, -EPERM, "interlock", hint,
		       "%s: %s is off, and its FCM takes no setting until it is on", p->name,
		       power->name);
}

static int check_trip(struct params *params, const struct engine_request *q, const struct param *p,
		      struct sc_error *error)
{
	struct param *see = params_sibling(params, p, p->kind->see);
	double safest = p->kind->safest;
	char which[PARAM_NAME_MAX], hint[256];

	if (q->action || !see || !p->has_setpoint || see->value == 0 ||
	    param_quality(see, now_mono_ns()) != PARAM_GOOD ||
	    !(fabs(q->value - safest) > fabs(p->setpoint - safest))) {
		return 0;
	}
	see->next_poll_ns = now_mono_ns();
	/* "tower1.floor3.om2.trip": the part in the middle. */
	snprintf(which, sizeof(which), "%.*s", (int)(strrchr(see->name, '.') - see->name),
		 see->name);
	advice_name_objects(strchr(which, '.') + 1, see->kind->on_alarm, hint, sizeof(hint));
	return sc_fail(error, -EPERM, "interlock", hint,
		       "%s: %s is on, and its FCM takes no higher value until that is cleared",
		       p->name, see->name);
}

int dry_run(struct ops *ops, const struct engine_request *q, const struct param *p, bool yes,
	    json_t **ret_json, struct sc_error *error)
{
	uint64_t id;
	int r = engine_check(ops->engine, q, station_now(), &id, error);

	r = r ? r : check_trip(ops->params, q, p, error);
	r = r ? r : check_power(ops->params, q, p, error);
	if (r < 0 && r != -EPERM) {
		return r;
	}
	*ret_json = r == 1 ? repeat_json(p, id) : would_json(ops, q, p, yes);
	return r < 0 ? r : 0;
}
