/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kind_key(): see kind_key.h. */
#include "slowctl/param/kind_key.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/param/param.h"

static void on_kind_key(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *prefix_text = (const char *)sqlite3_value_text(values[0]);
	const char *name = (const char *)sqlite3_value_text(values[1]);
	char key[PARAM_NAME_MAX + 12];
	size_t n = (size_t)snprintf(key, sizeof(key), "%.9s", prefix_text ? prefix_text : "");
	bool object = true;

	for (unsigned level = 0; name && level < 2; level++) {
		size_t prefix = strlen("tower"); /* as long as "floor" */

		if (strncmp(name, level == 0 ? "tower" : "floor", prefix) == 0 &&
		    isdigit((unsigned char)name[prefix]) && strchr(name, '.')) {
			name = strchr(name, '.') + 1;
		}
	}
	for (; name && *name && n < sizeof(key) - 1; name++) {
		object = object && *name != '.';
		if (!object || !isdigit((unsigned char)*name)) {
			key[n++] = *name;
		}
	}
	sqlite3_result_text(context, key, (int)n, SQLITE_TRANSIENT);
}

int kind_key_register(sqlite3 *db)
{
	return sqlite3_create_function(db, "kind_key", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				       on_kind_key, NULL, NULL);
}
