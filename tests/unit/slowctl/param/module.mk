# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_edits test_limits test_param_site test_param,,slowctl/param))
