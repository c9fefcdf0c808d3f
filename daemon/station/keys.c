// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The station's keys: its own secret, and the allow list that says whose keys open which door of control and data.
 */
#include "daemon/station/keys.h"

#include <string.h>
#include <unistd.h>

#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/station/base.h"
#include "daemon/station/network_say.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"
#include "slowctl/access/file_guard.h"
#include "slowctl/access/keyfile.h"
#include "slowctl/param/plural.h"

static bool are_needed(const struct config *c)
{
	return *c->network.endpoint || c->data.curve;
}

static bool has_group(const struct config *c, const char *name)
{
	for (unsigned n = 0; n < c->groups; n++) {
		if (strcmp(c->group[n].name, name) == 0) {
			return true;
		}
	}
	return false;
}

/* Consumers' keys for groups that there are not: the list is good, and a daemon of other groups may have it, too. */
static void check_groups(const struct config *c, const struct access_list *list,
			 void (*warn)(void *context, const char *text), void *context)
{
	char text[400];

	for (unsigned n = 0; n < list->count; n++) {
		const struct access_key *k = &list->key[n];

		if (k->right.door == ACCESS_CONSUMER && !has_group(c, k->right.group)) {
			snprintf(text, sizeof(text),
				 "%.200s: %s is a consumer of group %s, which the configuration "
				 "does not have: its key opens no door",
				 c->network.allow_list, k->name, k->right.group);
			warn(context, text);
		}
	}
}

static void say_mistake(void *context, const char *text)
{
	log_event(LOG_ERR, "network", LOG_NO_LINK, LOG_ID_CONFIG, "%s", text);
}

static void say_warning(void *context, const char *text)
{
	log_event(LOG_WARNING, "network", LOG_NO_LINK, LOG_ID_CONFIG, "%s", text);
}

static int read_list(struct station *s)
{
	int r = access_list_read(geteuid(), s->config.network.allow_list, &s->access_list,
				 say_mistake, NULL);

	if (r == 0) {
		check_groups(&s->config, &s->access_list, say_warning, NULL);
	}
	return r;
}

int keys_start(struct station *s)
{
	int r = are_needed(&s->config) ? read_list(s) : 0;

	if (r < 0) {
		log_error("network",
			  "[network] allow_list in %s: correct it, or leave endpoint empty and "
			  "[data] curve = no",
			  s->config_path);
	}
	return station_blame_config(s, r);
}

void keys_put_place(struct station *s)
{
	store_put_station(s->store, "allow_list",
			  are_needed(&s->config) ? s->config.network.allow_list : "");
}

int keys_secret(struct station *s, char ret_secret[ACCESS_KEY_TEXT])
{
	struct sc_error error = {0};
	int r = keyfile_read(geteuid(), s->config.network.key_file, ret_secret, s->public_key,
			     &error);

	if (r < 0) {
		log_error("network", "%s. %s: [network] key_file in %s", error.message, error.hint,
			  s->config_path);
	}
	return r;
}

static void print_mistake(void *context, const char *text)
{
	fprintf(context, "%s\n", text);
}

int keys_check(const struct config *c, FILE *err)
{
	static struct access_list list;
	char secret[ACCESS_KEY_TEXT], public[ACCESS_KEY_TEXT];
	struct sc_error error = {0};
	uid_t user = file_guard_user(c->store.database); /* root may ask for the daemon's user */
	int r, key;

	if (!are_needed(c)) {
		return 0;
	}
	r = access_list_read(user, c->network.allow_list, &list, print_mistake, err);
	if (r == 0) {
		check_groups(c, &list, print_mistake, err);
	}
	key = keyfile_read(user, c->network.key_file, secret, public, &error);
	explicit_bzero(secret, sizeof(secret));
	if (key < 0) {
		fprintf(err, "%s. %s\n", error.message, error.hint);
	}
	return r < 0 ? r : key;
}

void keys_reload(struct station *s)
{
	if (!are_needed(&s->config)) {
		return;
	}
	if (read_list(s) < 0) {
		log_error("network", "the allow list is as before: %s has mistakes",
			  s->config.network.allow_list);
		store_put_event(s->store, "warning", "network-allow-list", "network",
				"the allow list has mistakes: the one before still holds",
				"see the log for file and line, correct it, reload again",
				now_utc_ns());
		return;
	}
	network_allow_keys(s);
	if (s->config.data.curve) {
		publisher_allow(s->publisher, &s->access_list);
	}
	log_event(LOG_NOTICE, "network", LOG_NO_LINK, LOG_ID_CONFIG, "%u key%s in %s",
		  s->access_list.count, plural(s->access_list.count), s->config.network.allow_list);
}
