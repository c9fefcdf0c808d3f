// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dispatch of requests from all transports to operations: see dispatch.h. Open requests are in
 * the list of their client. When it goes away, they lose it (client = NULL) and move to the list of
 * orphans, which is freed at the end.
 */
#include "daemon/control/dispatch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION	     2	  /* of the control messages */
#define ID_BYTES_MAX 128u /* it is kept, and comes back with every answer */

struct control_request {
	LIST_ENTRY(control_request) link;
	struct dispatch *dispatch;
	struct control_client *client; /* NULL: gone */
	struct control_peer peer;
	const struct control_op *op; /* NULL: none was found */
	json_t *id;
	bool holds; /* its client's next one waits for its end */
	bool subscribed;
};

struct dispatch {
	LIST_HEAD(, control_request) orphans;
	const struct control_op *const *tables;
	control_refused_fn refused;
	void *context;
	uint64_t refused_role;
};

struct dispatch *dispatch_create(const struct control_op *const *tables, void *context,
				 control_refused_fn refused)
{
	struct dispatch *d = calloc(1, sizeof(*d));

	if (d) {
		*d = (struct dispatch){.tables = tables, .context = context, .refused = refused};
	}
	return d;
}

static void request_free(struct control_request *rq)
{
	LIST_REMOVE(rq, link);
	json_decref(rq->id);
	free(rq);
}

void dispatch_destroy(struct dispatch *d)
{
	struct control_request *next;

	if (!d) {
		return;
	}
	for (struct control_request *rq = LIST_FIRST(&d->orphans); rq; rq = next) {
		next = LIST_NEXT(rq, link);
		json_decref(rq->id);
		free(rq);
	}
	free(d);
}

uint64_t dispatch_refused(const struct dispatch *d)
{
	return d->refused_role;
}

void control_client_init(struct control_client *client, struct dispatch *dispatch,
			 const struct control_transport *transport)
{
	*client = (struct control_client){.dispatch = dispatch, .transport = transport};
}

void control_client_fini(struct control_client *client)
{
	struct control_request *rq;

	while ((rq = LIST_FIRST(&client->requests))) {
		LIST_REMOVE(rq, link);
		rq->client = NULL;
		LIST_INSERT_HEAD(&client->dispatch->orphans, rq, link);
	}
	client->open = client->held = client->subscribed = 0;
}

bool control_client_waits(const struct control_client *client)
{
	return client->open > client->subscribed;
}

void control_subscribe(struct control_request *rq)
{
	if (rq->client && !rq->subscribed) {
		rq->client->subscribed++;
	}
	rq->subscribed = true;
}

bool control_same_peer(const struct control_request *a, const struct control_request *b)
{
	const struct control_peer *x = &a->peer, *y = &b->peer;

	return x->uid == y->uid && strcmp(x->origin, y->origin) == 0;
}

/* --- answers --- */

static void request_end(struct control_request *rq, json_t *message)
{
	struct control_client *cl = rq->client;

	if (cl) {
		cl->open--;
		cl->held -= rq->holds;
		cl->subscribed -= rq->subscribed;
	}
	request_free(rq);
	if (cl) {
		cl->transport->say(cl, message);
		if (cl->transport->answered) {
			cl->transport->answered(cl);
		}
	} else {
		json_decref(message);
	}
}

const struct control_peer *control_peer(const struct control_request *rq)
{
	return &rq->peer;
}

const struct control_op *control_op(const struct control_request *rq)
{
	return rq->op;
}

void control_peer_words(const struct control_peer *peer, char *text, size_t size)
{
	if (peer->uid >= 0) {
		snprintf(text, size, "%s (uid %lld, pid %lld, %s)", peer->who, (long long)peer->uid,
			 (long long)peer->pid, peer->origin);
	} else {
		snprintf(text, size, "%s (%s)", peer->who, peer->origin);
	}
}

void control_hold(struct control_request *rq)
{
	if (rq->client && !rq->holds) {
		rq->holds = true;
		rq->client->held++;
	}
}

bool control_alive(const struct control_request *rq)
{
	return rq->client != NULL;
}

void control_answer(struct control_request *rq, json_t *result)
{
	request_end(rq, json_pack("{s:i,s:O,s:b,s:o}", "v", VERSION, "id", rq->id, "ok", 1,
				  "result", result ? result : json_object()));
}

/* A character may have been cut in two by a limit: then all that is not ASCII becomes "?". */
static json_t *text_json(const char *text)
{
	json_t *j = json_string(text), *ascii;
	char *copy;

	if (j) {
		return j;
	}
	copy = strdup(text);
	for (char *p = copy; p && *p; p++) {
		*p = *p & 0x80 ? '?' : *p;
	}
	ascii = json_string(copy ? copy : "?");
	free(copy);
	return ascii;
}

