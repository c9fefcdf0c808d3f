/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists the directory of recordings from its files alone, whether the daemon is running or not.
 * Nothing is changed.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* The place when none is configured: "recordings" beside the database. Returns `path`. */
const char *recordings_beside(const char *database, char *path, size_t size);

/*
 * The newest `limit` (0: all), newest first: [{name, kind, note, who, links, begun, until, ended, why,
 * trouble, cause, cause_text (of a black box), let_go_frames, let_go_at_least, segments, bytes}]; members that
 * recording.json does not have are null. No directory is an empty list. -EACCES and the like;
 * -ENOMEM.
 */
int recordings_list(const char *directory, unsigned limit, json_t **ret_list);
