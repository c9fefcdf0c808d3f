// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading the configuration: file, drop-ins, overrides. libinih splits lines into section, key and value; it
 * gets one line at a time, so that a mistake has its line number. Mistakes are collected, reading goes on.
 */
#include "daemon/config/private.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/data/block.h"
#include "slowctl/param/edits.h"

_Static_assert(CONFIG_GROUPS == GROUPS_MAX, "groups");

#define LINE_BYTES   1000u	/* the longest line, as libinih is told */
#define FILE_BYTES   (1u << 20) /* of the largest file: not a disk by mistake */
#define INSTANCE_MAX 19u	/* ports 5710 + N must not reach 5730 + 0 */

/* One reading: where we are, and where it goes. */
struct reading {
	struct config *config;
	struct config_report *report;
	const char *file; /* NULL: command line */
	unsigned layer;	  /* a number a file: the same key twice in one layer is a mistake */
	FILE *stream;
	unsigned line;
	size_t bytes;
	bool groups_written;
};

double config_holdover_ppb(enum config_holdover holdover)
{
	/* Drift in 4 h and 24 h: rubidium 0.2/1 us, good OCXO 0.5/10 us, OCXO 1/25 us, TCXO
	 * 12/450 us; the larger of the two slopes, so that neither is exceeded. */
	static const double ppb[] = {
		[CONFIG_RB] = 200.0 / 14400,
		[CONFIG_OCXO_GOOD] = 10e3 / 86400,
		[CONFIG_OCXO] = 25e3 / 86400,
		[CONFIG_TCXO] = 450e3 / 86400,
	};

	return ppb[holdover];
}

/* A mistake where the reading is. */
#define complain(r, ...) config_complain((r)->report, (r)->file, (r)->line, __VA_ARGS__)

/* ------------------------------------------------------------------ one key */

static void nearer(const char *wanted, const char *candidate, unsigned *best, const char **ret_name)
{
	unsigned d = edits(wanted, candidate);

	if (d < *best && d <= 1 + strlen(wanted) / 3) {
		*best = d;
		*ret_name = candidate;
	}
}

static void unknown_section(struct reading *r, const char *section)
{
	const char *name = NULL;
	unsigned best = 1000;
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(section, " \t"), section);
	for (const struct option *o = config_options; o->section; o++) {
		nearer(word, o->section, &best, &name);
	}
	nearer(word, "group", &best, &name);
	nearer(word, "link", &best, &name);
	if (!section[0]) {
		complain(r, "a key before the first [section]");
	} else if (!name) {
		complain(r, "unknown section [%.40s]", section);
	} else {
		complain(r, "unknown section [%.40s] (did you mean [%s]?)", section, name);
	}
}

static void unknown_key(struct reading *r, const struct option *table, const char *kind,
			const char *key)
{
	const char *name = NULL, *other = NULL;
	unsigned best = 1000;

	for (const struct option *o = table; o->section; o++) {
		if (!strcmp(o->section, kind)) {
			nearer(key, o->key, &best, &name);
		}
	}
	for (const struct option *o = config_options; o->section && !name; o++) {
		if (!strcmp(o->key, key)) {
			other = o->section;
		}
	}
	if (name) {
		complain(r, "unknown key %.40s in [%s] (did you mean %s?)", key, kind, name);
	} else if (other) {
		complain(r, "unknown key %.40s in [%s] (it belongs in [%s])", key, kind, other);
	} else {
		complain(r, "unknown key %.40s in [%s]", key, kind);
	}
}

static bool legal_name(const char *name, size_t size)
{
	size_t n = strlen(name);

	return n > 0 && n < size &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       n;
}

/* The defaults of a group by its name: the two that every station has know what they take. */
static void group_defaults(struct config_group *g, const char *name)
{
	memset(g, 0, sizeof(*g));
	config_value_defaults(config_group_options, 0, g);
	snprintf(g->name, sizeof(g->name), "%s", name);
	g->streams = 0;
	if (!strcmp(name, "trigger")) {
		g->streams = 1u << FCM_PMT;
	} else if (!strcmp(name, "acoustic")) {
		g->streams = 1u << FCM_HYDROPHONE | 1u << FCM_INSTRUMENT;
	}
}

static struct config_group *find_group(struct reading *r, const char *name)
{
	struct config *c = r->config;

	if (!r->groups_written) {
		c->groups = 0;
		memset(c->group, 0, sizeof(c->group));
		r->groups_written = true;
	}
	for (unsigned i = 0; i < c->groups; i++) {
		if (!strcmp(c->group[i].name, name)) {
			return &c->group[i];
		}
	}
	if (c->groups == CONFIG_GROUPS) {
		complain(r, "more than %u groups", CONFIG_GROUPS);
		return NULL;
	}
	group_defaults(&c->group[c->groups], name);
	return &c->group[c->groups++];
}

