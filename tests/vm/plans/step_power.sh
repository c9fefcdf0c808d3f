#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the user-space host does in test_board_away.py, on the driver: a board without power for a while.
. /vm/station.sh

has_event() { ctl --json event list --since 1d --limit 500 2>/dev/null | grep -q "\"$1\""; }
recovered() { dmesg | grep -q "nanet3-0: recovered"; }

echo 1..11
start_station
first=$daemon
break_board gone 1000
until_true has_event board-gone
ok $? "the loss is an event"
until_true recovered
ok $? "the driver has found the board"
until_true links_up
ok $? "four links are up"
until_true has_event board-back
ok $? "the return is an event"
kill -0 $first
ok $? "the daemon was not restarted"
stop_station INCOMPLETE
