#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The board's self-test as its systemd unit runs it: no privilege, 1 MB of memory to pin.
echo 1..3
put=/sys/kernel/tracing/events/nanet3/nanet3_put/enable
echo 1 >$put
echo "nobody:x:65534:65534::/:/bin/sh" >/etc/passwd
chmod 666 /dev/nanet3-0
for mode in interrupt polling; do
	if (ulimit -l 1024 && su nobody -c "/vm/nanet3-perf selftest --mode $mode") >/tmp/said 2>&1; then
		echo "ok - the board's self-test, $mode"
	else
		echo "not ok - the board's self-test, $mode"
	fi
	sed 's/^/# /' /tmp/said
done
echo 0 >$put
if grep -q "nanet3_put:" /sys/kernel/tracing/trace; then
	echo "ok - its puts are traced"
else
	echo "not ok - its puts are traced"
fi
