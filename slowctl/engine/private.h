/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the command engine: a command, a link, and the functions that its files share.
 *
 * The README lists the files in the order of their calls: no file calls one below it.
 *
 * A *flight* is a word that has left and has not been answered. A command has at most one; `want`
 * is what it sends next. Behind the word of a set goes the READ of its value, which becomes its
 * flight when that word is acknowledged.
 */
#pragma once

#include <sys/queue.h>

#include "slowctl/engine/engine.h"

#define HINT_LOOK                                                                                  \
	"Compare set value and read-back (fcmctl get); set it again if it is not as wanted."

/* As TAILQ_FOREACH(), where the body may remove `c`. */
#define TAILQ_FOREACH_SAFE(c, list, field, after)                                                  \
	for ((c) = TAILQ_FIRST(list); (c) && ((after) = TAILQ_NEXT(c, field), 1); (c) = (after))

/* A row without which a number may not be used. */
#define STORE_BEFORE_USE (ENGINE_STORE_URGENT | ENGINE_STORE_ANSWER | ENGINE_STORE_NOW_OR_NEVER)

#define HINT_AGAIN "Send it again if it is still wanted."

#define COOKIE_MARK   (1ull << 63) /* tells the engine's cookies from others' */
#define MS	      1000000ull
#define SECOND	      1000000000ull
#define RECENT	      1024u /* ended commands kept in memory */
#define FCM_OUTCOMES  256u  /* an FCM remembers so many */
#define WINDOW	      8u /* words of commands in flight, per floor; of urgent ones as many again */
#define POLL_SLOTS    4u /* polls in flight, per floor */
#define ATTEMPTS_MAX  3u /* times a command's word is sent */
#define QUERIES_MAX   3u /* unanswered ones before the alarm; it continues to ask, slower: */
#define ASK_AGAIN     (2 * SECOND)
#define STRANDED_NS   (2 * SECOND)  /* a link may be down so long before its commands say so */
#define JOURNAL_LIMIT (10 * SECOND) /* a command stored later than this is not sent any more */
#define JOURNAL_WAIT  (100 * MS)    /* longest wait of what makes safer for the database */
#define END_WAIT      (2 * SECOND)  /* an end is announced by then, journaled or not */
#define TOO_LATE      (30 * SECOND) /* after this time a command for a mute floor is not sent any more */
#define READS_KEPT    1024u	    /* sequences that polling leaves to QUERY and read-back */
#define MUTE_TIMEOUTS 3u	    /* words unanswered in a row: probe slowly, report it */

enum purpose {
	WANT_NOTHING,
	WANT_COMMAND,  /* send the command's own word */
	WANT_LOOK,     /* read the value first: the command is sent only if it has that value */
	WANT_QUERY,    /* ask for its outcome */
	WANT_SETTING,  /* read the register it writes: the FCM has forgotten the outcome */
	WANT_READBACK, /* read the value, or the counter that proves it */
};

struct command {
	TAILQ_ENTRY(command) next; /* of its link's open ones, by id; or of the recent ones */
	uint64_t id;
	char *client_id; /* NULL: none */
	struct param *param;
	bool action, recovered;
	bool way_made; /* urgent: what had not been sent before it is ended */
	bool force;    /* past soft limits and interlocks */
	bool urgent;   /* makes safer: goes first, whatever is full */
	double new_value;
	int32_t raw;   /* of new_value */
	uint64_t boot; /* of the FCM, in which it was sent first; ENGINE_BOOT_UNKNOWN */
	uint32_t sequence, attempts, queries;
	uint64_t sent_writes; /* of the link, when its word last left ... */
	uint64_t sent_ns;     /* ... monotonic */
	uint64_t frame;	      /* in which it left, until a transition names it; UINT64_MAX: none */
	enum command_state state;
	bool ended, alarm;
	char detail[320], hint[240];
	int64_t time_ns, changed_ns;

	uint64_t job;
	uint64_t stops;			/* ends this command, a ramp, where it is; 0: none */
	bool holds;			/* it has ended that */
	uint64_t after;			/* waits for the end of this command; 0: for none */
	uint64_t after_failed;		/* that command has ended, but not DONE; 0: no */
	enum command_state after_state; /* as this */
	uint64_t look_first; /* the FCM refused that: it goes only when not needed; 0: no */
	uint8_t refused;     /* by the FCM, with this status; WORD_OK: not */
	unsigned
		busy; /* times it continued under another sequence: the FCM was busy, or others used it */
	bool free;     /* the FCM does not remember its sequence: asked since the link is up */
	bool rejected; /* never taken: its only row is being written, then its number is given out */
	bool repeat;   /* has the client id of an earlier command: it was never journaled itself */

