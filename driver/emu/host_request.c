/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each request of driver/nanet3.h does on the user-space host. One function a request, one table
 * of them; sizes are checked before, everything inside the struct is checked here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/emu/host_private.h"

/* LSTAT_LOCKED of a link now. */
static bool link_locked(struct host *h, unsigned link)
{
	return board_reg_read(h->board, NANET3_REG_LINK(link, NANET3_LREG_STATUS)) &
	       NANET3_LSTAT_LOCKED;
}

static int info(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_info *i = arg;

	if (i->version != NANET3_VERSION) {
		return -EPROTO;
	}
	*i = (struct nanet3_info){
		.version = NANET3_VERSION,
		.links = NANET3_LINKS,
		.serial = board_reg_read(h->board, NANET3_REG_SERIAL),
		.boot_count = board_reg_read(h->board, NANET3_REG_BOOT_COUNT),
		.driver_abi = NANET3_VERSION,
		.queue_size = h->config.queue_events,
		.emulated = h->config.speed == HOST_SPEED_MAX ? NANET3_EMULATED_UNPACED
							      : NANET3_EMULATED_REAL_TIME,
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

/* ------------------------------------------------------------------------ send */

static bool tx_sound(struct host *h, const struct nanet3_tx *tx)
{
	bool broadcast = tx->link == 0xff && tx->kind == NANET3_TX_TIMING;

	if ((tx->link >= NANET3_LINKS && !broadcast) || tx->reserved0 != 0 || tx->reserved1 != 0 ||
	    tx->reserved2 != 0 || tx->at_frame > board_count(h->board) + NANET3_TX_AHEAD) {
		return false;
	}
	switch (tx->kind) {
	case NANET3_TX_REQUEST: /* op 0 is an empty place */
		return tx->bytes[0] != 0;
	case NANET3_TX_TIMING:
		return tx->bytes[0] != 0 && tx->bytes[1] == 0 && tx->bytes[2] == 0 &&
		       tx->bytes[3] == 0;
	case NANET3_TX_SERIAL:
		return tx->bytes[1] <= sizeof(tx->bytes) - 2;
	default:
		return false;
	}
}

static bool tx_reaches(struct host *h, const struct nanet3_tx *tx)
{
	bool any = false;

	if (tx->link < NANET3_LINKS) {
		return link_locked(h, tx->link);
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		any = any || link_locked(h, i);
	}
	return any;
}

static struct tx_slot *tx_slot_free(struct host *h)
{
	for (unsigned i = 0; i < HOST_TX_SLOTS; i++) {
		if (h->tx[i].client_id == 0) {
			return &h->tx[i];
		}
	}
	return NULL;
}

static int send_word(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_tx *tx = arg;
	struct tx_slot *slot;

	(void)ret_fd;
	if (!tx_sound(h, tx)) {
		return -EINVAL;
	}
	if (!tx_reaches(h, tx)) {
		return -ENOLINK;
	}
	slot = tx_slot_free(h);
	if (slot == NULL ||
	    h->tx_write - board_reg_read(h->board, NANET3_REG_TX_READ) >= HOST_TX_SLOTS) {
		return -EAGAIN;
	}
	slot->client_id = c->id;
	slot->cookie = tx->cookie;
	slot->generation++;
	tx->cookie = (uint64_t)slot->generation * HOST_TX_SLOTS + (uint64_t)(slot - h->tx);
	memcpy(h->tx_ring + (size_t)(h->tx_write % HOST_TX_SLOTS) * NANET3_TX_STRIDE, tx,
	       sizeof(*tx));
	board_reg_write(h->board, NANET3_REG_TX_WRITE, ++h->tx_write);
	return 0;
}

/* ------------------------------------------------------------------------ registers */

static bool regs_in_range(const struct nanet3_regs *r)
{
	return r->count >= 1 && r->count <= NANET3_REGS_MAX && r->offset % 4 == 0 &&
	       r->offset < NANET3_BAR_BYTES && r->offset + r->count * 4 <= NANET3_BAR_BYTES;
}

static int reg_read(struct host *h, struct client *c, void *arg, int *ret_fd)
{
	struct nanet3_regs *r = arg;

	(void)c;
	(void)ret_fd;
	if (!regs_in_range(r)) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		r->values[i] = board_reg_read(h->board, r->offset + i * 4);
	}
	return 0;
}

/* Registers that anyone may write: they disturb nothing but at most somebody's latency. */
static bool harmless(uint32_t offset)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (offset == NANET3_REG_LINK(i, NANET3_LREG_DEADLINE)) {
			return true;
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
		if (!c->privileged && !harmless(r->offset + i * 4)) {
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

	(void)c;
	(void)ret_fd;
	if (r->link >= NANET3_LINKS || r->command == 0 ||
	    r->command & ~(NANET3_LINK_RESET | NANET3_LINK_ALIGN)) {
		return -EINVAL;
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
		m->writable = 1;
		*ret_fd = c->queue.fd;
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
	if (m->what != NANET3_MAP_OWNER(link) && m->what != NANET3_MAP_CHUNK(link, n)) {
		return -EINVAL;
	}
	if (l->owner != c) {
		return -EPERM;
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
} requests[] = {
	{NANET3_IOC_RELEASE, release},	   {NANET3_IOC_REG_READ, reg_read},
	{NANET3_IOC_SEND, send_word},	   {NANET3_IOC_INFO, info},
	{NANET3_IOC_CLAIM, claim},	   {NANET3_IOC_YIELD, yield},
	{NANET3_IOC_REG_WRITE, reg_write}, {NANET3_IOC_LINK_CMD, link_command},
	{NANET3_IOC_SUBSCRIBE, subscribe}, {NANET3_SOCK_MAP, map},
};

int request_execute(struct host *h, struct client *c, uint32_t request, void *arg, uint32_t size,
		    int *ret_fd)
{
	int r, fd = *ret_fd;

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (requests[i].request != request) {
			continue;
		}
		if (size != _IOC_SIZE(request)) {
			return -EINVAL;
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
