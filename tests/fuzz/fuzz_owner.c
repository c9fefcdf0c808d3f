// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The owner page that a link's previous owner has left: any bytes of it are changed, and its checksums are right all the
 * same where the input says so. The daemon takes the link over, reads its ring, and goes on.
 *
 * What must be true: it gets data out of the ring and through to the publisher, and ends; what it commits, it reads
 * again. (Which frames it flags and counts is what the page says: that is not looked at.)
 */
#include "daemon/data/owner_page.c"

#include "daemon/capture/private.h"
#include "tests/fuzz/fuzz.h"

#define DEPTH	64u
#define PER	16u /* cells of a buffer */
#define FIRST	44000u
#define WAITING 20u /* buffers when the link is taken over */
#define BUFFERS 60u
#define EPOCH	3u
#define DELAY	4u
#define BLOCK	80u
#define OUT_MAX 4096u
#define TICKS	3u

/* -------------------------------------------------------------------------------- the board */

static struct {
	struct nanet3_ring ring;
	struct nanet3_info info;
	struct nanet3_event done[DEPTH];
	uint64_t page[NANET3_PAGE / 8];
	uint8_t cells[BUFFERS][PER * TDM_FRAME_BYTES]; /* of the n-th buffer */
} board;

const struct nanet3_info *nanet3_info(const struct nanet3 *b)
{
	return &board.info;
}

const struct nanet3_ring *nanet3_ring(const struct nanet3 *b, unsigned link)
{
	return &board.ring;
}

uint64_t nanet3_write_position(const struct nanet3 *b, unsigned link)
{
	return board.ring.write_position;
}

uint64_t nanet3_release_position(const struct nanet3 *b, unsigned link)
{
	return board.ring.release_position;
}

const struct nanet3_event *nanet3_completion(const struct nanet3 *b, unsigned link,
					     uint64_t position)
{
	must(position < board.ring.write_position && position >= board.ring.release_position);
	return &board.done[position % DEPTH];
}

const uint8_t *nanet3_buffer(const struct nanet3 *b, unsigned link, uint64_t position)
{
	must(position < board.ring.write_position && position >= board.ring.release_position);
	return board.cells[position];
}

void *nanet3_owner_page(const struct nanet3 *b, unsigned link)
{
	return board.page;
}

int nanet3_release(struct nanet3 *b, unsigned link, uint64_t position)
{
	must(position >= board.ring.release_position && position <= board.ring.write_position);
	board.ring.release_position = position;
	return 0;
}

/* Of capture's thread, which is not here. */
int nanet3_open(const char *where, struct nanet3 **ret_board)
{
	return -ENODEV;
}

void nanet3_close(struct nanet3 *b)
{
}

int nanet3_claim(struct nanet3 *b, unsigned link, uint32_t flags, bool *ret_taken_over)
{
	return -ENODEV;
}

int nanet3_grant(struct nanet3 *b, unsigned link, uint64_t handle)
{
	return 0;
}

int nanet3_wait(struct nanet3 *b, int timeout_ms)
{
	return 0;
}

int nanet3_next_event(struct nanet3 *b, struct nanet3_event *ret_event)
{
	return 0;
}

static void complete(uint64_t now_ns)
{
	uint64_t n = board.ring.write_position;

	board.done[n % DEPTH] = (struct nanet3_event){
		.dma_epoch = EPOCH,
		.position = n,
		.frame_count = FIRST + n * PER,
		.frames = PER,
		.length = PER * TDM_FRAME_BYTES,
		.time_ns = now_ns,
	};
	board.ring.write_position++;
}

/* ----------------------------------------------------------------------- the daemon's side */

static struct {
	struct capture c;
	struct queue blocks, settled, commands, reports;
	struct block_pool *pool;
	unsigned frames; /* that came through with data */
} d;

