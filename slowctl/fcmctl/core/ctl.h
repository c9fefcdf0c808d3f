/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl from the inside. Each file of a noun (watch/link.c, watch/phase.c, ...) has a const table of commands;
 * commands.c lists the tables, args.c finds the command that was typed, call.c asks the daemon (or the database, for
 * what that can answer) and reports failures.
 *
 *   argv --ctl_args--> struct ctl_args --run()--> ctl_show() --client--> daemon
 *                                                    |  '--away---> station.db (read-only)
 *                                                    '--> writer (text or JSON)
 *
 * A command returns the program's exit code. One thread; nothing here outlives main().
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slowctl/fcmctl/show/writer.h"
#include "slowctl/param/error.h"

/* Exit codes. */
enum {
	CTL_DONE = 0,	 /* done; for status: WELL or ATTENTION */
	CTL_NOT = 1,	 /* refused, failed; for status: RED */
	CTL_USAGE = 2,	 /* not understood */
	CTL_UNKNOWN = 3, /* outcome unknown, or the daemon is not running */
};

/* Options, one row each in args.c: letter, value, type, help. */
enum ctl_option {
	/* of fcmctl */
	CTL_BOARD,
	CTL_DIR,
	CTL_SOCKET,
	CTL_DATABASE,
	CTL_JSON,
	CTL_CSV,
	CTL_COLUMNS,
	CTL_TIMEOUT,
	CTL_HELP,
	CTL_VERSION,
	/* of some commands */
	CTL_SINCE,
	CTL_LIMIT,
	CTL_LINK,
	CTL_TOWER,
	CTL_FLOOR,
	CTL_STATE,
	CTL_STREAM,
	CTL_COUNT,
	CTL_HITS,
	CTL_ITEMS,
	CTL_MODULE,
	CTL_OVER,
	CTL_INTERVAL,
	CTL_TRIALS,
	CTL_WITH,
	CTL_REASON,
	CTL_NOTE,
	CTL_CLIENT_ID,
	CTL_YES,
	CTL_FORCE,
	CTL_NO_WAIT,
	CTL_ONCE,
	CTL_ROWS,
	CTL_FROM,
	CTL_FRAMES,
	CTL_WHAT,
	CTL_PCAP,
	CTL_TO,
	CTL_BY,
	CTL_LINKS,
	CTL_NAME,
	CTL_FOR,
	CTL_DRY_RUN,
	CTL_RATE,
	CTL_JOB,
	CTL_KEEP_GOING,
	CTL_ROLL_BACK,
	CTL_PLAN,
	CTL_AT,
	CTL_AT_AGAIN, /* the second --at of a command that takes two */
	CTL_PLOT,
	CTL_KEY,
	CTL_RAW,
	CTL_VERBOSE,
	CTL_OBJECT,
	CTL_INCIDENT,
	CTL_SUMMARY,
	CTL_HTML,
	CTL_KEEP,
	CTL_WITH_KEYS,
	CTL_REPLACE,
	CTL_DEEP,
	CTL_BUNDLE,
	CTL_ROOT,
	CTL_OPTIONS, /* how many */
};
/* A set of them: more than 64. */
typedef unsigned __int128 ctl_options;
#define CTL_BIT(option) ((ctl_options)1 << (option))

struct ctl;
struct ctl_args;

/* A table begins each with these four, as the synopsis of the command. */
struct ctl_command {
	const char *noun;      /* NULL: a bare verb */
	const char *verb;      /* NULL ends a table */
	const char *arguments; /* of the usage, and so checked: "LINK", "NAME [FILE]", "ALARM..." */
	const char *summary;   /* one line */
	const char *help;      /* what it does, what it prints, examples */
	ctl_options options;   /* CTL_BIT() of those it takes beside fcmctl's own */
	int (*run)(struct ctl *ctl, const struct ctl_args *args);
	/*
	 * Without run(), or by ctl_run_row(): what it asks of the daemon. The answer to `op` is rendered, of a list the
	 * newest `limit` rows. The first word typed is the request's `member` ("link" and "command" are numbers, "names"
	 * are all words). With `look` it changes something: see struct ctl_request, also for the time-out.
	 */
	const char *op, *member, *look;
	double timeout_s;
	writer_render_fn render;
	unsigned limit;
	bool all_boards; /* it takes --board all */
};

/* All commands, given by main() before anything else: a NULL-terminated list of tables, each ended by a command
 * without verb. */
extern const struct ctl_command *const *ctl_tables;

/* What was typed, checked against the command's row. */
struct ctl_args {
	const struct ctl_command *command; /* NULL: only --help, --version */
	const char *topic;		   /* of help: a noun; NULL */
	int words;			   /* behind the verb */
	char **word;
	const char *text[CTL_OPTIONS]; /* value as typed, "" of a flag; NULL: not given */
	double number[CTL_OPTIONS];    /* of number, time (UTC s) and span (s) options */
};

