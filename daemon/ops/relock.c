// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operations link.reset, link.align (one re-lock of a link) and phase.soak (many, one after the other). A
 * re-lock ends when the link's phase has its verdict (phase.h), and has failed after RELOCK_LIMIT_NS. Reset
 * and align are answered then. A soak reports each re-lock as a trial and is answered after the last one, or
 * ends when its client has gone. A link has one such request at a time; another one is refused.
 */
#include "daemon/ops/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/watch.h"

#define RELOCK_LIMIT_NS 10000000000ull

/* A request that waits. */
struct relock {
	struct control_request *rq;
	uint64_t began_ns;
	/* soak: */
	uint32_t command; /* NANET3_LINK_* */
	unsigned trials, trial;
	uint64_t interval_ns, next_ns;
	bool waiting; /* for this trial's judgement */
	json_t *results;
	unsigned passes, slips, jumps, drifts, failed;
	double sum_ps, sum2_ps;
};

static uint32_t command_of(bool align)
{
	return NANET3_LINK_ALIGN | (align ? 0 : NANET3_LINK_RESET);
}

/* Its request has been answered. */
static void forget(struct ops *ops, unsigned link)
{
	json_decref(ops->relock[link]->results);
	free(ops->relock[link]);
	ops->relock[link] = NULL;
}

void relock_stop(struct ops *ops)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (ops->relock[link]) {
			forget(ops, link);
		}
	}
}

static json_t *judgement_json(const struct phase_judgement *j)
{
	return json_pack("{s:s,s:i,s:o,s:o}", "verdict", phase_verdict_name(j->verdict),
			 FIELD(j, slip), NUMBER(j, difference_ps), NUMBER(j, mean_ps));
}

static void soak_end(struct ops *ops, unsigned link)
{
	struct relock *k = ops->relock[link];
	unsigned judged = k->passes + k->slips + k->jumps + k->drifts;
	double mean = judged ? k->sum_ps / judged : NAN;
	double variance = judged > 1 ? (k->sum2_ps - judged * mean * mean) / (judged - 1) : NAN;
	/* No slip in n trials bounds its probability below 1 - 0.05^(1/n) (95 %). */
	double bound = judged && k->slips == 0 ? 1 - pow(0.05, 1.0 / judged) : NAN;

	control_answer(k->rq, json_pack("{s:i,s:o,s:i,s:i,s:i,s:i,s:i,s:o,s:o,s:o}", "link",
					(int)link, "trials", json_incref(k->results), "passes",
					k->passes, "slips", k->slips, "jumps", k->jumps, "drifts",
					k->drifts, "failed", k->failed, "mean_difference_ps",
					json_number_or_null(mean), "sigma_ps",
					json_number_or_null(variance >= 0 ? sqrt(variance) : NAN),
					"slip_probability_95", json_number_or_null(bound)));
	forget(ops, link);
}

static void soak_trial_end(struct ops *ops, unsigned link, const struct phase_judgement *j)
{
	struct relock *k = ops->relock[link];
	json_t *trial = j ? judgement_json(j)
			  : json_pack("{s:s,s:i,s:n,s:n}", "verdict", "FAILED", "slip", 0,
				      "difference_ps", "mean_ps");
	json_t *said;
	char text[96];

	k->waiting = false;
	k->trial++;
	if (!j) {
		k->failed++;
	} else {
		k->passes += j->verdict == PHASE_PASS || j->verdict == PHASE_FIRST;
		k->slips += j->verdict == PHASE_SLIP;
		k->jumps += j->verdict == PHASE_JUMP;
		k->drifts += j->verdict == PHASE_DRIFT;
		k->sum_ps += j->difference_ps;
		k->sum2_ps += j->difference_ps * j->difference_ps;
	}
	snprintf(text, sizeof(text), "trial %u of %u: %s", k->trial, k->trials,
		 j ? phase_verdict_name(j->verdict) : "FAILED: not locked and judged within 10 s");
	json_object_set_new(trial, "trial", json_integer(k->trial));
	json_object_set_new(trial, "time", json_time(now_utc_ns()));
	json_array_append(k->results, trial);
	said = json_deep_copy(trial);
	json_object_set_new(said, "of", json_integer(k->trials));
	json_object_set_new(said, "text", json_string(text));
	json_decref(trial);
	control_progress(k->rq, said);
	if (k->trial == k->trials) {
		soak_end(ops, link);
	}
}

/* `j` NULL: not in time. */
void relock_judged(struct ops *ops, unsigned link, const struct phase_judgement *j)
{
	struct relock *k = ops->relock[link];
	json_t *result;
	char hint[64];

	if (!k) {
		return;
	}
	if (k->trials) {
		if (k->waiting) {
			soak_trial_end(ops, link, j);
		}
		return;
	}
	if (!j) {
		snprintf(hint, sizeof(hint), "fcmctl link show %u shows light, lock and counters",
			 link);
		control_fail(k->rq, "failed", hint, NULL,
			     links_other_floor(ops->station, link)
				     ? "link %u: another floor than configured is on it, its phase "
				       "is not judged"
				     : "link %u was not locked and judged within 10 s",
			     link);
	} else {
		result = judgement_json(j);
		json_object_set_new(result, "link", json_integer(link));
		json_object_set_new(result, "took_s",
				    json_real((double)(now_mono_ns() - k->began_ns) / 1e9));
		control_answer(k->rq, result);
	}
	forget(ops, link);
}

