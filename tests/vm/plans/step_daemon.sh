#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A station at work: commands down and their answers, a daemon killed and its next life.
. /vm/station.sh

echo 1..11
start_station
for value in 12 14; do
	said=$(ctl set --yes tower1.floor3.om2.threshold $value 2>&1)
	case "$said" in *DONE*"read-back $value"*) true ;; *) false ;; esac
	ok $? "set: $said"
done
said=$(ctl --json get tower1.floor3.om2.threshold 2>&1)
echo "$said" | grep -Eq '"value": *14(\.0+)?[,}]'
ok $? "get: $(echo "$said" | grep -o '"value": *[^,}]*')"

# The ring survives the daemon: what the next one delivers has no hole (the host compares with the truth).
kill -9 $daemon
wait $daemon 2>/dev/null
start_daemon
until_true links_up
ok $? "four links are up in the daemon's second life"
sleep 5
ctl command list 2>&1 | grep -q threshold
ok $? "the journal knows the commands of the first"

stop_station BALANCED
