# SPDX-License-Identifier: GPL-2.0-or-later
# Every test of the driver. Rings of 200 ms of model time; owners may be away for longer than they last.
load depth_ms=200 linger_ms=1000
chmod 666 /dev/nanet3-0
run 240 test_contract
load depth_ms=200 linger_ms=10000
for t in guest_ring guest_owner guest_buffer guest_abuse guest_sys guest_fault; do
	run 240 $t
done
run 60 step_selftest
run 240 step_load
load depth_ms=200
run 60 step_leaks
