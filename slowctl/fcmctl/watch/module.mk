# SPDX-License-Identifier: GPL-2.0-or-later
# The station as it is and as it was: status, links, phase, clock, ledger, events, alarms, consumers, history.
$(eval $(call room,$(addprefix slowctl/,param fcmctl/show fcmctl/core),jansson ncursesw))
