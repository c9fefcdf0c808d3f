/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shore's own parameters (link2.phase, clock.state, disk.free ...). */
#pragma once

struct station;

void shore_second(struct station *s);
