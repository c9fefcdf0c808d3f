# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_safe,tests/unit/slowctl/engine/engine_rig.c,slowctl/safe))
