# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_time test_writer test_plot test_histogram test_tally,,slowctl/fcmctl/show))
