# SPDX-License-Identifier: GPL-2.0-or-later
# Slow control: parameters, command engine, queries to the database. No I/O but files that are read.
$(eval $(call library,slowctl,$(addprefix slowctl/,param.c param_load.c engine.c engine_command.c engine_words.c engine_view.c),inih jansson sqlite3))