static json_t *failure(json_t *id, const char *code, const char *hint, const char *text,
		       json_t *extra)
{
	json_t *error = json_pack("{s:s,s:o,s:o}", "code", code, "message", text_json(text), "hint",
				  text_json(hint ? hint : ""));

	json_object_update(error, extra);
	json_decref(extra);
	return json_pack("{s:i,s:O,s:b,s:o}", "v", VERSION, "id", id, "ok", 0, "error", error);
}

void control_fail(struct control_request *rq, const char *code, const char *hint, json_t *extra,
		  const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	request_end(rq, failure(rq->id, code, hint, text, extra));
}

json_t *control_detail(enum error_detail detail)
{
	return json_pack("{s:s}", "detail", error_details[detail].word);
}

void control_fail_error(struct control_request *rq, const char *code, const struct sc_error *error,
			json_t *extra)
{
	enum error_detail detail = error_detail_of(error->code);
	json_t *both = detail != DETAIL_NONE ? control_detail(detail) : json_object();

	json_object_update(both, extra);
	json_decref(extra);
	control_fail(rq, code, error->hint, both, "%s", error->message);
}

void control_progress(struct control_request *rq, json_t *progress)
{
	if (!rq->client) {
		json_decref(progress);
		return;
	}
	rq->client->transport->say(rq->client, json_pack("{s:i,s:O,s:o}", "v", VERSION, "id",
							 rq->id, "progress", progress));
}

void dispatch_refuse(struct control_client *client, json_t *id, const char *code, const char *hint,
		     enum error_detail detail, const char *why)
{
	json_t *whose = id ? json_incref(id) : json_null();
	json_t *extra = detail != DETAIL_NONE ? control_detail(detail) : NULL;

	client->transport->say(client, failure(whose, code, hint, why, extra));
	json_decref(whose);
}

/* --- who may --- */

static const char *const role_words[ACCESS_ROLES] = {
	[ACCESS_READER] = "a reader",
	[ACCESS_OPERATOR] = "an operator",
	[ACCESS_EXPERT] = "an expert",
};

bool control_may(struct control_request *rq, json_t *args, enum access_role needs, const char *what)
{
	struct dispatch *d = rq->dispatch;
	struct sc_error error = {0};
	bool local = rq->peer.uid >= 0;

	if (rq->peer.role >= needs) {
		return true;
	}
	sc_fail(&error, -EACCES, "role",
		local ? "ask the administrator of this machine: [control] of the configuration "
			"names the groups that give roles"
		      : "ask the administrator of the daemon's allow list, or use a key with that "
			"role: fcmctl key list",
		local ? "%s: that is for %ss; %s is %s"
		      : "%s: that is for %ss; the key \"%s\" is %s's",
		what, access_role_name(needs), rq->peer.who, role_words[rq->peer.role]);
	d->refused_role++;
	if (!d->refused || !d->refused(d->context, rq, rq->op->name, args, &error)) {
		control_fail_error(rq, "refused", &error, NULL);
	}
	return false;
}

/* --- arguments --- */

/* First what is given, then the role, then what is missing: who lacks the role hears that. False: answered. */
static bool check_request(struct control_request *rq, json_t *args)
{
	struct arg_fault fault;

	if (args_fit(rq->op->args, args, &fault)) {
		if (!control_may(rq, args, rq->op->role, rq->op->name)) {
			return false;
		}
		if (args_complete(rq->op->args, args, &fault)) {
			return true;
		}
	}
	control_fail(rq, "usage", fault.hint,
		     fault.too_long ? control_detail(DETAIL_TOO_LONG) : NULL, "%s: %s",
		     rq->op->name, fault.message);
	return false;
}

bool control_dry(struct control_request *rq, const json_t *args, const char *format, ...)
{
	char text[600];
	va_list ap;

	if (!control_is_dry(args)) {
		return false;
	}
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	control_answer(rq, json_pack("{s:b,s:s}", "dry_run", 1, "text", text));
	return true;
}

/* --- messages --- */

/* A value follows a comma or an opening bracket. */
static bool has_too_many_values(const char *text, size_t length)
{
	unsigned values = 0;
	bool quoted = false;

	for (size_t i = 0; i < length && values <= CONTROL_VALUES_MAX; i++) {
		char c = text[i];

		if (c == '"') {
			quoted = !quoted;
		} else if (quoted) {
			i += c == '\\';
		} else {
			values += c == ',' || c == '[' || c == '{';
		}
	}
	return values > CONTROL_VALUES_MAX;
}

