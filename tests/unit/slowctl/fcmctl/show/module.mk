# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_ctl_time test_ctl_writer test_ctl_plot test_ctl_histogram,,slowctl/fcmctl/show))
