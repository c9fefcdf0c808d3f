/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shore for tests of the emulator's world: sends words down, takes cells, finds frames and hits. See world_rig.h. */
#include "tests/unit/driver/emu/world/world_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "tdm/hit.h"
#include "tdm/le.h"

static void make_path(char path[64], const char *what)
{
	int fd;

	snprintf(path, 64, "/tmp/test-world-%s-XXXXXX", what);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

struct rig *rig_create(void (*change)(struct world_config *config), const char *scenario)
{
	struct rig *r = calloc(1, sizeof(*r));
	char error[256];

	assert_non_null(r);
	make_path(r->truth_path, "truth");
	make_path(r->executed_path, "executed");
	make_path(r->scenario_path, "scenario");
	world_config_default(&r->config);
	r->config.tai_start_ns = (1780000000LL + 37) * 1000000000; /* a whole second in 2026 */
	r->config.truth_path = r->truth_path;
	r->config.executed_path = r->executed_path;
	r->config.leap_path = "/nonexistent"; /* 37 s, whatever this machine has */
	if (scenario != NULL) {
		write_text(r->scenario_path, scenario);
		r->config.scenario_path = r->scenario_path;
	}
	if (change != NULL) {
		change(&r->config);
	}
	if (world_create(&r->config, &r->world, error, sizeof(error)) < 0) {
		fail_msg("world: %s", error);
	}
	r->downstream = true;
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		r->links[i].deframe = tdm_deframe_create(4);
		r->links[i].got = calloc(RIG_CELLS, sizeof(struct got));
		assert_non_null(r->links[i].deframe);
		assert_non_null(r->links[i].got);
	}
	return r;
}

static void end_world(struct rig *r)
{
	if (r->world != NULL) {
		assert_int_equal(world_destroy(r->world), 0);
		r->world = NULL;
	}
}

void rig_destroy(struct rig *r)
{
	end_world(r);
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		tdm_deframe_destroy(r->links[i].deframe);
		free(r->links[i].got);
		for (unsigned m = 0; m < 6; m++) {
			free(r->links[i].modules[m].hits);
		}
	}
	unlink(r->truth_path);
	unlink(r->executed_path);
	unlink(r->scenario_path);
	free(r);
}

/* ---------------------------------------------------------------- upstream */

static void keep_hit(struct rig_module *m, uint64_t time, uint32_t charge)
{
	if (m->hits == NULL) {
		m->hits = calloc(RIG_HITS, sizeof(*m->hits));
		assert_non_null(m->hits);
	}
	assert_true(m->hit_count < RIG_HITS);
	m->hits[m->hit_count++] = (struct rig_hit){.time = time, .charge = charge};
}

static void check_hit(struct rig_link *l, struct rig_module *m, const uint8_t *bytes,
		      uint64_t carrier)
{
	struct hit h;
	uint64_t time;

	hit_unpack(bytes, &h);
	if (!hit_legal(bytes) || h.second != 0 || h.day_bcd != 0 || h.year_bcd != 0) {
		l->disorder++;
		return;
	}
	time = (carrier - hit_age_frames(h.frame, (unsigned)(carrier % 8000))) * 25000 + h.t5ns;
	if (time <= m->last_time && m->last_time != 0) {
		l->disorder++;
	}
	m->last_time = time;
	if (l->keep_hits) {
		keep_hit(m, time, h.charge);
	}
	l->fifo_full_hits += h.fifo_full;
	l->fragments += h.fragment;
	l->wide_hits += !h.zip;
}

/* `tail` ends the hits of the last good frame; NULL: it never came. Whole is what ends where its last
 * hit says. */
static void close_hits(struct rig_link *l, unsigned module, const uint8_t *tail, uint32_t length)
{
	struct rig_module *m = &l->modules[module];
	struct got *got;
	bool whole;

	if (!m->open) {
		return;
	}
	m->open = false;
	got = &l->got[l->got_count - 1];
	if (m->length == 0) {
		got->complete[module] = true;
		return;
	}
	if (tail != NULL) {
		memcpy(m->bytes + m->length, tail, length);
		m->length += length;
	}
	whole = m->length - m->last >= HIT_HEADER_BYTES &&
		m->length - m->last == hit_bytes(m->bytes + m->last);
	if (whole) {
		check_hit(l, m, m->bytes + m->last, m->carrier);
	} else if (tail != NULL) {
		l->disorder++;
	}
	got->complete[module] = whole;
	got->hit_hash[module] = whole ? XXH3_64bits(m->bytes, m->length) : 0;
}

