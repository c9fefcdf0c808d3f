/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL function that finds the entry of a parameter's kind in the station table, from the
 * parameter's name. */
#pragma once

#include <sqlite3.h>

/*
 * Adds kind_key(PREFIX, NAME) to a connection: the prefix, and the name without tower, floor and
 * the number of its object; kind_key('words.', 'tower1.floor3.om2.trip') is 'words.om.trip'.
 * SQLite's result.
 */
int kind_key_register(sqlite3 *db);
