/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The emulator's user-space host (driver/emu/host: a board on a Unix socket) with a fake world, in a process of
 * its own: for tests of libnanet3, of the host itself, and of the daemon's capture. */
#pragma once

#include <sys/types.h>

#include "driver/emu/host/host.h"

/* Start it; returns when the socket is served. Its pid, or -errno. It dies with its parent. */
pid_t contract_host_start(const struct host_config *config);
/* Send the signal and wait for its end: exit status, or -signal. */
int contract_host_end(pid_t pid, int signal);
