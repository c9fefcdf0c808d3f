// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The configuration: what the table cannot say, rules between values; and what follows from several of them
 * (parts of the pool, ports of the feed).
 */
#include "daemon/config/private.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "daemon/feed/feed.h"

#define broken(...) config_complain(report, where, 0, __VA_ARGS__)

static void check_links(const struct config *c, struct config_report *report, const char *where)
{
	bool any = false;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		any |= c->link[i].enabled;
		for (unsigned j = 0; j < i; j++) {
			if (c->link[i].enabled && c->link[j].enabled &&
			    c->link[i].tower == c->link[j].tower &&
			    c->link[i].floor == c->link[j].floor) {
				broken("[link %u] and [link %u] both name tower %u floor %u", j, i,
				       c->link[i].tower, c->link[i].floor);
			}
		}
	}
	if (!any) {
		broken("no link has a floor (say which hangs where: [link 0] floor = 1)");
	}
}

uint32_t config_stream_bytes(uint8_t streams)
{
	static const uint32_t bytes[FCM_STREAMS] = {
		[FCM_PMT] = TDM_MODULES * TDM_PMT_STREAM,
		[FCM_HYDROPHONE] = TDM_HYDROPHONES * TDM_SAMPLES * 4,
		[FCM_INSTRUMENT] = TDM_OFF_RESERVED - TDM_OFF_TELEMETRY + TDM_SERIAL_BYTES,
	};
	uint32_t sum = 0;

	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		sum += streams & 1u << stream ? bytes[stream] : 0;
	}
	return sum;
}

/* Parts of the pool go by what the streams bring, so that all groups hold equally long; the addition
 * keeps the part of a small stream from being too small for anything when the pool is. */
static uint64_t budget_weight(const struct config_group *g)
{
	return config_stream_bytes(g->streams) + TDM_FRAME_BYTES / 8;
}

/* What groups and feed may hold together: the rest is for blocks on their way, and for what a block's memory
 * is larger than its data. */
static uint64_t most_bytes(const struct config *c)
{
	return ((uint64_t)c->data.pool_mb << 20) / 8 * 7;
}

static uint64_t feed_bytes(const struct config *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		sum += c->feed.enabled && c->link[i].enabled ? c->feed.budget_mb : 0;
	}
	return sum << 20;
}

/* What all groups share, by their weights: 3/4 of the pool; with a feed that needs more of it less, down to
 * half. A group with a budget of its own has that in the place of its part. */
static uint64_t auto_bytes(const struct config *c)
{
	uint64_t pool = (uint64_t)c->data.pool_mb << 20, feed = feed_bytes(c);
	uint64_t share = pool / 4 * 3;

	if (share + feed > most_bytes(c)) {
		share = pool / 2 + feed > most_bytes(c) ? pool / 2 : most_bytes(c) - feed;
	}
	return share;
}

uint64_t config_budget_bytes(const struct config *config, unsigned n)
{
	uint64_t all = 0;

	if (config->group[n].budget_mb > 0) {
		return (uint64_t)config->group[n].budget_mb << 20;
	}
	for (unsigned i = 0; i < config->groups; i++) {
		all += budget_weight(&config->group[i]);
	}
	return auto_bytes(config) / all * budget_weight(&config->group[n]);
}

static void check_budgets(const struct config *c, struct config_report *report, const char *where)
{
	uint64_t sum = feed_bytes(c);

	for (unsigned i = 0; i < c->groups; i++) {
		sum += config_budget_bytes(c, i);
	}
	if (sum > most_bytes(c)) {
		broken("[data] pool_mb: groups and feed may hold %llu MiB, more than 7/8 of the "
		       "pool's %u (lower their budget_mb, or raise pool_mb)",
		       (unsigned long long)((sum + (1u << 20) - 1) >> 20), c->data.pool_mb);
	}
}

unsigned config_feed_port(const struct config *c, unsigned link)
{
	return c->feed.base_port + NANET3_LINKS * c->instance + link;
}

static void check_feed(const struct config *c, struct config_report *report, const char *where)
{
	struct in6_addr address;

	if (!c->feed.enabled) {
		return;
	}
	if (inet_pton(AF_INET, c->feed.address, &address) != 1 &&
	    inet_pton(AF_INET6, c->feed.address, &address) != 1) {
		broken("[feed] address: \"%.48s\" is no IPv4 or IPv6 address in numbers "
		       "(127.0.0.1 is this machine alone)",
		       c->feed.address);
	}
	if (config_feed_port(c, NANET3_LINKS - 1) > UINT16_MAX) {
		broken("[feed] base_port: %u + 4 x %u (board) + 3 is beyond 65535",
		       c->feed.base_port, c->instance);
	}
	if (c->groups == CONFIG_GROUPS) {
		broken("[feed] enabled: the feed is a group too, and there are %u already (leave "
		       "one out)",
		       CONFIG_GROUPS);
	}
	for (unsigned i = 0; i < c->groups; i++) {
		if (!strcmp(c->group[i].name, FEED_GROUP)) {
			broken("[group " FEED_GROUP "]: that is the feed's own name (choose "
			       "another)");
		}
	}
}

/* An endpoint that can be reached from this machine only; also "", none. */
static bool is_local(const char *endpoint)
{
	static const char *const local[] = {"tcp://127.",
					    "tcp://localhost:", "tcp://[::1]:", "ipc://"};
	bool is = *endpoint == '\0';

	for (unsigned i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		is |= strncmp(endpoint, local[i], strlen(local[i])) == 0;
	}
	return is;
}

bool config_is_open(const struct config *c)
{
	return !c->data.curve &&
	       (!is_local(c->data.reserved_endpoint) || !is_local(c->data.monitor_endpoint));
}

static void check_open(const struct config *c, struct config_report *report, const char *where)
{
	if (config_is_open(c) && !c->data.insecure) {
		broken("[data] %s: beyond this machine, and without keys whoever reaches it can "
		       "take the data or a consumer's place (curve = yes, and keys by fcmctl key "
		       "make NAME ROLE; or insecure = yes where the network is yours alone)",
		       is_local(c->data.reserved_endpoint) ? "monitor_endpoint"
							   : "reserved_endpoint");
	}
}

void config_check_rules(const struct config *c, struct config_report *report, const char *where)
{
	struct sockaddr_un address;

	check_links(c, report, where);
	check_feed(c, report, where);
	check_open(c, report, where);
	if (1600 % c->data.block_frames) {
		broken("[data] block_frames: %u is not a divisor of 1600", c->data.block_frames);
	}
	if (!strcmp(c->data.reserved_endpoint, c->data.monitor_endpoint)) {
		broken("[data] reserved_endpoint and monitor_endpoint are the same");
	}
	if (strlen(c->control.socket) >= sizeof(address.sun_path)) {
		broken("[control] socket: longer than %zu characters",
		       sizeof(address.sun_path) - 1);
	}
	if (c->phase.drift_ps <= c->phase.tolerance_ps) {
		broken("[phase] drift_ps must be above tolerance_ps");
	}
	check_budgets(c, report, where);
	for (unsigned i = 0; i < c->groups; i++) {
		if (!c->group[i].streams) {
			broken("[group %s] takes no stream (streams = pmt)", c->group[i].name);
		}
	}
}
