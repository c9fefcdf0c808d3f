# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_frame test_hit test_hit_run test_word test_record test_recording,,tdm))
$(eval $(call tests,test_deframe test_deframe_random,deframe_rig.c,tdm))
