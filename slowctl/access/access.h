/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access rights of clients: roles, and the allow list of public keys (CURVE).
 *
 * The list is a text file with one key per line: `NAME ROLE PUBLICKEY`. Empty lines, and lines that begin with
 * '#', are ignored. ROLE is reader, operator or expert (control protocol), `consumer:GROUP` (data, as the
 * member NAME of that group) or `monitor` (data, copies only). Each key is in the list at most once. A list
 * with any error is refused as a whole.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A role may do all that the ones before it may. */
enum access_role {
	ACCESS_READER, /* asks */
	/* A shift's daily work: sets within the soft limits that are not dangerous (HV up, too),
	 * everything that makes safer, aligning and resetting links, acknowledging alarms,
	 * recordings, runs, snapshots. */
	ACCESS_OPERATOR,
	/* Dangerous commands (power on, power cycles, a reset of the FCM), force, the phase's
	 * references and soaks, the instruments' serial lines, removing snapshots. */
	ACCESS_EXPERT,
	ACCESS_ROLES, /* how many */
};

const char *access_role_name(enum access_role role); /* "reader", ... */

#define ACCESS_NAME_MAX	 32 /* of a key or a group, with its zero */
#define ACCESS_RIGHT_MAX (ACCESS_NAME_MAX + 9)
#define ACCESS_KEY_TEXT	 41  /* a key as Z85 text, with its zero */
#define ACCESS_KEYS_MAX	 256 /* in one list */

enum access_door { ACCESS_CONTROL, ACCESS_CONSUMER, ACCESS_MONITOR };

struct access_right {
	enum access_door door;
	enum access_role role;	     /* of control */
	char group[ACCESS_NAME_MAX]; /* of a consumer */
};

struct access_key {
	char name[ACCESS_NAME_MAX];
	struct access_right right;
	char key[ACCESS_KEY_TEXT]; /* public */
};

struct access_list {
	struct access_key key[ACCESS_KEYS_MAX];
	unsigned count;
};

/* "operator", "consumer:trigger", "monitor". */
int access_right_parse(const char *text, struct access_right *ret_right); /* -EINVAL */
void access_right_text(const struct access_right *right, char text[ACCESS_RIGHT_MAX]);

/* Letters, digits, and . _ - (not first), 31 at most. */
int access_name_check(const char *name); /* -EINVAL */
/* 40 characters of Z85. */
int access_key_check(const char *text); /* -EINVAL */

/* Calls `complain` for every mistake, "FILE:LINE: what is wrong (what to do)"; it is a mistake if
 * users other than root and `user`, whose program reads the list, may change the file
 * (file_guard.h). 0, or -EINVAL: *ret_list is untouched then. */
int access_list_read(uid_t user, const char *path, struct access_list *ret_list,
		     void (*complain)(void *context, const char *text), void *context);
/* NULL: it is not in the list, or is for another of the three. */
const struct access_key *access_list_find(const struct access_list *list, enum access_door door,
					  const char *key);
