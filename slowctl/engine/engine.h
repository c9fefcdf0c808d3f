/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command engine: carries commands to the floors and polls their values. A state machine without I/O: events go
 * in; rows to store, words to send and progress to announce come out.
 *
 *   submit -> row stored -> word sent -> reply -> read-back agrees
 *   QUEUED ------------------> SENT ----> ACKED ---> DONE
 *      |                        |  \         \--> FAILED   read-back disagrees after the settle time
 *      '-> CANCELLED            |   '-> REFUSED             by the daemon at once, or by the FCM
 *                               v
 *                            UNKNOWN   no answer: QUERY, then the same sequence again if the FCM never
 *                                      executed it; set value or proving counter if it cannot tell
 *
 * Invariants:
 *  - a command's word leaves only after its row was stored. A command that makes safer waits 100 ms for that, then its
 *    row goes into the emergency journal (ENGINE_EMERGENCY), and it leaves;
 *  - a number is given once: it is noted in memory that survives the daemon (struct engine_marks) before it is used;
 *  - a sequence is used for one command of one floor only, for ever; a retry repeats it, and only after
 *    the FCM, in the same boot, has said that it never executed it: at most one execution;
 *  - no command's word leaves before the FCM has said which sequences it remembers, and its own is none of them:
 *   an old outcome is never mistaken for a new one, whatever file holds the journal;
 * - UNKNOWN is an end only if the outcome cannot be found out (then there is an alarm); otherwise the engine
 *   continues to ask, also after a crash of the daemon or a boot of the FCM;
 * - a parameter has at most one outstanding write; writes to others go in parallel up to a window; polling
 *   waits for commands, never the other way round;
 * - a command that makes safer (HV down, power off) goes first, and ends older commands that it undoes.
 *
 * One thread (main). The caller passes the time with every call. After any call, drain engine_next().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schemas/rows.h"
#include "slowctl/param/error.h"
#include "slowctl/param/param.h"
#include "slowctl/param/trouble.h"
#include "tdm/frame.h"
#include "tdm/word.h"

struct engine;

struct engine_config {
	uint32_t timeout_ms;	 /* no reply for so long: ask (300) */
	uint32_t commands_max;	 /* open commands at once, all floors (4096); more are refused */
	uint32_t sequence_block; /* sequences reserved at once (65536) */
	bool poll;		 /* poll the floors (true) */
	const char *journal;	 /* where it is, for texts ("the database"); outlives the engine */
};
void engine_config_default(struct engine_config *ret_config);

enum command_state {
	COMMAND_QUEUED,
	COMMAND_SENT,
	COMMAND_ACKED,
	COMMAND_DONE,
	COMMAND_REFUSED,
	COMMAND_FAILED,
	COMMAND_CANCELLED,
	COMMAND_UNKNOWN,
};
const char *command_state_name(enum command_state state);		  /* "QUEUED", ... */
int command_state_parse(const char *name, enum command_state *ret_state); /* -EINVAL */

/* `params` must outlive the engine. NULL when out of memory. */
struct engine *engine_create(struct params *params, const struct engine_config *config);
void engine_destroy(struct engine *e);

/* --- the journal's contents, before anything else --- */

/* Where neither a journal nor the marks give the last number, commands have numbers from here on,
 * from the time (UTC s x 1000). */
#define ENGINE_OWN_IDS 1000000000000ull

/* The numbers used so far. Each is noted before it is used. Zeros: unknown. */
struct engine_marks {
	uint64_t last_id;     /* the largest number of a command */
	uint64_t last_own_id; /* of those from ENGINE_OWN_IDS on */
	bool last_id_old;     /* the marks are a copy: larger ones may have been given since */
	struct {
		uint8_t tower, floor;
		uint32_t sequence; /* the largest that was used on this floor */
	} floor[PARAM_LINKS];
};
/* Continue behind these numbers, and note new ones there: `marks` outlives the engine, best in
 * memory that survives the process. Without this call they are kept in the engine. */
