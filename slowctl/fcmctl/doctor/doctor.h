/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl doctor from the inside. A check is a function of what is known at its start (`struct doctor`); it looks at one
 * thing and says lines about it. It runs in a process of its own (bounded.h): what hangs there delays no other.
 *
 *   facts:  the daemon's answers, the configuration    --struct doctor-->    checks, side by side   -->   lines
 *
 * A line without evidence is never a pass: a check that could not look says "not checked: why".
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "slowctl/fcmctl/core/ctl.h"

enum doctor_state {
	DOCTOR_PASS,
	DOCTOR_WARN, /* also: not checked */
	DOCTOR_FAIL,
	DOCTOR_NONE, /* does not apply to this station */
};

struct doctor {
	const struct ctl *ctl;
	const char *root; /* where the machine's files are; "": this machine's own */
	bool deep;
	char config[PATH_MAX];	/* file of the configuration */
	char program[PATH_MAX]; /* the daemon's, as it is typed */
	char config_why[64];	/* why the configuration could not be read; "" it was */
	json_t *values; /* {"data.curve": "no", ...}, as the daemon reads them; NULL: see config_why */
	json_t *mistakes;      /* of the configuration: texts; NULL as values */
	int daemon_error;      /* 0: it answers; else as of ctl_connect() or of the call */
	json_t *info, *status; /* the daemon's; NULL: daemon_error */
};

struct doctor_check {
	const char *name;
	void (*run)(const struct doctor *d, json_t *lines);
	const char *hung; /* fix when it does not answer */
	enum doctor_state hung_state;
};
/* By concern, each list ended by one without name. */
extern const struct doctor_check doctor_service_checks[], doctor_board_checks[],
	doctor_time_checks[], doctor_file_checks[];

/* A line of a check: what was found, and what to type (or NULL). Foreign text in it may be anything. */
void doctor_say(json_t *lines, enum doctor_state state, const char *fix, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
const char *doctor_state_name(enum doctor_state state);
/* "not checked: WHY" for lack of rights; fix: the same as root. */
void doctor_say_rights(const struct doctor *d, json_t *lines, const char *what);
/* "command 'path'" as a shell takes it. Returns buf. */
const char *doctor_fix(char *buf, size_t size, const char *command, const char *path);

/* Below the root: of /sys, /proc, /dev, /etc, /var/lib/dkms, /lib/modules. Returns buf. */
const char *doctor_path(const struct doctor *d, char buf[PATH_MAX], const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The first bytes of a file, ended by 0; it never waits for a pipe. How many, or negative errno. */
ssize_t doctor_read(const char *path, char *buf, size_t size);
/* Its first line, without blanks at the end. False: there is none. */
bool doctor_line(const char *path, char *buf, size_t size);

/* Of the configuration; "" when it is unknown. */
const char *doctor_value(const struct doctor *d, const char *key);
bool doctor_yes(const struct doctor *d, const char *key);
/* False: said that there is no configuration to look it up in. */
bool doctor_needs_values(const struct doctor *d, json_t *lines);
/* The daemon's database, as configured or as fcmctl was called. */
const char *doctor_database(const struct doctor *d);
/* Whose the daemon is, and how the user is called ("": only the number is known). */
uid_t doctor_user(const struct doctor *d, char *name, size_t size);
/* Whether systemd starts the daemon at boot. */
bool doctor_enabled(const struct doctor *d);
/* Whether the board is an emulator's socket; *ret_path is that. */
bool doctor_is_emulator(const struct doctor *d, const char **ret_path);
