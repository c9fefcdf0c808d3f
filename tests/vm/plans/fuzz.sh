# SPDX-License-Identifier: GPL-2.0-or-later
# Requests and mappings at random, then whether the driver still does its work.
. /vm/environment
load depth_ms=50 linger_ms=200
run $((SECONDS_TO_RUN + 120)) fuzz_ioctl --seconds "$SECONDS_TO_RUN" --seed "$SEED"
load depth_ms=200 linger_ms=10000
run 240 guest_ring
run 60 step_leaks
