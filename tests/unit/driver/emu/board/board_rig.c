/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small driver with a fake world behind the board, for tests of the device model alone. See board_rig.h. */
#include <stdlib.h>
#include <string.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/driver/emu/board/board_rig.h"

static void *rig_map(void *context, uint64_t bus, uint32_t length, bool write)
{
	struct rig *r = context;

	if (bus == 0 || bus > ARENA - length || (r->hidden_at > 0 && bus + length > r->hidden_at)) {
		return NULL;
	}
	return r->arena + bus;
}

static void rig_irq(void *context, unsigned vector)
{
	((struct rig *)context)->irqs[vector]++;
}

static void rig_delay(void *context, uint32_t ns)
{
	((struct rig *)context)->delay_ns += ns;
}

void wr(struct rig *r, uint32_t offset, uint32_t value)
{
	board_reg_write(r->board, offset, value);
}

uint32_t rd(struct rig *r, uint32_t offset)
{
	return board_reg_read(r->board, offset);
}

uint32_t lrd(struct rig *r, unsigned link, uint32_t offset)
{
	return rd(r, NANET3_REG_LINK(link, offset));
}

uint64_t *rig_table(struct rig *r, unsigned link)
{
	return (uint64_t *)(r->arena + AT_TAB + link * 0x1000);
}

void start(struct rig *r, unsigned link)
{
	for (uint64_t i = 0; i < DEPTH; i++) {
		rig_table(r, link)[i] = AT_RING + (link * DEPTH + i) * STRIDE;
	}
	wr(r, NANET3_REG_DMA_EPOCH, 100 + link);
	wr(r, NANET3_REG_LINK(link, NANET3_LREG_TABLE), AT_TAB + link * 0x1000);
	wr(r, NANET3_REG_LINK(link, NANET3_LREG_DEPTH), DEPTH);
	wr(r, NANET3_REG_LINK(link, NANET3_LREG_FRAMES), FRAMES);
	wr(r, NANET3_REG_LINK(link, NANET3_LREG_CONTROL), NANET3_LINK_ENABLE);
}

void release(struct rig *r, unsigned link, uint64_t position)
{
	wr(r, NANET3_REG_LINK(link, NANET3_LREG_RELEASE + 4), (uint32_t)(position >> 32));
	wr(r, NANET3_REG_LINK(link, NANET3_LREG_RELEASE), (uint32_t)position);
}

void steps(struct rig *r, unsigned n)
{
	while (n-- > 0) {
		board_step(r->board);
	}
}

void stall(struct rig *r, bool on)
{
	wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(MODEL_FAULT_STALL, 0, on ? 0xffff : 0));
}

bool next(struct rig *r, struct nanet3_event *ret_ev)
{
	if (rd(r, NANET3_REG_EVQ_WRITE) == r->read) {
		return false;
	}
	*ret_ev = ((struct nanet3_event *)(r->arena + AT_EVQ))[r->read % EVQ];
	wr(r, NANET3_REG_EVQ_READ, ++r->read);
	assert_int_equal(ret_ev->sequence, r->read);
	return true;
}

/* The next event of a type; others are passed over. */
struct nanet3_event next_of(struct rig *r, unsigned type)
{
	struct nanet3_event ev = {0};

	while (next(r, &ev)) {
		if (ev.type == type) {
			return ev;
		}
	}
	fail_msg("no event of type %u", type);
	return ev;
}

bool has(struct rig *r, unsigned type)
{
	struct nanet3_event ev;

	while (next(r, &ev)) {
		if (ev.type == type) {
			return true;
		}
	}
	return false;
}

static bool rig_reorders(void *context)
{
	return ((struct rig *)context)->reorders;
}

static void rig_train(void *context, unsigned lanes, unsigned generation)
{
	struct rig *r = context;

	r->lanes = lanes;
	r->generation = generation;
}

static int set_up_on(void **state, const struct board_bus *bus, uint64_t wrap_frames)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	fake_world_init(&r->world);
	r->world.roof.wrap_frames = wrap_frames;
	r->arena = calloc(1, ARENA);
	assert_non_null(r->arena);
	r->board = board_create(&(struct board_host){.map = rig_map,
						     .irq = rig_irq,
						     .delay = rig_delay,
						     .bus = bus,
						     .context = r},
				&r->world, 77);
	assert_non_null(r->board);
	wr(r, NANET3_REG_EVQ_BASE, AT_EVQ);
	wr(r, NANET3_REG_EVQ_SIZE, EVQ);
	wr(r, NANET3_REG_TX_BASE, AT_TX);
	wr(r, NANET3_REG_TX_SIZE, TX);
	wr(r, NANET3_REG_IRQ_MASK, 0x1f);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_EVENTS | NANET3_CONTROL_TX);
	*state = r;
	return 0;
}

int set_up(void **state)
{
	static const struct board_bus bus = {rig_reorders, rig_train};

	return set_up_on(state, &bus, 0);
}

int set_up_without_bus(void **state)
{
	return set_up_on(state, NULL, 0);
}

int set_up_aged(void **state)
{
	return set_up_on(state, NULL, AGED_FRAMES);
}

int tear_down(void **state)
{
	struct rig *r = *state;

	board_destroy(r->board);
	free(r->arena);
	free(r);
	return 0;
}

/* Every byte of a completed buffer is its cells' pattern, and the world was told GOOD. */
void check_data(struct rig *r, const struct nanet3_event *ev)
{
	const uint8_t *p = r->arena + rig_table(r, ev->link)[ev->position % DEPTH];

	assert_int_equal(ev->length, ev->frames * NANET3_FRAME_BYTES);
	for (uint32_t i = 0; i < ev->length; i += 8) {
		uint64_t word;

		memcpy(&word, p + i, 8);
		if (word != fake_pattern(ev->frame_count + i / NANET3_FRAME_BYTES, ev->link)) {
			fail_msg("byte %u of position %llu", i, (unsigned long long)ev->position);
		}
	}
}

/* What the completion says is what the world was told of each cell. */
void check_fates(struct rig *r, const struct nanet3_event *ev)
{
	for (uint32_t i = 0; i < ev->frames; i++) {
		assert_int_equal(fake_fate(&r->world, ev->link, ev->frame_count + i), ev->reason);
	}
}

void post(struct rig *r, const struct nanet3_tx *tx)
{
	uint32_t write = rd(r, NANET3_REG_TX_WRITE);

	memcpy(r->arena + AT_TX + write % TX * NANET3_TX_STRIDE, tx, sizeof(*tx));
	wr(r, NANET3_REG_TX_WRITE, write + 1);
}
