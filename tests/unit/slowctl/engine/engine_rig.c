/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A station in virtual time for tests of the command engine: see engine_rig.h. Time moves in steps of 0.5 ms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tdm/registers.h"

#define STEP_NS 500000ull
#define WIRE	16384u

/* Things that happen later: words, or rows to be stored. */
struct item {
	uint64_t due;
	unsigned link, flags;
	uint64_t cookie;
	struct word word;
	struct row row;
};
struct rig_wire {
	struct item **items;
	unsigned count;
};

static struct rig_wire *wire_create(void)
{
	struct rig_wire *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->items = calloc(WIRE, sizeof(*w->items));
	assert_non_null(w->items);
	return w;
}

static struct item *wire_put(struct rig_wire *w, uint64_t due)
{
	struct item *i = calloc(1, sizeof(*i));

	assert_non_null(i);
	assert_true(w->count < WIRE);
	i->due = due;
	w->items[w->count++] = i;
	return i;
}

/* The first that is due, in the order put; NULL: none. Of a FIFO only the head may leave. */
static struct item *wire_take(struct rig_wire *w, uint64_t now, bool fifo)
{
	for (unsigned n = 0; n < w->count; n++) {
		struct item *i = w->items[n];

		if (i->due <= now) {
			memmove(w->items + n, w->items + n + 1,
				(w->count - n - 1) * sizeof(*w->items));
			w->count--;
			return i;
		}
		if (fifo) {
			return NULL;
		}
	}
	return NULL;
}

static void wire_empty(struct rig_wire *w)
{
	while (w->count) {
		free(w->items[--w->count]);
	}
}

static void wire_destroy(struct rig_wire *w)
{
	wire_empty(w);
	free(w->items);
	free(w);
}

const struct link *rig_inside(const struct rig *r, unsigned link)
{
	return &r->e->links[link];
}

uint32_t rig_sequences_left(const struct rig *r, unsigned link)
{
	return (uint32_t)(UINT32_MAX - rig_inside(r, link)->next_sequence + 1);
}

unsigned rig_random(struct rig *r, unsigned below)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return (unsigned)(r->random >> 11) % below;
}

static bool chance(struct rig *r, unsigned per_mille)
{
	return per_mille && rig_random(r, 1000) < per_mille;
}

/* ------------------------------------------------------------------ the FCM */

static void floor_start(struct rig_floor *f)
{
	f->boot = RIG_FIRST_BOOT;
	for (unsigned m = 0; m < 6; m++) {
		f->power[m] = 1;
		f->hv_set[m] = f->hv[m] = 14000;
		f->threshold[m] = 10;
		f->ramp[m] = 1000;
	}
}

static void floor_boot(struct rig_floor *f, uint64_t now)
{
	f->boot++;
	f->outcome_count = 0;
	f->away_until = now + 500 * RIG_MS;
	memset(f->clears, 0, sizeof(f->clears));
	memset(f->resets, 0, sizeof(f->resets));
	memset(f->cycles, 0, sizeof(f->cycles));
}

/* HV follows its set value at the ramp's rate, once a step. */
static void floor_step(struct rig_floor *f, uint64_t now)
{
	if (f->reset_at && now >= f->reset_at) {
		f->reset_at = 0;
		floor_boot(f, now);
	}
	for (unsigned m = 0; m < 6; m++) {
		int32_t target = f->power[m] && !f->trip[m] ? f->hv_set[m] : 0;
		int32_t most = f->ramp[m] > 2000 ? f->ramp[m] / 2000 : 1, d = target - f->hv[m];

		most = f->slow && f->steps % f->slow ? 0 : most;

		f->hv[m] += d > most ? most : d < -most ? -most : d;
		if (!f->power[m] || f->trip[m]) {
			f->hv[m] = 0;
		}
	}
	f->steps++;
}

