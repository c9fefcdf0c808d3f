# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_advice test_quantity,,slowctl/fcmctl))
