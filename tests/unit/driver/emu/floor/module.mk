# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_silence,,driver/emu/world))
$(eval $(call tests,test_geometry test_beacon test_pulse,,driver/emu/floor))
$(eval $(call tests,test_floor,tests/unit/driver/emu/world/world_rig.c,driver/emu/world,libxxhash))
