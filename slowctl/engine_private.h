/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the command engine.
 *
 *   engine.c          create, recover, submit, cancel; the outputs
 *   engine_command.c  what becomes of a command: transitions, outcomes, settling
 *   engine_words.c    words: which leaves next, what came back, what did not; polling
 *   engine_view.c     views and reasons
 *
 * A *flight* is a word that has left and has not been answered. A command has at most one; what it
 * wants to send next stands in `want`.
 */
#ifndef SLOWCTL_ENGINE_PRIVATE_H
#define SLOWCTL_ENGINE_PRIVATE_H

#include <sys/queue.h>

#include "slowctl/engine.h"

#define COOKIE_MARK   (1ull << 63) /* tells the engine's cookies from others' */
#define MS	      1000000ull
#define SECOND	      1000000000ull
#define RECENT	      1024u /* ended commands kept in memory */
#define FCM_OUTCOMES  256u  /* an FCM remembers so many */
#define POLL_SLOTS    8u
#define BOOT_UNKNOWN  0u
#define STRANDED_NS   (2 * SECOND)  /* a link may be away so long before its commands are told */
#define JOURNAL_LIMIT (10 * SECOND) /* a command stored later than this is not sent any more */
#define READS_KEPT    1024u	    /* sequences that polling leaves to QUERY and read-back */
#define MUTE_TIMEOUTS 3u	    /* words unanswered in a row: probe slowly, say so */

enum purpose {
	WANT_NOTHING,
	WANT_COMMAND,  /* send the command's own word */
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
	double old_value, new_value;
	int32_t raw; /* of new_value */
	uint32_t sequence, boot, attempts, queries;
	uint64_t sent_writes; /* of the link, when its word last left */
	enum command_state state;
	bool ended, alarm;
	char detail[320], hint[240];
	int64_t time_ns, changed_ns;

	uint64_t row_cookie, submitted_ns;
	bool journaled; /* its row is stored: its word may leave */
	bool unwritten; /* the journal did not take its row */
	uint64_t later; /* recovered: commands of its floor that the predecessor sent after it */
	enum purpose want;
	uint64_t not_before; /* monotonic: of what it wants */
	uint64_t settle_until, acked_ns;
	bool was_off; /* its `see` was on when it was acknowledged: no read-back will come */
	uint64_t read_pause_ns;
	uint32_t wanted_count; /* action: the counter that proves it, when done */
	double readback;

	/* the flight */
	bool flying, left; /* left: the TX completion came */
	enum purpose flight;
	uint32_t flight_sequence;
	uint64_t flight_cookie, deadline;

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
	uint32_t boot;
	uint64_t boots;
	uint64_t next_sequence;	 /* not yet used; beyond UINT32_MAX: there are no more */
	uint64_t reserved_until; /* stored: may be used for reads */
	uint64_t reserve_cookie; /* a reservation is on its way; 0: none */
	uint64_t reserving_until, reserve_again;
	uint64_t sent_writes;		   /* words of commands that have left */
	uint64_t down_since, usable_since; /* monotonic; 0: not down, not usable */
	struct command_list open;
	unsigned open_count, flights;
	struct poll polls[POLL_SLOTS];
	unsigned polls_flying;
	unsigned first_param, params; /* its floor's stretch of the table */
	uint64_t poll_pause;	      /* monotonic: no poll before */
	unsigned silent;	      /* time-outs since the last reply */
	uint64_t last_reply_ns;
	uint64_t words, replies, timeouts, queries, retries, duplicates, strays, send_failures;
};

struct output {
	STAILQ_ENTRY(output) next;
	struct engine_out out;
};

struct engine {
	struct params *params;
	struct engine_config config;
	struct link links[PARAM_LINKS];
	struct command **writers;  /* by parameter number: who may send on it */
	uint64_t *next_setting_ns; /* by parameter number: when to poll its set value */
	struct command_list recent;
	struct command_list ending; /* ended, the journal has not said so yet */
	unsigned recent_count, open_count;
	uint64_t last_id, last_cookie;
	STAILQ_HEAD(, output) outputs;
	struct output *current;
	uint64_t lost_outputs;	 /* out of memory */
	struct engine_out scrap; /* what they are written to */
	int journal_error;	 /* of the last refused row; 0: well */
	uint64_t by_state[COMMAND_UNKNOWN + 1];
};

/* engine.c */
struct engine_out *engine_out(struct engine *e, enum engine_out_type type);
uint64_t engine_cookie(struct engine *e);
void engine_value(struct engine *e, struct param *p, struct engine_now now);
/* Free an ended command's place: it becomes a recent one. */
void engine_retire(struct engine *e, struct command *c);
struct link *engine_link_of(struct engine *e, const struct command *c);

/* engine_command.c */
/* A new state and its row. `frame`: UINT64_MAX: none. */
__attribute__((format(printf, 6, 7))) void command_move(struct engine *e, struct command *c,
							enum command_state state, uint64_t frame,
							struct engine_now now, const char *format,
							...);
/* The end of a command. */
__attribute__((format(printf, 6, 7))) void command_end(struct engine *e, struct command *c,
						       enum command_state state, const char *hint,
						       struct engine_now now, const char *format,
						       ...);
void command_announce(struct engine *e, struct command *c, const char *note);
/* What the FCM made of it, told by a reply to its word or to a QUERY. */
void command_outcome(struct engine *e, struct command *c, const struct word *w, const char *how,
		     struct engine_now now);
void command_query_reply(struct engine *e, struct command *c, const struct word *w,
			 struct engine_now now);
void command_setting_reply(struct engine *e, struct command *c, const struct word *w,
			   struct engine_now now);
void command_readback(struct engine *e, struct command *c, const struct word *w,
		      struct engine_now now);
void command_timeout(struct engine *e, struct command *c, struct engine_now now);
void command_not_sent(struct engine *e, struct command *c, int result, struct engine_now now);
void command_booted(struct engine *e, struct command *c, struct engine_now now);
/* Its link has been unusable for a while. */
void command_stranded(struct engine *e, struct command *c, struct engine_now now);

/* engine_view.c */
/* What the store's refusal means, and what to do about it. */
struct trouble {
	const char *what, *action;
};
struct trouble journal_trouble(int result);

/* engine_words.c */
bool link_usable(const struct link *l);
void link_pump(struct engine *e, struct link *l, struct engine_now now);
/* Whether a reservation is due, once reserve_again is past. */
bool link_wants_sequences(const struct engine *e, const struct link *l);

static inline bool state_ends(enum command_state state)
{
	return state == COMMAND_DONE || state == COMMAND_REFUSED || state == COMMAND_FAILED ||
	       state == COMMAND_CANCELLED;
}

static inline bool past(uint64_t when, struct engine_now now)
{
	return now.mono_ns >= when;
}

#endif
