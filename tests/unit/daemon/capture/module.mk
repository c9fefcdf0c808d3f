# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_capture test_capture_runs test_capture_killed,\
    capture_path.c capture_rig.c tests/unit/rig/floor_rig.c,\
    daemon/capture driver/emu/host))
$(eval $(call tests,test_run_border,,daemon/capture))
$(eval $(call tests,test_capture_link test_capture_limits test_capture_tick test_capture_ring,\
    link_rig.c capture_rig.c tests/unit/rig/floor_rig.c,\
    daemon/capture driver/emu/host))
$(eval $(call tests,test_watch,\
    tests/unit/rig/socket_rig.c tests/unit/rig/contract_host.c tests/unit/rig/fake_world.c,\
    daemon/capture driver/emu/host))
$(eval $(call tests,test_runs,runs_rig.c,daemon/capture))
