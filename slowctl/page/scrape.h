/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /metrics for Prometheus, /healthz and /readyz for whoever starts and watches services. The daemon is asked when somebody
 * asks us, at most once a second; all who ask meanwhile share its answer. One that does not come within SCRAPE_WAIT_S is
 * none: then /metrics has no value of the station, and the other two answer 503 and why.
 */
#pragma once

#include "slowctl/metrics/metrics.h"
#include "slowctl/page/server.h"
#include "slowctl/reader/reader.h"

#define SCRAPE_WAIT_S 3

struct scrape;

/* `place` and `dictionary` stay the caller's. NULL: out of memory. */
struct scrape *scrape_new(struct event_base *base, const struct reader_place *place,
			  const struct metrics_dictionary *dictionary);
/* After the server has been closed. NULL is fine. */
void scrape_free(struct scrape *s);
/* Of struct server_route. */
void scrape_metrics(void *context, struct server_client *c, const char *rest,
		    const struct evkeyvalq *arguments);
void scrape_healthz(void *context, struct server_client *c, const char *rest,
		    const struct evkeyvalq *arguments);
void scrape_readyz(void *context, struct server_client *c, const char *rest,
		   const struct evkeyvalq *arguments);
