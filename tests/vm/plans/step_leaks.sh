#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the module left behind: memory nobody points to (where the kernel looks for it), entries, interrupts.
echo 1..2
[ ! -d /sys/module/nanet3 ] || rmmod nanet3
left=$(ls -d /dev/nanet3* /sys/class/nanet3* /sys/bus/pci/drivers/nanet3 /sys/kernel/debug/nanet3* 2>/dev/null
	grep nanet3 /proc/interrupts /proc/iomem /proc/devices)
[ -z "$left" ]
if [ $? = 0 ]; then echo "ok 1 - nothing is left"; else echo "not ok 1 - nothing is left: $left"; fi
leaks=/sys/kernel/debug/kmemleak
if [ ! -e $leaks ]; then
	echo "ok 2 - no leaks # SKIP this kernel does not look for them"
	exit 0
fi
# What was freed by RCU or work is seen as leaked for a while; what a second look still finds is.
echo scan >$leaks
sleep 6
echo scan >$leaks
sleep 1
cat $leaks >/tmp/leaks
if [ ! -s /tmp/leaks ]; then
	echo "ok 2 - no leaks"
else
	echo "not ok 2 - no leaks"
	sed 's/^/# /' /tmp/leaks
fi
