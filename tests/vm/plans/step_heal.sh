#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A station on a bus in trouble, as heal.scn says, and with bus errors: the driver loses the board and finds it again,
# and the daemon reads out. The faults have come when the kernel's log has their messages.
. /vm/station.sh

second=45 # of model time and 0.1 s of silence, at 20 (under the debug kernel 40) s of the guest's
events=/sys/kernel/tracing/events/nanet3
in_log() { [ "$(dmesg | grep -c "$1")" -ge "$2" ]; }
state() { sed -n "s/^$1 //p" /sys/kernel/debug/nanet3/nanet3-0/state; }
set_done() {
	said=$(ctl set --yes tower1.floor3.om2.threshold "$1" 2>&1)
	case "$said" in *DONE*"read-back $1"*) true ;; *) false ;; esac
}

# The longest time in the kernel's log from a loss to the board's return.
longest_loss() {
	dmesg | tr -d '[]' | awk '/the board does not answer/ {gone = $1}
		/nanet3-0: recovered/ && gone {if ($1 - gone > most) most = $1 - gone; gone = 0}
		END {print most + 0}'
}
traced=
untraced=
look_for() { # NAME ...
	for name in "$@"; do
		if grep -q "nanet3_$name:" /sys/kernel/tracing/trace; then traced="$traced $name"; else untraced="$untraced $name"; fi
	done
}

echo 1..21
for name in claim gap reset heal; do
	echo 1 >$events/nanet3_$name/enable
done
start_station
first=$daemon
until_true in_log "nanet3-0: recovered" 2
ok $? "the board was lost twice, and found again"
until_true in_log "PCIe link of 8000 Mb/s" 1
ok $? "the second time on four lanes: a warning"
until_true in_log "an event was lost on the bus" 2
ok $? "two lost events were noticed"
until_true links_up
ok $? "four links are up after all of it"
faults=$(state tx_faults)
break_board lose-descriptors 4
set_done 12 || set_done 12
ok $? "descriptors are lost, and a command is done: $said"
[ "$(state tx_faults)" -gt "$faults" ]
ok $? "$(($(state tx_faults) - faults)) of them"
recovered=$(dmesg | grep -c "nanet3-0: recovered")
echo "# monitor: pcie_aer_inject_error rp0 POISON_TLP"
until_true in_log "PCI error, not fatal" 1
kill -0 $first && [ "$(dmesg | grep -c "nanet3-0: recovered")" = "$recovered" ]
ok $? "a bus error that is not fatal stops nothing"
echo "# monitor: pcie_aer_inject_error rp0 DLP"
until_true in_log "nanet3-0: recovered" $((recovered + 1))
ok $? "a fatal one is recovered from"
until_true links_up
ok $? "four links are up again"
set_done 14
ok $? "commands go down: $said"
[ "$(state state)" = ready ] && [ "$(state resets)" = 2 ]
ok $? "the board is $(state state), after $(state resets) resets"
kill -0 $first
ok $? "the daemon was not restarted"
[ "$(cat /sys/class/hwmon/hwmon*/temp1_max_alarm) $(cat /sys/class/hwmon/hwmon*/temp1_crit_alarm)" = "1 0" ]
ok $? "a warm board has its alarm"
longest=$(longest_loss)
[ "${longest%.*}" -lt $second ]
ok $? "after a loss the board was back in $longest s at most"
look_for claim gap reset heal
echo 1 >$events/nanet3_drain/enable # so many that the others are forgotten
sleep 5
echo 0 >$events/nanet3_drain/enable
look_for drain
[ -z "$untraced" ]
ok $? "traced:$traced, not traced:$untraced"
# Time of the guest goes on 20 times as fast as the board's: where a ring begins anew, there is time without frames.
stop_station INCOMPLETE
