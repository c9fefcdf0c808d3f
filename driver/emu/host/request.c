/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each request of driver/nanet3.h does on the user-space host. One function a request, one table
 * of them; sizes are checked before, everything inside the struct is checked here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/emu/host/private.h"

static int info(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_info *i = arg;

	if (i->version != NANET3_VERSION) {
		return -EPROTO;
	}
	if (c->read_only && !c->greeted && h->stats.clients > NANET3_READ_HANDLES) {
		return -EMFILE;
	}
	*i = (struct nanet3_info){
		.version = NANET3_VERSION,
		.links = NANET3_LINKS,
		.serial = board_reg_read(h->board, NANET3_REG_SERIAL),
		.boot_count = board_reg_read(h->board, NANET3_REG_BOOT_COUNT),
		.handle = c->id,
		.queue_size = h->config.queue_events,
		.emulated = board_reg_read(h->board, NANET3_REG_MODEL),
	};
	snprintf(i->name, sizeof(i->name), "%s", h->config.name);
	c->greeted = true;
	*ret_fd = c->event_fd;
	return 0;
}

static int claim(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_claim *r = arg;

	(void)ret_fd;
	if (r->link >= NANET3_LINKS || r->flags & ~NANET3_CLAIM_FRESH || r->reserved != 0) {
		return -EINVAL;
	}
	return link_claim(h, c, r);
}

static int yield(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	uint32_t link = *(const uint32_t *)arg;

	(void)ret_fd;
	if (link >= NANET3_LINKS) {
		return -EINVAL;
	}
	if (h->links[link].owner != c) {
		return -EPERM;
	}
	link_stop(h, link);
	return 0;
}

static int grant(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	const struct nanet3_grant *r = arg;
	struct client *delegate =
		r->handle <= UINT32_MAX ? client_by_id(h, (uint32_t)r->handle) : NULL;

	(void)ret_fd;
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

static int release(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	const struct nanet3_release *r = arg;
	struct nanet3_ring *ring;

	(void)ret_fd;
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
	board_reg_write(h->board, NANET3_REG_LINK(r->link, NANET3_LREG_RELEASE + 4),
			(uint32_t)(r->position >> 32));
	board_reg_write(h->board, NANET3_REG_LINK(r->link, NANET3_LREG_RELEASE),
			(uint32_t)r->position);
	return 0;
}

/* ------------------------------------------------------------------------ words, buffers, puts */

static int send_word(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	(void)ret_fd;
	return host_tx_send(h, c, arg);
}

static int register_buffer(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	(void)ret_fd;
	return buffer_register(h, c, arg);
}

static int unregister_buffer(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	(void)ret_fd;
	return buffer_unregister(h, c, *(const uint32_t *)arg);
}

static int put(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	(void)ret_fd;
	return host_tx_put(h, c, arg);
}

static int polling(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	(void)ret_fd;
	return polling_set(h, c, arg);
}

static int stats(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_stats *s = arg;

	(void)c;
	(void)ret_fd;
	*s = h->counts;
	s->clients = h->stats.clients;
	s->queue_lost = h->stats.events_dropped;
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		if (h->buffers[i].client != NULL) {
			s->buffers++;
			s->pinned_pages += h->buffers[i].pages;
		}
	}
	return 0;
}

/* ------------------------------------------------------------------------ registers */

static bool regs_in_range(const struct nanet3_regs *r)
{
	return r->count >= 1 && r->count <= NANET3_REGS_MAX && r->offset % 4 == 0 &&
	       r->offset < NANET3_BAR_BYTES && r->offset + r->count * 4 <= NANET3_BAR_BYTES;
}

static bool is_address(uint32_t offset)
{
	const uint32_t low = offset & ~4u;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (low == NANET3_REG_LINK(i, NANET3_LREG_TABLE)) {
			return true;
		}
	}
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		if (low == NANET3_REG_BUFFER(i, NANET3_BREG_TABLE)) {
			return true;
		}
	}
	return low == NANET3_REG_EVQ_BASE || low == NANET3_REG_TX_BASE;
}

static int reg_read(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_regs *r = arg;

	(void)ret_fd;
	if (!regs_in_range(r)) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		const uint32_t offset = r->offset + i * 4;

		h->time_reads += offset == NANET3_REG_TOD;
		r->values[i] = board_reg_read(h->board, offset);
		if (is_address(offset) && !c->privileged) {
			r->values[i] = 0;
		}
	}
	return 0;
}

/* Registers that need no privilege. A short deadline fills a ring with little data, so it needs a
 * handle that acts for the link. One shorter than a frame would fill it with almost nothing. */
static bool harmless(const struct host *h, const struct client *c, uint32_t offset, uint32_t value)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (offset == NANET3_REG_LINK(i, NANET3_LREG_DEADLINE)) {
			return value >= NANET3_DEADLINE_MIN_US && value <= NANET3_DEADLINE_MAX_US &&
			       link_acts(h, c, i);
		}
	}
	return offset == NANET3_REG_SCRATCH;
}

