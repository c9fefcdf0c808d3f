# SPDX-License-Identifier: GPL-2.0-or-later
# The QEMU host: the board as a PCI device of a guest.
$(eval $(call room,driver $(addprefix driver/emu/,common board host)))
