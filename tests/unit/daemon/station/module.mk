# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_watch,\
    tests/unit/rig/socket_rig.c tests/unit/rig/contract_host.c tests/unit/rig/fake_world.c,\
    daemon/station driver/emu/host))
$(eval $(call tests,test_keys,,daemon/station,libzmq))
$(eval $(call tests,test_questions,,daemon/ops))
$(eval $(call tests,test_runs,runs_rig.c,daemon/station))
