# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_record_dump,tests/unit/rig/record_rig.c tests/unit/rig/floor_rig.c,slowctl/fcmctl))
