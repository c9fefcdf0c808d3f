# SPDX-License-Identifier: GPL-2.0-or-later
# The only writer of the database. Migrations are compiled in.
$(eval $(call room,\
    schemas tdm driver \
    $(addprefix slowctl/,param engine safe alarm query) \
    $(addprefix daemon/,core phase time data),\
    sqlite3))
$(B)/obj/daemon/store/migrate.o: $(wildcard schemas/sql/*.sql)
