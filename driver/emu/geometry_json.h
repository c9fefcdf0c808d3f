/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Positions, and what an analysis needs beside them, as JSON; nanet3-emu(1) describes it. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Of a tower's beacons and of the floors on links 0 to `count` - 1. The caller looks for errors of `out`. */
void geometry_json(FILE *out, unsigned tower, const uint8_t *floors, unsigned count);
