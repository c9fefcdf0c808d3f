/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The emulated board's delay() for its two hosts (emu/host, emu/qemu): a busy loop, as a sleep would be too long. */
#pragma once

#include "driver/now.h"

static inline void emu_spin(void *context, uint32_t ns)
{
	const uint64_t until = nanet3_now_ns() + ns;

	while (nanet3_now_ns() < until) {
	}
}
