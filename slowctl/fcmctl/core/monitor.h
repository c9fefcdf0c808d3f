/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl as a monitor of the data, by libfcmdata: best effort; what it misses is its own loss. */
#pragma once

#include "daemon/consumer/fcmdata.h"
#include "slowctl/fcmctl/core/ctl.h"

struct ctl_monitor {
	struct fcmdata *data;
	char endpoint[256];
};

/* Subscribe to `topic` at the daemon that has said `where`: monitor_endpoint, and its public_key where it encrypts; then
 * a key of our own is needed (--key). CTL_DONE, or the exit code after an error message. fcmdata_close() its
 * `data` in either case. */
int ctl_monitor_open(struct ctl *ctl, const struct ctl_args *args, const json_t *where,
		     const char *topic, struct ctl_monitor *ret_monitor);
/* The next block, waited for up to timeout_ms; NULL: none has come. To be released by fcmdata_release(). Says what came
 * damaged. CTL_DONE, or the daemon refuses us: said. */
int ctl_monitor_next(struct ctl *ctl, struct ctl_monitor *m, int timeout_ms,
		     const struct fcmdata_block **ret_block);

/* UTC of a block's first frame, cable delay added as in tai_ns, s since 1970; NaN without time. TAI-UTC is whole
 * seconds, so a slice's UTC and the TAI inside it are enough. */
double ctl_block_utc(const struct fcm_block_header *h);
/* UTC, ns since 1970, of a TAI time in a block: of its hits; INT64_MIN without time. */
int64_t ctl_utc_ns(const struct fcm_block_header *h, int64_t tai_ns);
