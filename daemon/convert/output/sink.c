// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kinds of output share. */
#include "daemon/convert/output/sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int sink_fail(struct sink *s, int err, const char *what, const char *path)
{
	const char *advice = err == -ENOSPC || err == -EDQUOT
				     ? "; make room there, then go on with --resume"
				     : "";

	if (!*s->why) {
		snprintf(s->why, sizeof(s->why), "%s: %s: %s%s", path, what, strerror(-err),
			 advice);
	}
	return err;
}
