/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scenario language: see scenario.h. One line an event,
 *
 *   at SECONDS [every SECONDS times N] [link L] ACTION [ARGUMENT ...]
 *
 * plus `from start` or `from data` once, comments from # to the end of the line, empty lines. The table
 * actions[] has the arguments of each action.
 */
#include "driver/emu/world/scenario.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/emu/world/gps.h"
#include "driver/nanet3.h"

#define WORDS_MAX   16u
#define EVENTS_MAX  100000u
#define SECONDS_MAX 1e6
#define FILE_MAX    (16u << 20) /* bytes */

/* What an argument may be: its name in errors, its range, and whether it is whole. */
struct arg {
	const char *name;
	double low, high;
	bool whole;
};

static const struct action {
	const char *name; /* one word, or two */
	uint8_t action;
	bool link;	  /* needs `link L` */
	uint8_t required; /* arguments, of those below */
	struct arg args[SCENARIO_ARGS];
	double value; /* the argument of an action that has none to read */
} actions[] = {
#define COUNT	"COUNT", 1, 1e9, true
#define OR_NONE "COUNT", 0, 1e9, true
#define SECONDS "SECONDS", 0.001, SECONDS_MAX, false
#define LINK	"LINK", 0, NANET3_LINKS - 1, true
	{"crc", SCENARIO_CRC, true, 1, {{COUNT}}},
	{"down-crc", SCENARIO_DOWN_CRC, true, 1, {{COUNT}}},
	{"drop", SCENARIO_DROP, true, 1, {{COUNT}}},
	{"unalign", SCENARIO_UNALIGN, true, 0, {{"BYTES", 1, 9999, true}}},
	{"slip-on-align", SCENARIO_SLIP, true, 1, {{"BITS", 0, 9, true}}},
	{"unplug", SCENARIO_UNPLUG, true, 0, {{SECONDS}}},
	{"plug", SCENARIO_PLUG, true},
	{"phase-drift", SCENARIO_PHASE_DRIFT, true, 1, {{"PS_PER_S", -1e4, 1e4, false}}},
	{"phase-step", SCENARIO_PHASE_STEP, true, 1, {{"PS", -1e5, 1e5, false}}},
	{"phase-stop", SCENARIO_PHASE, true},
	{"phase-go", SCENARIO_PHASE, true, .value = 1},
	{"stuck-dma", SCENARIO_STUCK_DMA, true, 1, {{"MS", 1, 65533, true}}},
	{"lose-irqs", SCENARIO_LOSE_IRQS, true, 1, {{"COUNT", 1, 65535, true}}},
	{"extra-irqs", SCENARIO_EXTRA_IRQS, true, 1, {{"COUNT", 1, 65535, true}}},
	{"mute", SCENARIO_MUTE, true, .value = 1},
	{"unmute", SCENARIO_MUTE, true},
	{"fcm-boot", SCENARIO_BOOT, true},
	{"hv-trip", SCENARIO_TRIP, true, 1, {{"MODULE", 0, 5, true}}},
	{"lose-replies", SCENARIO_LOSE_REPLIES, true, 1, {{OR_NONE}}},
	{"duplicate-replies", SCENARIO_DUPLICATE_REPLIES, true, 1, {{OR_NONE}}},
	{"reorder-replies", SCENARIO_REORDER_REPLIES, true, 1, {{OR_NONE}}},
	{"refuse", SCENARIO_REFUSE, true, 1, {{OR_NONE}}},
	{"burst", SCENARIO_BURST, true, 2, {{"HZ", 1, 2e7, false}, {SECONDS}}},
	{"time-fault", SCENARIO_TIME_FAULT, true, 1, {{COUNT}}},
	{"temperature", SCENARIO_TEMPERATURE, true, 1, {{"CELSIUS", -20, 120, false}}},
	{"gps ok", SCENARIO_GPS, .value = GPS_OK},
	{"gps void", SCENARIO_GPS, .value = GPS_VOID},
	{"gps silent", SCENARIO_GPS, .value = GPS_SILENT},
	{"gps jump", SCENARIO_GPS_JUMP, false, 1, {{"SECONDS", -2e9, 2e9, true}}},
	{"pps off", SCENARIO_PPS},
	{"pps on", SCENARIO_PPS, .value = 1},
	{"reference off", SCENARIO_REFERENCE},
	{"reference on", SCENARIO_REFERENCE, .value = 1},
	{"tod off", SCENARIO_TOD},
	{"tod on", SCENARIO_TOD, .value = 1},
	{"stall", SCENARIO_STALL, false, 1, {{SECONDS}}},
	{"board-gone", SCENARIO_BOARD_GONE, false, 1, {{"SECONDS", 0.001, 65, false}}},
	{"board-deaf", SCENARIO_BOARD_DEAF, false, 1, {{"SECONDS", 0.001, 65, false}}},
	{"lose-events", SCENARIO_LOSE_EVENTS, false, 1, {{"COUNT", 1, 65535, true}}},
	{"lose-reads", SCENARIO_LOSE_READS, false, 1, {{"COUNT", 1, 65535, true}}},
	{"slow-puts", SCENARIO_SLOW_PUTS, false, 1, {{"MS", 0, 65535, true}}},
	{"lose-descriptors", SCENARIO_LOSE_DESCRIPTORS, false, 1, {{"COUNT", 1, 65535, true}}},
	{"late-data", SCENARIO_LATE_DATA, false, 1, {{"COUNT", 1, 65535, true}}},
	{"board-slot",
	 SCENARIO_BOARD_SLOT,
	 false,
	 2,
	 {{"LANES", 1, 16, true}, {"GENERATION", 1, 5, true}}},
	{"board-temperature", SCENARIO_BOARD_TEMPERATURE, false, 1, {{"CELSIUS", -20, 150, false}}},
	{"swap", SCENARIO_SWAP, false, 2, {{LINK}, {LINK}}},
	{"beacons off", SCENARIO_BEACONS},
	{"beacons on", SCENARIO_BEACONS, .value = 1},
};
#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

