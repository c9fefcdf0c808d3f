# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_clock test_clock_sources test_clock_rules test_clock_limits,clock_rig.c,daemon/time))
$(eval $(call tests,test_gpsd,,daemon/time,libgps))
