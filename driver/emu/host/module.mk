# SPDX-License-Identifier: GPL-2.0-or-later
# The driver's part in user space: the emulator's socket, buffers, pace.
$(eval $(call room,driver $(addprefix driver/emu/,common play world board)))
