/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a supporter needs, as a tar archive: the report, configuration, the daemon's answers, logs. No secrets. */
#pragma once

#include "slowctl/fcmctl/doctor/doctor.h"

/* Into a new file `path`, mode 600; "bundle" of the report is set to it. An exit code, everything said. */
int bundle_write(struct ctl *ctl, const struct doctor *d, json_t *report, const char *path);
