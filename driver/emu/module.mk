# SPDX-License-Identifier: GPL-2.0-or-later

# The board model and its user-space host. Link with whatever plays the world, and tdm (libisal).
$(eval $(call library,emuboard,$(addprefix driver/emu/,board.c board_regs.c board_dma.c board_tx.c \
    host.c host_memory.c host_client.c host_request.c pace.c)))
