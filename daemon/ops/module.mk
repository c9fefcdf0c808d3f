# SPDX-License-Identifier: GPL-2.0-or-later
# The operations of the control protocol, and what they show.
$(eval $(call room,\
    tdm \
    $(addprefix slowctl/,param access engine safe alarm query) \
    $(addprefix daemon/,core phase time data control capture record store publish incidents alarms station),\
    jansson))
