# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon reads out at design load while the board is lost once a minute.
. /vm/environment
export SECONDS_TO_RUN
load depth_ms=400 linger_ms=20000
run $((SECONDS_TO_RUN + 300)) step_outages
hand_out /tmp/station
unload
