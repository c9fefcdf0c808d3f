# SPDX-License-Identifier: GPL-2.0-or-later
# A station in the guest: its configuration, its processes, its end. For the steps that read it in. What was
# recorded is compared with the truth on the host, afterwards.
board=${BOARD:-0}
station=${STATION:-/tmp/station}
port=$((5700 + 100 * board))
limit=60 # seconds that anything may take; model time is slow
n=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
ctl() { fcmctl --dir $station "$@"; }
# until SECONDS COMMAND ...: true as soon as the command is
until_true() {
	left=$limit
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 1
	done
}
start_daemon() {
	fcm-server --board $board --config $station/board.conf >>$station/daemon.log 2>&1 &
	daemon=$!
}
start_consumer() {
	fcm-consumer --endpoint tcp://127.0.0.1:$((port + 10)) --name "$1" --group "$1" --check --record $station/$1.rec \
		>$station/$1.log 2>&1 &
}
links_up() { [ "$(ctl --json status 2>/dev/null | grep -o '"state": *"up"' | wc -l)" -ge 4 ]; }
clock_locked() { ctl --json status 2>/dev/null | grep -q '"state": *"locked"'; }


# The delays are those of the emulator's fibres, which it prints when it starts.
mkdir -p $station
cat >$station/board.conf <<END
[board]
device = /dev/nanet3-$board
[data]
reserved_endpoint = tcp://127.0.0.1:$((port + 10))
monitor_endpoint = tcp://127.0.0.1:$((port + 30))
[clock]
silence_ms = 60000
confirm = 1
[control]
socket = $station/control.sock
[store]
database = $station/station.db
[slowctl]
dictionary = /vm/parameters.conf
[link 0]
floor = 1
cable_delay_ns = 392002
[link 1]
floor = 2
cable_delay_ns = 424828
[link 2]
floor = 3
cable_delay_ns = 457172
[link 3]
floor = 4
cable_delay_ns = 490004
END

# Two consumers and a daemon, until data come.
start_station() {
	start_consumer trigger
	trigger=$!
	start_consumer acoustic
	acoustic=$!
	start_daemon
	until_true links_up
	ok $? "four links are up"
	until_true clock_locked
	ok $? "the clock is locked"
}

# $1 = the first word of the account. Four results.
stop_station() {
	kill -TERM $daemon
	wait $daemon
	ok $? "the daemon ends in order"
	kill -TERM $trigger $acoustic
	wait $trigger
	ok $? "the trigger's consumer found nothing wrong"
	wait $acoustic
	ok $? "nor did the acoustics'"
	ctl ledger show --since 1000d >$station/ledger.txt 2>&1
	grep -q "^$1" $station/ledger.txt && ! grep -q ring-full $station/ledger.txt
	ok $? "the ledger balances, and no frame was lost to a full ring"
	! grep -q ring-full $station/ledger.txt || echo "# too slow: this host let a ring run full"
	for log in $station/*.log; do
		tail -n 8 "$log" | sed "s|^|# $(basename "$log"): |"
	done
}