	struct row *row; /* as it began; NULL: a previous daemon wrote it */
	uint64_t row_cookie, submitted_ns;
	bool journaled; /* its row is stored: its word may leave */
	bool emergency; /* it and its transitions are in the emergency journal */
	bool unwritten; /* the journal did not take its row */
	bool untaken;	/* its end was announced, and the journal has not taken that */
	uint64_t
		later; /* recovered: commands of its floor that the previous daemon sent after it */
	enum purpose want;
	uint64_t not_before; /* monotonic: of what it wants */
	uint64_t acked_ns;
	bool held;	   /* not acknowledged: the FCM had forgotten it, but holds the value */
	bool was_acked;	   /* recovered: the journal has one of these two */
	double ramp_from;  /* the value when it was acknowledged; NaN: not yet read */
	double nearest;	   /* smallest distance from its value read so far; NaN: none yet */
	uint64_t moved_ns; /* monotonic: when it came nearer last */
	bool was_off;	   /* its `see` was on when it was acknowledged: no read-back will come */
	uint64_t read_pause_ns;
	uint32_t wanted_count; /* action: the counter that proves it, when done */
	double readback;

	/* the flight */
	bool flying, left; /* left: the TX completion came */
	enum purpose flight;
	uint32_t flight_sequence;
	uint64_t flight_cookie, deadline;
	bool fresh;		  /* its own word has just left, nothing behind it yet */
	uint32_t behind_sequence; /* of the READ behind it; 0: none is on its way */
	uint64_t behind_cookie;

	/* the end */
	uint64_t end_cookie, announce_by; /* waiting for the journal to have its end */
};
TAILQ_HEAD(command_list, command);

/* A READ that no command asked for. */
struct poll {
	struct param *param; /* NULL: free */
	bool setting;	     /* of the set value's register */
	uint32_t sequence;
	uint64_t cookie, deadline;
};

struct link {
	bool configured, locked;
	uint8_t number, tower, floor, named_tower, named_floor;
	uint64_t boot; /* count of its FCM; ENGINE_BOOT_UNKNOWN */
	uint64_t boots;
	uint64_t next_sequence;	 /* not yet used; beyond UINT32_MAX: there are no more */
	uint64_t reserved_until; /* stored: may be used for reads */
	bool unreserved; /* the journal takes no reservations: used numbers are only in the marks */
	uint64_t reserve_cookie; /* a reservation is on its way; 0: none */
	uint64_t reserving_until, reserve_again, reserve_by;
	/* The largest sequence that the FCM remembers is asked for, each time the link becomes usable. */
	bool numbered;	     /* it has said */
	uint64_t remembered; /* the largest that it named: sequences up to it may be others' ... */
	uint64_t others_until;	/* ... and those up to this are, though our journal gave them out */
	uint32_t number_flight; /* the sequence of the question; 0: not asked */
	uint64_t number_cookie;
	uint64_t asked_since;		   /* monotonic: it has not answered since; 0: it has */
	uint64_t number_again;		   /* monotonic: ask (again) */
	uint64_t sent_writes;		   /* words of commands that have left */
	uint64_t down_since, usable_since; /* monotonic; 0: not down, not usable */
	bool holds_back; /* commands that make safer wait until its floor answers again */
	struct command_list open;
	bool fresh;						    /* one of them is */
	unsigned open_count, urgent_count, flights, urgent_flights; /* urgent ones are among all */
	struct poll polls[POLL_SLOTS];
	unsigned polls_flying;
	unsigned first_param, params; /* its floor's stretch of the table */
	uint64_t poll_pause;	      /* monotonic: no poll before */
	unsigned silent;	      /* time-outs since the last reply */
	uint64_t last_reply_ns;
	/* Counted for the tests of the engine. */
	uint64_t words, replies, timeouts, queries, retries, duplicates, strays, send_failures;
};

/* Of a parameter: commands, by id, that are reasons until a later one on it is done; 0: none. */
struct undone {
	uint64_t done;	  /* the last that was */
	uint64_t unknown; /* ended UNKNOWN: it is unknown whether it was executed */
	uint64_t cut;	  /* of a `safe` that the end of a daemon before us cut off */
	uint64_t cut_job;
	char detail[320], hint[240]; /* of `unknown` */
};

/* What the engine has of each parameter. */
struct of_param {
	struct command *writer;	  /* may send on it */
	uint64_t next_setting_ns; /* when to poll its set value */
	struct undone undone;
};

struct output {
	STAILQ_ENTRY(output) next;
	struct engine_out out;
};

