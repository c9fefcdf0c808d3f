# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_log test_queue test_text,,daemon/core))
$(eval $(call tests,test_worker,,daemon/core,libevent))
