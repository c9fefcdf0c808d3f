/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl data tail --hits: one line a hit. */
#pragma once

#include "slowctl/fcmctl/listen.h"

/* By --module, --count (of hits) and --interval (of blocks of a floor), until Ctrl-C. An exit code. */
int hits_tail(struct listen *l, const struct ctl_args *args);