struct engine {
	struct engine_now now; /* of the call under way */
	struct params *params;
	struct engine_config config;
	struct link links[PARAM_LINKS];
	struct of_param *of_param; /* by parameter number */
	struct command_list recent;
	struct command_list ending; /* ended or rejected, the journal has not said so yet */
	uint32_t run;		    /* under way; 0: none */
	unsigned recent_count, open_count, urgent_count; /* urgent ones are among the open */
	struct engine_marks *marks, own_marks;
	bool ids_known; /* a journal has been read, or the marks say so */
	uint64_t last_cookie;
	STAILQ_HEAD(, output) outputs;
	struct output *current;
	uint64_t lost_outputs;	 /* out of memory */
	struct engine_out scrap; /* what they are written to */
	int journal_error;	 /* why it is lost */
	bool journal_lost;	 /* nothing of it is known */
};

/* ---- base.c ---- */
/* `client_id` may be NULL. NULL: out of memory. */
struct command *engine_new_command(struct param *p, const char *client_id);
void engine_free_command(struct command *c);
struct engine_out *engine_out(struct engine *e, enum engine_out_type type);
/* The place of a row for the database; `flags` and `cookie` as in struct engine_out. */
struct row *engine_store(struct engine *e, unsigned flags, uint64_t cookie);
uint64_t engine_cookie(struct engine *e);
void engine_value(struct engine *e, struct param *p);
/* The open commands of all links, one after the other. NULL: the first; returns NULL after the last. */
struct command *engine_next_open(const struct engine *e, const struct command *c);
/* The command in memory, open or ended, of which `is` is true; NULL: none. */
const struct command *engine_find(const struct engine *e,
				  bool (*is)(const struct command *c, const void *what),
				  const void *what);
/* Free an ended command's place: it becomes a recent one. */
void engine_retire(struct engine *e, struct command *c);
struct link *engine_link_of(struct engine *e, const struct command *c);
bool link_usable(const struct link *l);
/* For how long its floor has not answered; NAN: it is not known to be mute. */
double link_mute_s(const struct link *l, struct engine_now now);
/* The word on its way; its cookie. */
uint64_t link_send(struct engine *e, struct link *l, const struct word *w);

/* journal.c */
/* It was given before; larger ones may have been, too. */
void journal_used_id(struct engine *e, uint64_t id);
/* Each is noted in the marks before it is given out. */
uint64_t journal_new_id(struct engine *e);
uint32_t journal_new_sequence(struct engine *e, struct link *l);
/* Its ROW_COMMAND, into `row`: as it begins, or as it ends when it was rejected. */
void journal_command_row(struct engine *e, struct row *row, const struct engine_request *q,
			 const struct command *c);
/* Who gave it, as its row has it; "": a previous daemon began it. */
const char *journal_who(const struct command *c);
/* Keep the row with the command, and give it to the database, or at once to the emergency journal.
 * -ENOMEM: neither. */
int journal_begin(struct engine *e, struct command *c, const struct row *row);
void journal_transition(struct engine *e, struct command *c, unsigned flags, uint64_t cookie);
void journal_put_emergency(struct engine *e, const struct row *row);
/* Monotonic time when it has waited long enough for the database; 0: never. */
uint64_t journal_due(const struct command *c);
/* The row of a refusal; *ret_id 0 while the journal is unknown. Its client id may be used again. */
void journal_refusal(struct engine *e, const struct engine_request *q, struct param *p,
		     const struct sc_error *error, uint64_t *ret_id);

/* command.c */
__attribute__((format(printf, 4, 5))) void command_move(struct engine *e, struct command *c,
							enum command_state state,
							const char *format, ...);
/* Send it without the database, for the reason `why`. */
void command_emergency(struct engine *e, struct command *c, const char *why);
__attribute__((format(printf, 5, 6))) void command_end(struct engine *e, struct command *c,
						       enum command_state state, const char *hint,
						       const char *format, ...);
/* Its state as ENGINE_PROGRESS has it, with `note` behind the text. */
void command_say(const struct command *c, const char *note, struct engine_out *o);
void command_announce(struct engine *e, struct command *c, const char *note);
/* Its word is no longer in flight, nor what went behind it. */
void command_land(struct engine *e, struct command *c);
/* Its outcome in the FCM, from the reply to its word or to a QUERY. */
void command_outcome(struct engine *e, struct command *c, const struct word *w, const char *how);
void command_query_reply(struct engine *e, struct command *c, const struct word *w);
void command_setting_reply(struct engine *e, struct command *c, const struct word *w);
void command_readback(struct engine *e, struct command *c, const struct word *w);
/* The FCM remembers another command under its sequence. */
void command_number_taken(struct engine *e, struct command *c);
void command_look_reply(struct engine *e, struct command *c, const struct word *w);
void command_timeout(struct engine *e, struct command *c);
void command_not_sent(struct engine *e, struct command *c, int result);
void command_booted(struct engine *e, struct command *c);
/* Its link has been unusable for a while. */
void command_stranded(struct engine *e, struct command *c);

/* rules.c */
/* Whether the request is accepted; engine_submit()'s errors. */
int rules_check(struct engine *e, const struct engine_request *q, const struct param *p,
		struct sc_error *error);
