# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_host test_host_gone,\
    tests/unit/rig/socket_rig.c tests/unit/rig/contract_host.c tests/unit/rig/fake_world.c,\
    driver/emu/host driver/lib))
