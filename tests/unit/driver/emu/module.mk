# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_board test_board_link test_board_put test_board_fault,\
    board_rig.c tests/unit/rig/fake_world.c,\
    driver/emu/host))
$(eval $(call tests,test_host,\
    tests/unit/rig/socket_rig.c tests/unit/rig/contract_host.c tests/unit/rig/fake_world.c,\
    driver/emu/host driver/lib))
$(eval $(call tests,test_qemu_pci test_qemu_wire,,driver/emu/qemu))
$(eval $(call tests,test_qemu_host,tests/unit/rig/fake_world.c,driver/emu/qemu))
$(eval $(call tests,test_emu_options,,driver/emu))
$(eval $(call tests,test_world test_floor test_world_faults,world_rig.c,driver/emu/world,libxxhash))
$(eval $(call tests,test_silence test_scenario test_gps,,driver/emu/world))
$(eval $(call tests,test_play,tests/unit/rig/record_rig.c,driver/emu/world))
