# SPDX-License-Identifier: GPL-2.0-or-later
# nanet3-perf on the real driver; the host reads its results (tests/bench/guest.py).
load depth_ms=200
run 500 step_bench
hand_out /tmp/bench
unload
