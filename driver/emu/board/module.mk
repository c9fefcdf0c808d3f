# SPDX-License-Identifier: GPL-2.0-or-later
# The board: registers, DMA, events, words down, faults.
$(eval $(call room,tdm driver $(addprefix driver/emu/,common world)))
