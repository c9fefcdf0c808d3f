# SPDX-License-Identifier: GPL-2.0-or-later
# What is wrong, since when, why, and what to do.
$(eval $(call room,\
    tdm \
    $(addprefix slowctl/,param engine alarm) \
    $(addprefix daemon/,core phase time data store disk publish incidents),\
    jansson))
