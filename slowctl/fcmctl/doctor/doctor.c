/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the checks share: their lines, the machine's files, what is known of the station. */
#include "slowctl/fcmctl/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slowctl/access/file_guard.h"
#include "slowctl/fcmctl/doctor/parse.h"
#include "slowctl/fcmctl/show/value.h"

#define TEXT_MAX 400

/* ------------------------------------------------------------------ lines */

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = {"pass", "warn", "fail", "n/a"};

	return names[state];
}

/* What a file or a program said may be no UTF-8, which JSON does not take. */
static void keep_text(char *text)
{
	json_t *taken = json_string(text);

	for (char *p = text; taken == NULL && *p != '\0'; p++) {
		*p = (unsigned char)*p < 0x80 ? *p : '?';
	}
	json_decref(taken);
	for (char *p = text; *p != '\0'; p++) {
		*p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
	}
}

void doctor_say(json_t *lines, enum doctor_state state, const char *fix, const char *format, ...)
{
	char text[TEXT_MAX], typed[2 * PATH_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	keep_text(text);
	snprintf(typed, sizeof(typed), "%s", fix != NULL ? fix : "");
	keep_text(typed);
	json_array_append_new(lines, json_pack("{s:s,s:s,s:o}", "state", doctor_state_name(state),
					       "text", text, "fix",
					       *typed != '\0' ? json_string(typed) : json_null()));
}

/* sudo does not keep what names the station in the environment. */
void doctor_say_rights(const struct doctor *d, json_t *lines, const char *what)
{
	bool named = getenv("FCM_DIR") != NULL || getenv("FCM_BOARD") != NULL ||
		     getenv("FCM_SOCKET") != NULL || getenv("FCM_DATABASE") != NULL;

	doctor_say(lines, DOCTOR_WARN,
		   named ? "sudo --preserve-env=FCM_DIR,FCM_BOARD,FCM_SOCKET,FCM_DATABASE fcmctl "
			   "doctor"
			 : "sudo fcmctl doctor",
		   "not checked: no right to read %s", what);
}

const char *doctor_fix(char *buf, size_t size, const char *command, const char *path)
{
	snprintf(buf, size, "%s ", command);
	ctl_append_word(buf, size, "", path);
	return buf;
}

/* ------------------------------------------------------------------ files */

const char *doctor_path(const struct doctor *d, char buf[PATH_MAX], const char *format, ...)
{
	size_t used = (size_t)snprintf(buf, PATH_MAX, "%s", d->root);
	va_list ap;

	if (used < PATH_MAX) {
		va_start(ap, format);
		vsnprintf(buf + used, PATH_MAX - used, format, ap);
		va_end(ap);
	}
	return buf;
}

ssize_t doctor_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t used = 0;
	ssize_t n = fd < 0 ? -errno : 0;

	while (fd >= 0 && used + 1 < size) {
		n = read(fd, buf + used, size - used - 1);
		if (n <= 0) {
			n = n < 0 ? -errno : 0;
			break;
		}
		used += (size_t)n;
	}
	if (fd >= 0) {
		close(fd);
	}
	buf[used] = '\0';
	return n < 0 && used == 0 ? n : (ssize_t)used;
}

bool doctor_line(const char *path, char *buf, size_t size)
{
	size_t length;

	if (doctor_read(path, buf, size) <= 0) {
		buf[0] = '\0';
		return false;
	}
	length = strcspn(buf, "\n");
	while (length > 0 && strchr(" \t", buf[length - 1]) != NULL) {
		length--;
	}
	buf[length] = '\0';
	return length > 0;
}

/* ------------------------------------------------------------------ the station */

const char *doctor_value(const struct doctor *d, const char *key)
{
	const char *text = json_string_value(json_object_get(d->values, key));

	return text != NULL ? text : "";
}

bool doctor_yes(const struct doctor *d, const char *key)
{
	return strcmp(doctor_value(d, key), "yes") == 0;
}

bool doctor_needs_values(const struct doctor *d, json_t *lines)
{
	if (d->values == NULL) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: the configuration is unknown");
	}
	return d->values != NULL;
}

const char *doctor_database(const struct doctor *d)
{
	const char *configured = doctor_value(d, "store.database");

	return *configured == '/' ? configured : d->ctl->station.database;
}

uid_t doctor_user(const struct doctor *d, char *name, size_t size)
{
	uid_t uid = file_guard_user(doctor_database(d));
	char path[PATH_MAX], passwd[65536];
	gid_t group;

	*name = '\0';
	if (doctor_read(doctor_path(d, path, "/etc/passwd"), passwd, sizeof(passwd)) > 0) {
		if (d->ctl->station.installed) {
			parse_user_named(passwd, "fcm", &uid);
		}
		parse_user(passwd, uid, name, size, &group);
	}
	return uid;
}

bool doctor_enabled(const struct doctor *d)
{
	char path[PATH_MAX];
	struct stat st;

	return d->ctl->station.installed &&
	       lstat(doctor_path(
			     d, path,
			     "/etc/systemd/system/multi-user.target.wants/fcm-server@%u.service",
			     d->ctl->station.board),
		     &st) == 0;
}

bool doctor_is_emulator(const struct doctor *d, const char **ret_path)
{
	const char *device = doctor_value(d, "board.device");

	*ret_path = device + 5;
	return strncmp(device, "unix:", 5) == 0;
}
