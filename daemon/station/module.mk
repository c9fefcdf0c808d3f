# SPDX-License-Identifier: GPL-2.0-or-later
# The main thread's state machines, where they meet.
$(eval $(call room,\
    tdm tdm/blocks driver/lib \
    $(addprefix slowctl/,param access engine alarm query) \
    $(addprefix daemon/,core phase time data feed config control capture record store disk publish incidents alarms),\
    jansson libevent))
