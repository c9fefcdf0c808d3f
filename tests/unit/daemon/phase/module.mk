# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_phase test_phase_drift test_phase_limits test_phase_step,phase_rig.c,daemon/phase))
$(eval $(call tests,test_phase_stability,,daemon/phase))
