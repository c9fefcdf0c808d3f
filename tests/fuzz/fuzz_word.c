// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What comes up a fibre to the command engine, by somebody who decides also when the store answers, when words
 * leave, when time passes, when the daemon dies: the input is a list of such decisions. Replies are any 16 bytes,
 * any frame's worth of words, or ones that look like an answer to what was sent.
 *
 * What must be true:
 *   - a command's word leaves only when its row is stored, and is that of its row: sequence, link; or when its row is in
 *     the emergency journal, which is for sets only (an action makes nothing safer);
 *   - it leaves again only when it certainly has not left, or when the floor has said since that it never
 *     executed it;
 *   - a sequence belongs to one command of a floor, for ever, also through a death (the marks survive it);
 *   - a command ends once; a client that waits is told so once; DONE only after the floor has answered.
 */
#include <errno.h>

#include "slowctl/engine/engine.h"
#include "tests/fuzz/fuzz.h"

#define LINKS	 4u
#define COMMANDS 300u
#define WAITING	 64u
#define MS	 1000000ull

struct known {
	bool given, stored, ended, told, answered, recovered;
	bool may_leave; /* it has not left, or the floor says that it never executed it */
	bool written;	/* the row that has `sequence` is stored */
	uint32_t sequence;
	struct engine_journal journal; /* of what is stored, when it is */
	unsigned link;
};

struct sent {
	uint64_t cookie;
	unsigned link;
	struct word word;
};

struct waiting_row {
	uint64_t cookie;
	struct row row;
	unsigned flags;
};

static struct {
	struct params *params;
	struct engine *engine;
	struct engine_now now;
	struct known commands[COMMANDS];
	uint64_t last_id;
	struct engine_marks marks;
	uint32_t reserved_until[LINKS], boot[LINKS];
	struct waiting_row rows[WAITING];
	unsigned row_count;
	struct sent sent[WAITING]; /* not completed yet */
	unsigned sent_count;
	struct sent heard[WAITING]; /* the last ones that left, to be answered */
	unsigned heard_count;
} f;

