# SPDX-License-Identifier: GPL-2.0-or-later
# An observation, and the incident it belongs to.
$(eval $(call room,\
    $(addprefix slowctl/,param alarm) \
    daemon/core,\
    jansson))
$(B)/obj/daemon/incidents/reason_kinds.o: daemon/incidents/runbook.md
