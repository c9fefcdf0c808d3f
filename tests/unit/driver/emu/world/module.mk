# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_world test_world_faults test_light,world_rig.c,driver/emu/world,libxxhash))
$(eval $(call tests,test_scenario test_gps,,driver/emu/world))
