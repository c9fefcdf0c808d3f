/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion for shells. `fcmctl completion SHELL` prints a script. The script calls the hidden verb
 * `__complete WORD...` with the words behind fcmctl, the last one incomplete; the answer is one candidate a line.
 * Candidates come from the tables of commands and options, and from the daemon, within half a second; without a
 * daemon there are none of these and no error. A candidate that ends in a dot is not complete yet. The line
 * ":files" asks the shell for names of files.
 *
 * The shell puts a candidate into the command line as it is, unquoted: a name that the shell would interpret is not
 * offered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/core/args.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/query/recordings.h"

#define ANSWER_S 0.5

/* What has been typed, as far as it is understood. */
struct typed {
	char **words; /* without options and their values */
	int count;
	const char *prefix;		   /* the last word, incomplete */
	const struct ctl_command *command; /* NULL: not complete yet */
	int named;			   /* words that name it */
	int option;			   /* whose value is incomplete; -1: none */
	struct ctl ctl;
};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Whether a shell takes the word as it is. A '-' begins options only. */
static bool is_plain(const struct typed *t, const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_./-%+,:=@";
	size_t first = sizeof("%+,:=@") - 1; /* not as the first letter */

	return word[0] != '\0' && word[strspn(word, letters)] == '\0' &&
	       strchr(letters + sizeof(letters) - 1 - first, word[0]) == NULL &&
	       (word[0] != '-' || t->prefix[0] == '-');
}

static void put_word(const struct typed *t, const char *word)
{
	if (is_plain(t, word)) {
		puts(word);
	}
}

static void offer(const struct typed *t, const char *candidate)
{
	if (begins(candidate, t->prefix)) {
		put_word(t, candidate);
	}
}

static void offer_all(const struct typed *t, const char *list)
{
	char *copy = strdup(list);
	char *save;

	for (char *word = copy != NULL ? strtok_r(copy, " ", &save) : NULL; word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		offer(t, word);
	}
	free(copy);
}

/* ------------------------------------------------------------------ what was typed */

/* The option of a word "--name", "--name=value", "-n"; -1: none that we know. */
static int option_of_word(const char *word)
{
	for (int i = 0; i < CTL_OPTIONS; i++) {
		const struct ctl_option_row *row = ctl_option_row((enum ctl_option)i);
		size_t length = strlen(row->name);

		if ((begins(word, "--") && strncmp(word + 2, row->name, length) == 0 &&
		     (word[2 + length] == '\0' || word[2 + length] == '=')) ||
		    (row->letter != 0 && word[0] == '-' && word[1] == row->letter &&
		     word[2] == '\0')) {
			return i;
		}
	}
	return -1;
}

static void take_word(struct typed *t, struct ctl_args *station, char **words, int count, int *at)
{
	char *word = words[*at];
	int option = word[0] == '-' ? option_of_word(word) : -1;
	const char *value = strchr(word, '=');

	if (word[0] != '-') {
		t->words[t->count++] = word;
		return;
	}
	if (option < 0 || ctl_option_row((enum ctl_option)option)->value == NULL) {
		return;
	}
	if (value == NULL && *at + 1 < count && strcmp(words[*at + 1], "=") == 0) {
		++*at; /* bash takes --name=value apart */
	}
	if (value == NULL && *at + 1 == count) {
		t->option = option; /* its value is incomplete */
		return;
	}
	value = value != NULL ? value + 1 : words[++*at];
	station->text[option] = value;
	station->number[option] = strtod(value, NULL);
}

static void understand(struct typed *t, char **words, int count)
{
	struct ctl_args station = {0};
	struct ctl_fault fault = {.text = ""};

	t->option = -1;
	for (int i = 0; i < count; i++) {
		take_word(t, &station, words, count, &i);
	}
	t->command = t->count > 0 ? ctl_command_find(NULL, t->words[0]) : NULL;
	t->named = t->command != NULL ? 1 : 2;
	if (t->command == NULL && t->count > 1) {
		t->command = ctl_command_find(t->words[0], t->words[1]);
	}
	if (ctl_station_find(&station, &t->ctl.station, &fault) != 0) {
		t->ctl.station.socket[0] = '\0';
	}
}

/* ------------------------------------------------------------------ asked */

/* A new reference; NULL: no answer in time. */
static json_t *asked(struct typed *t, const char *op, json_t *args)
{
	json_t *result = NULL;

	ctl_call_quietly(&t->ctl, op, args, &result);
	return result;
}

/* It takes floors and modules, which end without a dot. */
static bool is_safe(const struct typed *t)
{
	return strcmp(t->command->verb, "safe") == 0;
}

