/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may hang (a disk, a daemon, a program), in child processes side by side. The caller never waits longer than
 * the limits: a child that is late is killed, and one that cannot be killed (it waits for a disk) is left alone.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bounded {
	json_t *(*work)(const void *context); /* in the child; a new reference */
	const void *context;
	double limit_s; /* longest time without a result or bounded_alive() */
	/* afterwards */
	json_t *result; /* a new reference; NULL: see late, else it died */
	bool late;
	/* private */
	pid_t pid;
	int fd;
	double deadline;
	char *text;
	size_t used;
};

/* All of them, until each has ended or is late. */
void bounded_run(struct bounded *jobs, size_t count);
/* In a child: it is at work; its limit begins again. Safe in a signal handler. */
void bounded_alive(void);

/*
 * A program, its output and its errors (either may be NULL, and is cut at its size), for limit_s at most. The exit
 * status; -ETIMEDOUT, -ENOENT (no such program), or another negative errno. Its messages are English.
 */
struct program_text {
	char *text;
	size_t size, used;
};
int bounded_program(const char *const *argv, double limit_s, struct program_text *out,
		    struct program_text *errors);
