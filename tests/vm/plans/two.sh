# SPDX-License-Identifier: GPL-2.0-or-later
# Two boards in one machine, each with its daemon and consumers.
load depth_ms=400 linger_ms=20000
run 300 step_two
hand_out /tmp/stations
unload