static uint8_t floor_write(struct rig_floor *f, const struct word *w, int32_t *ret_value)
{
	*ret_value = w->value;
	if (w->module >= 6) {
		return WORD_BAD_REG;
	}
	if (f->busy > 0) {
		f->busy--;
		return WORD_BUSY;
	}
	switch (w->reg) {
	case REG_OM_POWER:
		f->power[w->module] = w->value;
		if (!w->value) {
			f->hv_set[w->module] = 0;
		}
		return WORD_OK;
	case REG_OM_HV_SET:
		if (f->hv_refusal != WORD_OK) {
			return f->hv_refusal;
		}
		if (!f->power[w->module] ||
		    (f->trip[w->module] && w->value > f->hv_set[w->module])) {
			return WORD_REFUSED;
		}
		f->hv_set[w->module] = w->value;
		return WORD_OK;
	case REG_OM_THRESHOLD:
		f->threshold[w->module] = w->value;
		return WORD_OK;
	case REG_OM_RAMP:
		f->ramp[w->module] = w->value;
		return WORD_OK;
	default:
		return WORD_READ_ONLY;
	}
}

static uint8_t floor_act(struct rig_floor *f, const struct word *w, uint64_t now,
			 int32_t *ret_value)
{
	if (w->module == WORD_MODULE_FCM && w->reg == REG_FCM_ACTION_RESET) {
		f->reset_at = now + 2 * RIG_MS;
		*ret_value = (int32_t)f->boot + 1;
		return WORD_OK;
	}
	if (w->module >= 6) {
		return WORD_BAD_REG;
	}
	switch (w->reg) {
	case REG_OM_ACTION_CLEAR_TRIP:
		f->trip[w->module] = 0;
		*ret_value = ++f->clears[w->module];
		return WORD_OK;
	case REG_OM_ACTION_RESET:
		*ret_value = ++f->resets[w->module];
		return WORD_OK;
	case REG_OM_ACTION_POWER_CYCLE:
		*ret_value = ++f->cycles[w->module];
		return WORD_OK;
	default:
		return WORD_BAD_REG;
	}
}

static uint8_t floor_read(const struct rig_floor *f, const struct word *w, int32_t *ret_value)
{
	const int32_t *regs[] = {
		[REG_OM_POWER] = f->power,
		[REG_OM_HV_SET] = f->hv_set,
		[REG_OM_HV] = f->hv,
		[REG_OM_THRESHOLD] = f->threshold,
		[REG_OM_RAMP] = f->ramp,
		[REG_OM_TRIP] = f->trip,
		[REG_OM_CLEARS] = f->clears,
		[REG_OM_RESETS] = f->resets,
		[REG_OM_POWER_CYCLES] = f->cycles,
	};

	*ret_value = 0;
	if ((f->no_timer && w->module == WORD_MODULE_FCM && w->reg >= REG_FCM_SILENCE) ||
	    (f->no_rate && w->module < 6 && w->reg == REG_OM_RATE)) {
		return WORD_BAD_REG;
	}
	if (w->module == WORD_MODULE_FCM) {
		*ret_value = w->reg == REG_FCM_BOOT_COUNT ? (int32_t)f->boot : 1;
	} else if (w->module < 6 && w->reg < sizeof(regs) / sizeof(regs[0]) && regs[w->reg]) {
		*ret_value = regs[w->reg][w->module];
		if (w->reg == REG_OM_HV) {
			*ret_value += f->hv_offset;
		}
	}
	return WORD_OK;
}

static void keep_outcome(struct rig_floor *f, const struct word *w, uint8_t status, int32_t value)
{
	unsigned n = f->outcome_count++ % 256;

	f->outcomes[n].sequence = w->sequence;
	f->outcomes[n].status = status;
	f->outcomes[n].module = w->module;
	f->outcomes[n].reg = w->reg;
	f->outcomes[n].value = value;
}

static int find_outcome(const struct rig_floor *f, uint32_t sequence)
{
	unsigned kept = f->outcome_count < 256 ? f->outcome_count : 256;

	for (unsigned n = 0; n < kept; n++) {
		if (f->outcomes[n].sequence == sequence) {
			return (int)n;
		}
	}
	return -1;
}

static void floor_newest(const struct rig_floor *f, struct word *a)
{
	unsigned kept = f->outcome_count < 256 ? f->outcome_count : 256;
	uint32_t newest = 0;

	for (unsigned n = 0; n < kept; n++) {
		if (f->outcomes[n].sequence > newest) {
			newest = f->outcomes[n].sequence;
		}
	}
	a->status = newest ? WORD_OK : WORD_UNKNOWN;
	a->value = (int32_t)newest;
}

