# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_groups test_groups_policy test_groups_random,groups_rig.c,daemon/publish))
$(eval $(call tests,test_publisher_feed,tests/unit/rig/feed_rig.c,daemon/publish,libzmq))
$(eval $(call tests,test_publisher,publisher_rig.c tests/unit/rig/zmtp_rig.c,daemon/publish,libzmq))
$(eval $(call tests,test_monitors,tests/unit/rig/zmtp_rig.c,daemon/publish,libzmq))
$(eval $(call tests,test_publisher_slow test_publisher_keys,publisher_rig.c,daemon/publish,libzmq))
