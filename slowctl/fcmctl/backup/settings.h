/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files beside the database that a spare PC needs: configuration, dictionaries, lists of keys, secret keys. */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "slowctl/fcmctl/core/ctl.h"

/*
 * [{path, secret, mode, owner, group}, ...] of those that exist: absolute paths as they are named, each once. What
 * cannot be part of a backup is added to `skipped`: {PATH: why}.
 */
json_t *settings_list(const struct ctl_station *station, json_t *skipped);
/* The database that the configuration of an installed station names; "": none. Returns path. */
const char *settings_database(const struct ctl_station *station, char path[PATH_MAX]);
/*
 * Whether a restore may make this file: settings_list() has such paths, or the configuration names it that is among
 * `files` (of backup.json) of the backup in the directory `from`.
 */
bool settings_allowed(const struct ctl_station *station, const char *from, const json_t *files,
		      const char *path);