/* The name, without its tower unless the prefix begins one. */
static const char *without_tower(const struct typed *t, const char *name)
{
	const char *dot =
		begins(name, "tower") && !begins(t->prefix, "t") ? strchr(name, '.') : NULL;

	return dot != NULL ? dot + 1 : name;
}

/* Up to the next dot behind the prefix. Names come in order, so only equal neighbours are duplicates. */
static void offer_name(const struct typed *t, const char *name, char *last, size_t size)
{
	const char *end;
	char cut[128];

	name = without_tower(t, name);
	if (!begins(name, t->prefix)) {
		return;
	}
	end = strchr(name + strlen(t->prefix), '.');
	snprintf(cut, sizeof(cut), "%.*s",
		 end != NULL ? (int)(end - name) + !is_safe(t) : (int)strlen(name), name);
	if (strcmp(cut, last) != 0) {
		put_word(t, cut);
		snprintf(last, size, "%s", cut);
	}
}

/* Of a command that sets only what can be set, of one that does only what can be done. */
static bool fits(const struct typed *t, const json_t *p)
{
	const char *access = value_string(p, "access", "");

	if (strcmp(t->command->verb, "ramp") == 0 || is_safe(t)) {
		return value_true(p, "ramps");
	}
	if (strcmp(t->command->verb, "set") == 0) {
		return strcmp(access, "rw") == 0;
	}
	if (strcmp(t->command->verb, "action") == 0) {
		return strcmp(access, "action") == 0;
	}
	return strcmp(access, "action") != 0 || strcmp(t->command->verb, "get") == 0;
}

static void offer_parameters(struct typed *t)
{
	json_t *result = asked(t, "param.list", NULL);
	const json_t *p;
	char last[128] = "";
	size_t i;

	json_array_foreach (value_at(result, "parameters"), i, p) {
		if (fits(t, p)) {
			offer_name(t, value_string(p, "name", ""), last, sizeof(last));
		}
	}
	json_decref(result);
}

/* Candidates, from the first of these that is there. */
struct offer {
	const char *words;
	/* `text` (of value_fill()) of each in the `list` of the answer to `op`, where `suits` (NULL: any) says so. */
	const char *op, *list, *text;
	bool (*suits)(const struct typed *t, const json_t *one);
	void (*otherwise)(struct typed *t);
};

static void offer_each(struct typed *t, const struct offer *offered, json_t *args)
{
	json_t *result = asked(t, offered->op, args);
	const json_t *one;
	char candidate[128];
	size_t i;

	json_array_foreach (value_at(result, offered->list), i, one) {
		if (offered->suits == NULL || offered->suits(t, one)) {
			value_fill(one, offered->text, candidate, sizeof(candidate));
			offer(t, without_tower(t, candidate));
		}
	}
	json_decref(result);
}

/* ack is for what is new, resume for what is paused. */
static bool incident_suits(const struct typed *t, const json_t *incident)
{
	const char *state = value_string(incident, "state", "");
	bool ack = strcmp(t->command->verb, "ack") == 0;
	bool resume = strcmp(t->command->verb, "resume") == 0;

	return (!ack || strcmp(state, "active") == 0) &&
	       (!resume || json_is_object(value_at(incident, "paused")));
}

/* The name of a new snapshot is free. */
static bool snapshot_suits(const struct typed *t, const json_t *snapshot)
{
	return strcmp(t->command->verb, "save") != 0;
}

static void offer_commands(struct typed *t)
{
	static const struct offer commands = {
		.op = "command.list", .list = "commands", .text = "{command}"};
	bool open = strcmp(t->command->verb, "cancel") == 0;

	offer_each(t, &commands,
		   json_pack("{s:i,s:s*}", "limit", 50, "state", open ? "open" : NULL));
}

static void offer_recordings(struct typed *t)
{
	json_t *list = NULL;
	const json_t *recording;
	char place[PATH_MAX];
	size_t i;

	ctl_recordings_place(&t->ctl, place, sizeof(place));
	if (recordings_list(place, 100, &list) == 0) {
		json_array_foreach (list, i, recording) {
			offer(t, value_string(recording, "name", ""));
		}
	}
	json_decref(list);
	puts(":files");
}

/* What a switch can be set to. */
static void offer_values(struct typed *t)
{
	json_t *names = json_pack("{s:[s]}", "names", t->words[t->named]);
	json_t *result = asked(t, "param.get", names);
	const json_t *p = json_array_get(value_at(result, "parameters"), 0);

	if (strcmp(value_string(p, "type", ""), "bool") == 0) {
		offer_all(t, "on off");
	}
	json_decref(result);
}

