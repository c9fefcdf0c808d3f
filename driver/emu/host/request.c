/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each request of driver/nanet3.h does on the user-space host. One function a request, one table
 * of them; sizes are checked before, everything inside the struct is checked here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/emu/host/private.h"

static int info(struct host *h, struct client *c, void *arg)
{
	struct nanet3_info *i = arg;
	const uint32_t version = nanet3_version_agreed(i);

	if (i->reserved != 0) {
		return -EINVAL;
	}
	if (version == 0) {
		return -EPROTO;
	}
	if (c->read_only && !c->greeted && h->counts.clients > NANET3_READ_HANDLES) {
		return -EMFILE;
	}
	*i = (struct nanet3_info){
		.version = version,
		.links = NANET3_LINKS,
		.serial = board_reg_read(h->board, NANET3_REG_SERIAL),
		.boot_count = board_reg_read(h->board, NANET3_REG_BOOT_COUNT),
		.handle = c->id,
		.queue_size = h->config.queue_events,
		.emulated = board_reg_read(h->board, NANET3_REG_MODEL),
		.hw_version = board_reg_read(h->board, NANET3_REG_VERSION),
		.caps = board_reg_read(h->board, NANET3_REG_CAPS),
	};
	snprintf(i->name, sizeof(i->name), "%s", h->config.name);
	c->greeted = true;
	h->pass_fd = c->event_fd;
	return 0;
}

static int claim(struct host *h, struct client *c, void *arg)
{
	struct nanet3_claim *r = arg;

	if (r->link >= NANET3_LINKS || r->flags & ~NANET3_CLAIM_FRESH || r->reserved != 0) {
		return -EINVAL;
	}
	return link_claim(h, c, r);
}

static int yield(struct host *h, struct client *c, void *arg)
{
	uint32_t link = *(const uint32_t *)arg;

	if (link >= NANET3_LINKS) {
		return -EINVAL;
	}
	if (h->links[link].owner != c) {
		return -EPERM;
	}
	link_stop(h, link);
	return 0;
}

static int grant(struct host *h, struct client *c, void *arg)
{
	const struct nanet3_grant *r = arg;
	struct client *delegate =
		r->handle <= UINT32_MAX ? client_by_id(h, (uint32_t)r->handle) : NULL;

	if (r->link >= NANET3_LINKS || r->reserved != 0) {
		return -EINVAL;
	}
	if (h->links[r->link].owner != c) {
		return -EPERM;
	}
	if (r->handle != 0 && delegate == NULL) {
		return -ENOENT;
	}
	h->links[r->link].delegate = delegate;
	return 0;
}

static int release(struct host *h, struct client *c, void *arg)
{
	const struct nanet3_release *r = arg;
	struct nanet3_ring *ring;

	if (r->link >= NANET3_LINKS || r->reserved != 0) {
		return -EINVAL;
	}
	if (h->links[r->link].owner != c) {
		return -EPERM;
	}
	ring = h->links[r->link].ring;
	if (r->position < ring->release_position || r->position > ring->write_position) {
		return -EINVAL;
	}
	__atomic_store_n(&ring->release_position, r->position, __ATOMIC_RELEASE);
	host_write_pair(h, NANET3_REG_LINK(r->link, NANET3_LREG_RELEASE), r->position);
	return 0;
}

static int stats(struct host *h, struct client *c, void *arg)
{
	struct nanet3_stats *s = arg;

	*s = h->counts;
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		if (h->buffers[i].client != NULL) {
			s->buffers++;
			s->pinned_pages += h->buffers[i].pages;
		}
	}
	return 0;
}

/* ------------------------------------------------------------------------ registers */

static int reg_read(struct host *h, struct client *c, void *arg)
{
	struct nanet3_regs *r = arg;

	if (!nanet3_regs_sound(r)) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		const uint32_t offset = r->offset + i * 4;

		h->time_reads += offset == NANET3_REG_TOD;
		r->values[i] = board_reg_read(h->board, offset);
		if (nanet3_reg_is_address(offset) && !c->privileged) {
			r->values[i] = 0;
		}
	}
	return 0;
}

static int reg_write(struct host *h, struct client *c, void *arg)
{
	const struct nanet3_regs *r = arg;

	if (!nanet3_regs_sound(r)) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t link = NANET3_LINKS;
		bool harmless = nanet3_reg_harmless(r->offset + i * 4, r->values[i], &link) &&
				(link == NANET3_LINKS || link_acts(h, c, link));

		if (!c->privileged && !harmless) {
			return -EPERM;
		}
	}
	for (uint32_t i = 0; i < r->count; i++) {
		board_reg_write(h->board, r->offset + i * 4, r->values[i]);
	}
	for (unsigned i = 0; !board_gone(h->board) && i < NANET3_LINKS; i++) {
		h->links[i].ring->deadline_us =
			board_reg_read(h->board, NANET3_REG_LINK(i, NANET3_LREG_DEADLINE));
	}
	return 0;
}

