/* SPDX-License-Identifier: GPL-2.0-or-later */
/* get --at. */
#ifndef SLOWCTL_FCMCTL_AT_H
#define SLOWCTL_FCMCTL_AT_H

#include "slowctl/fcmctl/core/ctl.h"

/* The parameters of the words typed, as they were at --at. An exit code. */
int ctl_get_at(struct ctl *ctl, const struct ctl_args *args);

#endif
