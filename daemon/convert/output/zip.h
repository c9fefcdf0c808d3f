/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A zip file of stored members, as numpy reads .npz: of any size (zip64). Calls return 0 or negative errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct zip;

int zip_create(const char *path, struct zip **ret_zip);
/* The file at `from` becomes member `name`. */
int zip_add(struct zip *z, const char *name, const char *from);
/* The list of members, synced. */
int zip_end(struct zip *z);
void zip_close(struct zip *z); /* NULL is fine */
