/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A link of capture in virtual time: a board that fills a ring and a publisher that settles blocks. See link_rig.h. */
#include "tests/unit/daemon/capture/link_rig.h"
#include "tests/unit/rig/balances.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------- the board */

struct link_board B;

int nanet3_open(const char *where, struct nanet3 **ret_board)
{
	if (!B.can_open) {
		return -ENODEV;
	}
	*ret_board = (struct nanet3 *)&B;
	B.opened++;
	return 0;
}

void nanet3_close(struct nanet3 *b)
{
	B.closed += b != NULL;
}

int nanet3_claim(struct nanet3 *b, unsigned link, uint32_t flags, bool *ret_taken_over)
{
	B.claims++;
	*ret_taken_over = B.taken_over;
	return B.claim_error;
}

int nanet3_grant(struct nanet3 *b, unsigned link, uint64_t handle)
{
	B.grants++;
	B.granted = handle;
	return 0;
}

int nanet3_wait(struct nanet3 *b, int timeout_ms)
{
	B.waited_ms = timeout_ms;
	return B.wait_error ? B.wait_error : B.gone;
}

int nanet3_next_event(struct nanet3 *b, struct nanet3_event *ret_event)
{
	*ret_event = (struct nanet3_event){.type = NANET3_EVENT_GONE};
	return B.gone;
}

const struct nanet3_info *nanet3_info(const struct nanet3 *b)
{
	return &B.info;
}

const struct nanet3_ring *nanet3_ring(const struct nanet3 *b, unsigned link)
{
	return &B.ring;
}

uint64_t nanet3_write_position(const struct nanet3 *b, unsigned link)
{
	return B.ring.write_position;
}

uint64_t nanet3_release_position(const struct nanet3 *b, unsigned link)
{
	return B.ring.release_position;
}

const struct nanet3_event *nanet3_completion(const struct nanet3 *b, unsigned link,
					     uint64_t position)
{
	assert_true(position < B.ring.write_position && position >= B.ring.release_position);
	return &B.done[position % DEPTH];
}

const uint8_t *nanet3_buffer(const struct nanet3 *b, unsigned link, uint64_t position)
{
	assert_true(position < B.ring.write_position && position >= B.ring.release_position);
	return B.cells[position % DEPTH];
}

void *nanet3_owner_page(const struct nanet3 *b, unsigned link)
{
	return B.page;
}

int nanet3_release(struct nanet3 *b, unsigned link, uint64_t position)
{
	assert_true(position >= B.ring.release_position && position <= B.ring.write_position);
	B.ring.release_position = position;
	return 0;
}

/* ------------------------------------------------------------------------------- the link's rig */

struct link_rig *R;

struct link *the_link(void)
{
	return &R->c.links[0];
}

void new_daemon(bool taken_over)
{
	struct capture *c = &R->c;
	const struct label label = rig_label(1);

	memset(c, 0, sizeof(*c));
	c->config = (struct capture_config){
		.links = 1,
		.block_frames = R->block_frames ? R->block_frames : BLOCK,
		.groups = 2,
		.group_streams = {1u << FCM_PMT, 1u << FCM_PMT | 1u << FCM_HYDROPHONE},
		.expected = {{1, 1}},
		.tap = &R->tap,
	};
	c->runs.run = R->run;
	c->blocks = &R->blocks;
	c->settled = &R->settled;
	c->commands = &R->commands;
	c->pool = R->pool;
	c->board = (struct nanet3 *)&B;
	c->outbox.queue = &R->reports;
	c->now_ns = B.count * TDM_FRAME_NS + 1;
	link_init(the_link(), c, 0);
	assert_int_equal(link_begin(the_link(), taken_over), 0);
	if (ack_tracker_account(the_link()->settle)->labels == 0) {
		account_add_label(ack_tracker_change(the_link()->settle), 0, &label);
	}
}

void kill_and_start(void)
{
	take_reports();
	forget_daemon();
	R->loss_count = 0;
	new_daemon(true);
	take_reports();
}

int set_up(void **state)
{
	memset(&B, 0, sizeof(B));
	B.ring.frames_per_buffer = PER;
	B.ring.depth = DEPTH;
	B.ring.dma_epoch = 3;
	B.ring.start_count = FIRST;
	B.count = FIRST;
	floor_rig_init(&B.floor, 1, 1);
	B.floor.utc_s = RIG_UTC_ZERO;
	R = calloc(1, sizeof(*R));
	assert_non_null(R);
	R->consumer = calloc(1, sizeof(*R->consumer));
	R->pool = block_pool_create(64u << 20);
	assert_int_equal(queue_init(&R->blocks, sizeof(struct block *), 1024, 0), 0);
	assert_int_equal(queue_init(&R->settled, sizeof(struct block *), 1024, 0), 0);
	assert_int_equal(queue_init(&R->commands, sizeof(struct capture_command), 64, 0), 0);
	assert_int_equal(queue_init(&R->reports, sizeof(struct capture_report), 1024, 0), 0);
	assert_int_equal(tap_init(&R->tap, 1024), 0);
	new_daemon(false);
	return 0;
}

void forget_daemon(void)
{
	struct block **place;

	while ((place = queue_peek(&R->blocks))) {
		if (*place) {
			block_put(*place);
		}
		queue_release(&R->blocks);
	}
	for (unsigned i = 0; i < R->held_count; i++) {
		block_put(R->held[i]);
	}
	R->held_count = 0;
	tap_end(&R->tap, 0);
	link_fini(the_link());
}