static inline bool ctl_given(const struct ctl_args *args, enum ctl_option option)
{
	return args->text[option] != NULL;
}

#define CTL_BOARD_MAX 999
#define CTL_BOARD_ALL (CTL_BOARD_MAX + 1)

static inline bool ctl_all_boards(const struct ctl_args *args)
{
	return ctl_given(args, CTL_BOARD) && args->number[CTL_BOARD] == CTL_BOARD_ALL;
}

static inline double ctl_number(const struct ctl_args *args, enum ctl_option option,
				double otherwise)
{
	return ctl_given(args, option) ? args->number[option] : otherwise;
}

/* Where the station is. */
struct ctl_station {
	unsigned board;
	bool installed; /* below /run/fcm-server: systemd runs it; else somebody's `make run` */
	char socket[PATH_MAX];
	char database[PATH_MAX];
};

struct client;

struct ctl {
	struct ctl_station station;
	char self[2 * PATH_MAX]; /* as it was called, with the options that name the station: hints
				  * can be pasted */
	char doing[64];		 /* the command, for messages: "command list" */
	struct writer *out;
	bool json;
	bool csv;	       /* tables only */
	double timeout_s;      /* 0: each command's own */
	bool terminal;	       /* stderr is one: progress is shown */
	bool can_ask;	       /* stdin and stderr are */
	struct client *client; /* NULL: not connected */
	bool away_reported;    /* that the answers come from the database */
};

/*
 * Reports a failure: on stderr ("fcmctl: ...", then what to do) and, with --json, on stdout
 * as {"v":2,"error":{code, message, hint}}. `hint` may be NULL. Returns `exit_code`.
 */
int ctl_fail(struct ctl *ctl, int exit_code, const char *code, const char *hint, const char *format,
	     ...) __attribute__((format(printf, 5, 6)));
/* What was typed cannot be done. */
#define ctl_usage(ctl, hint, ...) ctl_fail(ctl, CTL_USAGE, "usage", hint, __VA_ARGS__)
/* `memory`, just allocated. NULL: reports it and ends the program. */
void *ctl_memory(struct ctl *ctl, void *memory);
/* As ctl_fail(), with the error as an object: {code, message, hint}. */
void ctl_report_failure(struct ctl *ctl, const char *text, const char *hint, json_t *error);
/* Reports the daemon's error while `doing` something: its message and what to do; in JSON as it came. The exit code. */
int ctl_report_refusal(struct ctl *ctl, const char *doing, json_t *error);
/* UTC s since 1970. */
double ctl_now(void);
/* Whether the terminal knows UTF-8, by the environment. */
bool ctl_speaks_utf8(void);
/* s since some time; it never jumps. */
double ctl_monotonic(void);

/* Of `options` (CTL_BIT()) those that were given, into the request: flags, texts and numbers under their names. */
void ctl_put_given(const struct ctl_args *args, ctl_options options, json_t *what);
/* The same of --reason, --yes, --force and --dry-run. */
void ctl_put_options(const struct ctl_args *args, json_t *what);
/* Shows the answer to a dry run. False: it is another answer. */
bool ctl_show_dry_run(struct ctl *ctl, const json_t *result);

/* Ask on the terminal, "... type yes to go on: " last; Ctrl-C and anything but the word yes mean
 * no; so does a missing terminal. */