static int reg_write(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	const struct nanet3_regs *r = arg;

	(void)ret_fd;
	if (!regs_in_range(r)) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		if (!c->privileged && !harmless(h, c, r->offset + i * 4, r->values[i])) {
			return -EPERM;
		}
	}
	for (uint32_t i = 0; i < r->count; i++) {
		board_reg_write(h->board, r->offset + i * 4, r->values[i]);
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		h->links[i].ring->deadline_us =
			board_reg_read(h->board, NANET3_REG_LINK(i, NANET3_LREG_DEADLINE));
	}
	return 0;
}

static int link_command(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	const struct nanet3_link_command *r = arg;
	uint32_t control;

	(void)ret_fd;
	if (r->link >= NANET3_LINKS || r->command == 0 ||
	    r->command & ~(NANET3_LINK_RESET | NANET3_LINK_ALIGN)) {
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

static int subscribe(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	const struct nanet3_subscribe *r = arg;

	(void)h;
	(void)ret_fd;
	if (r->mask & ~(1u << NANET3_EVENT_LINK | 1u << NANET3_EVENT_PPS |
			1u << NANET3_EVENT_ERROR) ||
	    r->reserved != 0) {
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

static bool owns_any(const struct host *h, const struct client *c)
{
	bool any = false;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		any = any || h->links[i].owner == c;
	}
	return any;
}

static int map(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_sock_map *m = arg;
	uint64_t link = m->what >> 36 & 0xf, n = m->what >> 24 & 0xfff;
	struct host_link *l = &h->links[link % NANET3_LINKS];

	m->offset = 0;
	m->writable = 0;
	m->reserved = 0;
	if (m->what == NANET3_MAP_QUEUE) {
		m->bytes = c->queue.bytes;
		m->writable = !c->read_only;
		*ret_fd = c->read_only ? c->queue.read_fd : c->queue.fd;
		return 0;
	}
	if (link >= NANET3_LINKS) {
		return -EINVAL;
	}
	if (m->what == NANET3_MAP_RING(link)) {
		m->bytes = l->state.bytes;
		*ret_fd = l->state.read_fd;
		return 0;
	}
	if (m->what == NANET3_MAP_EVENTS) {
		m->bytes = h->evq_memory.bytes;
		*ret_fd = h->evq_memory.read_fd;
		return owns_any(h, c) ? 0 : -EPERM;
	}
	if (m->what != NANET3_MAP_OWNER(link) && m->what != NANET3_MAP_CHUNK(link, n) &&
	    m->what != NANET3_MAP_DOORBELL(link)) {
		return -EINVAL;
	}
	if (l->owner != c) {
		return -EPERM;
	}
	if (m->what == NANET3_MAP_DOORBELL(link)) {
		m->bytes = l->doorbell.bytes;
		m->writable = 1;
		*ret_fd = l->doorbell.fd;
		return 0;
	}
	if (m->what == NANET3_MAP_OWNER(link)) {
		m->bytes = l->owner_page.bytes;
		m->writable = 1;
		*ret_fd = l->owner_page.fd;
		return 0;
	}
	*ret_fd = l->ring_memory.read_fd;
	return map_chunk(l, n, m);
}

/* ------------------------------------------------------------------------ the table */

static const struct {
	uint32_t request; /* its struct's size is in the code */
	int (*execute)(struct host *h, struct client *c, void *arg, int *ret_fd);
	bool reads; /* it changes nothing, and needs no handle that is open for writing */
} requests[] = {
	{NANET3_IOC_RELEASE, release},
	{NANET3_IOC_PUT, put},
	{NANET3_IOC_REG_READ, reg_read, .reads = true},
	{NANET3_IOC_SEND, send_word},
	{NANET3_IOC_INFO, info, .reads = true},
	{NANET3_IOC_CLAIM, claim},
	{NANET3_IOC_GRANT, grant},
	{NANET3_IOC_YIELD, yield},
	{NANET3_IOC_REG_WRITE, reg_write},
	{NANET3_IOC_LINK_CMD, link_command},
	{NANET3_IOC_SUBSCRIBE, subscribe},
	{NANET3_IOC_POLLING, polling},
	{NANET3_IOC_REGISTER, register_buffer},
	{NANET3_IOC_UNREGISTER, unregister_buffer},
	{NANET3_IOC_STATS, stats, .reads = true},
	{NANET3_SOCK_MAP, map, .reads = true},
};

int request_execute(struct host *h, struct client *c, uint32_t request, void *arg, uint32_t size,
		    int *ret_fd)
{
	int r, fd = *ret_fd;

	if (board_gone(h->board)) {
		return -ENODEV;
	}
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (requests[i].request != request) {
			continue;
		}
		if (size != _IOC_SIZE(request)) {
			return -EINVAL;
		}
		if (c->read_only && !requests[i].reads) {
			return -EBADF;
		}
		if (!c->greeted && request != NANET3_IOC_INFO) {
			return -EPROTO;
		}
		r = requests[i].execute(h, c, arg, &fd);
		if (r == 0) {
			*ret_fd = fd;
		}
		return r;
	}
	return -ENOTTY;
}
