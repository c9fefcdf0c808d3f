# SPDX-License-Identifier: GPL-2.0-or-later
# What can be wrong around the station: machine, board, time, disk, files.
$(eval $(call room,driver $(addprefix slowctl/,access query fcmctl/show fcmctl/core),jansson))
