/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /live: once a second, to all who look, what the daemon says and what the monitor stream brought. */
#pragma once

#include <event2/http.h>

#include "slowctl/page/server.h"
#include "slowctl/reader/reader.h"

struct live;

/* `place` stays the caller's. `key_file`: of sample.h. NULL: out of memory. */
struct live *live_new(struct event_base *base, const struct reader_place *place,
		      const char *key_file);
/* After the server has been closed. NULL is fine. */
void live_free(struct live *l);
/* Of struct server_route. */
void live_ask(void *context, struct server_client *c, const char *rest,
	      const struct evkeyvalq *arguments);