bool ctl_ask_yes(const struct ctl *ctl, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* " --option word" (without option: the word alone) behind `text`, quoted where a shell would take it apart. */
void ctl_append_word(char *text, size_t size, const char *option, const char *word);
/* Append to `text` the command as it was typed: the options that name this station, the words, its
 * own options. */
void ctl_append_typed(char *text, size_t size, const struct ctl *ctl, const struct ctl_args *args);
/* A hint as it can be typed: what names a command of fcmctl gets the options that name this station. Returns buf. */
const char *ctl_typed(const struct ctl *ctl, const char *hint, char *buf, size_t size);

/* A line on stderr, broken where the screen ends; a command to be typed stays whole. Foreign text does not drive the
 * terminal. */
void ctl_print_line(const char *before, const char *text);
/* A remark on stderr. */
void ctl_remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From here to ctl_release_interrupt(), Ctrl-C and SIGTERM do not end the program but make
 * ctl_interrupted() true. */
void ctl_catch_interrupt(void);
void ctl_release_interrupt(void);
bool ctl_interrupted(void);

/* Progress of a request; `progress` is the object of control.md. */
typedef void (*ctl_progress_fn)(void *context, const json_t *progress);

struct ctl_request {
	const char *op;
	json_t *args;		  /* taken over; NULL: none */
	double timeout_s;	  /* longest silence of the daemon; 0: 5 s */
	const char *doing;	  /* for messages: "set floor3.om2.hv 1450" */
	const char *look;	  /* command that shows the outcome when the answer does not
			     * come: "command list"; NULL: the request changes nothing */
	bool ends_with_us;	  /* a broken connection ends it in the daemon too (soak) */
	ctl_progress_fn progress; /* NULL: progress.text is shown on a terminal */
	void *context;
};

/* Ask and wait. CTL_DONE and *ret_result (caller's), or the exit code, everything said. A request that
 * needs a yes is asked about where there is somebody to ask. */
int ctl_request(struct ctl *ctl, const struct ctl_request *request, json_t **ret_result);

/* A command that changes something: the request with --reason and --dry-run as typed; what comes of it is rendered,
 * or what would be done. As ctl_request(), but *ret_result is untouched after a dry run; it may be NULL. */
int ctl_change(struct ctl *ctl, const struct ctl_args *args, const struct ctl_request *request,
	       writer_render_fn render, json_t **ret_result);

/* Sends the request of the command's row with these arguments (taken over), and shows the answer. The exit code. */
int ctl_run_row(struct ctl *ctl, const struct ctl_args *args, json_t *what);
/* A command without run(): its arguments are those typed. The exit code. */
int ctl_run_plain(struct ctl *ctl, const struct ctl_args *args);

/* A question without consequences. Answered from the database where `op` can be (away.c) and the
 * daemon is away. */
int ctl_ask(struct ctl *ctl, const char *op, json_t *args, json_t **ret_result);
/* The same, shown. */
int ctl_show(struct ctl *ctl, const char *op, json_t *args, writer_render_fn render);

/* Connect if not connected. 0 or negative errno; nothing is said. */
int ctl_connect(struct ctl *ctl);
void ctl_disconnect(struct ctl *ctl);
/* The result, or what client_call() returns; -EREMOTEIO: refused. Prints nothing. */
int ctl_call_quietly(struct ctl *ctl, const char *op, json_t *args, json_t **ret_result);

/* Why client_call() or its like has failed; `patience_s`: how long it waited for a message. */
const char *ctl_broken_text(int err, double patience_s, char *buf, size_t size);
/* Whether such an error of ctl_connect() means that no daemon is there (else: it is, but not for us). */
bool ctl_is_away(int err);
/* Why the daemon cannot be reached (and since when), and what to do. Return buf. */
const char *ctl_away_reason(const struct ctl *ctl, int err, bool since, char *buf, size_t size);
const char *ctl_away_action(const struct ctl *ctl, int err, char *buf, size_t size);
/* `writes`: it was to change something; that nothing was sent is said first. */
int ctl_away_fail(struct ctl *ctl, int err, bool writes);
/* What to do about -EACCES: be in the group of `path`, or of the directory that hides it. */
const char *ctl_access_action(const char *path, char *buf, size_t size);
/* Where the daemon keeps its recordings, by what it wrote into its database. */
void ctl_recordings_place(const struct ctl *ctl, char *path, size_t size);

/* While the daemon is not running: the result of `op` (one of query_can()) from the database, in control.md's shape.
 * Open commands have "unattended" in addition. CTL_DONE, or the exit code after an error message. */
int ctl_away_ask(struct ctl *ctl, const char *op, const json_t *args, json_t **ret_result);
/* The same in place of a daemon that runs, within --timeout or a minute, after `remark` on stderr. Negative errno: the
 * database cannot be opened; nothing was printed. */
int ctl_away_read(struct ctl *ctl, const char *op, const json_t *args, const char *remark,
		  json_t **ret_result);
/* When the daemon was last alive, UTC s; -ENODATA: the database does not say. */
int ctl_away_since(const struct ctl *ctl, double *ret_time);
/* `key` of what the daemon has kept of itself in the database, "" where it has not. Negative errno and *error: the database
 * cannot be opened. */
int ctl_away_setting(const struct ctl *ctl, const char *key, char *text, size_t size,
		     struct sc_error *error);
/* " since 2026-11-20 15:12:03 UTC (4 min 10 s)", "" where the database does not say. Returns buf. */
const char *ctl_away_since_text(const struct ctl *ctl, char *buf, size_t size);
/* What the database knew when the daemon was last alive: `known` of schemas/control.md, a new reference; what
 * cannot be read in a second is null in it. NULL: there is no such time. */
json_t *ctl_away_known(const struct ctl *ctl);

/* A link number typed as "2" or "link2"; says what is wrong (CTL_USAGE) or CTL_DONE. */
int ctl_link_number(struct ctl *ctl, const char *text, int *ret_link);
/* The number of a command, as above. */
int ctl_command_number(struct ctl *ctl, const char *text, json_int_t *ret_command);
/* That --state, where it was given, is one: says what is wrong (CTL_USAGE) or CTL_DONE. */
int ctl_check_state(struct ctl *ctl, const struct ctl_args *args);
/* {names:[...]} of the words typed. A new reference. */
json_t *ctl_names(const struct ctl_args *args);
/* {since, until, limit, link, ...} of the options that were given; `limit` 0: only if given. */
json_t *ctl_filter(const struct ctl_args *args, unsigned limit);
