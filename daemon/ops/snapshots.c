// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Snapshots: the set values of now, stored in the database under a name that every operator can use. The values are
 * written first, then the row that makes them a snapshot; the client is answered when that row is on the disk.
 */
#include "daemon/ops/private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/text.h"
#include "daemon/record/dir.h"
#include "daemon/station/questions.h"
#include "slowctl/param/plural.h"

/* The snapshot that is being saved or removed, or was last. */
struct snapshots {
	struct control_request *rq; /* waits for it; NULL: none is */
	int64_t id;		    /* UTC ns */
	char name[64], who[64], note[200], pattern[64];
	const struct param **found; /* while they are gathered */
	unsigned parameters, unknown;
	json_t *missing; /* the names of the unknown */
};

#define NAMED 3u /* of them in a line of text */

static void gather_one(void *context, struct param *p)
{
	struct snapshots *w = context;

	if (p->kind->access != PARAM_RW || (p->kind->optional && p->bad)) {
		return; /* read-only, or missing in the FCM */
	}
	if (p->has_setpoint) {
		w->found[w->parameters++] = p;
	} else {
		w->unknown++;
		json_array_append_new(w->missing, json_string(p->name));
	}
}

/* "; unknown set values: 5 (a, b, c and 2 more)", or nothing. */
static const char *missing_text(const struct snapshots *w, char *buf, size_t size)
{
	*buf = '\0';
	if (w->unknown == 0) {
		return buf;
	}
	text_add(buf, size, "; unknown set values: %u", w->unknown);
	for (unsigned n = 0; n < w->unknown && n < NAMED; n++) {
		text_add(buf, size, "%s%s", n > 0 ? ", " : " (",
			 json_string_value(json_array_get(w->missing, n)));
	}
	if (w->unknown > NAMED) {
		text_add(buf, size, " and %u more", w->unknown - NAMED);
	}
	text_add(buf, size, ")");
	return buf;
}

#define FLAGS (STORE_URGENT | STORE_NOW_OR_NEVER)

static int put_values(struct store *store, const struct snapshots *w)
{
	int r = 0;

	for (unsigned at = 0; at < w->parameters && r == 0; at += ROW_SNAPSHOT_PAIRS) {
		struct row row;

		row_begin(&row, ROW_SNAPSHOT_VALUES);
		row_add(&row, ROW_VI(w->id));
		for (unsigned n = at; n < at + ROW_SNAPSHOT_PAIRS; n++) {
			row_add(&row, ROW_VT(n < w->parameters ? w->found[n]->name : NULL));
			row_add(&row, ROW_VR(n < w->parameters ? w->found[n]->setpoint : NAN));
		}
		r = store_submit(store, &row, 0, FLAGS);
	}
	return r;
}

static int put_snapshot(struct ops *ops)
{
	const struct snapshots *w = ops->snapshots;
	struct row row;
	int r = put_values(ops->store, w);

	row_make(&row, ROW_SNAPSHOT, ROW_VI(w->id), ROW_VT(w->name), ROW_VI(w->id), ROW_VT(w->who),
		 ROW_VT(w->note), ROW_VT(w->pattern), ROW_VI(w->parameters), ROW_VI(w->unknown));
	return r < 0 ? r : store_submit(ops->store, &row, 0, FLAGS | STORE_ANSWER);
}

static void put_event(struct ops *ops, const char *name, const char *text)
{
	char object[80];

	snprintf(object, sizeof(object), "snapshot %s", name);
	store_put_event(ops->store, "info", "snapshot", object, text, "", now_utc_ns());
	log_event(LOG_NOTICE, "snapshot", LOG_NO_LINK, LOG_ID_RECORD, "%s: %s", object, text);
}

static json_t *snapshot_json(const struct snapshots *w)
{
	return json_pack("{s:s,s:o,s:s,s:s,s:s,s:i,s:i,s:O}", FIELD(w, name), "time",
			 json_time(w->id), FIELD(w, who), FIELD(w, note), FIELD(w, pattern),
			 "parameters", (int)w->parameters, "unknown", (int)w->unknown,
			 FIELD(w, missing));
}

/* For the store's answer to the row; `r`: whether it has taken that. */
static void await(struct ops *ops, struct control_request *rq, int r)
{
	if (r < 0) {
		control_fail(rq, "failed", "fcmctl status shows the state of the store; try again",
			     NULL, "the store accepts no more rows: %s", strerror(-r));
	} else {
		ops->snapshots->rq = rq;
	}
}