struct parser {
	const char *name;
	unsigned line;
	char *error;
	size_t error_size;
	struct scenario *scenario;
	size_t room;
	char *words[WORDS_MAX];
	unsigned count, next;
};

__attribute__((format(printf, 2, 3))) static int fail(struct parser *p, const char *format, ...)
{
	va_list ap;
	int n = snprintf(p->error, p->error_size, "%s:%u: ", p->name, p->line);

	if (n >= 0 && (size_t)n < p->error_size) {
		va_start(ap, format);
		vsnprintf(p->error + n, p->error_size - (size_t)n, format, ap);
		va_end(ap);
	}
	return -EINVAL;
}

static const char *word(struct parser *p)
{
	return p->next < p->count ? p->words[p->next] : NULL;
}

static bool take_if(struct parser *p, const char *text)
{
	const char *w = word(p);

	if (!w || strcmp(w, text) != 0) {
		return false;
	}
	p->next++;
	return true;
}

static int take_number(struct parser *p, const struct arg *arg, double *ret_value)
{
	const char *w = word(p);
	char *end;
	double value;

	if (!w) {
		return fail(p, "%s is missing", arg->name);
	}
	errno = 0;
	value = strtod(w, &end);
	if (end == w || *end != '\0' || errno != 0 || !isfinite(value)) {
		return fail(p, "%s: '%s' is not a number", arg->name, w);
	}
	if (arg->whole && value != floor(value)) {
		return fail(p, "%s: '%s' is not a whole number", arg->name, w);
	}
	if (value < arg->low || value > arg->high) {
		return fail(p, "%s: %s is outside %g..%g", arg->name, w, arg->low, arg->high);
	}
	p->next++;
	*ret_value = value;
	return 0;
}

static int add(struct parser *p, const struct scenario_event *event)
{
	struct scenario *s = p->scenario;

	if (s->count >= EVENTS_MAX) {
		return fail(p, "more than %u events", EVENTS_MAX);
	}
	if (s->count == p->room) {
		const size_t room = p->room ? 2 * p->room : 64;
		struct scenario_event *events = realloc(s->events, room * sizeof(*events));

		if (!events) {
			fail(p, "out of memory");
			return -ENOMEM;
		}
		s->events = events;
		p->room = room;
	}
	s->events[s->count++] = *event;
	return 0;
}

