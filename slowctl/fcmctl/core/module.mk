# SPDX-License-Identifier: GPL-2.0-or-later
# fcmctl's arguments, its connection to the daemon, the database when the daemon is not running.
$(eval $(call room,schemas $(addprefix slowctl/,param access query fcmctl/show) daemon/consumer,jansson))
