// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading the configuration: file, drop-ins, overrides. libinih cuts lines into section, key and value; we
 * feed it line by line, which is how a mistake gets its line number. Mistakes are collected, reading goes on.
 */
#include "daemon/config/private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

/* ------------------------------------------------------------------ origins */

static struct origin *find_origin(const struct config_report *report, const char *section,
				  const char *key)
{
	for (size_t i = 0; i < report->origins_count; i++) {
		struct origin *o = &report->origins[i];

		if (!strcmp(o->section, section) && !strcmp(o->key, key)) {
			return o;
		}
	}
	return NULL;
}

const char *config_origin(const struct config_report *report, const char *section, const char *key)
{
	const struct origin *o = find_origin(report, section, key);

	return o ? o->text : "default";
}

static void origin_fini(struct origin *o)
{
	free(o->section);
	free(o->key);
	free(o->text);
}

static void note_origin(struct reading *r, const char *section, const char *key)
{
	struct config_report *report = r->report;
	struct origin o = {.section = strdup(section), .key = strdup(key), .layer = r->layer};
	struct origin *old = find_origin(report, section, key), *origins;

	if (!r->file) {
		o.text = strdup("command line");
	} else if (asprintf(&o.text, "%s:%u", r->file, r->line) < 0) {
		o.text = NULL;
	}
	if (!o.section || !o.key || !o.text) {
		goto no_memory;
	}
	if (old && old->layer == o.layer && r->file) {
		config_complain(report, r->file, r->line, "[%s] %s stands twice: before at %s",
				section, key, old->text);
	}
	if (old) {
		origin_fini(old);
		*old = o;
		return;
	}
	origins = reallocarray(report->origins, report->origins_count + 1, sizeof(*origins));
	if (!origins) {
		goto no_memory;
	}
	report->origins = origins;
	report->origins[report->origins_count++] = o;
	return;
no_memory:
	origin_fini(&o);
	report->out_of_memory = true;
}

void config_report_destroy(struct config_report *report)
{
	if (!report) {
		return;
	}
	for (size_t i = 0; i < report->errors_count; i++) {
		free(report->errors[i]);
	}
	for (size_t i = 0; i < report->origins_count; i++) {
		origin_fini(&report->origins[i]);
	}
	free(report->errors);
	free(report->origins);
	free(report);
}

size_t config_errors(const struct config_report *report)
{
	return report->errors_count;
}

const char *config_error(const struct config_report *report, size_t index)
{
	return index < report->errors_count ? report->errors[index] : NULL;
}

void config_print_errors(const struct config_report *report, FILE *out)
{
	for (size_t i = 0; i < report->errors_count; i++) {
		fprintf(out, "%s\n", report->errors[i]);
	}
}

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
		config_complain(r->report, r->file, r->line, "a key before the first [section]");
	} else if (!name) {
		config_complain(r->report, r->file, r->line, "unknown section [%.40s]", section);
	} else {
		config_complain(r->report, r->file, r->line,
				"unknown section [%.40s] (did you mean [%s]?)", section, name);
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
		config_complain(r->report, r->file, r->line,
				"unknown key %.40s in [%s] (did you mean %s?)", key, kind, name);
	} else if (other) {
		config_complain(r->report, r->file, r->line,
				"unknown key %.40s in [%s] (it belongs in [%s])", key, kind, other);
	} else {
		config_complain(r->report, r->file, r->line, "unknown key %.40s in [%s]", key,
				kind);
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
		config_complain(r->report, r->file, r->line, "more than %u groups", CONFIG_GROUPS);
		return NULL;
	}
	group_defaults(&c->group[c->groups], name);
	return &c->group[c->groups++];
}

/* Where a section's values go and which table rules them; NULL (and a complaint) for an unknown one. */
static void *find_section(struct reading *r, const char *section, const struct option **ret_table,
			  const char **ret_kind)
{
	const char *rest;

	if (!strncmp(section, "link", 4) && (section[4] == ' ' || section[4] == '\t')) {
		rest = section + 4 + strspn(section + 4, " \t");
		if (rest[0] >= '0' && rest[0] < '0' + (int)NANET3_LINKS && !rest[1]) {
			*ret_table = config_link_options;
			*ret_kind = "link";
			return &r->config->link[rest[0] - '0'];
		}
		config_complain(r->report, r->file, r->line, "[%.40s]: links are 0 to %u", section,
				NANET3_LINKS - 1);
		return NULL;
	}
	if (!strncmp(section, "group", 5) && (section[5] == ' ' || section[5] == '\t')) {
		rest = section + 5 + strspn(section + 5, " \t");
		if (legal_name(rest, sizeof(r->config->group[0].name))) {
			*ret_table = config_group_options;
			*ret_kind = "group";
			return find_group(r, rest);
		}
		config_complain(r->report, r->file, r->line,
				"[%.40s]: a group's name is 1 to 31 letters, digits, - and _",
				section);
		return NULL;
	}
	if (!strcmp(section, "link") || !strcmp(section, "group")) {
		config_complain(r->report, r->file, r->line, "[%s] needs a %s: [%s %s]", section,
				section[0] == 'l' ? "number" : "name", section,
				section[0] == 'l' ? "0" : "trigger");
		return NULL;
	}
	for (const struct option *o = config_options; o->section; o++) {
		if (!strcmp(o->section, section)) {
			*ret_table = config_options;
			*ret_kind = o->section;
			return r->config;
		}
	}
	unknown_section(r, section);
	return NULL;
}

