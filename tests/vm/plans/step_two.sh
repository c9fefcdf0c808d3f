#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Board 0 loses its daemon, board 1 leaves the machine and comes back: neither is noticed by the other. Each station
# has a shell, which leaves its results in a file.
first() {
	. /vm/station.sh
	start_station
	ready 0
	kill -9 $daemon
	wait $daemon 2>/dev/null
	start_daemon
	until_true links_up
	ok $? "four links are up in the daemon's second life"
	until_true [ -e /tmp/back ]
	ok $? "board 1 has left and is back meanwhile"
	sleep 5
	stop_station BALANCED
}

second() {
	. /vm/station.sh
	start_station
	ready 1
	serial=$(cat /sys/class/nanet3/nanet3-1/serial)
	echo 1 >/sys/class/nanet3/nanet3-1/device/remove
	! [ -e /dev/nanet3-1 ] && [ -e /dev/nanet3-0 ]
	ok $? "board 1 has left the machine, board 0 has not"
	sleep 3
	echo 1 >/sys/bus/pci/rescan
	until_true links_up
	ok $? "four links are up with the board's return"
	[ "$(cat /sys/class/nanet3/nanet3-1/serial)" = "$serial" ]
	ok $? "it is the board of before: $serial"
	: >/tmp/back
	sleep 5
	stop_station INCOMPLETE
}

# Wait until both stations are up.
ready() {
	: >/tmp/ready.$1
	until_true [ -e /tmp/ready.$((1 - $1)) ]
	ok $? "the other station is up, too"
}

echo 1..19
BOARD=0 STATION=/tmp/stations/0 first >/tmp/0.results 2>&1 &
BOARD=1 STATION=/tmp/stations/1 second >/tmp/1.results 2>&1 &
wait
for board in 0 1; do
	sed "s/^\(ok\|not ok\) [0-9]* - /\1 - board $board: /; s/^# \([^t]\)/# board $board: \1/" /tmp/$board.results
done
