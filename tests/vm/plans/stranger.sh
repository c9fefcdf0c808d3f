# SPDX-License-Identifier: GPL-2.0-or-later
# A device without a driver on the board's bus: a recovery from a bus error that the kernel gives up.
load depth_ms=50 linger_ms=10000
export BESIDE_A_STRANGER=1
run 200 guest_recover
unload
