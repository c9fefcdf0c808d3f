/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job: the commands of a file (a plan or a batch), each under a client id JOB.LINE.INDEX.ATTEMPT, so that the
 * journal knows what became of each and a job that was interrupted can go on: what was executed is not executed
 * again. Nothing of a job is kept outside of the journal.
 */
#ifndef SLOWCTL_FCMCTL_JOBS_JOB_H
#define SLOWCTL_FCMCTL_JOBS_JOB_H

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/jobs/job_file.h"
#include "slowctl/fcmctl/jobs/many.h"

/* A client id that nobody else has. A new reference. */
json_t *ctl_client_id(void);

#define JOB_ID_MAX 30u
#define JOB_BACK   "-b" /* behind a job's name: its roll-back */

/* One command of it. */
struct job_row {
	unsigned line, index; /* of the file; of the names of a line's pattern */
	double step;	      /* rows of a smaller one have ended before it goes */
	bool by_pattern;
	const json_t *parameter; /* as of op param.list */
	const char *value;	 /* as typed; NULL: an action */
	json_t *would;		 /* plan: what a dry run said; NULL: it was refused */
	json_t *refusal;	 /* the error it said; NULL: none */
	const json_t *before;	 /* as of op job.show: its last attempt; NULL: none */
	const json_t *back;	 /* the same of its roll-back */
	const json_t *was;  /* to what it was set before the job; NULL: not asked, or not known */
	unsigned attempt;   /* of this run, from 1 */
	unsigned overtaken; /* by this line, which an earlier run has sent; 0: by none */
};

struct job {
	struct ctl *ctl;
	const struct ctl_args *args;
	const char *source;	 /* the file, the snapshot, or what was typed, for messages */
	char id[JOB_ID_MAX + 1]; /* "": what was typed is none, it cannot go on */
	json_t *typed;		 /* members of each request of what was typed; NULL: none */
	bool goes_on;
	struct job_file file;
	json_t *parameters; /* as of op param.list */
	struct job_row *rows;
	size_t count;
	json_t *commands; /* of earlier runs */
	json_t *back_commands;
	json_t *values; /* as of op param.at, before its first command */
};

/* The file of args->word[0], understood, each name found; with --job what has become of it. CTL_DONE, or the exit
 * code, everything said; nothing is sent. To be closed in any case. */
int job_open_batch(struct ctl *ctl, const struct ctl_args *args, struct job *ret_job);
int job_open_plan(struct ctl *ctl, const struct ctl_args *args, struct job *ret_job);
/* A plan's lines as `text` (malloc'ed, taken over), of `source`. */
int job_open_text(struct ctl *ctl, const struct ctl_args *args, const char *source, char *text,
		  struct job *ret_job);
/* What was typed for a pattern: `op` for each parameter that matches args->word[0], with the members of `typed` (taken
 * over; value: what it is set to). `source`: as typed. */
int job_open_typed(struct ctl *ctl, const struct ctl_args *args, const char *source, const char *op,
		   json_t *typed, struct job *ret_job);
void job_close(struct job *job);

/* A request for each row, in their order; `dry`: only asked. With the options typed, `yes`: that was asked for. What
 * an earlier run has settled is so already. NULL: out of memory. */
struct many_row *job_requests(const struct job *job, bool dry, bool yes);
/* "set tower1.floor3.om2.hv 1450" */
const char *job_doing(const struct job_row *row, char *buf, size_t size);
/* What a dry run says to the rows, into `would` and `refusal`; only_past: to those of which an earlier run has sent a
 * command that stands. CTL_DONE, or the exit code, everything said. */
int job_ask(struct job *job, bool only_past);

/* Every command of a job, as of op job.show. CTL_DONE, or the exit code, everything said. */
int job_read(struct ctl *ctl, const char *id, json_t **ret_commands);
/* What the journal has of the job, into the rows; of a plan, its roll-back too. As above. */
int job_read_past(struct job *job, bool plan);
/* The values of a plan's rows before the job began, into `was`. As above. */
int job_read_was(struct job *job);
/* After job_ask(): what earlier runs have set is what the file has, else it is another file. As above. */
int job_check_same(const struct job *job);
/* Whether the journal has a roll-back of it. */
bool job_goes_back(const struct job *job);
/* Whether it is the name of a roll-back. Pure. */
bool job_is_back(const char *id);
/* Whether an attempt of an earlier run settles the row; else its `attempt` is set. Pure. */
enum many_state job_settled(const json_t *before, bool action, unsigned *ret_attempt);
/* What an attempt that settles a row came to, as an answer of this run. A new reference. */
json_t *job_earlier_answer(const json_t *before);
/* Which attempt at its row a command is: 1 the first. Pure. */
unsigned job_attempt(const json_t *command);
/* Whether a command has ended. Pure. */
bool job_is_over(const json_t *command);
/* Whether an earlier run has sent a command of the row that is not to be sent anew. Pure. */
bool job_stands(const struct job_row *row);
/* Whether what an earlier run has set is what the row has. `would` or its value. Pure. */
bool job_is_same(const struct job_row *row);
/* The `line` of the file is wrong (0: all of it): the exit code. */
int job_fail_line(const struct job *job, unsigned line, const char *hint, const char *text);

/* Shows what the rows of state MANY_WAITS would change, and asks once if they are many or dangerous
 * (see confirm.h). CTL_DONE: continue. */
int job_confirm(const struct job *job, const struct many_row *rows, size_t count);
/* Does the rows, after asking where that is needed, and tells what became of them; `dry`: only asks what would become of
 * them. The exit code. */
int job_run(struct job *job, bool dry);
/* A command as its number alone, for a script. */
void job_render_number(struct writer *w, const json_t *command);
/* A run that did not come to its end: what goes on, what was not sent, how to go on. */
void job_tell_end(const struct job *job, const struct many *m, enum many_end end);
/* Of the states of all rows, the worst. */
int job_exit(const struct many_row *rows, size_t count);

#endif
