/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GET /past/NAME?since=...: what the database says, read only, on a thread of its own. Each answer is bounded: in rows,
 * and in time (PAST_LIMIT_MS). NAME is an operation of schemas/control.md, or one of the page's own: losses, phase
 * (slowctl/query/picture.h), record.list.
 */
#pragma once

#include "slowctl/page/server.h"
#include "slowctl/reader/reader.h"

#define PAST_LIMIT_MS 2000u

struct past;

/* `place` stays the caller's. NULL: out of memory, or no thread. */
struct past *past_new(struct event_base *base, const struct reader_place *place);
/* After the server has been closed. NULL is fine. */
void past_free(struct past *p);
/* Of struct server_route. */
void past_ask(void *context, struct server_client *c, const char *rest,
	      const struct evkeyvalq *arguments);
