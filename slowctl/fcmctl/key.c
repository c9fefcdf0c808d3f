/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl key: keys for control over the network. No daemon is needed, and none is asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/access/access.h"
#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/access/file_guard.h"
#include "slowctl/access/keyfile.h"

static int key_fail(struct ctl *ctl, int r, const struct sc_error *error)
{
	return ctl_fail(ctl, CTL_NOT, r == -EEXIST ? "refused" : "failed", error->hint, "%s",
			error->message);
}

/* --- make --- */

static void render_make(struct writer *w, const json_t *result)
{
	writer_line(w, WRITER_DIM, "# %s is secret: give it to %s only, and delete it here",
		    value_string(result, "file", "?"), value_string(result, "name", "?"));
	writer_line(w, WRITER_DIM, "# this line goes into the allow list; then systemctl reload");
	writer_line(w, WRITER_PLAIN, "%s", value_string(result, "line", "?"));
}

static int make_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *name = args->word[0], *role = args->word[1];
	char path[PATH_MAX], public[ACCESS_KEY_TEXT], line[160];
	struct sc_error error = {0};
	struct access_right right;
	json_t *result;
	int r;

	if (access_name_check(name) < 0) {
		return ctl_usage(ctl, "letters, digits, and . _ - not first; 31 at most",
				 "\"%s\" cannot be the name of a key", name);
	}
	if (access_right_parse(role, &right) < 0) {
		return ctl_usage(
			ctl,
			"reader, operator or expert for control; consumer:GROUP or monitor "
			"for data",
			"there is no role \"%s\"", role);
	}
	snprintf(path, sizeof(path), args->words > 2 ? "%s" : "%s.key",
		 args->words > 2 ? args->word[2] : name);
	r = keyfile_make(path, name, public, &error);
	if (r < 0) {
		return key_fail(ctl, r, &error);
	}
	snprintf(line, sizeof(line), "%s %s %s", name, role, public);
	result = json_pack("{s:s,s:s,s:s,s:s,s:s}", "name", name, "role", role, "public_key",
			   public, "file", path, "line", line);
	writer_result(ctl->out, result, render_make);
	json_decref(result);
	return CTL_DONE;
}

/* --- server --- */

static void render_server(struct writer *w, const json_t *result)
{
	writer_line(w, WRITER_DIM,
		    "# %s is secret: it must belong to the daemon's user (chown fcm)",
		    value_string(result, "file", "?"));
	writer_line(w, WRITER_DIM, "# every client needs this public key, also in %s",
		    value_string(result, "public_file", "?"));
	writer_line(w, WRITER_PLAIN, "%s", value_string(result, "public_key", "?"));
}

static int write_public(const char *path, const char *public)
{
	FILE *file = fopen(path, "wxe");
	int r = 0;

	if (!file) {
		return -errno;
	}
	if (fprintf(file, "%s\n", public) < 0) {
		r = -EIO;
	}
	return fclose(file) != 0 ? -errno : r;
}

static int server_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *path = args->word[0];
	char public[ACCESS_KEY_TEXT], file[PATH_MAX];
	struct sc_error error = {0};
	json_t *result;
	int r = keyfile_make(path, "an FCM-Server", public, &error);

	if (r < 0) {
		return key_fail(ctl, r, &error);
	}
	snprintf(file, sizeof(file), "%s.pub", path);
	r = write_public(file, public);
	if (r < 0) {
		ctl_remark("%s: %s; the key is below", file, strerror(-r));
	}
	result =
		json_pack("{s:s,s:s,s:s}", "file", path, "public_file", file, "public_key", public);
	writer_result(ctl->out, result, render_server);
	json_decref(result);
	return CTL_DONE;
}

/* --- list --- */