static void take_slot(struct rig_link *l, const uint8_t *frame, unsigned module,
		      const struct tdm_verdict *v, struct got *now)
{
	struct rig_module *m = &l->modules[module];
	struct tdm_pmt_slot slot;
	uint32_t at, next;

	assert_int_equal(tdm_pmt_slot_get(frame, module, &slot), 0);
	l->slot_bytes += slot.length;
	l->fifo_full_slots += slot.flags & TDM_PMT_FIFO_FULL;
	close_hits(l, module, slot.stream, slot.first);
	m->carrier = v->floor_frame;
	m->length = slot.length - slot.first;
	m->last = 0;
	memcpy(m->bytes, slot.stream + slot.first, m->length);
	for (at = 0; at < m->length; at = next) {
		now->hits[module]++;
		m->last = at;
		if (at + HIT_HEADER_BYTES > m->length) {
			break;
		}
		next = at + (uint32_t)hit_bytes(m->bytes + at);
		if (next >= m->length) {
			break;
		}
		check_hit(l, m, m->bytes + at, v->floor_frame);
	}
}

static void take_replies(struct rig_link *l, const struct tdm_verdict *v)
{
	const uint8_t *words;
	const int n = tdm_replies_get(v->frame, &words);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		struct rig_reply *r = &l->replies[l->reply_count % RIG_REPLIES];

		r->count = v->count;
		assert_int_equal(word_unpack(words + i * (int)TDM_WORD_BYTES, &r->word), 0);
		l->reply_count++;
	}
}

static void take_frame(struct rig_link *l, const struct tdm_verdict *v, struct got *now)
{
	now->floor_frame = v->floor_frame;
	for (unsigned m = 0; m < 6; m++) {
		take_slot(l, v->frame, m, v, now);
	}
	for (unsigned h = 0; h < 2; h++) {
		struct tdm_hydro_slot slot;

		tdm_hydro_slot_get(v->frame, h, &slot);
		now->sample_hash[h] = XXH3_64bits(slot.samples, 96);
	}
	take_replies(l, v);
	l->header = v->header;
	l->header_count = v->count;
	tdm_telemetry_get(v->frame, &l->telemetry);
	l->good++;
}

static void take_verdict(void *context, const struct tdm_verdict *v)
{
	struct rig_link *l = context;
	struct got now = {.count = v->count, .loss = v->loss};

	assert_true(l->got_count < RIG_CELLS);
	if (v->loss == TDM_GOOD) {
		take_frame(l, v, &now);
	} else {
		for (unsigned m = 0; m < 6; m++) {
			close_hits(l, m, NULL, 0);
		}
	}
	l->got[l->got_count++] = now;
	for (unsigned m = 0; v->loss == TDM_GOOD && m < 6; m++) {
		l->modules[m].open = true;
	}
}

static void take_cell(struct rig *r, unsigned link)
{
	struct rig_link *l = &r->links[link];
	const uint64_t count = RIG_COUNT + r->step;
	enum tdm_loss fate = TDM_GOOD;

	if (!l->fibre.signal || !world_locked(r->world, link)) {
		fate = TDM_LOSS_LINK_DOWN;
	} else {
		fate = r->roof.stalled ? TDM_LOSS_BOARD_FIFO : (enum tdm_loss)l->fibre.lost;
	}
	world_uplink(r->world, link, count, fate, l->cell);
	if (fate != TDM_GOOD) {
		tdm_deframe_gap(l->deframe, 1, count, fate, take_verdict, l);
		return;
	}
	l->cells_hash = XXH3_64bits_withSeed(l->cell, sizeof(l->cell), l->cells_hash);
	tdm_deframe_push(l->deframe, l->cell, 1, count, take_verdict, l);
}

/* ---------------------------------------------------------------- downstream */

static void send_frame(struct rig *r, unsigned link)
{
	struct rig_link *l = &r->links[link];
	const struct tdm_header header = {
		.tower = 0xff,
		.floor = 0xff,
		.flags = TDM_FLAG_DOWNSTREAM,
		.sequence = (uint32_t)r->step,
		.time =
			{
				.frame = (uint16_t)((RIG_COUNT + r->step) % 8000),
				.second = r->roof.tod_second,
				.day = r->roof.tod_day,
				.year = r->roof.tod_year,
				.quality = r->roof.tod_quality,
			},
	};

	memset(l->down, 0, TDM_OFF_DOWN_SERIAL + 8 + TDM_SERIAL_BYTES);
	for (unsigned i = 0; i < l->word_count; i++) {
		uint8_t bytes[TDM_WORD_BYTES];

		word_pack(&l->words[i], bytes);
		bytes[14] ^= l->spoil ? 1 : 0;
		l->spoil = false;
		tdm_request_put(l->down, i, bytes);
	}
	tdm_timing_put(l->down, &l->timing);
	l->word_count = 0;
	tdm_frame_seal(l->down, &header);
	world_downlink(r->world, link, r->downstream ? l->down : NULL);
}

void rig_run(struct rig *r, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		world_step(r->world);
		world_roof(r->world, &r->roof);
		for (unsigned link = 0; link < RIG_LINKS; link++) {
			world_fibre(r->world, link, &r->links[link].fibre);
			r->links[link].code_errors += r->links[link].fibre.code_errors;
			send_frame(r, link);
			take_cell(r, link);
		}
		r->step++;
	}
}

