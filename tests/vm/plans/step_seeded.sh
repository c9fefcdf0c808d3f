#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Do what triggers the seeded bug. Whether it was caught is in the kernel's log.
echo 1..1
guest_abuse >/dev/null 2>&1
guest_ring >/dev/null 2>&1
rmmod nanet3
echo "ok 1 - the seeded module has been used"
