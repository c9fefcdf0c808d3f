# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_options test_cells,,daemon/convert))
$(eval $(call tests,test_slice test_missing test_spread,block_rig.c,daemon/convert tdm))
