/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl as a monitor of the data: best effort, disturbing nobody; what it misses is its own loss. */
#ifndef SLOWCTL_FCMCTL_CORE_MONITOR_H
#define SLOWCTL_FCMCTL_CORE_MONITOR_H

#include "slowctl/fcmctl/core/ctl.h"

struct ctl_monitor {
	void *context, *socket, *events;
	char endpoint[256];
};

/* Subscribe to `topic` at the daemon that has said `where`: monitor_endpoint, and its public_key where it encrypts; then
 * a key of our own is needed (--key). CTL_DONE, or what is wrong is said. Close it in either case. */
int ctl_monitor_open(struct ctl *ctl, const struct ctl_args *args, const json_t *where,
		     const char *topic, struct ctl_monitor *ret_monitor);
/* CTL_DONE, or the daemon does not let us in: said. To be asked while nothing comes. */
int ctl_monitor_look(struct ctl *ctl, struct ctl_monitor *m);
void ctl_monitor_close(struct ctl_monitor *m);

#endif
