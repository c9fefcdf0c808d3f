#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel does translate the board's addresses.
type=$(cat /sys/class/nanet3/nanet3-0/device/iommu_group/type 2>&1)
echo 1..1
[ "$type" = DMA ] || echo -n "not "
echo "ok 1 - the board's IOMMU group is of type $type"
[ "$type" = DMA ]