static void floor_query(struct rig_floor *f, const struct word *w, struct word *a)
{
	int n = find_outcome(f, (uint32_t)w->value);

	if (w->value == 0) {
		floor_newest(f, a);
		return;
	}
	f->queries++;
	if (n < 0) {
		a->status = WORD_UNKNOWN;
		a->value = w->value;
		return;
	}
	a->status = f->outcomes[n].status;
	a->module = f->outcomes[n].module;
	a->reg = f->outcomes[n].reg;
	a->value = f->outcomes[n].value;
}

static void floor_execute(struct rig_floor *f, const struct word *w, struct word *a, uint64_t now)
{
	int n = find_outcome(f, w->sequence);

	if (n >= 0) {
		a->status = WORD_DUPLICATE;
		a->value = f->outcomes[n].value;
		return;
	}
	a->status = w->op == WORD_WRITE ? floor_write(f, w, &a->value)
					: floor_act(f, w, now, &a->value);
	keep_outcome(f, w, a->status, a->value);
	if (a->status == WORD_OK) {
		assert_true(w->sequence < RIG_SEQ);
		f->executed[w->sequence]++;
		f->writes++;
	}
}

/* A request arrives; what it answers goes on the wire up. */
static void floor_hear(struct rig *r, unsigned link, const struct word *w)
{
	struct rig_floor *f = &r->floors[link];
	uint64_t now = r->now.mono_ns;
	struct word a = *w;

	if (f->deaf || now < f->away_until ||
	    (f->no_commands && w->op != WORD_READ && w->op != WORD_QUERY) ||
	    (f->no_queries && w->op == WORD_QUERY && w->value != 0)) {
		return;
	}
	a.op = w->op | WORD_REPLY;
	a.boot = (uint16_t)f->boot;
	if (w->op == WORD_QUERY) {
		floor_query(f, w, &a);
	} else if (w->op == WORD_READ) {
		f->reads++;
		a.status = f->busy_reads > 0 ? WORD_BUSY : floor_read(f, w, &a.value);
		f->busy_reads -= f->busy_reads > 0;
		f->rejected += a.status != WORD_OK;
	} else {
		floor_execute(f, w, &a, now);
	}
	if (f->mute) {
		return;
	}
	for (unsigned copies = chance(r, r->double_up) ? 2 : 1; copies > 0; copies--) {
		uint64_t delay = r->delay_us * 1000ull;

		if (chance(r, r->lose_up)) {
			continue;
		}
		if (r->jitter_us) {
			delay += rig_random(r, r->jitter_us) * 1000ull;
		}
		if (chance(r, r->late_up)) {
			delay += (100 + rig_random(r, 2000)) * RIG_MS;
		}
		struct item *i = wire_put(r->up, now + delay);

		i->link = link;
		i->word = a;
	}
}

/* ------------------------------------------------------------------ the journal */

static const char *text_of(const struct row *row, unsigned n)
{
	return row->values[n].type == ROW_TEXT ? row->arena + row->values[n].text : "";
}

static double real_of(const struct row *row, unsigned n)
{
	return row->values[n].type == ROW_REAL ? row->values[n].d : (double)NAN;
}

static uint64_t boot_of(const struct row *row, unsigned n)
{
	return row->values[n].type == ROW_INT ? (uint32_t)row->values[n].i : ENGINE_BOOT_UNKNOWN;
}

static void note_state(struct rig_command *c, const char *state)
{
	size_t used = strlen(c->states);

	snprintf(c->state, sizeof(c->state), "%s", state);
	snprintf(c->states + used, sizeof(c->states) - used, "%s%s", used ? " " : "", state);
	c->transitions++;
}

