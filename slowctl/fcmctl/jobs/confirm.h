/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one confirmation of many commands: shows what they would change, and asks once. */
#ifndef SLOWCTL_FCMCTL_JOBS_CONFIRM_H
#define SLOWCTL_FCMCTL_JOBS_CONFIRM_H

#include "slowctl/fcmctl/jobs/many.h"

/* Whether a parameter (an item of param.list) has at least this danger. Pure. */
bool ctl_is_dangerous(const json_t *parameter);
bool ctl_is_careful(const json_t *parameter);

/*
 * `would`: a dry run of each command with danger careful or more, `item` its parameter. Asks if one is dangerous, or
 * if they are for more than one parameter; `what` (as typed, or a file) is for messages. CTL_DONE: continue. With
 * --yes and in a dry run it does not ask; without a terminal it refuses, with the command to type. Else the exit code;
 * the messages have been printed.
 */
int ctl_confirm(struct ctl *ctl, const struct ctl_args *args, const char *what,
		struct many_row *would, size_t count);
/* The command to type instead of an answer. Returns buf. */
const char *ctl_yes_hint(const struct ctl *ctl, const struct ctl_args *args, char *buf,
			 size_t size);

#endif
