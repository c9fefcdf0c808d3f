# SPDX-License-Identifier: GPL-2.0-or-later
# Content of rings and buffers, where the board's addresses are translated.
load depth_ms=200 linger_ms=10000
run 60 step_iommu
run 240 guest_ring
run 240 guest_owner
run 240 guest_buffer
unload