/* ------------------------------------------------------------------ what may follow */

static void offer_first_words(struct typed *t)
{
	const char *last = "";

	for (size_t i = 0; ctl_tables[i] != NULL; i++) {
		for (const struct ctl_command *c = ctl_tables[i]; c->verb != NULL; c++) {
			const char *word = c->noun != NULL ? c->noun : c->verb;

			if (t->count == 1) {
				if (c->noun != NULL && strcmp(c->noun, t->words[0]) == 0) {
					offer(t, c->verb);
				}
			} else if (t->count == 0 && strcmp(word, last) != 0) {
				offer(t, word);
				last = word;
			}
		}
	}
}

/* The n-th word of the usage ("NAME|PATTERN VALUE"), the last one again where it has dots behind. */
static void argument_name(const struct ctl_command *c, int n, char *name, size_t size)
{
	char copy[96];
	char *save;

	snprintf(copy, sizeof(copy), "%s", c->arguments);
	snprintf(name, size, "%s", "");
	for (char *word = strtok_r(copy, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		if (n-- == 0 || strstr(word, "...") != NULL) {
			snprintf(name, size, "%s", word + strspn(word, "["));
			name[strcspn(name, "|].")] = '\0';
			return;
		}
	}
}

static void offer_files(struct typed *t)
{
	puts(":files");
}

/* What may stand for a word of the usage: of a command's noun, or of any (NULL). */
static const struct {
	const char *noun, *argument;
	struct offer offer;
} arguments[] = {
	{"snapshot", "NAME", {NULL, "snapshot.list", "snapshots", "{name}", snapshot_suits}},
	{"snapshot", "A", {NULL, "snapshot.list", "snapshots", "{name}", snapshot_suits}},
	{"snapshot", "B", {NULL, "snapshot.list", "snapshots", "{name}", snapshot_suits}},
	{"key", "NAME", {""}}, /* a new one */
	{NULL, "QUANTITY", {"charge rate samples time-over-threshold"}},
	{NULL, "ROLE", {"reader operator expert"}},
	{NULL, "CHANNEL", {"loop ctd"}},
	{NULL, "LINK", {"0 1 2 3"}},
	{NULL, "SHELL", {"bash zsh"}},
	{NULL, "NAME", {.otherwise = offer_parameters}},
	{NULL, "PATTERN", {.otherwise = offer_parameters}},
	{NULL, "INCIDENT", {NULL, "incident.list", "list", "{object}/{code}", incident_suits}},
	{NULL, "COMMAND", {.otherwise = offer_commands}},
	{NULL, "JOB", {NULL, "job.list", "jobs", "{job}"}},
	{NULL, "FLOOR", {NULL, "link.list", "links", "floor{expected.floor}"}},
	{NULL, "PATH", {.otherwise = offer_recordings}},
	{NULL, "FILE", {.otherwise = offer_files}},
	{NULL, "DIR", {.otherwise = offer_files}},
	{NULL, "VALUE", {.otherwise = offer_values}},
};

static const struct offer option_values[CTL_OPTIONS] = {
	[CTL_BOARD] = {"0 1 2 3"},
	[CTL_LINK] = {"0 1 2 3"},
	[CTL_LINKS] = {"0 1 2 3"},
	[CTL_STATE] = {"open QUEUED SENT ACKED DONE REFUSED FAILED CANCELLED UNKNOWN"},
	[CTL_STREAM] = {"pmt hydrophone instrument"},
	[CTL_MODULE] = {"0 1 2 3 4 5"},
	[CTL_WITH] = {"reset align"},
	[CTL_WHAT] = {"records frames slots hits samples words"},
	[CTL_BY] = {"second minute hour"},
	[CTL_SINCE] = {"10m 1h 1d today yesterday"},
	[CTL_AT] = {"10m 1h 1d today yesterday"},
	[CTL_TO] = {"now 10m 1h today"},
	[CTL_FLOOR] = {NULL, "link.list", "links", "{expected.floor}"},
	[CTL_JOB] = {NULL, "job.list", "jobs", "{job}"},
	[CTL_DIR] = {.otherwise = offer_files},
	[CTL_SOCKET] = {.otherwise = offer_files},
	[CTL_DATABASE] = {.otherwise = offer_files},
	[CTL_PCAP] = {.otherwise = offer_files},
	[CTL_BUNDLE] = {.otherwise = offer_files},
	[CTL_ROOT] = {.otherwise = offer_files},
};

static void offer_one_of(struct typed *t, const struct offer *offered)
{
	if (offered->words != NULL) {
		offer_all(t, offered->words);
	} else if (offered->op != NULL) {
		offer_each(t, offered, NULL);
	} else if (offered->otherwise != NULL) {
		offered->otherwise(t);
	}
}

static void offer_argument(struct typed *t)
{
	const char *noun = t->command->noun != NULL ? t->command->noun : "";
	char name[32];

	argument_name(t->command, t->count - t->named, name, sizeof(name));
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		if (strcmp(arguments[i].argument, name) == 0 &&
		    (arguments[i].noun == NULL || strcmp(arguments[i].noun, noun) == 0)) {
			offer_one_of(t, &arguments[i].offer);
			return;
		}
	}
}

