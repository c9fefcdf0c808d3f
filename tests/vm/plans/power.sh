# SPDX-License-Identifier: GPL-2.0-or-later
# The board loses its power while a daemon uses it. Its counts restart, so numbers are not unique and nothing is compared
# with the truth.
load depth_ms=400 linger_ms=20000
run 300 step_power
hand_out /tmp/station
unload
