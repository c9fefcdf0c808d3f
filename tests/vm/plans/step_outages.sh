#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A station that loses its board once a minute (at half the pace: every other minute), for SECONDS_TO_RUN. How long each
# loss lasted is seen on the host.
. /vm/station.sh

losses() { dmesg | grep -c "nanet3-0: recovered"; }

echo 1..9
start_station
first=$daemon
sleep "$SECONDS_TO_RUN"
least=$(((SECONDS_TO_RUN - 60) / 120))
[ $least -gt 0 ] && [ "$(losses)" -ge $least ]
ok $? "the board was lost and found again $(losses) times"
until_true links_up
ok $? "four links are up after all of it"
kill -0 $first
ok $? "the daemon was not restarted"
sleep 5
stop_station INCOMPLETE
