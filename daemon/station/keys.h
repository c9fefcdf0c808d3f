/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The secret key and the allow list of control and data. */
#pragma once

#include <stdio.h>

#include "slowctl/access/access.h"

struct config;
struct station;

int keys_start(struct station *s); /* reads the allow list, if a socket needs keys */
/* Our secret; wipe it after use. A failure is logged. */
int keys_secret(struct station *s, char ret_secret[ACCESS_KEY_TEXT]);
/* Key and list of a configuration: 0, or negative, with the reason on `err`. */
int keys_check(const struct config *c, FILE *err);
void keys_reload(struct station *s); /* the list again, for all doors */
/* Where the list is, "" without a door that asks for keys: into the database, for fcmctl key list. */
void keys_put_place(struct station *s);