static const struct action *find_action(const char *first, const char *second)
{
	char both[64];

	snprintf(both, sizeof(both), "%s %s", first, second ? second : "");
	for (size_t i = 0; i < ACTIONS; i++) {
		if (strcmp(actions[i].name, first) == 0 || strcmp(actions[i].name, both) == 0) {
			return &actions[i];
		}
	}
	return NULL;
}

/* Say what may follow the first word of an action that has two. */
static int fail_second(struct parser *p, const char *first)
{
	const size_t length = strlen(first);
	char list[64] = "";

	for (size_t i = 0; i < ACTIONS; i++) {
		const char *name = actions[i].name;
		const size_t n = strlen(list);

		if (strncmp(name, first, length) == 0 && name[length] == ' ') {
			snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
				 name + length + 1);
		}
	}
	return list[0] == '\0' ? fail(p, "unknown action '%s'", first)
			       : fail(p, "'%s' needs one of: %s", first, list);
}

/* `lose-replies 20%` */
static bool take_percent(struct parser *p, struct scenario_event *event)
{
	const char *w = word(p);
	char *end;
	double value;

	if (event->action != SCENARIO_LOSE_REPLIES || !w || w[0] == '\0' ||
	    w[strlen(w) - 1] != '%') {
		return false;
	}
	value = strtod(w, &end);
	if (end == w || strcmp(end, "%") != 0 || !(value >= 0 && value <= 100)) {
		return false; /* take_number() says what is wrong */
	}
	p->next++;
	event->action = SCENARIO_LOSE_SHARE;
	event->args[0] = value / 100;
	event->arg_count = 1;
	return true;
}

static int take_args(struct parser *p, const struct action *a, struct scenario_event *event)
{
	int err;

	event->args[0] = a->value;
	if (take_percent(p, event)) {
		return 0;
	}
	for (unsigned i = 0; i < SCENARIO_ARGS && a->args[i].name; i++) {
		if (!word(p) && i >= a->required) {
			break;
		}
		err = take_number(p, &a->args[i], &event->args[i]);
		if (err) {
			return err;
		}
		event->arg_count++;
	}
	return 0;
}

static int take_action(struct parser *p, struct scenario_event *event)
{
	static const struct arg link_arg = {"link", 0, NANET3_LINKS - 1, true};
	const struct action *a;
	const char *first;
	double link = SCENARIO_SHORE;
	bool has_link;
	int err;

	has_link = take_if(p, "link");
	if (has_link) {
		err = take_number(p, &link_arg, &link);
		if (err) {
			return err;
		}
	}
	first = word(p);
	if (!first) {
		return fail(p, "an action is missing");
	}
	p->next++;
	a = find_action(first, word(p));
	if (!a) {
		return fail_second(p, first);
	}
	p->next += strchr(a->name, ' ') != NULL;
	if (a->link != has_link) {
		return fail(p,
			    a->link ? "'%s' needs 'link L' before it" : "'%s' does not take a link",
			    first);
	}
	event->link = (uint8_t)link;
	event->action = a->action;
	err = take_args(p, a, event);
	if (err) {
		return err;
	}
	if (word(p)) {
		return fail(p, "unexpected argument '%s'", word(p));
	}
	if (a->action == SCENARIO_SWAP && event->args[0] == event->args[1]) {
		return fail(p, "swap needs two different links");
	}
	return 0;
}

