# SPDX-License-Identifier: GPL-2.0-or-later
# Backup of a station and its restore.
$(eval $(call room,schemas $(addprefix slowctl/,param access query fcmctl/show fcmctl/core),jansson sqlite3 libmd))
