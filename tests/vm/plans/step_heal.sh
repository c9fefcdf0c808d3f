#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A station whose bus loses answers and events, as heal.scn says: the driver loses the board and finds it again,
# and the daemon reads out. The faults have come when the kernel's log has their messages.
. /vm/station.sh

in_log() { [ "$(dmesg | grep -c "$1")" -ge "$2" ]; }
state() { sed -n "s/^$1 //p" /sys/kernel/debug/nanet3/nanet3-0/state; }

echo 1..12
start_station
first=$daemon
until_true in_log "nanet3-0: recovered" 2
ok $? "the board was lost twice, and found again"
until_true in_log "an event was lost on the bus" 2
ok $? "two lost events were noticed"
until_true links_up
ok $? "four links are up after all of it"
[ "$(state state)" = ready ] && [ "$(state resets)" = 2 ]
ok $? "the board is $(state state), after $(state resets) resets"
kill -0 $first
ok $? "the daemon is the first one"
[ "$(cat /sys/class/hwmon/hwmon*/temp1_max_alarm) $(cat /sys/class/hwmon/hwmon*/temp1_crit_alarm)" = "1 0" ]
ok $? "a warm board has its alarm"
sleep 5
# Time of the guest goes on 20 times as fast as the board's: where a ring begins anew, there is time without frames.
stop_station INCOMPLETE
