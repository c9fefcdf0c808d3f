# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_frame test_hit test_hit_run test_word test_record test_recording test_assemble,,tdm))
$(eval $(call tests,test_deframe test_deframe_random,deframe_rig.c,tdm))
$(eval $(call tests,test_block,tests/unit/rig/floor_rig.c,tdm))
$(eval $(call tests,test_recorded,tests/unit/rig/floor_rig.c tests/unit/rig/record_rig.c,tdm))
$(eval $(call tests,test_hit_rows,,tdm))