/* Where the daemon has its list, by what it wrote into its database. CTL_DONE, or all is said. */
static int list_place(struct ctl *ctl, char *path, size_t size)
{
	struct sc_error error = {0};
	int r = ctl_away_setting(ctl, "allow_list", path, size, &error);

	if (r < 0) {
		return ctl_fail(ctl, CTL_NOT, "failed", error.hint, "%s", error.message);
	}
	return *path ? CTL_DONE
		     : ctl_fail(ctl, CTL_NOT, "refused",
				"set endpoint in [network] or curve = yes in [data] of the "
				"configuration; or name the list: fcmctl key list FILE",
				"this daemon does not use keys");
}

static void render_list(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {
		{"name", "{name}"}, {"role", "{role}"}, {"public key", "{public_key}"}, {0}};

	value_table(w, value_at(result, "keys"), columns,
		    "no keys: control over the network is closed");
	writer_line(w, WRITER_DIM,
		    "from %s as it is now; the daemon uses the list of its start or last "
		    "reload",
		    value_string(result, "file", "?"));
}

/* The first is the failure, the others are remarks before it. */
static void keep_mistake(void *context, const char *text)
{
	json_array_append_new(context, json_string(text));
}

static int list_fail(struct ctl *ctl, const json_t *mistakes)
{
	size_t count = json_array_size(mistakes);

	for (size_t i = 1; i < count; i++) {
		ctl_remark("%s", json_string_value(json_array_get(mistakes, i)));
	}
	return ctl_fail(ctl, CTL_NOT, "failed",
			"correct it; until then the daemon keeps its present list, and would not "
			"start",
			"%s", count ? json_string_value(json_array_get(mistakes, 0)) : "no memory");
}

static int list_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct access_list *list = ctl_memory(ctl, calloc(1, sizeof(*list)));
	json_t *mistakes = json_array(), *keys = json_array(), *result;
	char path[PATH_MAX] = "";
	int code = CTL_DONE;

	if (args->words > 0) {
		snprintf(path, sizeof(path), "%s", args->word[0]);
	} else {
		code = list_place(ctl, path, sizeof(path));
	}
	if (code == CTL_DONE && access_list_read(file_guard_user(ctl->station.database), path, list,
						 keep_mistake, mistakes) < 0) {
		code = list_fail(ctl, mistakes);
	}
	for (unsigned n = 0; code == CTL_DONE && n < list->count; n++) {
		char right[ACCESS_RIGHT_MAX];

		access_right_text(&list->key[n].right, right);
		json_array_append_new(keys,
				      json_pack("{s:s,s:s,s:s}", "name", list->key[n].name, "role",
						right, "public_key", list->key[n].key));
	}
	result = json_pack("{s:s,s:o}", "file", path, "keys", keys);
	if (code == CTL_DONE) {
		writer_result(ctl->out, result, render_list);
	}
	json_decref(result);
	json_decref(mistakes);
	free(list);
	return code;
}

const struct ctl_command ctl_key_commands[] = {
	{"key", "make", "NAME ROLE [FILE]", "a new key for control or data over the network",
	 .help = "Writes the secret into FILE (NAME.key), which nobody else may read, and "
		 "prints the line\nfor the daemon's allow list. ROLE of control: reader "
		 "(asks), operator (sets, records,\nruns; of what is dangerous only what "
		 "makes safer), expert (all). Of data:\nconsumer:GROUP (the member NAME of "
		 "that group), monitor.\n\n  fcmctl key make datamanager operator >> "
		 "network-0.allow\n  fcmctl key make trigger-1 consumer:trigger >> "
		 "network-0.allow",
	 .run = make_run},
	{"key", "server", "FILE", "a new key pair for a daemon",
	 .help = "Writes the secret into FILE, the public key into FILE.pub, and prints it. "
		 "Clients need\nthe public key to know the daemon by. FILE must belong to "
		 "the daemon's user.\n\n  fcmctl key server /etc/fcm-server/network-0.key",
	 .run = server_run},
	{"key", "list", "[FILE]", "whose keys may do what",
	 .help = "Reads the allow list of the daemon (or FILE) and says what is wrong with "
		 "it. Also\nworks while the daemon is not running.",
	 .run = list_run},
	{0},
};