static void set(struct reading *r, const char *written, const char *key, const char *value)
{
	const struct option *table = NULL;
	const char *kind = NULL;
	char section[64], why[256];
	void *base;
	size_t n;

	/* "[ link   0 ]" is [link 0]: one section has one name. */
	snprintf(section, sizeof(section), "%s", written + strspn(written, " \t"));
	for (n = strlen(section); n && strchr(" \t", section[n - 1]); n--) {
		section[n - 1] = '\0';
	}
	base = find_section(r, section, &table, &kind);
	if (!base) {
		return;
	}
	if (table != config_options) {
		char *rest = section + strlen(kind);

		memmove(rest + 1, rest + strspn(rest, " \t"),
			strlen(rest + strspn(rest, " \t")) + 1);
	}
	for (const struct option *o = table; o->section; o++) {
		if (strcmp(o->section, kind) != 0 || strcmp(o->key, key) != 0) {
			continue;
		}
		if (config_value_parse(o, value, r->config->instance, base, why, sizeof(why)) < 0) {
			config_complain(r->report, r->file, r->line, "[%s] %s: %s", section, key,
					why);
		}
		note_origin(r, section, key);
		return;
	}
	unknown_key(r, table, kind, key);
}

/* ------------------------------------------------------------------ one file */

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	set(context, section, name, value);
	return 1;
}

/* libinih tells only of the first line that it cannot read, and not that it cut a long one: look at
 * each before it does. A line that is refused here is handed on as an empty one. */
static bool readable(struct reading *r, const char *line, size_t length)
{
	const char *p = line + strspn(line, " \t\r\n");

	if (r->line == 1 && !strncmp(p, "\xef\xbb\xbf", 3)) {
		p += 3;
	}
	if (length >= LINE_BYTES - 2) {
		config_complain(r->report, r->file, r->line, "line longer than %u characters",
				LINE_BYTES - 3);
		return false;
	}
	if (strlen(line) != length) {
		config_complain(r->report, r->file, r->line,
				"a zero byte: this is not a text file");
		return false;
	}
	if (!*p || *p == ';' || *p == '#') {
		return true;
	}
	if (*p == '[' && !strchr(p, ']')) {
		config_complain(r->report, r->file, r->line, "[ without ]");
		return false;
	}
	if (*p == '[' && strcspn(p, "]") > 48) {
		config_complain(r->report, r->file, r->line,
				"section name longer than 48 characters");
		return false;
	}
	if (*p != '[' && !strpbrk(p, "=:")) {
		config_complain(r->report, r->file, r->line,
				"neither [section] nor key = value: %.*s", (int)strcspn(p, "\r\n"),
				p);
		return false;
	}
	if (*p != '[' && strcspn(p, "=:") > 48) {
		config_complain(r->report, r->file, r->line, "key longer than 48 characters");
		return false;
	}
	return true;
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
	int fd;

	r->file = path;
	r->line = 0;
	r->bytes = 0;
	r->layer++;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		config_complain(r->report, path, 0,
				"no such file (copy example.conf there and name the floors)");
		return;
	}
	if (fd < 0) {
		config_complain(r->report, path, 0, "cannot be read: %s", strerror(errno));
		return;
	}
	if (fstat(fd, &st) == 0 &&
	    (st.st_size > FILE_BYTES || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))) {
		config_complain(r->report, path, 0, "is not a configuration file");
		close(fd);
		return;
	}
	r->stream = fdopen(fd, "r");
	if (!r->stream) {
		config_complain(r->report, path, 0, "cannot be read: %s", strerror(errno));
		close(fd);
		return;
	}
	read_stream(r);
	if (ferror(r->stream)) {
		config_complain(r->report, path, 0, "cannot be read to its end: %s",
				strerror(errno));
	} else if (r->bytes > FILE_BYTES) {
		config_complain(r->report, path, 0, "is longer than %u bytes", FILE_BYTES);
	}
	fclose(r->stream);
	r->stream = NULL;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 5 && !strcmp(entry->d_name + n - 5, ".conf");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_drop_ins(struct reading *r, const char *path, char **files, size_t files_max,
			  size_t *ret_files)
{
	struct dirent **entries = NULL;
	char *directory = NULL;
	int n;

	if (asprintf(&directory, "%s.d", path) < 0) {
		r->report->out_of_memory = true;
		return;
	}
	n = scandir(directory, &entries, is_drop_in, by_name);
	if (n < 0 && errno != ENOENT) {
		config_complain(r->report, directory, 0, "cannot be read: %s", strerror(errno));
	}
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (*ret_files == files_max) {
			config_complain(r->report, directory, 0, "more than %zu files", files_max);
		} else if (asprintf(&file, "%s/%s", directory, entries[i]->d_name) < 0) {
			r->report->out_of_memory = true;
		} else {
			files[(*ret_files)++] = file;
			read_file(r, file);
		}
		free(entries[i]);
	}
	free(entries);
	free(directory);
}

static void read_override(struct reading *r, const char *text)
{
	size_t name = strcspn(text, "=");
	char section[64], *dot;

	if (name >= sizeof(section) || text[name] != '=') {
		config_complain(r->report, NULL, 0, "\"%.80s\" is not section.key=value", text);
		return;
	}
	snprintf(section, sizeof(section), "%.*s", (int)name, text);
	dot = strrchr(section, '.');
	if (!dot) {
		config_complain(r->report, NULL, 0, "\"%.80s\" is not section.key=value", text);
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
	char *files[64];
	size_t files_count = 0;
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
		read_drop_ins(&r, path, files, sizeof(files) / sizeof(files[0]), &files_count);
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
	while (files_count) {
		free(files[--files_count]);
	}
	if (r.report->out_of_memory) {
		config_report_destroy(r.report);
		return -ENOMEM;
	}
	*ret_config = config;
	*ret_report = r.report;
	return r.report->errors_count ? -EINVAL : 0;
}
