# SPDX-License-Identifier: GPL-2.0-or-later
# Allocations and copies that fail, one after another, in load, requests and mappings.
load depth_ms=1 # 8 buffers: fewer allocations of one kind
run 1500 guest_inject
run 60 step_leaks