json_t *dispatch_load(const void *bytes, size_t length, json_error_t *error)
{
	if (has_too_many_values(bytes, length)) {
		snprintf(error->text, sizeof(error->text), "more than %u values in a message",
			 CONTROL_VALUES_MAX);
		return NULL;
	}
	return json_loadb(bytes, length, JSON_REJECT_DUPLICATES, error);
}

/* --- operations --- */

static json_t *op_json(const struct control_op *o)
{
	return json_pack("{s:s,s:s,s:s,s:b,s:o}", "op", o->name, "role", access_role_name(o->role),
			 "about", o->about ? o->about : "", "urgent", o->urgent, "args",
			 args_schema(o->args));
}

json_t *control_ops_json(const struct control_op *const *tables)
{
	json_t *operations = json_array(), *details = json_array();

	for (const struct control_op *const *table = tables; *table; table++) {
		for (const struct control_op *o = *table; o->name; o++) {
			json_array_append_new(operations, op_json(o));
		}
	}
	for (unsigned n = 0; n < ERROR_DETAILS_COUNT; n++) {
		json_array_append_new(details,
				      json_pack("{s:s,s:s}", "detail", error_details[n].word,
						"meaning", error_details[n].meaning));
	}
	return json_pack("{s:o,s:o}", "operations", operations, "details", details);
}

static const struct control_op *find_op(const struct dispatch *d, const char *name)
{
	for (const struct control_op *const *table = d->tables; *table; table++) {
		for (const struct control_op *o = *table; o->name; o++) {
			if (strcmp(o->name, name) == 0) {
				return o;
			}
		}
	}
	return NULL;
}

static struct control_request *request_new(struct control_client *cl, json_t *id)
{
	struct control_request *rq = calloc(1, sizeof(*rq));

	if (!rq) {
		return NULL;
	}
	*rq = (struct control_request){.dispatch = cl->dispatch,
				       .client = cl,
				       .peer = cl->peer,
				       .id = id ? json_incref(id) : json_null()};
	LIST_INSERT_HEAD(&cl->requests, rq, link);
	cl->open++;
	return rq;
}

static bool is_id(const json_t *id)
{
	return !id || json_is_null(id) || json_is_number(id) ||
	       (json_is_string(id) && json_string_length(id) <= ID_BYTES_MAX);
}

void dispatch_take(struct control_client *client, json_t *message)
{
	json_t *args = json_object_get(message, "args"), *id = json_object_get(message, "id");
	const char *op = json_string_value(json_object_get(message, "op"));
	struct control_request *rq = request_new(client, is_id(id) ? id : NULL);
	struct dispatch *d = client->dispatch;

	if (!rq) {
		return;
	}
	rq->op = op ? find_op(d, op) : NULL;
	if (!is_id(id)) {
		control_fail(rq, "usage", "see schemas/control.md", NULL,
			     "an id is a number, or a string of at most %u bytes", ID_BYTES_MAX);
	} else if (json_integer_value(json_object_get(message, "v")) != VERSION) {
		control_fail(rq, "usage",
			     "send \"v\":2, and read what has changed: schemas/control.md", NULL,
			     "this daemon speaks version 2");
	} else if (!op || (args && !json_is_object(args))) {
		control_fail(rq, "usage", "see schemas/control.md", NULL,
			     "a request is {\"v\":2,\"id\":...,\"op\":\"...\",\"args\":{...}}");
	} else if (!rq->op) {
		control_fail(rq, "usage", "see schemas/control.md", NULL, "no operation \"%.60s\"",
			     op);
	} else if (client->gone && rq->op->role == ACCESS_READER) {
		control_answer(rq, NULL);
	} else if (client->urgent_only && !rq->op->urgent) {
		control_fail(
			rq, "refused", "close connections that are not needed, then connect again",
			control_detail(DETAIL_CROWDED),
			"%s: there are too many connections, and your other ones are all busy; "
			"this one may use safe, param.get, status and info only",
			op);
	} else if (check_request(rq, args)) {
		rq->op->run(rq, args, d->context);
	}
}

const char *dispatch_bytes(struct control_client *client, const void *bytes, size_t length,
			   json_error_t *error)
{
	json_t *message = dispatch_load(bytes, length, error);
	const char *fault = !message		       ? error->text
			    : !json_is_object(message) ? "not a JSON object"
						       : NULL;

	if (!fault) {
		dispatch_take(client, message);
	}
	json_decref(message);
	return fault;
}
