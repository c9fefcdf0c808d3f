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

static void tell_connections(struct station *s)
{
	struct network_status v;
	char text[300];
	uint64_t more;

	network_get_status(s->network, &v);
	more = told_news(&s->access.connections, v.door.refused, now_mono_ns());
	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text),
		 "a connection from %s was refused: %s%s%s (%llu refused since this was last told)",
		 *v.door.last.address ? v.door.last.address : "somewhere", v.door.last.why,
		 *v.door.last.key ? ", it begins with " : "", v.door.last.key,
		 (unsigned long long)more);
	log_event(LOG_WARNING, "network", LOG_NO_LINK, LOG_ID_REFUSED, "%s", text);
	store_put_event(s->store, "warning", "network-refused", "network", text,
			"if it should be let in: a line in the allow list, then reload; if it "
			"should not: find out who runs there what",
			now_utc_ns());
}

static void tell_requests(struct station *s)
{
	uint64_t more =
		told_news(&s->access.requests, control_desk_refused(s->desk), now_mono_ns());
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
	json_t *j;

	if (!s->network) {
		return json_null();
	}
	network_get_status(s->network, &v);
	j = status_door(s->config.network.endpoint, &v.door);
	json_object_update_new(
		j, json_pack("{s:s,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I}", "public_key", v.public_key,
			     "keys", (int)v.keys, "clients", (int)v.clients, "refused_key",
			     (json_int_t)v.refused_key, "requests", (json_int_t)v.requests,
			     "bad_messages", (json_int_t)v.bad_messages, "refused_rate",
			     (json_int_t)v.refused_rate, "removed", (json_int_t)v.removed, "unsent",
			     (json_int_t)v.unsent));
	return j;
}

json_t *network_status_json(struct station *s)
{
	struct control_stats v;

	control_get_stats(s->control, &v);
	return json_pack("{s:I,s:I,s:I,s:o}", "clients", (json_int_t)v.clients, "bad_messages",
			 (json_int_t)v.bad_messages, "refused_role",
			 (json_int_t)control_desk_refused(s->desk), "network", network_json(s));
}