static void offer_options(const struct typed *t)
{
	ctl_options options = t->command != NULL ? t->command->options : 0;

	for (int i = 0; i < CTL_OPTIONS; i++) {
		char option[64];

		if ((i <= CTL_VERSION || (options & CTL_BIT(i)) != 0) && i != CTL_AT_AGAIN) {
			snprintf(option, sizeof(option), "--%s",
				 ctl_option_row((enum ctl_option)i)->name);
			offer(t, option);
		}
	}
}

int ctl_complete(int count, char **words)
{
	struct typed *t = calloc(1, sizeof(*t));

	if (t == NULL || count < 1) {
		free(t);
		return CTL_USAGE;
	}
	t->prefix = words[count - 1];
	t->ctl.timeout_s = ANSWER_S;
	t->words = calloc((size_t)count, sizeof(*t->words));
	if (t->words != NULL) {
		understand(t, words, count - 1);
		if (t->option >= 0) {
			offer_one_of(t, &option_values[t->option]);
		} else if (t->prefix[0] == '-') {
			offer_options(t);
		} else if (t->command != NULL) {
			offer_argument(t);
		} else {
			offer_first_words(t);
		}
	}
	ctl_disconnect(&t->ctl);
	free(t->words);
	free(t);
	return CTL_DONE;
}

/* ------------------------------------------------------------------ the scripts */

static const char bash_script[] =
	"_fcmctl() {\n"
	"\t# made by fcmctl completion bash\n"
	"\tlocal word\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r word; do\n"
	"\t\tcase $word in\n"
	"\t\t:files) compopt -o default 2>/dev/null ;;\n"
	"\t\t*.) compopt -o nospace 2>/dev/null; COMPREPLY+=(\"$word\") ;;\n"
	"\t\t*) COMPREPLY+=(\"$word\") ;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
	"2>/dev/null)\n"
	"}\n"
	"complete -F _fcmctl fcmctl\n";

static const char zsh_script[] =
	"#compdef fcmctl\n"
	"_fcmctl() {\n"
	"\t# made by fcmctl completion zsh\n"
	"\tlocal word files=0\n"
	"\tlocal -a whole parts\n"
	"\tfor word in ${(f)\"$(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" "
	"2>/dev/null)\"}; do\n"
	"\t\tcase $word in\n"
	"\t\t:files) files=1 ;;\n"
	"\t\t*.) parts+=(\"$word\") ;;\n"
	"\t\t*) whole+=(\"$word\") ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t(( ${#whole} )) && compadd -a whole\n"
	"\t(( ${#parts} )) && compadd -S '' -a parts\n"
	"\t(( files )) && _files\n"
	"}\n"
	"if [ \"$funcstack[1]\" = _fcmctl ]; then _fcmctl; else compdef _fcmctl fcmctl; fi\n";

static int completion_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *shell = args->word[0];
	bool bash = strcmp(shell, "bash") == 0;

	if (!bash && strcmp(shell, "zsh") != 0) {
		return ctl_usage(ctl, "bash or zsh", "there is no completion for '%.40s'", shell);
	}
	if (ctl->json) {
		json_t *result = json_pack("{s:s,s:s}", "shell", shell, "script",
					   bash ? bash_script : zsh_script);

		writer_result(ctl->out, result, NULL);
		json_decref(result);
	} else {
		fputs(bash ? bash_script : zsh_script, stdout);
	}
	return CTL_DONE;
}

const struct ctl_command ctl_complete_commands[] = {
	{NULL, "completion", "SHELL", "print the script by which bash or zsh complete",
	 .help = "The Tab key then completes commands, options, names of parameters, links, "
		 "floors, commands and\nrecordings; names are asked from the daemon. make "
		 "install has put it where the shells look; by\nhand:\n\n  . <(fcmctl "
		 "completion bash)\n  fcmctl completion zsh > ~/.zfunc/_fcmctl",
	 .run = completion_run},
	{0},
};
