# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_contract,\
    contract_rig.c contract_ring.c contract_owner.c contract_rights.c contract_word.c contract_buffer.c \
    contract_polling.c contract_fault.c tests/unit/rig/contract_host.c tests/unit/rig/fake_world.c,\
    driver/emu/host driver/lib))
$(eval $(call tests,test_contract_socket test_lib_polling,\
    tests/unit/rig/socket_rig.c tests/unit/rig/contract_host.c tests/unit/rig/fake_world.c,\
    driver/emu/host driver/lib))
$(eval $(call tests,test_lib_poller test_lib_versions,,driver/lib))