static const struct owner_config config = {
	.groups = 2,
	.group_streams = {1u << FCM_PMT, 1u << FCM_PMT | 1u << FCM_HYDROPHONE},
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (unsigned n = 0; n < BUFFERS * PER; n++) {
		struct tdm_header h = {
			.tower = 1,
			.floor = 1,
			.sequence = n,
			.time = {.frame = (uint16_t)((FIRST + n - DELAY) % 8000)},
		};

		tdm_frame_seal(board.cells[n / PER] + (size_t)(n % PER) * TDM_FRAME_BYTES, &h);
	}
	d.pool = block_pool_create(16u << 20);
	must(d.pool);
	must(queue_init(&d.blocks, sizeof(struct block *), 1024, 0) == 0);
	must(queue_init(&d.settled, sizeof(struct block *), 1024, 0) == 0);
	must(queue_init(&d.commands, sizeof(struct capture_command), 64, 0) == 0);
	must(queue_init(&d.reports, sizeof(struct capture_report), 1024, 0) == 0);
	return 0;
}

static struct link *the_link(void)
{
	return &d.c.links[0];
}

static void take_reports(void)
{
	outbox_flush(&d.c.outbox);
	while (queue_peek(&d.reports)) {
		queue_release(&d.reports);
	}
}

static void publish(void)
{
	struct block **place;

	while ((place = queue_peek(&d.blocks))) {
		struct block *b = *place;

		queue_release(&d.blocks);
		if (!b) {
			continue;
		}
		d.frames += b->header.frames - b->header.frames_lost - b->header.frames_bad;
		for (unsigned g = 0; g < 2; g++) {
			b->outcome[g] = config.group_streams[g] & 1u << b->header.stream
						? OUTCOME_ACKED
						: OUTCOME_NOT_OFFERED;
		}
		out_settled(the_link(), b);
		block_put(b);
	}
}

static void tick(void)
{
	d.c.now_ns += PER * TDM_FRAME_NS;
	publish();
	if (the_link()->claimed) {
		out_advance(the_link());
	}
	out_retired(the_link());
	for (unsigned n = 0; link_drain(the_link()); n++) {
		must(n < BUFFERS);
	}
	link_feed(the_link());
	take_reports();
}

static void start(uint8_t groups)
{
	struct capture *c = &d.c;

	memset(c, 0, sizeof(*c));
	c->config = (struct capture_config){
		.links = 1,
		.block_frames = BLOCK,
		.groups = groups,
		.expected = {{1, 1}},
	};
	memcpy(c->config.group_streams, config.group_streams, groups);
	c->blocks = &d.blocks;
	c->settled = &d.settled;
	c->commands = &d.commands;
	c->pool = d.pool;
	c->board = (struct nanet3 *)&board;
	c->outbox.queue = &d.reports;
	c->now_ns = (FIRST + WAITING * PER) * (uint64_t)TDM_FRAME_NS;
	link_init(the_link(), c, 0);
}

static void take_over(uint8_t groups)
{
	struct owner_config mine = {.groups = groups};
	struct owner_account account;

	memcpy(mine.group_streams, config.group_streams, groups);
	start(groups);
	must(link_begin(the_link(), true) == 0);
	take_reports();
	must(owner_load(board.page, &mine, EPOCH, &account) == 0);
	for (unsigned n = WAITING; n < BUFFERS; n++) {
		tick();
		complete(d.c.now_ns);
	}
	tick();
	must(owner_load(board.page, &mine, EPOCH, &account) == 0);
	d.c.hurried = true;
	tick();
	link_end(the_link());
	for (unsigned n = 0; n < TICKS; n++) {
		tick();
	}
	must(out_waiting(the_link()) == 0);
	link_fini(the_link());
	must(block_pool_in_use(d.pool) == 0);
}

/* ------------------------------------------------------------------------------- the page */

/* As a daemon leaves it that was killed in the middle. */
static struct owner_account good_account(void)
{
	struct owner_account a;