static const char *const names[] = {
	"floor1.om0.hv",    "floor1.om1.threshold",   "floor1.om1.ramp",	"floor1.om2.power",
	"floor2.om0.hv",    "floor2.om5.threshold",   "floor3.om3.ramp",	"floor4.om4.hv",
	"floor1.om0.reset", "floor2.om0.clear_trip",  "floor3.om1.power_cycle", "floor1.fcm.reset",
	"floor9.om0.hv",    "floor1.om0.temperature",
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static struct known *command_of(uint64_t id)
{
	must(id > 0 && id < COMMANDS);
	return &f.commands[id];
}

static const char *text_of(const struct row *row, unsigned n)
{
	return row->values[n].type == ROW_TEXT ? row->arena + row->values[n].text : "";
}

static double real_of(const struct row *row, unsigned n)
{
	return row->values[n].type == ROW_REAL ? row->values[n].d : (double)NAN;
}

/* ------------------------------------------------------------------ the journal */

static void take_sequence(struct known *c, uint32_t sequence)
{
	c->sequence = sequence;
	c->written = false;
	c->may_leave = true;
	for (uint64_t id = 1; id <= f.last_id && sequence; id++) {
		const struct known *o = &f.commands[id];

		must(!o->given || o == c || o->link != c->link || o->sequence != sequence);
	}
}

static void on_command_row(const struct row *row)
{
	struct known *c = command_of((uint64_t)row->values[0].i);
	struct engine_journal *j = &c->journal;

	must(!c->given && row->count == 21);
	c->given = true;
	j->id = (uint64_t)row->values[0].i;
	j->time_ns = row->values[2].i;
	j->job = text_of(row, 7)[0] ? 1 : 0;
	c->link = (unsigned)row->values[8].i;
	snprintf(j->parameter, sizeof(j->parameter), "%s", text_of(row, 11));
	j->action = strcmp(text_of(row, 12), "action") == 0;
	j->new_value = real_of(row, 14);
	j->sequence = row->values[16].type == ROW_INT ? (uint32_t)row->values[16].i : 0;
	j->boot = row->values[17].type == ROW_INT ? (uint32_t)row->values[17].i : 0;
	snprintf(j->state, sizeof(j->state), "%s", text_of(row, 18));
	j->ended = row->values[20].type == ROW_INT;
	c->ended = j->ended;
	f.last_id = j->id > f.last_id ? j->id : f.last_id;
	take_sequence(c, j->sequence);
}

static void on_transition_row(const struct row *row)
{
	struct known *c = command_of((uint64_t)row->values[0].i);
	uint32_t sequence = (uint32_t)row->values[5].i;

	must(row->count == 9 && c->given && !c->ended);
	c->ended = row->values[8].type == ROW_INT;
	must(strcmp(text_of(row, 2), "DONE") != 0 || c->answered);
	if (sequence != c->sequence) {
		/* Not executed: the FCM was busy, or the number taken. It goes on under another. */
		must(!c->journal.action && !c->recovered);
		take_sequence(c, sequence);
	}
}

/* It is on the disk, or in the emergency journal: what a daemon after us will read. */
static void stored(const struct row *row)
{
	if (row->id == ROW_COMMAND) {
		struct known *c = command_of((uint64_t)row->values[0].i);

		c->stored = true;
		c->written |= c->sequence == c->journal.sequence;
	} else if (row->id == ROW_TRANSITION) {
		struct known *c = command_of((uint64_t)row->values[0].i);

		snprintf(c->journal.state, sizeof(c->journal.state), "%s", text_of(row, 2));
		c->journal.sequence = (uint32_t)row->values[5].i;
		c->journal.boot = (uint32_t)row->values[6].i;
		c->journal.attempts = (uint32_t)row->values[7].i;
		c->journal.ended |= row->values[8].type == ROW_INT;
		c->written |= c->sequence == c->journal.sequence;
	} else if (row->id == ROW_SEQUENCE) {
		uint32_t *until = &f.reserved_until[row->values[1].i - 1];

		/* As the table's statement does. */
		*until = (uint32_t)row->values[2].i > *until ? (uint32_t)row->values[2].i : *until;
	}
}

/* At once, and a daemon after us reads it first. The command's row was given to the store before. */
static void on_emergency(const struct row *row)
{
	struct known *c = command_of((uint64_t)row->values[0].i);

	must(c->given && !c->journal.action);
	if (row->id == ROW_COMMAND) {
		must(!c->journal.emergency);
		c->journal.emergency = true;
		c->journal.sequence = (uint32_t)row->values[16].i; /* as it began */
	} else {
		must(row->id == ROW_TRANSITION && c->journal.emergency);
		on_transition_row(row);
	}
	stored(row);
}

/* What the emergency journal has of a command is later than what the store was given. */
static bool superseded(const struct row *row)
{
	return (row->id == ROW_COMMAND || row->id == ROW_TRANSITION) &&
	       command_of((uint64_t)row->values[0].i)->journal.emergency;
}

static void answer_store(int result)
{
	struct waiting_row w = f.rows[0];

	if (f.row_count == 0) {
		return;
	}
	memmove(f.rows, f.rows + 1, --f.row_count * sizeof(f.rows[0]));
	if (!(w.flags & ENGINE_STORE_NOW_OR_NEVER)) {
		result = 0; /* the store keeps it until it can be written */
	}
	if (result == 0 && !superseded(&w.row)) {
		stored(&w.row);
	}
	if (w.flags & ENGINE_STORE_ANSWER) {
		engine_stored(f.engine, w.cookie, result, f.now);
	}
}

/* ------------------------------------------------------------------ words */

static bool is_command(const struct word *w)
{
	return w->op == WORD_WRITE || w->op == WORD_ACTION;
}

static void give_back(unsigned link, uint32_t sequence)
{
	for (uint64_t id = 1; id <= f.last_id; id++) {
		struct known *c = &f.commands[id];

		if (c->given && c->link == link && c->sequence == sequence) {
			c->may_leave = true;
		}
	}
}

/* It has certainly not left. */
static void not_left(const struct sent *s, int result)
{
	if (is_command(&s->word)) {
		give_back(s->link, s->word.sequence);
	}
	engine_send_failed(f.engine, s->cookie, result, f.now);
}

static void check_word(const struct sent *s)
{
	for (uint64_t id = 1; id <= f.last_id; id++) {
		struct known *c = &f.commands[id];

		if (c->given && c->link == s->link && c->sequence == s->word.sequence) {
			must(c->stored && c->written);
			must(!c->ended);
			must(c->may_leave && !c->recovered);
			must((s->word.op == WORD_ACTION) == c->journal.action);
			c->may_leave = false;
			return;
		}
	}
	abort(); /* a command's word without a command */
}

static void on_send(const struct engine_out *o)
{
	struct sent s = {.cookie = o->cookie, .link = o->send.link};

	must(s.link < LINKS && word_unpack(o->send.bytes, &s.word) == 0);
	if (is_command(&s.word)) {
		check_word(&s);
	}
	if (f.sent_count == WAITING) {
		not_left(&s, -EAGAIN);
		return;
	}
	f.sent[f.sent_count++] = s;
}

static void on_progress(const struct engine_out *o)
{
	struct known *c = command_of(o->progress.id);

	must(!c->told);
	c->told = o->progress.final;
}

static void drain(void)
{
	const struct engine_out *o;

	while (engine_next(f.engine, &o)) {
		struct engine_out out = *o;

		if (out.type == ENGINE_SEND) {
			on_send(&out);
		} else if (out.type == ENGINE_PROGRESS) {
			on_progress(&out);
		} else if (out.type == ENGINE_EMERGENCY) {
			on_emergency(&out.store.row);
		} else {
			if (out.store.row.id == ROW_COMMAND) {
				on_command_row(&out.store.row);
			} else if (out.store.row.id == ROW_TRANSITION) {
				on_transition_row(&out.store.row);
			}
			if (f.row_count == WAITING) {
				answer_store(0);
			}
			f.rows[f.row_count++] =
				(struct waiting_row){out.cookie, out.store.row, out.store.flags};
		}
	}
}

/* The oldest word that waits for its completion has left, or not. */
static void complete(int result)
{
	struct sent s = f.sent[0];

	if (f.sent_count == 0) {
		return;
	}
	memmove(f.sent, f.sent + 1, --f.sent_count * sizeof(f.sent[0]));
	if (result < 0) {
		not_left(&s, result);
		return;
	}
	f.heard[f.heard_count++ % WAITING] = s;
	engine_sent(f.engine, s.cookie, 1000, f.now);
}

static void reply(unsigned link, const struct word *w)
{
	for (uint64_t id = 1; id <= f.last_id; id++) {
		f.commands[id].answered |= f.commands[id].link == link;
	}
	if (w->op == (WORD_QUERY | WORD_REPLY) && w->status == WORD_UNKNOWN) {
		/* Which command it means is what QUERY asked for, not what the reply says. */
		for (unsigned n = 0; n < WAITING && n < f.heard_count; n++) {
			if (f.heard[n].link == link && f.heard[n].word.op == WORD_QUERY &&
			    f.heard[n].word.sequence == w->sequence) {
				give_back(link, (uint32_t)f.heard[n].word.value);
			}
		}
		for (unsigned n = 0; n < f.sent_count; n++) {
			if (f.sent[n].link == link && f.sent[n].word.op == WORD_QUERY &&
			    f.sent[n].word.sequence == w->sequence) {
				give_back(link, (uint32_t)f.sent[n].word.value);
			}
		}
	}
	engine_reply(f.engine, link, w, f.now);
}

/* Like an answer to one of the last words, more or less. */
static void reply_alike(struct fuzz_input *in)
{
	unsigned at = fuzz_take(in, 1), how = fuzz_take(in, 1);
	struct sent s;

	if (f.heard_count == 0) {
		return;
	}
	s = f.heard[(f.heard_count - 1 - at % (f.heard_count < WAITING ? f.heard_count : WAITING)) %
		    WAITING];
	s.word.op |= WORD_REPLY;
	s.word.status = (uint8_t)(how & 7);
	s.word.boot = (uint16_t)(f.boot[s.link] + (how >> 3 & 1));
	if (how & 0x10) {
		s.word.value = (int32_t)fuzz_take(in, 4);
	}
	if (how & 0x20) {
		s.word.sequence += 1;
	}
	if (how & 0x40) {
		s.word.reg = (uint8_t)fuzz_take(in, 1);
	}
	if (how & 0x80) {
		s.link = (s.link + 1) % LINKS;
	}
	reply(s.link, &s.word);
}

/* As capture takes them out of a frame. */
static void reply_frame(unsigned link, struct fuzz_input *in)
{
	static uint8_t frame[TDM_FRAME_BYTES];
	const uint8_t *words;
	int count;

	for (unsigned n = 0; n < 8 + TDM_REPLIES * TDM_WORD_BYTES; n++) {
		frame[TDM_OFF_REPLIES + n] = (uint8_t)fuzz_take(in, 1);
	}
	count = tdm_replies_get(frame, &words);
	must(count <= (int)TDM_REPLIES);
	for (int n = 0; n < count; n++) {
		struct word w;

		if (word_unpack(words + (unsigned)n * TDM_WORD_BYTES, &w) == 0) {
			reply(link, &w);
		}
	}
}

static void reply_any(unsigned link, struct fuzz_input *in)
{
	struct word w = {
		.op = (uint8_t)fuzz_take(in, 1),
		.module = (uint8_t)fuzz_take(in, 1),
		.reg = (uint8_t)fuzz_take(in, 1),
		.status = (uint8_t)fuzz_take(in, 1),
		.value = (int32_t)fuzz_take(in, 4),
		.sequence = fuzz_take(in, 2),
		.boot = (uint16_t)fuzz_take(in, 1),
	};
	uint8_t bytes[TDM_WORD_BYTES];

	word_pack(&w, bytes);
	must(word_unpack(bytes, &w) == (w.op == WORD_NONE ? -ENODATA : 0));
	reply(link, &w);
}

/* ------------------------------------------------------------------ the engine's life */

/* Once read, as the dictionary has them; then for each daemon anew. */
static void fresh_params(void)
{
	static const struct param_floor floors[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 1, 4}};
	static struct param *fresh;
	struct sc_error error = {0};

	if (!f.params) {
		must(params_load("schemas/parameters.conf", floors, LINKS, &f.params, &error) == 0);
		fresh = calloc(params_count(f.params), sizeof(*fresh));
		must(fresh);
		for (unsigned n = 0; n < params_count(f.params); n++) {
			fresh[n] = *params_at(f.params, n);
		}
	}
	for (unsigned n = 0; n < params_count(f.params); n++) {
		*params_at(f.params, n) = fresh[n];
	}
}

