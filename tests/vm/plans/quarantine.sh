# SPDX-License-Identifier: GPL-2.0-or-later
# Boards whose DMA does not stop when told: after a reset of the board, or never.
load depth_ms=50 linger_ms=1000
run 120 guest_stuck
unload