/* A section that a file has. */
struct section {
	char name[130]; /* "[ link   0 ]" is "link 0": one section has one name */
	const char *kind;
	const struct option *table;
	void *base; /* of its values */
};

/* [KIND REST]. Its table and where its values go; false, and a complaint, when there is no such section. */
static bool find_repeatable(struct reading *r, const char *kind, const char *rest,
			    struct section *ret)
{
	bool is_link = !strcmp(kind, "link");

	if (!*rest) {
		complain(r, "[%s] needs a %s: [%s %s]", kind, is_link ? "number" : "name", kind,
			 is_link ? "0" : "trigger");
	} else if (is_link && (rest[0] < '0' || rest[0] >= '0' + (int)NANET3_LINKS || rest[1])) {
		complain(r, "[%.40s]: links are 0 to %u", ret->name, NANET3_LINKS - 1);
	} else if (is_link) {
		ret->base = &r->config->link[rest[0] - '0'];
	} else if (!legal_name(rest, sizeof(r->config->group[0].name))) {
		complain(r, "[%.40s]: a group's name is 1 to 31 letters, digits, - and _",
			 ret->name);
	} else {
		ret->base = find_group(r, rest);
	}
	ret->kind = is_link ? "link" : "group";
	ret->table = is_link ? config_link_options : config_group_options;
	return ret->base != NULL;
}

static bool find_section(struct reading *r, const char *written, struct section *ret)
{
	char kind[64] = "", rest[64] = "";
	size_t n;

	written += strspn(written, " \t");
	n = strcspn(written, " \t");
	snprintf(kind, sizeof(kind), "%.*s", (int)n, written);
	snprintf(rest, sizeof(rest), "%s", written + n + strspn(written + n, " \t"));
	for (n = strlen(rest); n && strchr(" \t", rest[n - 1]); n--) {
		rest[n - 1] = '\0';
	}
	*ret = (struct section){.table = config_options};
	n = (size_t)snprintf(ret->name, sizeof(ret->name), "%s", kind);
	if (*rest && n < sizeof(ret->name)) {
		snprintf(ret->name + n, sizeof(ret->name) - n, " %s", rest);
	}
	if (!strcmp(kind, "link") || !strcmp(kind, "group")) {
		return find_repeatable(r, kind, rest, ret);
	}
	for (const struct option *o = config_options; o->section; o++) {
		if (!strcmp(o->section, ret->name)) {
			ret->kind = o->section;
			ret->base = r->config;
			return true;
		}
	}
	unknown_section(r, ret->name);
	return false;
}

static void set(struct reading *r, const char *written, const char *key, const char *value)
{
	struct section section;
	struct config_why why;

	if (!find_section(r, written, &section)) {
		return;
	}
	for (const struct option *o = section.table; o->section; o++) {
		if (strcmp(o->section, section.kind) != 0 || strcmp(o->key, key) != 0) {
			continue;
		}
		if (config_value_parse(o, value, r->config->instance, section.base, &why) < 0) {
			complain(r, "[%s] %s: %s", section.name, key, why.text);
		}
		config_note_origin(r->report,
				   (size_t)((char *)section.base - (char *)r->config) + o->offset,
				   section.name, key, r->file, r->line, r->layer);
		return;
	}
	unknown_key(r, section.table, section.kind, key);
}

/* ------------------------------------------------------------------ one file */

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	set(context, section, name, value);
	return 1;
}

/* libinih reports only the first line that it cannot read, and silently cuts a long one: check each line before. A line
 * that is refused here is passed on as an empty one. */
static bool readable(struct reading *r, const char *line, size_t length)
{
	const char *p = line + strspn(line, " \t\r\n"), *ends;
	bool is_section, has_text;

	if (r->line == 1 && !strncmp(p, "\xef\xbb\xbf", 3)) {
		p += 3;
	}
	is_section = *p == '[';
	has_text = *p && *p != ';' && *p != '#';
	ends = is_section ? "]" : "=:";
	if (length >= LINE_BYTES - 2) {
		complain(r, "line longer than %u characters", LINE_BYTES - 3);
	} else if (strlen(line) != length) {
		complain(r, "a zero byte: this is not a text file");
	} else if (has_text && is_section && !strpbrk(p, ends)) {
		complain(r, "[ without ]");
	} else if (has_text && !strpbrk(p, ends)) {
		complain(r, "neither [section] nor key = value: %.*s", (int)strcspn(p, "\r\n"), p);
	} else if (has_text && strcspn(p, ends) > 48) {
		complain(r, "%s longer than 48 characters", is_section ? "section name" : "key");
	} else {
		return true;
	}
	return false;
}