/* One at a time. False: another one is being stored, answered. */
static bool is_free(struct ops *ops, struct control_request *rq)
{
	if (ops->snapshots->rq) {
		control_fail(rq, "refused", "repeat it in a moment", NULL,
			     "another snapshot is being saved or removed");
		return false;
	}
	return true;
}

void snapshots_stored(struct ops *ops, const struct store_done *done)
{
	bool saved = done->row == ROW_SNAPSHOT;
	struct snapshots *w = ops->snapshots;
	struct control_request *rq = w->rq;
	char text[400];

	if (!saved && done->row != ROW_SNAPSHOT_REMOVE) {
		return;
	}
	w->rq = NULL;
	if (done->result < 0) {
		control_fail(rq, "failed", "look at the disk of the database: df, dmesg; try again",
			     NULL, "snapshot %s was not %s: the database did not accept it: %s",
			     w->name, saved ? "saved" : "removed", strerror(-done->result));
		return;
	}
	snprintf(text, sizeof(text), "removed by %s", w->who);
	if (saved) {
		snprintf(text, sizeof(text), "saved by %s: %u parameter%s%s%s", w->who,
			 w->parameters, plural(w->parameters), *w->note ? ": " : "", w->note);
	}
	put_event(ops, w->name, text);
	control_answer(rq, saved ? snapshot_json(w) : json_pack("{s:s}", FIELD(w, name)));
}

static void save(struct ops *ops, struct control_request *rq)
{
	struct snapshots *w = ops->snapshots;
	int64_t now = now_utc_ns();

	if (w->parameters == 0) {
		control_fail(rq, "refused", "fcmctl get lists what can be set", NULL,
			     w->unknown ? "no set value is known yet for any of %u parameters"
					: "no parameter that matches can be set",
			     w->unknown);
		return;
	}
	w->id = now > w->id ? now : w->id + 1;
	snprintf(w->who, sizeof(w->who), "%s", control_peer(rq)->who);
	await(ops, rq, put_snapshot(ops));
}

static int ask_snapshot(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_snapshot(q, arg_text(n->args, "name"), ret_json);
}

static void gather_and_save(struct ops *ops, struct control_request *rq, const json_t *args)
{
	struct snapshots *w = ops->snapshots;
	char text[4 * PARAM_NAME_MAX];

	json_decref(w->missing);
	w->missing = json_array();
	w->parameters = w->unknown = 0;
	w->found = calloc(params_count(ops->params) + 1, sizeof(*w->found));
	if (!w->found) {
		control_fail(rq, "internal", "", NULL, "out of memory");
		return;
	}
	params_match(ops->params, *w->pattern ? w->pattern : "*", gather_one, w);
	if (w->parameters == 0 ||
	    !control_dry(rq, args, "would save %u parameter%s as snapshot %s%s", w->parameters,
			 plural(w->parameters), w->name, missing_text(w, text, sizeof(text)))) {
		save(ops, rq);
	}
	free(w->found);
	w->found = NULL;
}

/* False: another one is being saved, answered. */
static bool take_words(struct ops *ops, struct control_request *rq, const json_t *args)
{
	struct snapshots *w = ops->snapshots;

	if (!is_free(ops, rq)) {
		return false;
	}
	snprintf(w->name, sizeof(w->name), "%s", arg_text(args, "name"));
	snprintf(w->pattern, sizeof(w->pattern), "%s", arg_words(args, "pattern"));
	snprintf(w->note, sizeof(w->note), "%s", arg_words(args, "note"));
	return true;
}

/* -ENOENT: the name is free. Another one may have been asked for meanwhile. */
static void tell_name(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	json_decref(answer);
	if (r == -ENOENT && !error->code[0]) {
		if (take_words(n->asker, n->rq, n->args)) {
			gather_and_save(n->asker, n->rq, n->args);
		}
	} else if (r == 0) {
		control_fail(n->rq, "refused",
			     "choose another name, or remove that one: fcmctl snapshot remove NAME",
			     NULL, "there is a snapshot %s", arg_text(n->args, "name"));
	} else {
		questions_tell(n, r, NULL, error);
	}
}

static void op_save(struct control_request *rq, json_t *args, void *context)
{
	if (!record_dir_name_ok(arg_text(args, "name"))) {
		control_fail(rq, "usage", "letters, digits and . _ - only, not a dot first", NULL,
			     "a snapshot cannot have that name");
	} else if (is_free(context, rq)) {
		ask_database(rq, args, context);
	}
}

/* False: answered. */
static bool was_found(struct question *n, int r, const struct sc_error *error)
{
	if (r == -ENOENT && !error->code[0]) {
		control_fail(n->rq, "usage", "fcmctl snapshot list shows them", NULL,
			     "there is no snapshot %.60s", arg_text(n->args, "name"));
	} else if (r < 0) {
		questions_tell(n, r, NULL, error);
	}
	return r == 0;
}