void rig_seconds(struct rig *r, double seconds)
{
	rig_run(r, (unsigned)lround(seconds * 8000));
}

void rig_send(struct rig *r, unsigned link, uint8_t op, uint8_t module, uint8_t reg, int32_t value,
	      uint32_t sequence)
{
	struct rig_link *l = &r->links[link];

	assert_true(l->word_count < TDM_WORDS);
	l->words[l->word_count++] = (struct word){
		.op = op, .module = module, .reg = reg, .value = value, .sequence = sequence};
}

bool rig_reply(struct rig *r, unsigned link, struct rig_reply *ret_reply)
{
	struct rig_link *l = &r->links[link];

	for (unsigned i = 0; i < 20 && l->reply_read == l->reply_count; i++) {
		rig_run(r, 1);
	}
	if (l->reply_read == l->reply_count) {
		return false;
	}
	*ret_reply = l->replies[l->reply_read++ % RIG_REPLIES];
	return true;
}

int rig_ask(struct rig *r, unsigned link, uint8_t op, uint8_t module, uint8_t reg, int32_t value,
	    uint32_t sequence, int32_t *ret_value)
{
	struct rig_reply reply;

	rig_send(r, link, op, module, reg, value, sequence);
	if (!rig_reply(r, link, &reply)) {
		return -1;
	}
	assert_int_equal(reply.word.op, op | WORD_REPLY);
	assert_int_equal(reply.word.sequence, sequence);
	if (ret_value != NULL) {
		*ret_value = reply.word.value;
	}
	return reply.word.status;
}

/* ---------------------------------------------------------------- truth */

/* Either of the two parts of each record. */
static void read_truth(struct rig *r, unsigned link, struct truth_record *records,
		       struct truth_light *light, uint32_t *ret_count, struct truth_head *ret_head)
{
	struct {
		struct truth_record record;
		struct truth_light light;
	} at;
	FILE *f;

	end_world(r);
	f = fopen(r->truth_path, "r");
	assert_non_null(f);
	assert_int_equal(fread(ret_head, sizeof(*ret_head), 1, f), 1);
	assert_true(ret_head->record_bytes == sizeof(at) ||
		    (ret_head->record_bytes == sizeof(at.record) && light == NULL));
	*ret_count = 0;
	while (fread(&at, ret_head->record_bytes, 1, f) == 1) {
		if (at.record.link != link) {
			continue;
		}
		assert_true(*ret_count < RIG_CELLS);
		if (records != NULL) {
			records[*ret_count] = at.record;
		}
		if (light != NULL) {
			light[*ret_count] = at.light;
		}
		++*ret_count;
	}
	fclose(f);
}

struct truth_record *rig_truth(struct rig *r, unsigned link, uint32_t *ret_count,
			       struct truth_head *ret_head)
{
	struct truth_record *records = calloc(RIG_CELLS, sizeof(*records));

	assert_non_null(records);
	read_truth(r, link, records, NULL, ret_count, ret_head);
	return records;
}

struct truth_light *rig_light(struct rig *r, unsigned link, uint32_t *ret_count)
{
	struct truth_light *light = calloc(RIG_CELLS, sizeof(*light));
	struct truth_head head;

	assert_non_null(light);
	read_truth(r, link, NULL, light, ret_count, &head);
	return light;
}

static void compare(const struct got *g, const struct truth_record *t)
{
	assert_int_equal(g->count, t->count);
	if (g->loss != t->fate) {
		fail_msg("link %u count %lu: got %s, truth says %s", t->link,
			 (unsigned long)g->count, tdm_loss_name(g->loss),
			 tdm_loss_name((enum tdm_loss)t->fate));
	}
	if (g->loss != TDM_GOOD) {
		return;
	}
	assert_int_equal(g->floor_frame, t->floor_frame);
	assert_memory_equal(g->sample_hash, t->sample_hash, sizeof(g->sample_hash));
	assert_memory_equal(g->hits, t->hits, sizeof(g->hits));
	for (unsigned m = 0; m < 6; m++) {
		if (g->complete[m]) {
			assert_int_equal(g->hit_hash[m], t->hit_hash[m]);
		}
	}
}

uint64_t rig_compare(struct rig *r, unsigned link, uint64_t fates[TDM_LOSSES])
{
	struct truth_head head;
	uint32_t n;
	struct truth_record *t = rig_truth(r, link, &n, &head);
	const struct rig_link *l = &r->links[link];

	/* A straddling last frame has its record, but never came whole. */
	assert_true(l->got_count <= n && l->got_count + 1 >= n);
	for (uint32_t i = 0; i < l->got_count; i++) {
		compare(&l->got[i], &t[i]);
		if (fates != NULL) {
			fates[l->got[i].loss]++;
		}
	}
	free(t);
	assert_int_equal(l->disorder, 0);
	return l->good;
}
