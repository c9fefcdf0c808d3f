/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Roles, and the allow list, see access.h. */
#include "slowctl/access/access.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "slowctl/access/file_guard.h"

#define LINE_BYTES 512u
#define FILE_BYTES (256u << 10)

static const char *const role_names[ACCESS_ROLES] = {
	[ACCESS_READER] = "reader",
	[ACCESS_OPERATOR] = "operator",
	[ACCESS_EXPERT] = "expert",
};

const char *access_role_name(enum access_role role)
{
	return role_names[role];
}

static int access_role_parse(const char *name, enum access_role *ret_role)
{
	for (unsigned n = 0; n < ACCESS_ROLES; n++) {
		if (strcmp(name, role_names[n]) == 0) {
			*ret_role = (enum access_role)n;
			return 0;
		}
	}
	return -EINVAL;
}

int access_right_parse(const char *text, struct access_right *ret_right)
{
	static const char consumer[] = "consumer:";
	const size_t length = sizeof(consumer) - 1;
	struct access_right right = {.door = ACCESS_CONTROL};

	if (strcmp(text, "monitor") == 0) {
		right.door = ACCESS_MONITOR;
	} else if (strncmp(text, consumer, length) == 0) {
		right.door = ACCESS_CONSUMER;
		if (access_name_check(text + length) < 0) {
			return -EINVAL;
		}
		strcpy(right.group, text + length);
	} else if (access_role_parse(text, &right.role) < 0) {
		return -EINVAL;
	}
	*ret_right = right;
	return 0;
}

void access_right_text(const struct access_right *right, char text[ACCESS_RIGHT_MAX])
{
	switch (right->door) {
	case ACCESS_CONTROL:
		strcpy(text, access_role_name(right->role));
		break;
	case ACCESS_CONSUMER:
		snprintf(text, ACCESS_RIGHT_MAX, "consumer:%s", right->group);
		break;
	case ACCESS_MONITOR:
		strcpy(text, "monitor");
		break;
	}
}

int access_name_check(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-";
	size_t length = strlen(name);

	if (length == 0 || length >= ACCESS_NAME_MAX || strspn(name, good) != length ||
	    strchr("._-", name[0])) {
		return -EINVAL;
	}
	return 0;
}

int access_key_check(const char *text)
{
	uint8_t bytes[32];

	/* zmq_z85_decode() looks its characters up without a check of their range. */
	for (const char *p = text; *p; p++) {
		if (*p <= ' ' || *p > '~') {
			return -EINVAL;
		}
	}
	return strlen(text) == ACCESS_KEY_TEXT - 1 && zmq_z85_decode(bytes, text) ? 0 : -EINVAL;
}

const struct access_key *access_list_find(const struct access_list *list, enum access_door door,
					  const char *key)
{
	for (unsigned n = 0; n < list->count; n++) {
		if (list->key[n].right.door == door && strcmp(list->key[n].key, key) == 0) {
			return &list->key[n];
		}
	}
	return NULL;
}

/* --- reading --- */

struct reading {
	const char *path;
	unsigned line, mistakes;
	unsigned line_of[ACCESS_KEYS_MAX];
	struct access_list list;
	void (*complain)(void *context, const char *text);
	void *context;
};

__attribute__((format(printf, 2, 3))) static void complain(struct reading *r, const char *format,
							   ...)
{
	char what[400], text[900];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	if (r->line) {
		snprintf(text, sizeof(text), "%s:%u: %s", r->path, r->line, what);
	} else {
		snprintf(text, sizeof(text), "%s: %s", r->path, what);
	}
	r->mistakes++;
	r->complain(r->context, text);
}

/* Of a consumer there may be an old key and a new one: that is how a key is changed without a loss. */
static bool same_consumer(const struct access_right *a, const struct access_right *b)
{
	return a->door != ACCESS_CONTROL && a->door == b->door && strcmp(a->group, b->group) == 0;
}

/* It was not even opened: the text names it already. */
static void complain_guard(struct reading *r, int why, const struct sc_error *error)
{
	char text[900];

	snprintf(text, sizeof(text), "%s (%s)", error->message,
		 why == -ENOENT ? "make it; fcmctl key make prints lines for it" : error->hint);
	r->mistakes++;
	r->complain(r->context, text);
}