	account_begin(&a, BLOCK);
	a.cursor = (struct assemble_point){
		.count = FIRST + 5 * BLOCK / 2 + DELAY,
		.frame = FIRST + 2 * BLOCK,
		.delay = DELAY,
		.delay_known = 1,
		.tower = 1,
		.floor = 1,
		.slice_good = 1,
		.marked = 1,
	};
	a.cursor.count = a.cursor.frame + DELAY;
	a.cursor.mark = (struct tdm_deframe_mark){
		.count = a.cursor.count - 1,
		.sequence = (uint32_t)(a.cursor.count - 1 - FIRST),
		.number = (uint16_t)((a.cursor.frame - 1) % 8000),
	};
	a.labels = 1;
	a.label[0].label = (struct label){
		.time_epoch = 1,
		.source = LABEL_GPSD,
		.state = CLOCK_LOCKED,
		.tai_utc_s = 37,
		.anchor_count = 0,
		.anchor_tai_ns = 1700000037000000000ll,
		.leap_tai_ns = INT64_MAX,
	};
	a.runs = 1;
	a.run[0] = (struct owner_run){.run = 5};
	return a;
}

static void poke(struct fuzz_input *in, void *bytes, size_t size, unsigned how)
{
	size_t at = fuzz_take(in, 2) % size;
	uint64_t value = (uint64_t)fuzz_take(in, 2) << fuzz_take(in, 1) % 64u;

	if (how & 1) { /* a byte, else a word */
		((uint8_t *)bytes)[at] = (uint8_t)value;
	} else {
		at &= ~(size_t)7;
		memcpy((uint8_t *)bytes + at, &value, size - at < 8 ? size - at : 8);
	}
}

static void change(struct fuzz_input *in, struct page *p)
{
	unsigned what = fuzz_take(in, 1), n = what >> 4;
	struct copy *copy = &p->copies[p->active & 1];

	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		poke(in, &copy->account, sizeof(copy->account), what);
		copy->crc = crc_of(&copy->account, sizeof(copy->account));
		break;
	case 3:
		poke(in, &p->links[n % KEEP_LINKS].row, sizeof(p->links[0].row), what >> 3);
		p->links[n % KEEP_LINKS].crc =
			crc_of(&p->links[n % KEEP_LINKS].row, sizeof(p->links[0].row));
		break;
	case 4:
		poke(in, &p->streams[n].row, sizeof(p->streams[0].row), what >> 3);
		p->streams[n].crc = crc_of(&p->streams[n].row, sizeof(p->streams[0].row));
		break;
	case 5:
		poke(in, &p->losses[n].row, sizeof(p->losses[0].row), what >> 3);
		p->losses[n].crc = crc_of(&p->losses[n].row, sizeof(p->losses[0].row));
		break;
	case 6:
		p->sent = (uint64_t)fuzz_take(in, 2) << fuzz_take(in, 1) % 64u;
		break;
	default:
		poke(in, p, sizeof(*p), 1); /* and no checksum knows */
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct owner_account account = good_account();
	struct page *p = (struct page *)(void *)board.page;
	struct fuzz_input in = {data, size};
	unsigned how = fuzz_take(&in, 1);

	board.ring = (struct nanet3_ring){
		.frames_per_buffer = PER,
		.depth = DEPTH,
		.dma_epoch = EPOCH,
		.start_count = FIRST,
	};
	for (unsigned n = 0; n < WAITING; n++) {
		complete((FIRST + (n + 1) * PER) * (uint64_t)TDM_FRAME_NS);
	}
	d.frames = 0;
	owner_format(p, &config, EPOCH, &account);
	owner_set_sent(p, account.cursor.frame + BLOCK);
	if (how & 1) { /* any page */
		for (size_t n = 0; n < sizeof(board.page) && in.left > 0; n++) {
			((uint8_t *)board.page)[n] = (uint8_t)fuzz_take(&in, 1);
		}
	}
	for (unsigned n = 0; n < 64 && in.left > 0; n++) {
		change(&in, p);
	}
	if (how & 2) {
		p->head_crc = how & 4 ? 0 : crc_of(p, offsetof(struct page, head_crc));
	}
	take_over(how & 8 ? 1 : 2);
	must(d.frames > 0);
	return 0;
}