/* What the journal has of it; nothing: its number may be used for another. */
static void recover(uint64_t id)
{
	struct known *c = &f.commands[id];

	if (!c->stored) {
		memset(c, 0, sizeof(*c));
		return;
	}
	c->ended = c->told = c->journal.ended;
	c->recovered = true;
	c->sequence = c->journal.sequence;
	c->journal.later = 0;
	for (uint64_t k = id + 1; k <= f.last_id; k++) {
		c->journal.later += f.commands[k].stored && f.commands[k].link == c->link &&
				    f.commands[k].journal.sequence;
	}
	must(engine_recover_command(f.engine, &c->journal, f.now) == 0);
}

static void start(void)
{
	struct engine_config config;

	fresh_params();
	while (f.last_id > 0 && !f.commands[f.last_id].stored) {
		memset(&f.commands[f.last_id--], 0, sizeof(f.commands[0]));
	}
	engine_config_default(&config);
	config.sequence_block = 2048;
	config.poll = true;
	f.engine = engine_create(f.params, &config);
	must(f.engine);
	engine_marks(f.engine, &f.marks);
	engine_recover_id(f.engine, f.last_id);
	for (unsigned link = 0; link < LINKS; link++) {
		engine_recover_sequence(f.engine, 1, (uint8_t)(link + 1), f.reserved_until[link]);
	}
	for (uint64_t id = 1; id <= f.last_id; id++) {
		recover(id);
	}
	for (unsigned link = 0; link < LINKS; link++) {
		engine_link(f.engine, link, true, 1, (uint8_t)(link + 1), f.now);
		engine_boot(f.engine, link, f.boot[link], f.now);
	}
}

