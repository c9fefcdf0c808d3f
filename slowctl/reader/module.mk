# SPDX-License-Identifier: GPL-2.0-or-later
# A reader of the control socket in an event loop, for fcm-page and fcm-notify.
$(eval $(call room,daemon/core,jansson libevent))
