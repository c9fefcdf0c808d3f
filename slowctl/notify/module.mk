# SPDX-License-Identifier: GPL-2.0-or-later
# fcm-notify: tells people about incidents.
$(eval $(call room,slowctl/param slowctl/reader daemon/core,jansson libevent inih))
$(eval $(call program,fcm-notify,slowctl/notify/main.c,slowctl/notify,libevent))
