/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job: the commands of a file (a plan or a batch). Each has a client id JOB.LINE.INDEX.ATTEMPT, so the journal knows
 * what became of it, and an interrupted job can be continued without executing a command twice. The journal is the only
 * record of a job. A pattern that was typed runs as a job without a name, which cannot be continued.
 */
#pragma once

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/jobs/job_file.h"
#include "slowctl/fcmctl/jobs/many.h"

/* A new client id, unique. A new reference. */
json_t *ctl_client_id(void);

#define JOB_ID_MAX 30u
#define JOB_BACK   "-b" /* suffix of a job's name: its roll-back */

/* One command of it. */
struct job_row {
	unsigned line, index; /* of the file; of the names of a line's pattern */
	double step;	      /* it begins when all rows of smaller steps have ended */
	bool by_pattern;
	const json_t *parameter; /* as of op param.list */
	const char *value;	 /* as typed; NULL: an action */
	json_t *would;		 /* plan: the answer to a dry run; NULL: refused */
	json_t *refusal;	 /* the error of the dry run; NULL: none */
	const json_t *before;	 /* as of op job.show: its last attempt; NULL: none */
	const json_t *back;	 /* the same of its roll-back */
	const json_t *was;	 /* the set value before the job; NULL: not asked, or unknown */
	unsigned attempt;	 /* of this run, from 1 */
	unsigned
		overtaken; /* by this later line, which an earlier run has sent; 0: not overtaken */
};

struct job {
	struct ctl *ctl;
	const struct ctl_args *args;
	const char *source;	 /* the file, the snapshot, or what was typed, for messages */
	char id[JOB_ID_MAX + 1]; /* "": a pattern that was typed */
	json_t *typed;		 /* of a pattern: members that each request has; NULL: none */
	bool goes_on;		 /* continues an earlier run */
	struct job_file file;
	json_t *parameters; /* as of op param.list */
	struct job_row *rows;
	size_t count;
	json_t *commands; /* of earlier runs */
	json_t *back_commands;
	json_t *values; /* as of op param.at, before its first command */
};

/* Reads the file args->word[0] and finds each name; with --job also reads what became of earlier runs. Sends nothing.
 * CTL_DONE, or the exit code after an error message. Close it in either case. */
int job_open_batch(struct ctl *ctl, const struct ctl_args *args, struct job *ret_job);
int job_open_plan(struct ctl *ctl, const struct ctl_args *args, struct job *ret_job);
/* The same for the lines of a plan in `text` (malloc'ed, taken over); `source` names them in messages. */
int job_open_text(struct ctl *ctl, const struct ctl_args *args, const char *source, char *text,
		  struct job *ret_job);
/* A pattern that was typed: `op` for each parameter that matches args->word[0]. Each request has the members of `typed`
 * (taken over), among them the value. `source`: the command as typed. As above. */
int job_open_typed(struct ctl *ctl, const struct ctl_args *args, const char *source, const char *op,
		   json_t *typed, struct job *ret_job);
void job_close(struct job *job);

/* A request for each row, in their order, with the options typed; `dry`: a dry run; `yes`: dangerous rows are confirmed.
 * Rows that an earlier run has settled have their state already. */
struct many_row *job_requests(const struct job *job, bool dry, bool yes);
/* "set tower1.floor3.om2.hv 1450" */
const char *job_doing(const struct job_row *row, char *buf, size_t size);
/* Dry run of the rows, answers into `would` and `refusal`; only_past: of the rows for which job_stands(). CTL_DONE, or
 * the exit code after an error message. */
int job_ask(struct job *job, bool only_past);

/* Every command of a job, as of op job.show. As above. */
int job_read(struct ctl *ctl, const char *id, json_t **ret_commands);
/* Earlier runs from the journal into the rows; for a plan also the roll-back. As above. */
int job_read_past(struct job *job, bool plan);
/* The values of a plan's rows before the job began, into `was`. As above. */
int job_read_was(struct job *job);
/* After job_ask(): that earlier runs have set what the file has; otherwise it is another file. As above. */
int job_check_same(const struct job *job);
/* Whether the journal has a roll-back of the job. */
bool job_goes_back(const struct job *job);
/* Whether it is the name of a roll-back. Pure. */
bool job_is_back(const char *id);
/* Whether an attempt of an earlier run settles the row; else its `attempt` is set. Pure. */
enum many_state job_settled(const json_t *before, bool action, unsigned *ret_attempt);
/* The outcome of an attempt that settles a row, as an answer of this run. A new reference. */
json_t *job_earlier_answer(const json_t *before);
/* The attempt that a command is, from 1; 0: it has none. Pure. */
unsigned job_attempt(const json_t *command);
/* Whether a command has ended. Pure. */
bool job_is_over(const json_t *command);
/* Whether an earlier run has sent a command for the row that must not be sent again. Pure. */
bool job_stands(const struct job_row *row);
/* Whether an earlier run has set the value that the row has (by `would`, else as typed). Pure. */
bool job_is_same(const struct job_row *row);
/* Reports an error in `line` of the file (0: in the whole file). The exit code. */
int job_fail_line(const struct job *job, unsigned line, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same of a dry run without answers. */
int job_fail_dry(const struct job *job);

/* Whether a parameter (an item of param.list) has this danger. Pure. */
bool ctl_is_dangerous(const json_t *parameter);

/*
 * The one confirmation of many commands. `rows` of job_requests(): shows what those in state MANY_WAITS with danger
 * careful or more would change, and asks if one is dangerous, or if they are for more than one parameter. CTL_DONE:
 * continue. With --yes and in a dry run it does not ask; without a terminal it refuses, with the command to type. Else
 * the exit code; the messages have been printed.
 */
int job_confirm(const struct job *job, const struct many_row *rows);
/* The command to type instead of an answer. Returns buf. */
const char *ctl_yes_hint(const struct ctl *ctl, const struct ctl_args *args, char *buf,
			 size_t size);

/* Asks where that is needed, runs the rows (--dry-run: dry), prints each end and a summary. The exit code. */
int job_run(struct job *job);
/* A command as its number, for scripts. */
void job_render_number(struct writer *w, const json_t *command);
/* Prints why a run has stopped early: what is under way, what was not sent, how to continue. */
void job_report_end(const struct job *job, const struct many *m, enum many_end end);
/* The exit code of a run: the worst of its rows. */
int job_exit(const struct many *m, enum many_end end);

/*
 * `op` (param.set, param.action) of the first word typed, with the options typed; `what` has the value
 * already and is taken over. A pattern with *, ? or [ is as many commands, each journaled; in JSON one
 * document each. The exit code, of many the worst; everything is said.
 */
int ctl_send(struct ctl *ctl, const struct ctl_args *args, const char *op, json_t *what);