/* Whether name and key are new to the list. */
static bool is_new(struct reading *r, const struct access_key *k)
{
	for (unsigned n = 0; n < r->list.count; n++) {
		if (strcmp(r->list.key[n].name, k->name) == 0 &&
		    !same_consumer(&r->list.key[n].right, &k->right)) {
			complain(r,
				 "the name %s is in line %u already (one name, one key; two of a "
				 "consumer while it changes them)",
				 k->name, r->line_of[n]);
			return false;
		}
		if (strcmp(r->list.key[n].key, k->key) == 0) {
			complain(r, "the same key is %s's in line %u (make one of its own)",
				 r->list.key[n].name, r->line_of[n]);
			return false;
		}
	}
	return true;
}

static void take_line(struct reading *r, char *line)
{
	static const char blank[] = " \t\r\n";
	char *rest = NULL;
	const char *name = strtok_r(line, blank, &rest), *right, *key;
	struct access_key k = {.name = ""};

	if (!name || name[0] == '#') {
		return;
	}
	right = strtok_r(NULL, blank, &rest);
	key = strtok_r(NULL, blank, &rest);
	if (!key || strtok_r(NULL, blank, &rest)) {
		complain(r, "not NAME ROLE PUBLICKEY (fcmctl key make prints such a line)");
	} else if (access_name_check(name) < 0) {
		complain(r,
			 "\"%.40s\" is no name (letters, digits, and . _ - not first; 31 at most)",
			 name);
	} else if (access_right_parse(right, &k.right) < 0) {
		complain(r,
			 "\"%.40s\" is no role (reader, operator or expert; of data consumer:GROUP "
			 "or monitor)",
			 right);
	} else if (access_key_check(key) < 0) {
		complain(r,
			 "the key of %s is no public key (40 characters, as fcmctl key make "
			 "prints them)",
			 name);
	} else if (r->list.count == ACCESS_KEYS_MAX) {
		complain(r, "more than %u keys", ACCESS_KEYS_MAX);
	} else {
		strcpy(k.name, name);
		strcpy(k.key, key);
		if (is_new(r, &k)) {
			r->line_of[r->list.count] = r->line;
			r->list.key[r->list.count++] = k;
		}
	}
}

static void read_stream(struct reading *r, FILE *file)
{
	char line[LINE_BYTES];
	size_t bytes = 0;

	while (fgets(line, sizeof(line), file)) {
		size_t length = strlen(line);

		r->line++;
		bytes += length;
		if (bytes > FILE_BYTES) {
			complain(r, "the file is longer than %u bytes", FILE_BYTES);
			return;
		}
		if (length == 0 || (line[length - 1] != '\n' && !feof(file))) {
			complain(r, "longer than %u characters, or a zero byte: no allow list",
				 LINE_BYTES - 2);
			return;
		}
		take_line(r, line);
	}
	if (!ferror(file) && ftell(file) != (long)bytes) {
		complain(r, "a zero byte: no allow list");
	}
	r->line = 0;
	if (ferror(file)) {
		complain(r, "cannot be read to its end: %s", strerror(errno));
	}
}

int access_list_read(uid_t user, const char *path, struct access_list *ret_list,
		     void (*complain_fn)(void *context, const char *text), void *context)
{
	const struct file_guard guard = {.user = user, .most = FILE_BYTES};
	struct reading *r = calloc(1, sizeof(*r));
	struct sc_error error = {0};
	FILE *file = NULL;
	int fd = -1, result;

	if (!r) {
		return -ENOMEM;
	}
	r->path = path;
	r->complain = complain_fn;
	r->context = context;
	result = file_guard_open(path, &guard, &fd, &error);
	if (result < 0) {
		complain_guard(r, result, &error);
	} else if ((file = fdopen(fd, "r"))) {
		read_stream(r, file);
		fclose(file);
	} else {
		complain(r, "cannot be read: %s", strerror(errno));
		close(fd);
	}
	result = r->mistakes ? -EINVAL : 0;
	if (result == 0) {
		*ret_list = r->list;
	}
	free(r);
	return result;
}
