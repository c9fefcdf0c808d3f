# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_segment,,daemon/record))
$(eval $(call tests,test_recorder test_recorder_box,recorder_rig.c,daemon/record,jansson))
