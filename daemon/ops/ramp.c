// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ramp: a set of what the FCM ramps by itself (the HV, by the module's own ramp register), with the rate set
 * first when one is given. The steps are the FCM's, so it goes on as told when the shore is away.
 */
#include "daemon/ops/ops.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* It stands at that already. */
static bool is_rate(const struct param *ramp, double rate, uint64_t now_ns)
{
	return param_quality(ramp, now_ns) == PARAM_GOOD &&
	       fabs(ramp->value - rate) <= ramp->kind->tolerance;
}

/* Its ramp register; NULL: it has none. */
static struct param *ramp_of(struct station *s, const struct param *p, struct sc_error *error)
{
	struct param *ramp =
		p->kind->settle_by[0] ? params_sibling(s->params, p, p->kind->settle_by) : NULL;

	if (!ramp) {
		sc_fail(error, -EINVAL, "no-ramp", "Set it without a rate.",
			"%s does not ramp: it is there at once", p->name);
	}
	return ramp;
}

int ramp_rate(struct station *s, const struct param *p, double rate,
	      const struct engine_request *request, struct param **ret_ramp,
	      struct engine_request *ret_first, struct sc_error *error)
{
	struct param *ramp = ramp_of(s, p, error);
	struct engine_now now = {now_mono_ns(), now_utc_ns()};
	uint64_t id;

	*ret_ramp = NULL;
	if (!ramp) {
		return -EINVAL;
	}
	if (rate == 0 || is_rate(ramp, rate, now.mono_ns) ||
	    engine_check(s->engine, request, now, &id, NULL) != 0) {
		return 0; /* a repeat, or what will be refused: no rate for that */
	}
	*ret_ramp = ramp;
	*ret_first = *request;
	ret_first->parameter = ramp->name;
	ret_first->value = rate;
	ret_first->client_id = NULL;
	return 0;
}

int ramp_try(struct station *s, const struct param *ramp, const struct engine_request *first,
	     json_t *would, struct sc_error *error)
{
	struct engine_now now = {now_mono_ns(), now_utc_ns()};
	uint64_t id;
	char to[32];
	int r = engine_check(s->engine, first, now, &id, error);

	if (r < 0) {
		return r;
	}
	json_object_set_new(would, "rate", json_real(first->value));
	json_object_set_new(
		would, "text",
		json_sprintf("%s; before that %s to %s %s, where it stays",
			     json_string_value(json_object_get(would, "text")), ramp->name,
			     param_format(ramp, first->value, to, sizeof(to)), ramp->kind->unit));
	return 0;
}
