# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_board test_board_link test_board_put test_board_fault,\
    board_rig.c tests/unit/rig/fake_world.c,\
    driver/emu/host))