static int store_command(struct rig *r, const struct row *row)
{
	uint64_t id = (uint64_t)row->values[0].i;
	struct rig_command *c;

	assert_true(id > 0 && id < RIG_COMMANDS);
	c = &r->commands[id];
	if (c->known && c->emergency) { /* the store was late, or gets it again */
		return -EEXIST;
	}
	assert_false(c->known);
	assert_int_equal(row->count, 21);
	for (uint64_t i = 1; i <= r->last_id && text_of(row, 1)[0]; i++) {
		if (r->commands[i].known &&
		    strcmp(r->commands[i].client_id, text_of(row, 1)) == 0) {
			return -EEXIST;
		}
	}
	c->known = true;
	c->id = id;
	c->frame = -1;
	c->time_ns = row->values[2].i;
	snprintf(c->client_id, sizeof(c->client_id), "%s", text_of(row, 1));
	snprintf(c->reason, sizeof(c->reason), "%s", text_of(row, 7));
	c->link = (uint32_t)row->values[8].i;
	snprintf(c->parameter, sizeof(c->parameter), "%s", text_of(row, 11));
	c->action = strcmp(text_of(row, 12), "action") == 0;
	c->old_value = real_of(row, 13);
	c->new_value = real_of(row, 14);
	c->sequence = row->values[16].type == ROW_INT ? (uint32_t)row->values[16].i : 0;
	c->boot = boot_of(row, 17);
	c->ended = row->values[20].type == ROW_INT;
	snprintf(c->detail, sizeof(c->detail), "%s", text_of(row, 19));
	note_state(c, text_of(row, 18));
	r->last_id = id > r->last_id ? id : r->last_id;
	return 0;
}

static void store_transition(struct rig *r, const struct row *row)
{
	struct rig_command *c = &r->commands[row->values[0].i];

	assert_int_equal(row->count, 9);
	if (!c->known && r->store_keeps) { /* taken back before its row was refused */
		return;
	}
	assert_true(c->known);
	assert_false(c->ended); /* an end is an end */
	note_state(c, text_of(row, 2));
	if (row->values[3].type == ROW_INT) {
		c->frame = row->values[3].i;
	}
	snprintf(c->detail, sizeof(c->detail), "%s", text_of(row, 4));
	c->sequence = (uint32_t)row->values[5].i;
	c->taken_up |= strncmp(c->detail, ENGINE_TAKEN_UP, strlen(ENGINE_TAKEN_UP)) == 0;
	c->boot = boot_of(row, 6);
	c->attempts = (uint32_t)row->values[7].i;
	c->ended = row->values[8].type == ROW_INT;
	c->ended_ns = c->ended ? row->values[8].i : 0;
}

/* Rows that are not in the database go there later, unchanged. */
static void store_emergency(struct rig *r, const struct row *row)
{
	struct rig_command *c = &r->commands[row->values[0].i];

	if (row->id == ROW_COMMAND) {
		if (!c->known) { /* else it is the end of a command that the store has */
			assert_int_equal(store_command(r, row), 0);
		}
		c->emergency = true;
	} else {
		assert_int_equal(row->id, ROW_TRANSITION);
		assert_true(c->emergency);
		store_transition(r, row);
	}
}

static int store_row(struct rig *r, const struct row *row)
{
	switch (row->id) {
	case ROW_COMMAND:
		return store_command(r, row);
	case ROW_TRANSITION:
		store_transition(r, row);
		return 0;
	case ROW_SEQUENCE:
		assert_in_range(row->values[1].i, 1, RIG_FLOORS);
		r->reserved_until[row->values[1].i - 1] = (uint64_t)row->values[2].i;
		return 0;
	case ROW_SAMPLE:
		r->samples++;
		return 0;
	default:
		fail_msg("row %u", row->id);
		return -EINVAL;
	}
}

/* ------------------------------------------------------------------ the station */

static void on_send(struct rig *r, const struct engine_out *o)
{
	struct word w;

	if (r->send_result < 0) {
		engine_send_failed(r->e, o->cookie, r->send_result, r->now);
		return;
	}
	if (r->refuse_words > 0) {
		r->refuse_words--;
		engine_send_failed(r->e, o->cookie, -EAGAIN, r->now);
		return;
	}
	assert_int_equal(word_unpack(o->send.bytes, &w), 0);
	if (chance(r, r->not_taken)) {
		struct item *i = wire_put(r->refusals, r->now.mono_ns + rig_random(r, 5) * RIG_MS);

		i->cookie = o->cookie;
		i->link = o->send.link;
		return;
	}
	if (!r->no_completions) {
		engine_sent(r->e, o->cookie, ++r->frame, r->now);
	}
	if (!chance(r, r->lose_down)) {
		struct item *i = wire_put(r->down, r->now.mono_ns + r->delay_us * 1000ull);

		i->link = o->send.link;
		i->word = w;
	}
}

