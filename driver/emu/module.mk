# SPDX-License-Identifier: GPL-2.0-or-later
# The emulator: options, and main() that puts world, board and host together.
$(eval $(call room,tdm driver/options $(addprefix driver/emu/,floor world play host qemu)))
$(eval $(call program,nanet3-emu,driver/emu/main.c,driver/emu,))
