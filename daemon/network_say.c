// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The network's control server as the station has it: its key and allow list, who was refused (status,
 * events), what a reload changes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/station.h"
#include "slowctl/keyfile.h"
#include "slowctl/plural.h"

#define TOLD_NS 60000000000ull /* refusals come again and again: told once a minute */

static void say_mistake(void *context, const char *text)
{
	(void)context;
	log_event(LOG_ERR, "network", LOG_NO_LINK, LOG_ID_CONFIG, "%s", text);
}

int network_start(struct station *s)
{
	static struct access_list list;
	struct network_config c = {
		.endpoint = s->config.network.endpoint,
		.key_file = s->config.network.key_file,
		.rate = s->config.network.rate,
		.burst = s->config.network.burst,
	};
	struct sc_error error = {0};
	int r;

	if (!*c.endpoint) {
		return 0;
	}
	r = access_list_read(s->config.network.allow_list, &list, say_mistake, NULL);
	if (r < 0) {
		log_error("network",
			  "[network] allow_list in %s: correct it, or leave endpoint empty",
			  s->config_path);
		return r;
	}
	r = network_open(s->base, &c, &list, s->desk, &s->network, &error);
	if (r < 0) {
		log_error("network", "%s. %s: [network] in %s", error.message, error.hint,
			  s->config_path);
		return r;
	}
	store_put_station(s->store, "allow_list", s->config.network.allow_list);
	log_event(LOG_INFO, "network", LOG_NO_LINK, LOG_ID_CONFIG,
		  "control at %s, CURVE, %u key%s in %s", c.endpoint, list.count,
		  plural(list.count), s->config.network.allow_list);
	return 0;
}

static void print_mistake(void *context, const char *text)
{
	fprintf(context, "%s\n", text);
}

int network_check(const struct config *c, FILE *err)
{
	static struct access_list list;
	char secret[ACCESS_KEY_TEXT], public[ACCESS_KEY_TEXT];
	struct sc_error error = {0};
	int r, key;

	if (!*c->network.endpoint) {
		return 0;
	}
	r = access_list_read(c->network.allow_list, &list, print_mistake, err);
	key = keyfile_read(c->network.key_file, secret, public, &error);
	explicit_bzero(secret, sizeof(secret));
	if (key < 0) {
		fprintf(err, "%s. %s\n", error.message, error.hint);
	}
	return r < 0 ? r : key;
}

void network_reload(struct station *s, const struct config *fresh)
{
	static struct access_list list;

	if (!s->network) {
		return;
	}
	s->config.network.rate = fresh->network.rate;
	s->config.network.burst = fresh->network.burst;
	if (access_list_read(s->config.network.allow_list, &list, say_mistake, NULL) < 0) {
		log_error("network", "the allow list is as before: %s has mistakes",
			  s->config.network.allow_list);
		store_put_event(s->store, "warning", "network-allow-list", "network",
				"the allow list has mistakes: the one before still holds",
				"see the log for file and line, correct it, reload again",
				now_utc_ns());
		return;
	}
	network_allow(s->network, &list, s->config.network.rate, s->config.network.burst);
	log_event(LOG_NOTICE, "network", LOG_NO_LINK, LOG_ID_CONFIG, "%u key%s in %s", list.count,
		  plural(list.count), s->config.network.allow_list);
}

/* --- who was refused --- */

/* What has been counted since it was last told, if it may be told again now; else 0. */
static uint64_t news(struct told_count *t, uint64_t count)
{
	uint64_t now = now_mono_ns(), more = count - t->count;

	if (more == 0 || (t->at_ns && now - t->at_ns < TOLD_NS)) {
		return 0;
	}
	t->count = count;
	t->at_ns = now;
	return more;
}

static void tell_connections(struct station *s)
{
	struct network_status v;
	char text[300];
	uint64_t more;

	network_get_status(s->network, &v);
	more = news(&s->access.connections, v.refused);
	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text),
		 "a connection from %s was refused: %s%s%s (%llu refused since this was last told)",
		 *v.last.address ? v.last.address : "somewhere", v.last.why,
		 *v.last.key ? ", it begins with " : "", v.last.key, (unsigned long long)more);
	log_event(LOG_WARNING, "network", LOG_NO_LINK, LOG_ID_REFUSED, "%s", text);
	store_put_event(s->store, "warning", "network-refused", "network", text,
			"if it should be let in: a line in the allow list, then reload; if it "
			"should not: find out who runs there what",
			now_utc_ns());
}

static void tell_requests(struct station *s)
{
	uint64_t more = news(&s->access.requests, control_desk_refused(s->desk));
	char text[480];

	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text), "refused: %s (%llu since this was last told)", s->access.text,
		 (unsigned long long)more);
	store_put_event(s->store, "warning", "access-refused", s->access.origin, text,
			"if it should be allowed: another role in the allow list, then reload",
			now_utc_ns());
}

void network_second(struct station *s)
{
	if (s->network) {
		network_tend(s->network);
		tell_connections(s);
	}
	tell_requests(s);
}

/* --- status --- */

static json_t *network_json(struct station *s)
{
	struct network_status v;

	if (!s->network) {
		return json_null();
	}
	network_get_status(s->network, &v);
	return json_pack("{s:s,s:s,s:i,s:I,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}",
			 "endpoint", s->config.network.endpoint, "public_key", v.public_key, "keys",
			 (int)v.keys, "connections", (json_int_t)(v.accepted - v.ended), "clients",
			 (int)v.clients, "accepted", (json_int_t)v.accepted, "admitted",
			 (json_int_t)v.admitted, "refused", (json_int_t)v.refused, "refused_key",
			 (json_int_t)v.refused_key, "crowded", (json_int_t)v.crowded, "requests",
			 (json_int_t)v.requests, "bad_messages", (json_int_t)v.bad_messages,
			 "refused_rate", (json_int_t)v.refused_rate, "removed",
			 (json_int_t)v.removed, "unsent", (json_int_t)v.unsent);
}

json_t *network_status_json(struct station *s)
{
	struct control_stats v;

	control_get_stats(s->control, &v);
	return json_pack("{s:I,s:I,s:I,s:o}", "clients", (json_int_t)v.clients, "bad_messages",
			 (json_int_t)v.bad_messages, "refused_role",
			 (json_int_t)control_desk_refused(s->desk), "network", network_json(s));
}
