/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one confirmation of many commands: shows what they would change, and asks once. */
#ifndef SLOWCTL_FCMCTL_JOBS_CONFIRM_H
#define SLOWCTL_FCMCTL_JOBS_CONFIRM_H

#include "slowctl/fcmctl/jobs/job.h"

/* Whether a parameter (an item of param.list) has this danger. Pure. */
bool ctl_is_dangerous(const json_t *parameter);

/*
 * `rows` of job_requests(): shows what those in state MANY_WAITS with danger careful or more would change, and asks if
 * one is dangerous, or if they are for more than one parameter. CTL_DONE: continue. With --yes and in a dry run it does
 * not ask; without a terminal it refuses, with the command to type. Else the exit code; the messages have been printed.
 */
int job_confirm(const struct job *job, const struct many_row *rows);
/* The command to type instead of an answer. Returns buf. */
const char *ctl_yes_hint(const struct ctl *ctl, const struct ctl_args *args, char *buf,
			 size_t size);

#endif