static int link_command(struct host *h, struct client *c, void *arg)
{
	const struct nanet3_link_command *r = arg;
	uint32_t control;

	if (!nanet3_link_command_sound(r)) {
		return -EINVAL;
	}
	if (!link_acts(h, c, r->link) && !client_is_admin(c)) {
		return -EPERM;
	}
	control = NANET3_REG_LINK(r->link, NANET3_LREG_CONTROL);
	board_reg_write(h->board, control,
			(board_reg_read(h->board, control) & NANET3_LINK_ENABLE) | r->command);
	return 0;
}

static int subscribe(struct host *h, struct client *c, void *arg)
{
	const struct nanet3_subscribe *r = arg;

	if (!nanet3_subscribe_sound(r)) {
		return -EINVAL;
	}
	c->subscribed = r->mask;
	return 0;
}

/* ------------------------------------------------------------------------ mappings */

static int map_chunk(struct host_link *l, uint64_t n, struct nanet3_sock_map *m)
{
	uint64_t chunk = (uint64_t)l->ring->chunk_buffers * l->ring->buffer_stride;

	if (n >= l->ring->chunks) {
		return -EINVAL;
	}
	m->offset = n * chunk;
	m->bytes = l->ring_memory.bytes - m->offset;
	m->bytes = m->bytes < chunk ? m->bytes : chunk;
	return 0;
}

static int map(struct host *h, struct client *c, void *arg)
{
	struct nanet3_sock_map *m = arg;
	uint64_t link = m->what >> 36 & 0xf, n = m->what >> 24 & 0xfff;
	struct host_link *l = &h->links[link % NANET3_LINKS];
	const bool owner = l->owner == c;
	const struct {
		uint64_t what;
		const struct shared *memory;
		bool allowed, writable;
	} maps[] = {
		{NANET3_MAP_QUEUE, &c->queue, true, !c->read_only},
		{NANET3_MAP_EVENTS, &h->evq_memory, links_of(h, c, false) != 0, false},
		{NANET3_MAP_RING(link), &l->state, true, false},
		{NANET3_MAP_CHUNK(link, n), &l->ring_memory, owner, false},
		{NANET3_MAP_OWNER(link), &l->owner_page, owner, true},
		{NANET3_MAP_DOORBELL(link), &l->doorbell, owner, true},
	};

	for (size_t i = 0; link < NANET3_LINKS && i < sizeof(maps) / sizeof(maps[0]); i++) {
		const struct shared *memory = maps[i].memory;

		if (m->what != maps[i].what) {
			continue;
		}
		if (!maps[i].allowed) {
			return -EPERM;
		}
		*m = (struct nanet3_sock_map){
			.what = m->what, .bytes = memory->bytes, .writable = maps[i].writable};
		h->pass_fd = m->writable ? memory->fd : memory->read_fd;
		return memory == &l->ring_memory ? map_chunk(l, n, m) : 0;
	}
	return -EINVAL;
}

/* ------------------------------------------------------------------------ the table */

static const struct {
	uint32_t request; /* its struct's size is in the code */
	int (*execute)(struct host *h, struct client *c, void *arg);
	bool reads; /* it changes nothing, and needs no handle that is open for writing */
} requests[] = {
	{NANET3_IOC_RELEASE, release},
	{NANET3_IOC_PUT, host_tx_put},
	{NANET3_IOC_REG_READ, reg_read, .reads = true},
	{NANET3_IOC_SEND, host_tx_send},
	{NANET3_IOC_INFO, info, .reads = true},
	{NANET3_IOC_CLAIM, claim},
	{NANET3_IOC_GRANT, grant},
	{NANET3_IOC_YIELD, yield},
	{NANET3_IOC_REG_WRITE, reg_write},
	{NANET3_IOC_LINK_CMD, link_command},
	{NANET3_IOC_SUBSCRIBE, subscribe},
	{NANET3_IOC_POLLING, polling_set},
	{NANET3_IOC_REGISTER, buffer_register},
	{NANET3_IOC_UNREGISTER, buffer_unregister},
	{NANET3_IOC_STATS, stats, .reads = true},
	{NANET3_SOCK_MAP, map, .reads = true},
};

/* Are the bytes [from, to) 0? */
static bool zero(const uint8_t *bytes, uint32_t from, uint32_t to)
{
	while (from < to && bytes[from] == 0) {
		from++;
	}
	return from >= to;
}

int request_execute(struct host *h, struct client *c, uint32_t request, void *arg, uint32_t size)
{
	uint32_t known;

	h->pass_fd = -1;
	if (board_gone(h->board)) {
		return -ENODEV;
	}
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (NANET3_REQUEST(requests[i].request) != NANET3_REQUEST(request)) {
			continue;
		}
		if (size != _IOC_SIZE(request) ||
		    size < nanet3_request_least(requests[i].request)) {
			return -EINVAL;
		}
		known = _IOC_SIZE(requests[i].request);
		if (!zero(arg, known, size)) {
			return -E2BIG;
		}
		if (size < known) {
			memset((uint8_t *)arg + size, 0, known - size);
		}
		if (c->read_only && !requests[i].reads) {
			return -EBADF;
		}
		if (!c->greeted && requests[i].request != NANET3_IOC_INFO) {
			return -EPROTO;
		}
		return requests[i].execute(h, c, arg);
	}
	return -ENOTTY;
}
