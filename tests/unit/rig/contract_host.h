/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user-space host with a fake world behind it, in a process of its own, for tests of the library. */
#pragma once

#include <sys/types.h>

#include "driver/emu/host/host.h"

/* Start it; returns when the socket is served. Its pid, or -errno. It dies with its parent. */
pid_t contract_host_start(const struct host_config *config);
/* Send the signal and wait for its end: exit status, or -signal. */
int contract_host_end(pid_t pid, int signal);