void rig_drain(struct rig *r)
{
	const struct engine_out *o;

	while (engine_next(r->e, &o)) {
		struct engine_out copy = *o;
		struct item *i;

		switch (copy.type) {
		case ENGINE_SEND:
			on_send(r, &copy);
			break;
		case ENGINE_STORE:
			i = wire_put(r->stores, r->now.mono_ns + r->store_us * 1000ull);
			i->row = copy.store.row;
			i->flags = copy.store.flags;
			i->cookie = copy.cookie;
			break;
		case ENGINE_EMERGENCY:
			store_emergency(r, &copy.store.row);
			break;
		case ENGINE_PROGRESS:
			if (r->on_progress) {
				r->on_progress(r->context, &copy);
			}
			r->progress++;
			r->finals += copy.progress.final;
			r->last_state = copy.progress.state;
			r->final = copy.progress.final;
			r->alarm = copy.progress.alarm;
			r->numbered = copy.progress.numbered;
			memcpy(r->text, copy.progress.text, sizeof(r->text));
			memcpy(r->hint, copy.progress.hint, sizeof(r->hint));
			break;
		}
	}
}

/* What polling would have brought: interlocks want to know it. */
static void tell_module(struct rig *r, struct param *p)
{
	const struct rig_floor *f = &r->floors[p->link];

	if (strcmp(p->kind->section, "om.power") == 0 && !r->power_unknown) {
		param_put_raw(p, f->power[p->module], r->now.utc_ns, r->now.mono_ns);
	} else if (strcmp(p->kind->section, "om.hv") == 0 && !r->settings_unknown &&
		   p->has_setpoint) {
		param_put_setpoint(p, f->hv_set[p->module] / 10.0, r->now.mono_ns);
	}
}

static void tell_power(struct rig *r)
{
	if (r->now.mono_ns < r->power_told + 1000 * RIG_MS) {
		return;
	}
	r->power_told = r->now.mono_ns;
	for (unsigned i = 0; i < params_count(r->params); i++) {
		tell_module(r, params_at(r->params, i));
	}
}

static bool keeps_rows(const struct rig *r)
{
	return r->store_keeps && r->store_result < 0;
}

/* Of the rows that the store keeps those that are now or never. */
static void refuse_rows(struct rig *r)
{
	struct rig_wire *w = r->stores;

	for (unsigned n = 0; keeps_rows(r) && n < w->count;) {
		struct item *i = w->items[n];

		if (i->due > r->now.mono_ns || !(i->flags & ENGINE_STORE_NOW_OR_NEVER)) {
			n++;
			continue;
		}
		memmove(w->items + n, w->items + n + 1, (--w->count - n) * sizeof(*w->items));
		engine_stored(r->e, i->cookie, r->store_result, r->now);
		free(i);
	}
}

static void step(struct rig *r)
{
	struct item *i;

	r->now.mono_ns += STEP_NS;
	r->now.utc_ns += (int64_t)STEP_NS;
	for (unsigned f = 0; f < RIG_FLOORS; f++) {
		floor_step(&r->floors[f], r->now.mono_ns);
	}
	while ((i = wire_take(r->refusals, r->now.mono_ns, false))) {
		engine_send_failed(r->e, i->cookie, chance(r, 500) ? -EAGAIN : -ENOLINK, r->now);
		free(i);
	}
	rig_drain(r);
	refuse_rows(r);
	while (!keeps_rows(r) && !r->store_hangs &&
	       (i = wire_take(r->stores, r->now.mono_ns, true))) {
		int result = i->flags & ENGINE_STORE_NOW_OR_NEVER ? r->store_result : 0;

		result = result == 0 ? store_row(r, &i->row) : result;
		if (i->flags & ENGINE_STORE_ANSWER) {
			engine_stored(r->e, i->cookie, result, r->now);
		}
		free(i);
	}
	rig_drain(r);
	while ((i = wire_take(r->down, r->now.mono_ns, true))) {
		floor_hear(r, i->link, &i->word);
		free(i);
	}
	while ((i = wire_take(r->up, r->now.mono_ns, false))) {
		engine_reply(r->e, i->link, &i->word, r->now);
		free(i);
		rig_drain(r);
	}
	tell_power(r);
	if (engine_next_due(r->e) <= r->now.mono_ns) { /* as the daemon does */
		r->ticks++;
		engine_tick(r->e, r->now);
	}
	rig_drain(r);
}

