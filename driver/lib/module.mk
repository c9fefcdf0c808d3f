# SPDX-License-Identifier: GPL-2.0-or-later
# libnanet3: a board for one process, by device or by the emulator's socket. Needs no other library.
nanet3_sources := $(addprefix driver/lib/,nanet3.c events.c links.c poller.c sock.c device.c)
$(eval $(call library,nanet3,$(nanet3_sources)))
