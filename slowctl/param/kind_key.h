/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL function by which a parameter's name finds what the station table keeps of its kind. */
#ifndef SLOWCTL_PARAM_KIND_KEY_H
#define SLOWCTL_PARAM_KIND_KEY_H

#include <sqlite3.h>

/*
 * Makes kind_key(PREFIX, NAME) known to a connection: the name without tower, floor and the number of its object,
 * behind the prefix; kind_key('words.', 'tower1.floor3.om2.trip') is 'words.om.trip'. SQLite's result.
 */
int kind_key_register(sqlite3 *db);

#endif
