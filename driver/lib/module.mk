# SPDX-License-Identifier: GPL-2.0-or-later
# libnanet3: a board for one process, by device or by the emulator's socket. Needs no other library.
$(eval $(call library,nanet3,$(addprefix driver/lib/,nanet3.c sock.c device.c)))
