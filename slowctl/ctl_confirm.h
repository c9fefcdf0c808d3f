/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before many commands are sent: what they would change is shown, and whoever typed them is asked once. */
#ifndef SLOWCTL_CTL_CONFIRM_H
#define SLOWCTL_CTL_CONFIRM_H

#include "slowctl/ctl_many.h"

/* Whether a parameter, as of op param.list, has this danger, or more. Pure. */
bool ctl_is_dangerous(const json_t *parameter);
bool ctl_is_careful(const json_t *parameter);

/*
 * `would`: a dry run of each command that is careful at least, `item` its parameter. Asked is when one is dangerous, or
 * when they are of more than one parameter; `what` (as typed, or a file) is for messages. CTL_DONE: go on. With --yes and
 * in a dry run it does not ask; without a terminal it is refused, with the words to type. Else the exit code, everything
 * said.
 */
int ctl_confirm(struct ctl *ctl, const struct ctl_args *args, const char *what,
		struct many_row *would, size_t count);
/* The words to type instead of an answer. Returns buf. */
const char *ctl_yes_hint(const struct ctl *ctl, const struct ctl_args *args, char *buf,
			 size_t size);

#endif
