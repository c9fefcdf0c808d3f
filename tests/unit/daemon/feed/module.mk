# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_feed,tests/unit/rig/feed_rig.c,daemon/feed))
