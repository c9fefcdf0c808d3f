/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of the page: read once, at the start, and served from memory. No request names a file of the disk. */
#pragma once

#include "slowctl/page/server.h"

struct files;

/* All files of `directory` with a known ending, and Debian's dygraphs. Negative errno and *error. */
int files_open(const char *directory, struct files **ret_files, struct sc_error *error);
void files_close(struct files *f); /* NULL is fine */
/* Of struct server_route: "" is index.html. */
void files_ask(void *context, struct server_client *c, const char *rest,
	       const struct evkeyvalq *arguments);
