# SPDX-License-Identifier: GPL-2.0-or-later

# The board model and its user-space host. Link with whatever plays the world, and tdm (libisal).
$(eval $(call library,emuboard,$(addprefix driver/emu/,board.c board_regs.c board_event.c board_dma.c \
    board_tx.c board_put.c board_fault.c host.c host_memory.c host_client.c host_request.c \
    host_tx.c host_buffer.c host_poll.c pace.c pace_play.c)))

# The world: floors, sea, fibres, receiver on the roof, scenario. Link with tdm (libisal, libxxhash).
$(eval $(call library,emuworld,$(addprefix driver/emu/,world.c scenario.c truth_file.c leap.c gps.c \
    fibre.c receiver.c floor.c floor_control.c pmt.c hit_fifo.c pulse.c hydrophone.c sea.c),libxxhash))

# A recording in the place of the world's floors. Link behind either.
$(eval $(call library,emuplay,driver/emu/play.c))

# The QEMU host: the board as a PCI device of a guest. Link with emuboard.
$(eval $(call library,emuqemu,$(addprefix driver/emu/,qemu_host.c qemu_pace.c qemu_pci.c qemu_msix.c \
    qemu_proxy.c qemu_memory.c qemu_qtest.c qemu_launch.c)))

$(eval $(call program,nanet3-emu,$(addprefix driver/emu/,main.c emu_options.c),emuqemu emuboard emuworld emuplay tdm,libisal libxxhash))
