/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may follow what has been typed. */
#ifndef SLOWCTL_FCMCTL_COMPLETE_H
#define SLOWCTL_FCMCTL_COMPLETE_H

/* The hidden verb: the words typed behind fcmctl, the last one begun (perhaps ""). Prints one candidate a line on
 * stdout and nothing else, whatever happens. An exit code. */
int ctl_complete(int count, char **words);

#endif
