/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

struct ctl;
struct ctl_args;

/* fcmctl restore. The exit code. */
int restore_run(struct ctl *ctl, const struct ctl_args *args);
