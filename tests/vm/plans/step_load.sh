#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Loading and unloading: 20 rounds, with the device open, with a link lingering, with bad parameters.
n=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
there() {
	i=0
	while [ ! -c /dev/nanet3-0 ] && [ $i -lt 100 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	[ -c /dev/nanet3-0 ]
}
# rmmod must fail because somebody uses the module, and the module be there still.
refused() {
	rmmod nanet3 2>/tmp/said && return 1
	grep -q -e "temporarily unavailable" -e "in use" /tmp/said && [ -d /sys/module/nanet3 ]
}

echo 1..7
[ ! -d /sys/module/nanet3 ] || rmmod nanet3

bad=0
for i in $(seq 20); do
	insmod /vm/nanet3.ko depth_ms=100 && there && rmmod nanet3 && [ ! -e /dev/nanet3-0 ] || bad=$i
done
ok $bad "20 rounds of load and unload"

insmod /vm/nanet3.ko depth_ms=200 linger_ms=10000 && there
exec 3</dev/nanet3-0
refused
ok $? "unload with the device open is refused"
exec 3<&-

guest_ring >/tmp/ring.tap 2>&1 &
pid=$!
sleep 1
refused
ok $? "unload under DMA is refused"
kill -9 $pid
wait $pid 2>/dev/null
i=0
until rmmod nanet3 2>/tmp/said || [ $i -ge 50 ]; do # children of the killed one may take a moment
	sleep 0.1
	i=$((i + 1))
done
[ ! -d /sys/module/nanet3 ]
ok $? "unload while links linger"

# A parameter out of range is refused or bounded; either way nothing stays behind and nothing breaks.
for p in depth_ms=0 depth_ms=4294967295 frames_per_buffer=0 frames_per_buffer=4294967295 \
	deadline_us=0 deadline_us=4294967295 linger_ms=4294967295; do
	insmod /vm/nanet3.ko $p 2>/dev/null && rmmod nanet3
done
[ ! -d /sys/module/nanet3 ]
ok $? "parameters out of range"
! insmod /vm/nanet3.ko depth_ms=nonsense 2>/dev/null && [ ! -d /sys/module/nanet3 ]
ok $? "a parameter that is no number is refused"

insmod /vm/nanet3.ko depth_ms=200 linger_ms=10000 && there
ok $? "and it loads again"
