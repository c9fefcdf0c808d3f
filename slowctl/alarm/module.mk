# SPDX-License-Identifier: GPL-2.0-or-later
# What operators do about alarms: acknowledge, pause, latch. No I/O.
$(eval $(call room,slowctl/param))