void engine_marks(struct engine *e, struct engine_marks *marks);

/* The journal cannot be read, for this reason (negative errno): until engine_journal_found() every
 * request is refused, except those that make safer, which go into the emergency journal. Floors are
 * polled. */
void engine_journal_lost(struct engine *e, int result);
/* The journal can be read now, or is another file: its content has been given by the calls below. Sequences are
 * reserved again. */
void engine_journal_found(struct engine *e);

void engine_recover_id(struct engine *e, uint64_t last_id);
/* Sequences of this floor up to and including `reserved_until` may have been used. */
void engine_recover_sequence(struct engine *e, uint8_t tower, uint8_t floor,
			     uint32_t reserved_until);

#define ENGINE_BOOT_UNKNOWN (1ull << 32) /* larger than any boot count; 0 is one */

struct engine_journal {
	uint64_t id;
	char client_id[64];
	char parameter[PARAM_NAME_MAX];
	bool action;
	double new_value; /* NaN: none */
	uint64_t boot;	  /* of the FCM; ENGINE_BOOT_UNKNOWN */
	uint32_t sequence, attempts;
	char state[16];
	bool ended;
	char detail[320];
	/* How many commands for the same floor may have left after it; the FCM may have forgotten
	 * it when they are too many. No need to count beyond 256. */
	uint64_t later;
	int64_t time_ns;
	uint64_t job; /* as of engine_request */
	/* It has ended UNKNOWN, or was cut off as part of a `safe` and is not done, and no later one on its parameter
	 * is done: a reason until one is. */
	bool undone;
	bool cut;	/* it was open when a previous daemon ended */
	bool emergency; /* it is in the emergency journal, and its transitions go there */
};
/* The beginning of the journal's text when a daemon continues a command of an earlier one; `cut` is
 * recognised by it. */
#define ENGINE_TAKEN_UP "the daemon was restarted when this was"
/* A command as the journal has it; a known one is left as it is. Open ones are continued and
 * settled; ended ones (the last thousand or so) only make repeats of their client id harmless,
 * undone ones only are reasons. -ENOENT: its parameter is no longer configured; an open one is then
 * ended as UNKNOWN by a row. */
int engine_recover_command(struct engine *e, const struct engine_journal *j, struct engine_now now);

/* --- requests --- */

struct engine_request {
	const char *parameter; /* name, tower optional */
	bool action;	       /* an action; otherwise a set of `value` */
	double value;
	bool force;			   /* beyond the soft limits, past the interlocks */
	const char *who, *origin, *reason; /* name; "local", "curve:KEY"; free text or NULL */
	int64_t uid, pid;		   /* -1 unknown */
	const char *client_id;		   /* at most 63 bytes; NULL: none */
	/* An open command of the same floor: this one leaves when that is done, and is cancelled when that ends
	 * otherwise; like any other it does not wait for a floor that does not answer. A command
	 * that makes safer is also sent if the FCM refused that one as not possible now and a read
	 * after it shows that the value is as safe already. 0: none */
	uint64_t after;
	uint64_t job; /* part of a `safe`: the number of its first command. 0: none */
};

/*
 * 0: taken, *ret_id is the command; follow it by ENGINE_PROGRESS.
 * 1: a repeat: *ret_id is the command that this client id made before (open or ended).
 * Negative: refused, `error` says why, what to do; *ret_id is 0, or the number of the refusal: ENGINE_PROGRESS of it
 * says whether that is in the journal (`numbered`). Before that the number must not be given to a client.
 * -ENOENT no such parameter, -ENOTUNIQ, -EACCES read-only, -EINVAL, -ERANGE, -ENOLINK not locked, -EXDEV
 * another floor on the link, -EPERM an interlock, -EAGAIN too many open, -EOVERFLOW no sequences left, -E2BIG a
 * text is too long. A journal that cannot be written is reported by ENGINE_PROGRESS: REFUSED, nothing was sent; a
 * command that makes safer is sent without it.
 */
