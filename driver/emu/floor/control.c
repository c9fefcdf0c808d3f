/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor's side of slow control: takes the shore's words (read, write, action, query) out of each
 * frame from above, changes the registers by the rules in tdm/registers.h, and puts the replies into
 * frames upwards. Each way takes four frames in the fibre, and a reply waits for the next frame that
 * begins, so the shore has its answer after eight to nine frames. The silence timer is here, too: when
 * no valid word has come for SILENCE_S seconds, it ramps the high voltages down to 0.
 */
#include <string.h>

#include "driver/emu/floor/private.h"

#define BOOT_AFTER_FRAMES 4u /* the answer to a reset leaves first */

uint32_t floor_power_mask(const struct floor *f)
{
	uint32_t mask = 0;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		mask |= (uint32_t)pmt_powered(f->pmts[m]) << m;
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		mask |= (uint32_t)f->hydrophones[h].powered << (REG_MODULE_HYDROPHONE + h);
	}
	return mask;
}

static int fcm_read(struct floor *f, unsigned reg, int32_t *ret_value)
{
	const struct tdm_telemetry *t = &f->telemetry;
	const uint64_t ago = f->silence.fired_frames / TDM_FRAMES_PER_SECOND;
	const int32_t values[] = {
		[REG_FCM_TEMPERATURE] = t->temperature_mc,
		[REG_FCM_HUMIDITY] = (int32_t)t->humidity_ppm,
		[REG_FCM_SUPPLY] = (int32_t)t->supply_mv,
		[REG_FCM_CURRENT] = (int32_t)t->current_ma,
		[REG_FCM_HEADING] = (int32_t)t->heading_mdeg,
		[REG_FCM_PITCH] = t->pitch_mdeg,
		[REG_FCM_ROLL] = t->roll_mdeg,
		[REG_FCM_BOOT_COUNT] = (int32_t)f->boot_count,
		[REG_FCM_UPTIME] = (int32_t)(f->uptime_frames / TDM_FRAMES_PER_SECOND),
		[REG_FCM_POWER_MASK] = (int32_t)floor_power_mask(f),
		[REG_FCM_EXECUTED] = (int32_t)f->control.executed,
		[REG_FCM_REJECTED] = (int32_t)f->control.rejected,
		[REG_FCM_RX_POWER] = (int32_t)f->rx_power_nw,
		[REG_FCM_SILENCE] = f->silence.on,
		[REG_FCM_SILENCE_S] = f->silence.limit_s,
		[REG_FCM_SILENCED] = f->silence.fired,
		[REG_FCM_SILENCED_AGO] = (int32_t)ago,
	};

	if (reg < REG_FCM_TEMPERATURE || reg >= sizeof(values) / sizeof(values[0])) {
		return WORD_BAD_REG;
	}
	*ret_value = values[reg];
	return WORD_OK;
}

static int fcm_write(struct floor *f, unsigned reg, int32_t *value)
{
	struct silence *s = &f->silence;

	switch (reg) {
	case REG_FCM_SILENCE:
		if (*value != 0 && *value != 1) {
			return WORD_BAD_VALUE;
		}
		s->on = *value;
		s->fired = 0;
		s->fired_frames = 0;
		return WORD_OK;
	case REG_FCM_SILENCE_S:
		if (*value < REG_FCM_SILENCE_S_MIN || *value > REG_FCM_SILENCE_S_MAX) {
			return WORD_BAD_VALUE;
		}
		s->limit_s = *value;
		return WORD_OK;
	default:
		return fcm_read(f, reg, value) == WORD_OK ? WORD_READ_ONLY : WORD_BAD_REG;
	}
}

static struct hydrophone *hydrophone_of(struct floor *f, unsigned module)
{
	if (module < REG_MODULE_HYDROPHONE || module >= REG_MODULE_HYDROPHONE + TDM_HYDROPHONES) {
		return NULL;
	}
	return &f->hydrophones[module - REG_MODULE_HYDROPHONE];
}

