# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_late test_debounce test_loss_episodes test_member_events test_overflow test_rates test_silence_say,\
,\
    daemon/alarms))
$(eval $(call tests,test_judge,judge_rig.c,daemon/alarms))
