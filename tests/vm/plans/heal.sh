# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon on the real driver and on a bus that loses answers and events; the account.
load depth_ms=400 linger_ms=20000
run 300 step_heal
hand_out /tmp/station
unload