static void begin_trial(struct ops *ops, unsigned link)
{
	struct relock *k = ops->relock[link];

	k->began_ns = now_mono_ns();
	k->next_ns += k->interval_ns;
	k->waiting = true;
	links_note_own(ops->station, link, "soak", control_peer(k->rq)->who);
	if (watch_link_command(ops->watch, link, k->command) < 0) {
		soak_trial_end(ops, link, NULL);
	}
}

void relock_progress(struct ops *ops, const struct engine_out *o)
{
	struct engine_command_view v;
	struct param *p;

	if (o->progress.state == COMMAND_SENT && engine_command(ops->engine, o->progress.id, &v) &&
	    *v.who && params_find(ops->params, v.parameter, &p, NULL) == 0 &&
	    strcmp(p->kind->section, "fcm.reset") == 0) {
		links_note_own(ops->station, (unsigned)p->link, "fcm.reset", v.who);
	}
}

/* Time-outs, and the next trial of a soak. */
static void tick(struct ops *ops, unsigned link)
{
	struct relock *k = ops->relock[link];
	uint64_t now = now_mono_ns();

	if (k->trials && !control_alive(k->rq)) {
		soak_end(ops, link); /* its client is gone */
	} else if ((!k->trials || k->waiting) && now - k->began_ns > RELOCK_LIMIT_NS) {
		relock_judged(ops, link, NULL);
	} else if (k->trials && !k->waiting && now >= k->next_ns) {
		begin_trial(ops, link);
	}
}

void relock_tick(struct ops *ops)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (ops->relock[link]) {
			tick(ops, link);
		}
	}
}

/* The link asked for. False: there is none, or it is busy, answered. */
static bool take_link(struct ops *ops, struct control_request *rq, const json_t *args,
		      unsigned *ret_link)
{
	int link;

	if (!link_arg(ops, rq, args, &link)) {
		return false;
	}
	if (ops->relock[link]) {
		control_fail(rq, "refused", "wait for it, or end that client", NULL,
			     "link %d: a reset, align or soak is under way", link);
		return false;
	}
	*ret_link = (unsigned)link;
	return true;
}

/* Answered if it is only asked. */
static bool relock_dry(const struct ops *ops, unsigned link, struct control_request *rq,
		       const json_t *args, const char *doing)
{
	if (control_is_dry(args) && !links_board_present(ops->station)) {
		control_fail(rq, "refused", "is the board there? fcmctl status", NULL,
			     "link %u: there is no board", link);
		return true;
	}
	return control_dry(rq, args, "would %s: its frames are lost until it is locked again",
			   doing);
}

static bool wait_for_lock(struct ops *ops, unsigned link, const struct relock *request)
{
	struct relock *k = malloc(sizeof(*k));

	if (!k) {
		control_fail(request->rq, "internal", "fcmctl status", NULL, "out of memory");
		json_decref(request->results);
		return false;
	}
	*k = *request;
	ops->relock[link] = k;
	return true;
}

void op_relock(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	bool align = strcmp(control_op(rq)->name, "link.align") == 0;
	const char *verb = align ? "align" : "reset", *reason = arg_text(args, "reason");
	char text[256], object[8];
	unsigned link;
	int r;

	if (!take_link(ops, rq, args, &link)) {
		return;
	}
	snprintf(text, sizeof(text), "%s link %u", verb, link);
	if (relock_dry(ops, link, rq, args, text)) {
		return;
	}
	snprintf(object, sizeof(object), "link%u", link);
	snprintf(text, sizeof(text), "%s by %s: %s", verb, control_peer(rq)->who,
		 reason ? reason : "no reason given");
	store_put_event(ops->store, "info", verb, object, text, "", now_utc_ns());
	log_event(LOG_NOTICE, "link", (int)link, LOG_ID_LINK, "link %u: %s", link, text);
	r = watch_link_command(ops->watch, link, command_of(align));
	if (r < 0) {
		control_fail(rq, "refused", "is the board there? fcmctl status", NULL,
			     "link %u: the board did not take it: %s", link, strerror(-r));
		return;
	}
	if (wait_for_lock(ops, link, &(struct relock){.rq = rq, .began_ns = now_mono_ns()})) {
		links_note_own(ops->station, link, verb, control_peer(rq)->who);
		control_progress(rq, json_pack("{s:s}", "text", "waiting for lock and verdict"));
	}
}

void op_soak(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	const char *command = arg_text(args, "command");
	bool align = command && strcmp(command, "align") == 0;
	unsigned trials = (unsigned)arg_int(args, "trials", 0), link;
	double interval_s = arg_number(args, "interval_s", 0);
	char doing[80];

	if (!take_link(ops, rq, args, &link)) {
		return;
	}
	snprintf(doing, sizeof(doing), "%s link %u %u times, every %.10g s",
		 align ? "align" : "reset", link, trials, interval_s);
	if (relock_dry(ops, link, rq, args, doing)) {
		return;
	}
	wait_for_lock(ops, link,
		      &(struct relock){.rq = rq,
				       .command = command_of(align),
				       .trials = trials,
				       .interval_ns = (uint64_t)(interval_s * 1e9),
				       .next_ns = now_mono_ns(),
				       .results = json_array()});
}