void rig_run(struct rig *r, unsigned ms)
{
	uint64_t end = r->now.mono_ns + ms * RIG_MS;

	rig_drain(r);
	while (r->now.mono_ns < end) {
		step(r);
	}
}

void rig_until_end(struct rig *r, uint64_t id, unsigned ms)
{
	uint64_t end = r->now.mono_ns + ms * RIG_MS;

	rig_drain(r);
	while (r->now.mono_ns < end && !(r->commands[id].known && r->commands[id].ended)) {
		step(r);
	}
}

void rig_link(struct rig *r, unsigned link, bool locked)
{
	engine_link(r->e, link, locked, locked ? 1 : 0xff, locked ? (uint8_t)(link + 1) : 0xff,
		    r->now);
	if (locked) {
		engine_boot(r->e, link, r->floors[link].boot, r->now);
	}
	rig_drain(r);
}

void rig_boot(struct rig *r, unsigned link)
{
	floor_boot(&r->floors[link], r->now.mono_ns);
}

/* As the store finds it: STORE_UNDONE. */
static bool is_undone(const struct rig *r, uint64_t id)
{
	const struct rig_command *c = &r->commands[id];
	bool cut = c->taken_up && strncmp(c->reason, "safe ", 5) == 0;

	if (!c->ended || strcmp(c->state, "DONE") == 0 ||
	    !(cut || strcmp(c->state, "UNKNOWN") == 0)) {
		return false;
	}
	for (uint64_t k = id + 1; k <= r->last_id; k++) {
		if (strcmp(r->commands[k].parameter, c->parameter) == 0 &&
		    strcmp(r->commands[k].state, "DONE") == 0) {
			return false;
		}
	}
	return true;
}

/* As the store computes it: whether its word may have left after that of the other. */
static bool may_be_later(const struct rig_command *c, const struct rig_command *than)
{
	return c->known && c->link == than->link && c->sequence &&
	       (c->id > than->id || !c->ended || c->ended_ns >= than->time_ns);
}

static void start(struct rig *r)
{
	static const struct param_floor floors[RIG_FLOORS] = {{0, 1, 1}, {1, 1, 2}};
	struct sc_error error = {0};

	if (params_load("schemas/parameters.conf", floors, RIG_FLOORS, &r->params, &error) < 0) {
		fail_msg("%s", error.message);
	}
	r->e = engine_create(r->params, &r->config);
	assert_non_null(r->e);
	engine_marks(r->e, &r->marks);
	engine_recover_id(r->e, r->last_id);
	for (unsigned f = 0; f < RIG_FLOORS; f++) {
		engine_recover_sequence(r->e, 1, (uint8_t)(f + 1), (uint32_t)r->reserved_until[f]);
	}
	for (uint64_t id = 1; id <= r->last_id; id++) {
		const struct rig_command *c = &r->commands[id];
		struct engine_journal j = {.id = id, .action = c->action};

		if (!c->known) {
			continue;
		}
		memcpy(j.client_id, c->client_id, sizeof(j.client_id));
		memcpy(j.parameter, c->parameter, sizeof(j.parameter));
		memcpy(j.state, c->state, sizeof(j.state));
		memcpy(j.detail, c->detail, sizeof(j.detail));
		j.new_value = c->new_value;
		j.sequence = c->sequence;
		j.boot = c->boot;
		j.attempts = c->attempts;
		j.ended = c->ended;
		j.emergency = c->emergency;
		sscanf(c->reason, "safe %" SCNu64, &j.job);
		for (uint64_t k = 1; k <= r->last_id; k++) {
			j.later += k != id && may_be_later(&r->commands[k], c);
		}
		assert_int_equal(engine_recover_command(r->e, &j, r->now), 0);
		j.undone = is_undone(r, id);
		j.cut = c->taken_up;
		if (j.undone) {
			assert_int_equal(engine_recover_command(r->e, &j, r->now), 0);
		}
	}
	for (unsigned f = 0; f < RIG_FLOORS; f++) {
		rig_link(r, f, true);
	}
	r->power_told = 0;
	tell_power(r);
	rig_drain(r);
}

