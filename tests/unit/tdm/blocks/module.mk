# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_assemble test_hit_rows,,tdm/blocks))
$(eval $(call tests,test_block,tests/unit/rig/floor_rig.c,tdm/blocks))
$(eval $(call tests,test_recorded,tests/unit/rig/floor_rig.c tests/unit/rig/record_rig.c,tdm/blocks))