int tear_down(void **state)
{
	forget_daemon();
	tap_fini(&R->tap);
	queue_fini(&R->blocks);
	queue_fini(&R->settled);
	queue_fini(&R->commands);
	queue_fini(&R->reports);
	block_pool_destroy(R->pool);
	free(R->consumer);
	free(R);
	return 0;
}

void take_reports(void)
{
	const struct capture_report *r;

	outbox_flush(&R->c.outbox);
	while ((r = queue_peek(&R->reports))) {
		R->type_count[r->type]++;
		if (r->type == CAPTURE_REPLY) {
			R->late_replies += B.count - r->count > PER;
		} else if (r->type == CAPTURE_TAKEOVER) {
			R->takeover = *r;
		} else if (r->type == CAPTURE_LINK_ROW) {
			assert_true(!r->link_row.closed || ledger_link_balances(&r->link_row));
			rig_link_row(&R->rows, &r->link_row);
			if (r->link_row.closed) {
				R->row_tai_ns[r->link_row.second % RIG_ROWS] = r->tai_ns;
			}
		} else if (r->type == CAPTURE_STREAM_ROW) {
			assert_true(ledger_stream_balances(&r->stream_row));
			rig_stream_row(&R->rows, &r->stream_row);
		} else if (r->type == CAPTURE_LOSS) {
			R->losses[R->loss_count++ % 64] = *r;
			if (r->loss.kind == 0 && !r->loss.open) {
				R->lost_frames[r->loss.code] += r->loss.frames;
			}
		} else if (r->type == CAPTURE_ALIGN) {
			R->aligns[R->align_count++] = *r;
		}
		queue_release(&R->reports);
	}
}

/* When the completion that has this cell was handed over; 0: its place has another by now. */
static uint64_t handed_over(uint64_t count)
{
	for (unsigned i = 0; i < DEPTH; i++) {
		if (B.done[i].dma_epoch == B.ring.dma_epoch && count >= B.done[i].frame_count &&
		    count < B.done[i].frame_count + B.done[i].frames) {
			return B.done[i].time_ns;
		}
	}
	return 0;
}

void publish(void)
{
	struct block **place;

	while ((place = queue_peek(&R->blocks))) {
		struct block *b = *place;

		queue_release(&R->blocks);
		if (!b) {
			R->starved++;
			continue;
		}
		assert_true(R->held_count < HELD);
		R->held[R->held_count++] = b;
		R->block_count++;
		if (b->header.frames_lost + b->header.frames_bad == 0 &&
		    handed_over(b->end_count - 1) > 0) {
			assert_int_equal(b->monotonic_ns, handed_over(b->end_count - 1));
		}
		rig_consume(R->consumer, &b->header, b->payload);
	}
	for (unsigned i = 0; i < R->held_count && !R->holds; i++) {
		struct block *b = R->held[i];

		for (unsigned g = 0; g < 2; g++) {
			b->outcome[g] = R->c.config.group_streams[g] & 1u << b->header.stream
						? OUTCOME_ACKED
						: OUTCOME_NOT_OFFERED;
		}
		out_settled(the_link(), b);
		block_put(b);
	}
	R->held_count = R->holds ? R->held_count : 0;
}

void tick(void)
{
	uint64_t head = the_link()->head;

	publish();
	if (the_link()->claimed) {
		out_advance(the_link());
	}
	out_retired(the_link());
	while (link_drain(the_link())) {
	}
	R->moves += the_link()->head != head;
	link_feed(the_link());
	take_reports();
}

struct nanet3_event *complete(uint32_t frames, uint32_t length)
{
	struct nanet3_event *e = &B.done[B.ring.write_position % DEPTH];

	assert_true(B.ring.write_position - B.ring.release_position < DEPTH);
	R->c.now_ns += frames * TDM_FRAME_NS;
	*e = (struct nanet3_event){
		.dma_epoch = B.ring.dma_epoch,
		.position = B.ring.write_position,
		.frame_count = B.count,
		.frames = frames,
		.length = length,
		.time_ns = R->c.now_ns,
	};
	B.ring.write_position++;
	B.count += frames;
	return e;
}

void data(unsigned buffers, unsigned damaged)
{
	while (buffers-- > 0) {
		uint8_t *cells = B.cells[B.ring.write_position % DEPTH];

		for (unsigned i = 0; i < PER; i++) {
			uint8_t *frame = cells + (size_t)i * TDM_FRAME_BYTES;

			floor_rig_frame(&B.floor, B.count + i - RIG_DELAY, frame);
			frame[5000] ^= (uint8_t)(damaged >> i & 1);
		}
		complete(PER, PER * TDM_FRAME_BYTES);
		tick();
	}
}

void gap(uint32_t cells, uint8_t reason)
{
	complete(cells, 0)->reason = reason;
	tick();
}

void finish(void)
{
	R->c.hurried = true;
	tick();
	link_end(the_link());
	tick();
	tick();
	losses_tick(&the_link()->losses, UINT64_MAX, true);
	take_reports();
}

uint64_t cells_lost_as(enum tdm_loss loss)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < RIG_ROWS; i++) {
		n += R->rows.link[0][i].closed ? R->rows.link[0][i].verdicts[loss] : 0;
	}
	return n;
}

uint64_t cells_counted(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < RIG_ROWS; i++) {
		n += R->rows.link[0][i].closed ? R->rows.link[0][i].cells : 0;
	}
	return n;
}

const struct ledger_link_row *row_of(uint64_t second)
{
	return &R->rows.link[0][second % RIG_ROWS];
}

void no_complaint(void)
{
	assert_string_equal(R->consumer->complaint, "");
	assert_int_equal(R->rows.closed_twice, 0);
}