/* Values as Parameter has them, for parameters that still exist. */
static void tell_values(struct question *n, int r, json_t *found, const struct sc_error *error)
{
	struct ops *ops = n->asker;
	json_t *value;
	size_t i;

	if (!was_found(n, r, error)) {
		return;
	}
	json_array_foreach (json_object_get(found, "values"), i, value) {
		const char *name = json_string_value(json_object_get(value, "parameter"));
		struct param *p = NULL;
		bool there = name && params_find(ops->params, name, &p, NULL) == 0 &&
			     p->kind->access == PARAM_RW;

		if (there) {
			double number = json_number_value(json_object_get(value, "value"));

			json_object_set_new(value, "value", status_value(p, number));
		}
		json_object_set_new(value, "unit", json_string(there ? p->kind->unit : ""));
		json_object_set_new(value, "configured", json_boolean(there));
	}
	json_object_del(found, "id");
	control_answer(n->rq, found);
}

static void remove_it(struct ops *ops, struct control_request *rq, const json_t *found)
{
	struct snapshots *w = ops->snapshots;
	struct row row;

	snprintf(w->name, sizeof(w->name), "%s", json_string_value(json_object_get(found, "name")));
	snprintf(w->who, sizeof(w->who), "%s", control_peer(rq)->who);
	row_make(&row, ROW_SNAPSHOT_REMOVE,
		 ROW_VI(json_integer_value(json_object_get(found, "id"))));
	await(ops, rq, store_submit(ops->store, &row, 0, FLAGS | STORE_ANSWER));
}

static void tell_removable(struct question *n, int r, json_t *found, const struct sc_error *error)
{
	if (was_found(n, r, error) && is_free(n->asker, n->rq) &&
	    !control_dry(n->rq, n->args, "would remove snapshot %s",
			 json_string_value(json_object_get(found, "name")))) {
		remove_it(n->asker, n->rq, found);
	}
	json_decref(found);
}

static void op_remove(struct control_request *rq, json_t *args, void *context)
{
	if (is_free(context, rq)) {
		ask_database(rq, args, context);
	}
}

int snapshots_start(struct ops *ops)
{
	ops->snapshots = calloc(1, sizeof(*ops->snapshots));
	return ops->snapshots ? 0 : -ENOMEM;
}

void snapshots_stop(struct ops *ops)
{
	if (ops->snapshots->rq) {
		control_fail(ops->snapshots->rq, "unknown",
			     "fcmctl snapshot list shows whether it was saved", NULL,
			     "the daemon was stopped while it stored snapshot %s",
			     ops->snapshots->name);
	}
	json_decref(ops->snapshots->missing);
	free(ops->snapshots);
	ops->snapshots = NULL;
}

static int ask_snapshots(struct query *q, const struct question *n, json_t **ret_json)
{
	int r = query_snapshots(q, (unsigned)arg_int(n->args, "limit", 0), ret_json);
	json_t *snapshot;
	size_t i;

	if (r == 0) {
		json_array_foreach (json_object_get(*ret_json, "snapshots"), i, snapshot) {
			json_object_del(snapshot, "id");
		}
	}
	return r;
}

#define NAME CONTROL_ARG("name", ARG_TEXT, true, 0, 63, .about = "letters, digits and . _ - only")
#define ONE(then)                                                                                  \
	.data = &(const struct question)                                                           \
	{                                                                                          \
		.what = "snapshot", .ask = ask_snapshot, .tell = (then)                            \
	}

const struct control_op snapshot_ops[] = {
	{"snapshot.save", ACCESS_OPERATOR, op_save, "save what is set now under a name",
	 CONTROL_ARGS(NAME,
		      {"pattern", ARG_TEXT, .max = 63,
		       .about = "parameters that match; else all that can be set"},
		      {"note", ARG_TEXT, .max = 199, .about = "for those who list it"}, DRY_RUN),
	 ONE(tell_name)},
	{"snapshot.list", ACCESS_READER, ask_database, "all snapshots", CONTROL_ARGS(LIMIT),
	 .data = &(const struct question){.what = "snapshots", .ask = ask_snapshots}},
	{"snapshot.show", ACCESS_READER, ask_database, "a snapshot with its values",
	 CONTROL_ARGS(NAME), ONE(tell_values)},
	{"snapshot.remove", ACCESS_EXPERT, op_remove, "remove a snapshot",
	 CONTROL_ARGS(NAME, DRY_RUN), ONE(tell_removable)},
	{0},
};
