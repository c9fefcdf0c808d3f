/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board's delay(), for the hosts: a busy loop, as the time is too short for a sleep. */
#pragma once

#include "driver/now.h"

static inline void emu_spin(void *context, uint32_t ns)
{
	const uint64_t until = nanet3_now_ns() + ns;

	while (nanet3_now_ns() < until) {
	}
}
