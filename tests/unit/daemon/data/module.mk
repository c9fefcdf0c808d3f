# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_downlink test_boots test_pool test_ledger test_losses test_ack_tracker \
    test_owner_page test_tap,\
    ,\
    daemon/data))