/* A READ or WRITE. */
static int do_register(struct floor *f, const struct word *w, int32_t *value)
{
	struct hydrophone *h = hydrophone_of(f, w->module);
	const bool write = w->op == WORD_WRITE;

	if (w->module < TDM_MODULES) {
		return write ? pmt_write(f->pmts[w->module], w->reg, value)
			     : pmt_read(f->pmts[w->module], w->reg, value);
	}
	if (h) {
		return write ? hydrophone_write(h, w->reg, value)
			     : hydrophone_read(h, w->reg, f->sea.temperature_mc, value);
	}
	if (w->module != WORD_MODULE_FCM) {
		return WORD_BAD_REG;
	}
	return write ? fcm_write(f, w->reg, value) : fcm_read(f, w->reg, value);
}

static int fcm_action(struct floor *f, const struct word *w, int32_t *value)
{
	struct hydrophone *h;

	switch (w->reg) {
	case REG_FCM_ACTION_RESET:
		f->boot_in = BOOT_AFTER_FRAMES;
		*value = (int32_t)(f->boot_count + 1);
		return WORD_OK;
	case REG_FCM_ACTION_POWER_CYCLE:
		if (w->value >= 0 && w->value < (int32_t)TDM_MODULES) {
			return pmt_power_cycle(f->pmts[w->value], value);
		}
		h = w->value >= 0 ? hydrophone_of(f, (unsigned)w->value) : NULL;
		return h ? hydrophone_power_cycle(h) : WORD_BAD_VALUE;
	default:
		return WORD_BAD_REG;
	}
}

static int do_action(struct floor *f, const struct word *w, int32_t *value)
{
	if (w->module < TDM_MODULES) {
		return pmt_action(f->pmts[w->module], w->reg, value);
	}
	return w->module == WORD_MODULE_FCM ? fcm_action(f, w, value) : WORD_BAD_REG;
}

/* ---------------------------------------------------------------- sequences */

static const struct outcome *find_outcome(const struct control *c, uint32_t sequence)
{
	for (unsigned i = 0; i < OUTCOMES; i++) {
		if (c->outcomes[i].sequence == sequence) {
			return &c->outcomes[i];
		}
	}
	return NULL;
}

/* No room: the reply is lost, as on a real FCM; the shore asks again. */
static void put_reply(struct control *c, const uint8_t bytes[TDM_WORD_BYTES])
{
	if (c->reply_count < REPLIES) {
		memcpy(c->replies[c->reply_count++], bytes, TDM_WORD_BYTES);
	}
}

static void reply(struct floor *f, const struct word *w, int status, int32_t value)
{
	struct control *c = &f->control;
	struct word r = *w;
	uint8_t bytes[TDM_WORD_BYTES];
	unsigned copies;

	r.op = (uint8_t)(w->op | WORD_REPLY);
	r.status = (uint8_t)status;
	r.value = value;
	r.boot = (uint16_t)f->boot_count;
	if (take_one(&f->faults.lose) ||
	    (f->faults.lose_share > 0 && rng_unit(&f->fault_rng) < f->faults.lose_share)) {
		return;
	}
	copies = take_one(&f->faults.duplicate) ? 2 : 1;
	word_pack(&r, bytes);
	if (!c->holds && take_one(&f->faults.reorder)) {
		c->holds = true;
		memcpy(c->held, bytes, sizeof(c->held));
		return;
	}
	for (unsigned i = 0; i < copies; i++) {
		put_reply(c, bytes);
	}
	if (c->holds) {
		c->holds = false;
		put_reply(c, c->held);
	}
}

/* The outcome of the largest sequence; NULL: there is none. */
static const struct outcome *newest_outcome(const struct control *c)
{
	const struct outcome *newest = NULL;

	for (unsigned i = 0; i < OUTCOMES; i++) {
		if (c->outcomes[i].sequence > (newest ? newest->sequence : 0)) {
			newest = &c->outcomes[i];
		}
	}
	return newest;
}