int engine_submit(struct engine *e, const struct engine_request *request, struct engine_now now,
		  uint64_t *ret_id, struct sc_error *error);
/* The number that the next command or refusal will have. */
uint64_t engine_next_id(const struct engine *e, struct engine_now now);
/* The client has no right to do this (`text` says why): only journal the refusal. 0 and its number,
 * as for a refusal by engine_submit(); negative: no such parameter, as engine_submit(). */
int engine_refuse(struct engine *e, const struct engine_request *request, const char *text,
		  struct engine_now now, uint64_t *ret_id);
/*
 * Whether engine_submit() would accept it now: the same checks, the same results (0, 1 with
 * *ret_id, negative with `error`). Nothing is sent or journaled; values that an interlock needs are
 * polled soon. *ret_id is 0 except for a repeat.
 */
int engine_check(struct engine *e, const struct engine_request *request, struct engine_now now,
		 uint64_t *ret_id, struct sc_error *error);
/*
 * Cancel a command that has not been sent; or stop a ramp that is under way: *ret_stop is then the
 * command that holds the value where it is, and `id` ends CANCELLED when that one is in the
 * journal; else it is 0. `by`: who, origin, uid, pid. -ENOENT, -EALREADY (ended), -EBUSY (sent, and
 * no ramp; part of making safe; or a safer one takes over already); a ramp's stop also as
 * engine_submit().
 */
int engine_cancel(struct engine *e, uint64_t id, const struct engine_request *by,
		  struct engine_now now, uint64_t *ret_stop, struct sc_error *error);
/* The result that engine_cancel() would have; *ret_ramp: it would stop a ramp. */
int engine_check_cancel(struct engine *e, uint64_t id, struct engine_now now, bool *ret_ramp,
			struct sc_error *error);

/* Whether setting it to `value` makes safer: interlocks, soft limits and roles do not apply to
 * that. */
bool engine_safer(struct engine *e, const struct param *p, double value, struct engine_now now);

/* The active run, 0: none. During a run dangerous commands are refused without force, unless they
 * make safer. */
void engine_run(struct engine *e, uint32_t number);

/* --- events --- */

/* The store's answer to a row of ENGINE_STORE that had a cookie: 0 or negative errno. */
void engine_stored(struct engine *e, uint64_t cookie, int result, struct engine_now now);
/* A word of ENGINE_SEND has left in this board frame / was not taken (-EAGAIN: tried again soon; also
 * for a completion that says refused: it has certainly not left). */
void engine_sent(struct engine *e, uint64_t cookie, uint64_t frame, struct engine_now now);
void engine_send_failed(struct engine *e, uint64_t cookie, int result, struct engine_now now);
/* A word has come from this link. It may be anything: one that answers no word of ours is counted
 * and dropped. */
void engine_reply(struct engine *e, unsigned link, const struct word *word, struct engine_now now);
/* State of a link, and the identity that the floor at its end reports (0xff: not reported yet). */
void engine_link(struct engine *e, unsigned link, bool locked, uint8_t tower, uint8_t floor,
		 struct engine_now now);
/* The FCM's whole boot count (telemetry has it too). */
void engine_boot(struct engine *e, unsigned link, uint32_t boot_count, struct engine_now now);
void engine_telemetry(struct engine *e, unsigned link, const struct tdm_telemetry *telemetry,
		      struct engine_now now);
/* A value of the shore's own; keeps history by the dictionary's rule. */
void engine_shore(struct engine *e, struct param *p, double value, struct engine_now now);
/* At least every 10 ms. */
void engine_tick(struct engine *e, struct engine_now now);
/* CLOCK_MONOTONIC by which engine_tick() has something to do; UINT64_MAX: nothing is due. */
uint64_t engine_next_due(const struct engine *e);

/* --- outputs --- */

