# SPDX-License-Identifier: GPL-2.0-or-later
# Content of rings and buffers, for kernels in which memory is somewhere else (bounced, above 4 GiB).
load depth_ms=200 linger_ms=10000
run 240 guest_ring
run 240 guest_owner
run 240 guest_buffer
unload
