/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl in the process of a fuzz target: typed, and what it says looked at. */
#pragma once

/* Before the first. */
void fcmctl_init(void);
/*
 * Run fcmctl with these words (NULL behind the last; without "fcmctl") to its end. Must be true of it: its exit code is
 * one of its own; what it says, on both ways, has no control character and nothing that a terminal obeys.
 */
void fcmctl_run(const char *const *words);
