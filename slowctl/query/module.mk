# SPDX-License-Identifier: GPL-2.0-or-later
# Questions to the database and to recordings, read only.
$(eval $(call room,schemas tdm slowctl/param,jansson sqlite3))
