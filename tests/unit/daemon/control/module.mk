# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_network,,daemon/control,libevent libzmq))
$(eval $(call tests,test_dispatch test_user_groups test_places,,daemon/control))
$(eval $(call tests,test_user_names test_control,,daemon/control,libevent))
