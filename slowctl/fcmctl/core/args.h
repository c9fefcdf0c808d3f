/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was typed: options and command. Nothing is printed or opened, the present is an argument.
 */
#pragma once

#include "slowctl/fcmctl/core/ctl.h"

/* Why it was not understood. */
struct ctl_fault {
	unsigned line;	/* of a file; 0: of all */
	char text[256]; /* one sentence: what, which, why */
	char hint[400]; /* what to do; may be empty */
};
/* Text and hint into it. -EINVAL. */
int ctl_fault(struct ctl_fault *ret, const char *hint, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Options may stand anywhere; "--" ends them; words such as -5 are words. Verbs and nouns may be cut
 * short as long as one command fits. argv is permuted nowhere; ret_args->word points into `words`,
 * which must have room for argc pointers and stay. -EINVAL with *ret_fault.
 */
int ctl_args_parse(int argc, char **argv, double now, char **words, struct ctl_args *ret_args,
		   struct ctl_fault *ret_fault);

/* What the value of an option is; a flag has none. */
enum ctl_value { CTL_TEXT, CTL_NUMBER, CTL_DECIMAL, CTL_SPAN, CTL_TIME };

/* A row of the option table. `value` NULL: a flag; `letter` 0: none. */
struct ctl_option_row {
	const char *name;
	char letter;
	const char *value;
	const char *help;
	enum ctl_value type;
	double low, high; /* of CTL_NUMBER (whole), CTL_DECIMAL and CTL_SPAN (s); both 0: any */
	enum ctl_option again; /* of an option that can be given twice: where the second goes */
};
const struct ctl_option_row *ctl_option_row(enum ctl_option option);

/* By its whole names, `noun` NULL of a bare verb; NULL: there is none. */
const struct ctl_command *ctl_command_find(const char *noun, const char *verb);
/* "link list". Returns buf. */
const char *ctl_command_name(const struct ctl_command *c, char *buf, size_t size);

/* The nearest of the known words (nouns, verbs) to a misspelt one, NULL: none is near. */
const char *ctl_nearest(const char *word, const char *const *known, size_t count);

/* Where the station is: options first, then $FCM_BOARD, $FCM_DIR, $FCM_SOCKET, $FCM_DATABASE, then board 0. -EINVAL
 * with *ret_fault (path too long, no number). */
int ctl_station_find(const struct ctl_args *args, struct ctl_station *ret_station,
		     struct ctl_fault *ret_fault);
