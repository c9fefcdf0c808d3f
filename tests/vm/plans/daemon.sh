# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon on the real driver: four links to two consumers, a command down and its answer up, a kill -9
# and the next life, the account.
load depth_ms=400 linger_ms=20000
run 300 step_daemon
hand_out /tmp/station
unload
