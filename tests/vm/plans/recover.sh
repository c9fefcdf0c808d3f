# SPDX-License-Identifier: GPL-2.0-or-later
# What the bus does to a board: errors, resets, sleep.
load depth_ms=50 linger_ms=10000
run 240 guest_recover
unload
