# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_backup,,slowctl/fcmctl))