void rig_crash(struct rig *r)
{
	engine_destroy(r->e);
	params_destroy(r->params);
	wire_empty(r->stores);
	wire_empty(r->refusals);
	start(r);
}

void rig_journal_back(struct rig *r, uint64_t last_id, const uint64_t reserved_until[RIG_FLOORS])
{
	for (uint64_t id = last_id + 1; id <= r->last_id; id++) {
		r->commands[id] = (struct rig_command){0};
	}
	r->last_id = last_id;
	memcpy(r->reserved_until, reserved_until, sizeof(r->reserved_until));
	r->marks = (struct engine_marks){0};
	rig_crash(r);
}

struct rig *rig_create(uint64_t seed)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->random = seed * 0x9e3779b97f4a7c15ull + 1;
	r->floors = calloc(RIG_FLOORS, sizeof(*r->floors));
	r->commands = calloc(RIG_COMMANDS, sizeof(*r->commands));
	assert_non_null(r->floors);
	assert_non_null(r->commands);
	for (unsigned f = 0; f < RIG_FLOORS; f++) {
		floor_start(&r->floors[f]);
	}
	r->down = wire_create();
	r->up = wire_create();
	r->stores = wire_create();
	r->refusals = wire_create();
	r->delay_us = 1000;
	r->store_us = 1000;
	r->now.mono_ns = 1000000000ull;
	r->now.utc_ns = 1795000000000000000ll;
	engine_config_default(&r->config);
	r->config.sequence_block = 2048;
	r->config.poll = false;
	start(r);
	rig_run(r, 10); /* the FCMs are asked what they remember */
	return r;
}

void rig_destroy(struct rig *r)
{
	engine_destroy(r->e);
	params_destroy(r->params);
	wire_destroy(r->down);
	wire_destroy(r->up);
	wire_destroy(r->stores);
	wire_destroy(r->refusals);
	free(r->floors);
	free(r->commands);
	free(r);
}

int rig_submit(struct rig *r, struct engine_request q, uint64_t *ret_id, struct sc_error *error)
{
	int result;

	q.who = q.who ? q.who : "test";
	q.uid = 1;
	q.pid = 2;
	q.origin = "local";
	result = engine_submit(r->e, &q, r->now, ret_id, error);
	rig_drain(r);
	return result;
}

int rig_set(struct rig *r, const char *name, double value, uint64_t *ret_id)
{
	return rig_submit(r, (struct engine_request){.parameter = name, .value = value}, ret_id,
			  NULL);
}

int rig_action(struct rig *r, const char *name, uint64_t *ret_id)
{
	return rig_submit(r, (struct engine_request){.parameter = name, .action = true}, ret_id,
			  NULL);
}

unsigned rig_executed(const struct rig *r, uint64_t id)
{
	const struct rig_command *c = &r->commands[id];

	return c->known && c->sequence ? r->floors[c->link].executed[c->sequence] : 0;
}

void rig_expect(const struct rig *r, uint64_t id, const char *states, unsigned executed)
{
	const struct rig_command *c = &r->commands[id];

	if (strcmp(c->states, states) != 0) {
		fail_msg("command %" PRIu64 " went %s (%s), wanted %s", id, c->states, c->detail,
			 states);
	}
	if (rig_executed(r, id) != executed) {
		fail_msg("command %" PRIu64 " was executed %u times, wanted %u", id,
			 rig_executed(r, id), executed);
	}
}
