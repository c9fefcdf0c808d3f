// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The start of the network's control server; refused connections and requests, and listening sockets that cannot be
 * opened, as log and events.
 */
#include "daemon/station/network_say.h"

#include <stdio.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/control/network.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/core/text.h"
#include "daemon/station/base.h"
#include "daemon/station/reports.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"

static void say_login(void *context, const struct access_key *key, const char *address,
		      uint64_t logins)
{
	char times[80] = "";

	if (logins > 1) {
		snprintf(times, sizeof(times), ", %llu times since this was last logged",
			 (unsigned long long)logins);
	}
	log_event(LOG_NOTICE, "network", LOG_NO_LINK, LOG_ID_LOGIN,
		  "key %s (%s, %.8s...) has logged in from %s%s", key->name,
		  access_role_name(key->right.role), key->key, address, times);
}

int network_start(struct station *s)
{
	struct network_config c = {
		.endpoint = s->config.network.endpoint,
		.key_file = s->config.network.key_file,
		.rate = s->config.network.rate,
		.burst = s->config.network.burst,
		.login = say_login,
	};
	struct sc_error error = {0};
	int r;

	if (!*c.endpoint) {
		return 0;
	}
	r = network_open(s->base, &c, &s->access_list, s->dispatch, &s->network, &error);
	if (r < 0) {
		log_error("network", "%s. %s: [network] in %s", error.message, error.hint,
			  s->config_path);
		return station_blame_config(s, r);
	}
	log_event(LOG_INFO, "network", LOG_NO_LINK, LOG_ID_CONFIG,
		  "control at %s, CURVE, allow list %s", c.endpoint, s->config.network.allow_list);
	return 0;
}

void network_allow_keys(struct station *s)
{
	if (s->network) {
		network_allow(s->network, &s->access_list, s->config.network.rate,
			      s->config.network.burst);
	}
}

/* --- who was refused --- */

static void tell_refused(struct station *s, struct reported_count *reported, const char *code,
			 const char *object, const struct door_status *v)
{
	char text[300];
	uint64_t more = reported_growth(reported, v->refused, now_mono_ns());

	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text),
		 "a connection from %s was refused: %s%s%s (%llu refused since this was last "
		 "reported)",
		 *v->last.address ? v->last.address : "somewhere", v->last.why,
		 *v->last.key ? ", it begins with " : "", v->last.key, (unsigned long long)more);
	log_event(LOG_WARNING, object, LOG_NO_LINK, LOG_ID_REFUSED, "%s", text);
	store_put_event(s->store, "warning", code, object, text,
			"if it should be let in: a line in the allow list, then reload; if it "
			"should not: find out who runs there what",
			now_utc_ns());
}

static void tell_requests(struct station *s)
{
	uint64_t more =
		reported_growth(&s->access.requests, dispatch_refused(s->dispatch), now_mono_ns());
	char text[480];

	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text), "refused: %s (%llu since this was last reported)",
		 s->access.text, (unsigned long long)more);
	store_put_event(s->store, "warning", "access-refused", s->access.origin, text,
			"if it should be allowed: another role, by the allow list (then reload) or "
			"by a group of [control]",
			now_utc_ns());
}

static void tell_strangers(struct station *s)
{
	struct control_stats v;
	char text[200];
	uint64_t more;

	control_get_stats(s->control, &v);
	more = reported_growth(&s->access.strangers, v.strangers, now_mono_ns());
	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text),
		 "user %lld of this machine was refused at the control socket: in none of its "
		 "groups (%llu refused since this was last reported)",
		 (long long)v.last_stranger, (unsigned long long)more);
	log_event(LOG_WARNING, "control", LOG_NO_LINK, LOG_ID_REFUSED, "%s", text);
	store_put_event(s->store, "warning", "access-refused", "local", text,
			"if that should be allowed: make the user a member of reader_group, "
			"socket_group or expert_group of [control]",
			now_utc_ns());
}

void network_note_refused(struct station *s, const char *origin, const char *text)
{
	snprintf(s->access.origin, sizeof(s->access.origin), "%s", origin);
	snprintf(s->access.text, sizeof(s->access.text), "%s", text);
}

void network_second(struct station *s)
{
	const struct publisher_status *data = &s->publisher_status;
	struct network_status v;

	tell_strangers(s);
	if (s->network) {
		network_tend(s->network);
		network_get_status(s->network, &v);
		tell_refused(s, &s->access.control, "network-refused", "network", &v.door);
	}
	reports_groups(s);
	tell_refused(s, &s->access.reserved, "data-refused", "reserved", &data->door);
	tell_refused(s, &s->access.monitors, "data-refused", "monitors", &data->monitor_door);
	tell_requests(s);
}

/* --- doors that cannot be opened --- */

static void add_closed(char *text, size_t size, const char *who, const char *where, int error)
{
	if (error) {
		text_list(text, size, "%s for %s (%s)", where, who, strerror(-error));
	}
}

void doors_closed(struct station *s, char *text, size_t size)
{
	const struct publisher_status *p = &s->publisher_status;
	struct network_status network = {.door.closed = 0};
	char where[sizeof(s->config.feed.address) + 16];

	*text = '\0';
	add_closed(text, size, "consumers", s->config.data.reserved_endpoint, p->door.closed);
	add_closed(text, size, "monitors", s->config.data.monitor_endpoint, p->monitor_door.closed);
	if (s->network) {
		network_get_status(s->network, &network);
	}
	add_closed(text, size, "control over the network", s->config.network.endpoint,
		   network.door.closed);
	for (unsigned link = 0; p->has_feed && link < NANET3_LINKS; link++) {
		snprintf(where, sizeof(where), "%s port %u", s->config.feed.address,
			 p->feed.port[link]);
		add_closed(text, size, "readers of the TriDAS feed", where, p->feed.closed[link]);
	}
}

void doors_second(struct station *s)
{
	char text[sizeof(s->doors_logged)];

	reports_groups(s);
	doors_closed(s, text, sizeof(text));
	if (strcmp(text, s->doors_logged) == 0) {
		return;
	}
	memcpy(s->doors_logged, text, sizeof(s->doors_logged));
	if (*text) {
		log_warning("doors", "cannot listen at %s; tried again each second", text);
	} else {
		log_notice("doors", "all listening sockets are open");
	}
}