/* ENGINE_EMERGENCY: store.row goes into the emergency journal, before any later output is carried out. */
enum engine_out_type { ENGINE_STORE, ENGINE_EMERGENCY, ENGINE_SEND, ENGINE_PROGRESS };
/* How the row of ENGINE_STORE is to be written. */
#define ENGINE_STORE_URGENT	  0x1u /* commit at once */
#define ENGINE_STORE_ANSWER	  0x2u /* engine_stored(cookie) when it is written */
#define ENGINE_STORE_NOW_OR_NEVER 0x4u /* do not keep it for a retry: answer a negative result */

struct engine_out {
	enum engine_out_type type;
	uint64_t cookie; /* STORE with ANSWER, SEND; bit 63 is set: no cookie of others is */
	union {
		struct {
			unsigned flags; /* ENGINE_STORE_* */
			struct row row;
		} store;
		struct {
			unsigned link;
			bool awaited; /* by who gave the command; a READ is not */
			bool more;    /* the next output is a word, too: they may leave together */
			uint8_t bytes[TDM_WORD_BYTES];
		} send;
		struct {
			uint64_t id;
			enum command_state state;
			bool final;    /* it has ended; UNKNOWN: its outcome cannot be found out */
			bool alarm;    /* an operator should check it */
			bool numbered; /* the journal has it: its number may be given out */
			/* Its client id was used before, by a command that is no longer in memory:
			 * this is a repeat of it, and the journal has the answer. "": no repeat. */
			char repeats[64];
			double readback; /* NaN: none; while it settles */
			char text[320];
			char hint[240];
		} progress;
	};
};
/* The oldest output; false when there is none. Valid until the next call of the engine. */
bool engine_next(struct engine *e, const struct engine_out **ret_out);

/* --- views --- */

struct engine_command_view {
	uint64_t id;
	const char *parameter;
	bool action, ended;
	double new_value, readback; /* NaN: none */
	uint32_t sequence, attempts;
	enum command_state state;
	const char *detail;
	int64_t time_ns, changed_ns;
	uint64_t boot;	       /* of the FCM; ENGINE_BOOT_UNKNOWN */
	const struct row *row; /* ROW_COMMAND as it began; NULL: of a previous daemon */
	const char *who;       /* "": of a previous daemon */
};
/* As param_quality(); of what is polled stale as soon as its floor is known not to answer. */
enum param_quality engine_quality(const struct engine *e, const struct param *p,
				  struct engine_now now);
/* For how long its floor has not answered, in s; NAN: it is not known to be mute. */
double engine_mute_s(const struct engine *e, const struct param *p, struct engine_now now);
/* An open command, or one of the recently ended. False: not in memory, ask the journal. */
bool engine_command(const struct engine *e, uint64_t id, struct engine_command_view *ret_view);
/* What ENGINE_PROGRESS would say of it now. False: not in memory, or ENGINE_PROGRESS will say it. */
bool engine_progress(const struct engine *e, uint64_t id, struct engine_out *ret_out);
/* The last open set of it; 0: there is none, it stays what it is set to. */
uint64_t engine_last_set(const struct engine *e, const struct param *p);

/* When its floor answered last, CLOCK_MONOTONIC; 0: never. */
uint64_t engine_last_reply_ns(const struct engine *e, unsigned link);
/* Commands that have not ended. */
unsigned engine_open_count(const struct engine *e);

/* Reasons why slow control is not well, for status. Each has an object, a text and what to do.
 * Calls fn for each; returns how many. */
struct engine_reason {
	const char *
		code; /* "command-unknown", "safe-cut", "stale", "limit", "floor-mute", "sequences" */
	bool red;     /* else yellow */
	bool latch;   /* it stays until an operator has acknowledged it */
	bool of_link;		   /* its object is the link itself, not the floor on it */
	double unknown_s;	   /* "limit": the value has not been known for so long; 0: it is */
	const struct param *param; /* whose value; NULL: of none */
	int link;		   /* whose floor, when it is no value's; -1: of none */
	char object[PARAM_NAME_MAX];
	char text[320];
	char action[240];
};
unsigned engine_reasons(struct engine *e, struct engine_now now,
			void (*fn)(void *context, const struct engine_reason *reason),
			void *context);
