/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl data plot: how a quantity of the hits is distributed. */
#pragma once

#include "slowctl/fcmctl/core/ctl.h"

int spectrum_run(struct ctl *ctl, const struct ctl_args *args);