static void answer_query(struct floor *f, const struct word *w)
{
	const struct outcome *o = w->value != 0 ? find_outcome(&f->control, (uint32_t)w->value)
						: newest_outcome(&f->control);
	struct word r = *w;

	if (!o) {
		reply(f, w, WORD_UNKNOWN, w->value);
	} else if (w->value == 0) {
		reply(f, w, WORD_OK, (int32_t)o->sequence);
	} else {
		r.module = o->module;
		r.reg = o->reg;
		reply(f, &r, o->status, o->value);
	}
}

/* A WRITE or ACTION: once, and its outcome is kept. */
static void execute(struct floor *f, const struct word *w)
{
	struct control *c = &f->control;
	const struct outcome *old = find_outcome(c, w->sequence);
	struct outcome *o = &c->outcomes[c->outcome_next % OUTCOMES];
	int32_t value = w->value;
	int status;

	if (old) {
		reply(f, w, WORD_DUPLICATE, old->value);
		return;
	}
	if (take_one(&f->faults.refuse)) {
		status = WORD_REFUSED;
	} else {
		status = w->op == WORD_WRITE ? do_register(f, w, &value) : do_action(f, w, &value);
	}
	*o = (struct outcome){w->sequence, value, (uint8_t)status, w->module, w->reg};
	c->outcome_next++;
	c->executed += status == WORD_OK;
	c->rejected += status != WORD_OK;
	if (f->config.executed) {
		f->config.executed(f->config.context, f->config.floor, w, status, value);
	}
	reply(f, w, status, value);
}

/* Whether the word is valid: a known op, with the sequence that it needs. */
static bool is_request(const struct word *w)
{
	bool once = w->op == WORD_WRITE || w->op == WORD_ACTION;

	return w->op == WORD_READ || w->op == WORD_QUERY || (once && w->sequence != 0);
}

static void take_word(struct floor *f, const struct word *w)
{
	int32_t value = w->value;
	int status;

	if (!is_request(w)) {
		f->control.rejected++;
		return;
	}
	f->silence.frames = 0;
	switch (w->op) {
	case WORD_READ:
		status = do_register(f, w, &value);
		f->control.rejected += status != WORD_OK;
		reply(f, w, status, value);
		break;
	case WORD_WRITE:
	case WORD_ACTION:
		execute(f, w);
		break;
	default:
		answer_query(f, w);
		break;
	}
}

void control_receive(struct floor *f, const uint8_t *down)
{
	for (unsigned place = 0; place < TDM_WORDS; place++) {
		const uint8_t *bytes = tdm_request(down, place);
		struct word w;

		if (bytes[0] == WORD_NONE || f->faults.mute) {
			continue;
		}
		if (word_unpack(bytes, &w) < 0) {
			f->control.rejected++;
			continue;
		}
		take_word(f, &w);
	}
}

void control_frame(struct floor *f)
{
	struct silence *s = &f->silence;
	bool down = false;

	s->frames++;
	s->fired_frames += s->fired > 0;
	if (!s->on || s->frames < (uint64_t)s->limit_s * TDM_FRAMES_PER_SECOND) {
		return;
	}
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		down |= pmt_ramp_down(f->pmts[m]);
	}
	if (down) {
		s->fired++;
		s->fired_frames = 0;
	}
}

void control_send(struct floor *f, uint8_t *frame)
{
	struct control *c = &f->control;
	const uint32_t count = c->reply_count < TDM_REPLIES ? c->reply_count : TDM_REPLIES;

	tdm_replies_put(frame, (const uint8_t(*)[TDM_WORD_BYTES])c->replies, count);
	c->reply_count -= count;
	if (count > 0 && c->reply_count > 0) {
		memmove(c->replies, c->replies + count, c->reply_count * sizeof(c->replies[0]));
	}
}

void control_boot(struct floor *f)
{
	memset(&f->control, 0, sizeof(f->control));
	f->silence = (struct silence){.limit_s = REG_FCM_SILENCE_S_DEFAULT};
}