static int take_at(struct parser *p)
{
	static const struct arg at_arg = {"at", 0, SECONDS_MAX, false};
	static const struct arg every_arg = {"every", 0.001, SECONDS_MAX, false};
	static const struct arg times_arg = {"times", 1, EVENTS_MAX, true};
	struct scenario_event event = {.line = p->line};
	double at = 0;
	double every = 0;
	double times = 1;
	int err;

	err = take_number(p, &at_arg, &at);
	if (!err && take_if(p, "every")) {
		err = take_number(p, &every_arg, &every);
		if (!err && !take_if(p, "times")) {
			err = fail(p, "'every SECONDS' needs 'times N' after it");
		}
		if (!err) {
			err = take_number(p, &times_arg, &times);
		}
	}
	if (!err) {
		err = take_action(p, &event);
	}
	for (unsigned i = 0; !err && i < (unsigned)times; i++) {
		event.step = (uint64_t)llround((at + i * every) * NANET3_FRAMES_PER_SECOND);
		err = add(p, &event);
	}
	return err;
}

static int take_from(struct parser *p)
{
	const bool data = take_if(p, "data");

	if (!data && !take_if(p, "start")) {
		return fail(p, "'from' needs 'start' or 'data'");
	}
	if (word(p)) {
		return fail(p, "unexpected argument '%s'", word(p));
	}
	p->scenario->from_data = data;
	return 0;
}

static int split(struct parser *p, char *line)
{
	char *save = NULL;

	line[strcspn(line, "#")] = '\0';
	p->count = 0;
	p->next = 0;
	for (char *w = strtok_r(line, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
		if (p->count == WORDS_MAX) {
			return fail(p, "more than %u words", WORDS_MAX);
		}
		for (const char *c = w; *c; c++) {
			if (!isprint((unsigned char)*c)) {
				return fail(p, "not plain text");
			}
		}
		p->words[p->count++] = w;
	}
	return 0;
}

static int parse_line(struct parser *p, char *line)
{
	int err = split(p, line);

	if (err || p->count == 0) {
		return err;
	}
	if (take_if(p, "at")) {
		return take_at(p);
	}
	if (take_if(p, "from")) {
		return take_from(p);
	}
	return fail(p, "a line must begin with 'at' or 'from', not '%s'", word(p));
}

static int in_time(const void *left, const void *right)
{
	const struct scenario_event *a = left;
	const struct scenario_event *b = right;

	if (a->step != b->step) {
		return a->step < b->step ? -1 : 1;
	}
	return a->line < b->line ? -1 : a->line > b->line;
}

int scenario_parse(const char *name, const char *text, struct scenario *ret_scenario, char *error,
		   size_t error_size)
{
	struct scenario scenario = {0};
	struct parser p = {
		.name = name, .error = error, .error_size = error_size, .scenario = &scenario};
	char *copy = strdup(text);
	char *rest = copy;
	int err = 0;

	if (!copy) {
		fail(&p, "out of memory");
		return -ENOMEM;
	}
	for (char *line = strsep(&rest, "\n"); !err && line; line = strsep(&rest, "\n")) {
		p.line++;
		err = parse_line(&p, line);
	}
	free(copy);
	if (err) {
		scenario_fini(&scenario);
		return err;
	}
	if (scenario.count > 0) {
		qsort(scenario.events, scenario.count, sizeof(scenario.events[0]), in_time);
	}
	*ret_scenario = scenario;
	return 0;
}

int scenario_load(const char *path, struct scenario *ret_scenario, char *error, size_t error_size)
{
	FILE *file = fopen(path, "re");
	char *text = file != NULL ? malloc(FILE_MAX + 1) : NULL;
	size_t size = text != NULL ? fread(text, 1, FILE_MAX + 1, file) : 0;
	int err = 0;

	if (text == NULL) {
		err = -errno;
	} else if (size > FILE_MAX) {
		err = -EFBIG;
	} else if (ferror(file) || memchr(text, '\0', size)) {
		err = -EINVAL;
	}
	if (text != NULL && err == 0) {
		text[size] = '\0';
		err = scenario_parse(path, text, ret_scenario, error, error_size);
	} else {
		snprintf(error, error_size, "%s: %s", path,
			 err == -EINVAL ? "not a text file" : strerror(-err));
	}
	free(text);
	if (file != NULL) {
		fclose(file);
	}
	return err;
}

void scenario_fini(struct scenario *s)
{
	free(s->events);
	*s = (struct scenario){0};
}
