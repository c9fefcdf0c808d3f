# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_play,tests/unit/rig/record_rig.c,driver/emu/world))
