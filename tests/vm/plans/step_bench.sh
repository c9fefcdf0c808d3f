#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Puts over the loop-back port, waiting asleep and polling in turn; each measurement several times.
runs=3
n=0
# measure COMMAND [OPTION ...]: results in /tmp/bench/COMMAND-RUN.json
measure() {
	command=$1
	for i in $(seq $runs); do
		nanet3-perf "$@" --board 0 --json >/tmp/bench/$command-$i.json 2>/tmp/said
		status=$?
		n=$((n + 1))
		if [ $status = 0 ]; then
			echo "ok $n - $command"
		else
			echo "not ok $n - $command: $(cat /tmp/said)"
		fi
	done
}

echo 1..$((4 * runs))
mkdir -p /tmp/bench
measure latency --sizes 16..4k --count 500
measure bandwidth --sizes 64..256k --count 500
measure translation --count 100
measure receive --count 500