static char *next_line(char *to, int size, void *context)
{
	struct reading *r = context;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (r->bytes > FILE_BYTES || (n = getline(&line, &room, r->stream)) < 0) {
		free(line);
		return NULL;
	}
	r->line++;
	r->bytes += (size_t)n;
	if (readable(r, line, (size_t)n)) {
		snprintf(to, (size_t)size, "%s", line);
	} else {
		snprintf(to, (size_t)size, "\n");
	}
	free(line);
	return to;
}

static void read_stream(struct reading *r)
{
	/* Library-wide settings of libinih; nobody else in the process uses it. */
	ini_use_stack = false;
	ini_initial_alloc = LINE_BYTES;
	ini_max_line = LINE_BYTES;
	ini_allow_multiline = false;
	if (ini_parse_stream(next_line, r, on_key, r) == -2) {
		r->report->out_of_memory = true;
	}
}

static void read_file(struct reading *r, const char *path)
{
	struct stat st;

	r->file = path;
	r->line = 0;
	r->bytes = 0;
	r->layer++;
	r->stream = fopen(path, "re");
	if (!r->stream && errno == ENOENT) {
		complain(r, "no such file (copy example.conf there and name the floors)");
		return;
	}
	if (!r->stream) {
		complain(r, "cannot be read: %s", strerror(errno));
		return;
	}
	if (fstat(fileno(r->stream), &st) == 0 &&
	    (st.st_size > FILE_BYTES || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))) {
		complain(r, "is not a configuration file");
	} else {
		read_stream(r);
		r->line = 0;
		if (ferror(r->stream)) {
			complain(r, "cannot be read to its end: %s", strerror(errno));
		} else if (r->bytes > FILE_BYTES) {
			complain(r, "is longer than %u bytes", FILE_BYTES);
		}
	}
	fclose(r->stream);
	r->stream = NULL;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 5 && !strcmp(entry->d_name + n - 5, ".conf");
}

static void read_drop_ins(struct reading *r, const char *path)
{
	struct dirent **entries = NULL;
	char *directory = NULL;
	int n;

	if (asprintf(&directory, "%s.d", path) < 0) {
		r->report->out_of_memory = true;
		return;
	}
	n = scandir(directory, &entries, is_drop_in, alphasort);
	if (n < 0 && errno != ENOENT) {
		config_complain(r->report, directory, 0, "cannot be read: %s", strerror(errno));
	}
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (asprintf(&file, "%s/%s", directory, entries[i]->d_name) < 0) {
			r->report->out_of_memory = true;
		} else {
			read_file(r, file);
			free(file);
		}
		free(entries[i]);
	}
	free(entries);
	free(directory);
}

static void read_override(struct reading *r, const char *text)
{
	size_t name = strcspn(text, "=");
	char section[64] = "", *dot = NULL;

	if (name < sizeof(section) && text[name] == '=') {
		snprintf(section, sizeof(section), "%.*s", (int)name, text);
		dot = strrchr(section, '.');
	}
	if (!dot) {
		complain(r, "\"%.80s\" is not section.key=value", text);
		return;
	}
	*dot = '\0';
	set(r, section, dot + 1, text + name + 1);
}

static void defaults(struct config *c, unsigned instance)
{
	memset(c, 0, sizeof(*c));
	c->instance = instance;
	config_value_defaults(config_options, instance, c);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		config_value_defaults(config_link_options, instance, &c->link[i]);
	}
	group_defaults(&c->group[0], "trigger");
	group_defaults(&c->group[1], "acoustic");
	c->groups = 2;
}

int config_load(const char *path, unsigned instance, const char *const *overrides,
		struct config *ret_config, struct config_report **ret_report)
{
	struct config config;
	struct reading r = {.config = &config};

	r.report = calloc(1, sizeof(*r.report));
	if (!r.report) {
		return -ENOMEM;
	}
	if (instance > INSTANCE_MAX) {
		config_complain(r.report, NULL, 0, "instance %u: 0 to %u are possible", instance,
				INSTANCE_MAX);
		instance = 0;
	}
	defaults(&config, instance);
	if (path) {
		read_file(&r, path);
		read_drop_ins(&r, path);
	}
	r.file = NULL;
	r.layer++;
	for (; overrides && *overrides; overrides++) {
		read_override(&r, *overrides);
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		config.link[i].enabled = config.link[i].wanted && config.link[i].floor > 0;
	}
	config_check_rules(&config, r.report, path);
	if (r.report->out_of_memory) {
		config_report_destroy(r.report);
		return -ENOMEM;
	}
	*ret_config = config;
	*ret_report = r.report;
	return r.report->errors_count ? -EINVAL : 0;
}
