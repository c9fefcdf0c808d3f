#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Puts over the loop-back port, waiting asleep and polling in turn; each measurement several times.
runs=3
n=0

# With one thread for both CPUs, QEMU lets the one that spins go on until its next timer tick, 4 ms away, before
# the other takes the board's interrupt. So everything is on one.
for irq in $(grep nanet3 /proc/interrupts | cut -d: -f1); do
	echo 1 >/proc/irq/$irq/smp_affinity
done

# measure COMMAND [OPTION ...]: results in /tmp/bench/COMMAND-RUN.json
measure() {
	command=$1
	for i in $(seq $runs); do
		taskset 1 nanet3-perf "$@" --board 0 --json >/tmp/bench/$command-$i.json 2>/tmp/said
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
