# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_door test_door_limits,tests/unit/rig/zmtp_rig.c,daemon/net daemon/core,libzmq))
$(eval $(call tests,test_listener,,daemon/net,libsystemd))
