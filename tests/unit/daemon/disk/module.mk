# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_emergency,tests/unit/rig/store_rig.c,daemon/disk,sqlite3))