static void die(void)
{
	f.row_count = f.sent_count = 0;
	engine_destroy(f.engine);
	start();
}

static void submit(struct fuzz_input *in)
{
	unsigned which = fuzz_take(in, 1);
	struct engine_request request = {
		.parameter = names[which % NAMES],
		.action = (which % NAMES >= 8 && which % NAMES < 12) != (which > 200),
		.value = (int32_t)fuzz_take(in, 2) * 0.1,
		.force = which & 0x40,
		.job = which & 0x20 ? 1 : 0,
		.who = "fuzz",
		.origin = "local",
		.reason = which & 0x20 ? "part of a safe" : NULL,
		.uid = -1,
		.pid = -1,
	};
	struct sc_error error = {0};
	uint64_t id = 0;

	if (f.marks.last_id < COMMANDS - 2 &&
	    engine_submit(f.engine, &request, f.now, &id, &error) < 0) {
		must(error.message[0]);
	}
}

static void decide(struct fuzz_input *in)
{
	static const int results[] = {-EAGAIN, -ENOLINK, -ENODEV, -EIO};
	struct sc_error error = {0};
	struct engine_request by = {.who = "fuzz"};
	uint64_t id, stop;
	unsigned what = fuzz_take(in, 1), link = what >> 4 & 3;

	switch (what & 15) {
	case 0:
	case 1:
		submit(in);
		break;
	case 2:
		while (f.row_count > 0) {
			answer_store(0);
		}
		break;
	case 3:
		answer_store(link == 0 ? -ENOSPC : 0);
		break;
	case 4:
		while (f.sent_count > 0) {
			complete(0);
		}
		break;
	case 5:
		complete(results[link]);
		break;
	case 6:
		complete(0);
		break;
	case 7:
	case 8:
		reply_alike(in);
		break;
	case 9:
		reply_any(link, in);
		break;
	case 10:
		reply_frame(link, in);
		break;
	case 11:
		f.now.mono_ns += (1 + fuzz_take(in, 1)) * (what & 0x80 ? 200 : 10) * MS;
		engine_tick(f.engine, f.now);
		break;
	case 12:
		engine_link(f.engine, link, what & 0x40, 1,
			    what & 0x80 ? (uint8_t)fuzz_take(in, 1) : (uint8_t)(link + 1), f.now);
		break;
	case 13:
		f.boot[link] += what >> 6;
		engine_boot(f.engine, link, f.boot[link], f.now);
		break;
	case 14:
		id = 1 + fuzz_take(in, 1);
		if (f.marks.last_id < COMMANDS - 2) {
			engine_cancel(f.engine, id, &by, f.now, &stop, &error);
		}
		break;
	default:
		if (what == 0xff) {
			die();
		} else {
			f.now.mono_ns += MS;
			engine_tick(f.engine, f.now);
		}
		break;
	}
	drain();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct params *kept = f.params;

	memset(&f, 0, sizeof(f));
	f.params = kept;
	f.now = (struct engine_now){1000000000ull, 1795000000000000000ll};
	for (unsigned link = 0; link < LINKS; link++) {
		f.boot[link] = 7;
	}
	start();
	drain();
	while (in.left > 0) {
		decide(&in);
	}
	engine_destroy(f.engine);
	return 0;
}