/* Whether `value` is the parameter's safest one, or nearer to it than the value set now (read, not
 * stale) and all values that wait to be set. */
bool rules_safer(struct engine *e, const struct param *p, double value);
/* Whether the ramp may be held at `value`, by a command that is to stop it. -EBUSY: a safer one takes over; else as
 * engine_submit(). */
int rules_check_stop(struct engine *e, const struct command *ramp, double value,
		     struct sc_error *error);
/* Whether a command that has waited may still be sent; else it is ended as refused. */
bool rules_still(struct engine *e, struct command *c);
/* End commands that waited for a command which did not end DONE. */
void rules_follow(struct engine *e, struct link *l);
/* End older commands that the link's urgent commands undo, where that certainly does no harm. */
void rules_make_way(struct engine *e, struct link *l);

/* reasons.c */
/* Update the reasons of its parameter at its end. */
void engine_note_end(struct engine *e, const struct command *c);
/* One that the journal calls undone. -ENOENT: its parameter is no longer configured. */
int engine_recover_undone(struct engine *e, const struct engine_journal *j);

/* words.c */
void link_pump(struct engine *e, struct link *l);
/* With the last of all else: the READs behind the words that are leaving. */
void words_behind(struct engine *e);

/* sequence.c */
/* Whether a reservation is due, once reserve_again is past. */
bool link_wants_sequences(const struct engine *e, const struct link *l);
void sequences_reserve(struct engine *e, struct link *l);
/* The journal's answer to a reservation: whose; NULL: it is none. */
struct link *sequences_stored(struct engine *e, uint64_t cookie, int result);
/* For a READ or QUERY; 0: none is left that the journal knows of. Polling leaves the last ones to commands. */
uint32_t sequence_for_read(struct engine *e, struct link *l, bool poll);
/* Whether the FCM is to be asked what it remembers, and can be: the question has a sequence, too. */
bool sequences_wait(const struct link *l);
/* Send the question, when that is due. */
void sequences_ask(struct engine *e, struct link *l);
/* Its answer, or that the question was not sent; false: it is none of this. */
bool sequences_reply(struct link *l, const struct word *w);
bool sequences_not_sent(struct engine *e, struct link *l, uint64_t cookie);
/* The link is unusable: others may use the floor meanwhile. */
void sequences_forget(struct link *l);
/* Whether the next command may leave. If its sequence is certainly used by others, the command ends
 * or gets another sequence; if it may be, the FCM is asked first. */
bool sequence_free(struct engine *e, const struct link *l, struct command *c);

/* Whether one more word of this command may be in flight: urgent ones have a window of their own. */
static inline bool window_free(const struct link *l, const struct command *c)
{
	return (c->urgent ? l->urgent_flights : l->flights - l->urgent_flights) < WINDOW;
}

/* A command that makes safer is sent however late; others are not. */
static inline bool never_late(const struct command *c)
{
	return c->urgent && !c->stops;
}

/* It has not left yet: neither this daemon nor a previous one can have sent its word. */
static inline bool unsent(const struct command *c)
{
	return c->attempts == 0 && !c->recovered;
}

/* It is acknowledged: its read-back is asked for, now or next. */
static inline bool is_read_back(const struct command *c)
{
	return c->want == WANT_READBACK || (c->flying && c->flight == WANT_READBACK);
}

/* What it does next, as soon as it may. */
static inline void want(struct engine *e, struct command *c, enum purpose purpose)
{
	c->want = purpose;
	c->not_before = e->now.mono_ns;
}

/* A sibling that the dictionary names; NULL: it names none ("") or that is not here. */
static inline struct param *sibling(struct engine *e, const struct param *p, const char *name)
{
	return params_sibling(e->params, p, name);
}

/* The link of this number, when its floor can be asked; else NULL. */
static inline struct link *usable_link(struct engine *e, unsigned number)
{
	return number < PARAM_LINKS && link_usable(&e->links[number]) ? &e->links[number] : NULL;
}

#define FORGOTTEN_HELD "the FCM had forgotten the outcome and holds the value"
#define ACKED_ONLY     "acknowledged, but whether it is complete is still unknown"
#define WAS_IN_EFFECT                                                                              \
	"it was in effect when the daemon was restarted; whether it is now is still unknown"
#define NOT_TAKEN " (the journal has not taken this)"

/* The evidence that it was executed. */
static inline const char *evidence(const struct command *c)
{
	return c->held ? FORGOTTEN_HELD : "acknowledged";
}

/* Its own word waits until the FCM has said which sequences it remembers. */
static inline bool waits_for_number(const struct link *l, const struct command *c)
{
	return !l->numbered && c->want == WANT_COMMAND;
}

static inline bool past(struct engine *e, uint64_t when)
{
	return e->now.mono_ns >= when;
}
