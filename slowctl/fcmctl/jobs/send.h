/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sending commands to the floors and waiting for their ends: fcmctl set, ramp and action. */
#ifndef SLOWCTL_FCMCTL_JOBS_SEND_H
#define SLOWCTL_FCMCTL_JOBS_SEND_H

#include "slowctl/fcmctl/core/ctl.h"

/*
 * `op` (param.set, param.action) of the first word typed, with the options typed; `what` has the value
 * already and is taken over. A pattern with *, ? or [ is as many commands, each journaled; in JSON one
 * document each. The exit code, of many the worst; everything is said.
 */
int ctl_send(struct ctl *ctl, const struct ctl_args *args, const char *op, json_t *what);

#endif
