# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_metrics_text test_metrics,,slowctl/metrics,jansson))
