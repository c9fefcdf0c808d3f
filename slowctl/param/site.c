/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a site has otherwise than the dictionary: other soft limits for all modules, other alarm limits for
 * one that is known to be warm. Each file is read twice: first what it says of kinds, then what it says of
 * single parameters, which get a kind of their own then.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "slowctl/param/private.h"

#define SECTION_MAX  (2 * PARAM_NAME_MAX)
#define SECTIONS_MAX 256u /* of one file */

struct site {
	struct param_file file;
	struct params *params;
	bool of_kinds;		   /* this time; else of parameters */
	char section[SECTION_MAX]; /* being read */
	struct param_kind *kind;   /* that it changes; NULL: it is for the other time */
	uint64_t seen;
	struct {
		char name[SECTION_MAX];
		int line;
	} sections[SECTIONS_MAX];
	unsigned count;
};

static struct param_kind *kind_named(struct params *p, const char *section)
{
	for (unsigned i = 0; i < p->kind_count; i++) {
		if (strcmp(p->kinds[i].section, section) == 0) {
			return &p->kinds[i];
		}
	}
	return NULL;
}

/* The parameter's own kind: made like its like's, if it has none yet. */
static struct param_kind *own_kind(struct site *s, struct param *param)
{
	struct param_own *own;

	for (own = s->params->own; own; own = own->next) {
		if (&own->kind == param->kind) {
			return &own->kind;
		}
	}
	own = malloc(sizeof(*own));
	if (!own) {
		s->file.result = sc_fail(s->file.error, -ENOMEM, "memory", "", "out of memory");
		return NULL;
	}
	own->kind = *param->kind;
	own->next = s->params->own;
	s->params->own = own;
	param->kind = &own->kind;
	return &own->kind;
}

/* What a section has changed still has to fit together. */
static void section_end(struct site *s)
{
	const char *fault;

	if (!s->kind || s->file.result < 0) {
		return;
	}
	param_kind_complete(s->kind);
	fault = param_kind_fault(s->params, s->kind);
	if (fault) {
		param_file_complain(&s->file, s->kind->line, "[%s] %s", s->section, fault);
	}
	s->kind = NULL;
}

static bool note_section(struct site *s, const char *section, int line)
{
	if (strlen(section) >= SECTION_MAX || s->count == SECTIONS_MAX) {
		param_file_complain(&s->file, line, "[%.40s]: %s", section,
				    s->count == SECTIONS_MAX
					    ? "too many sections: divide the file in two"
					    : "no name is so long");
		return false;
	}
	for (unsigned n = 0; n < s->count; n++) {
		if (strcmp(s->sections[n].name, section) == 0) {
			param_file_complain(&s->file, line, "[%s] stands twice, first in line %d",
					    section, s->sections[n].line);
			return false;
		}
	}
	strcpy(s->sections[s->count].name, section);
	s->sections[s->count].line = line;
	s->count++;
	strcpy(s->section, section);
	return true;
}

static void section_begin(struct site *s, const char *section)
{
	int line = s->file.section ? s->file.section : s->file.line;
	struct param_kind *kind = kind_named(s->params, section);
	struct sc_error error = {0};
	struct param *param;

	section_end(s);
	if (s->file.result < 0 || !note_section(s, section, line)) {
		return;
	}
	s->seen = 0;
	if (kind) {
		s->kind = s->of_kinds ? kind : NULL;
	} else if (params_find(s->params, section, &param, &error) < 0) {
		param_file_complain(&s->file, line,
				    "[%s] is neither a kind, as [om.hv], nor a parameter: %s %s",
				    section, error.message, error.hint);
	} else if (!s->of_kinds) {
		s->kind = own_kind(s, param);
	}
	if (s->kind) {
		s->kind->line = line;
	}
}

/* libinih's handler. */
static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct site *s = user;

	if (s->file.result == 0 && (s->count == 0 || strcmp(s->section, section) != 0)) {
		section_begin(s, section);
	}
	if (s->file.result < 0 || !s->kind) {
		return 1;
	}
	if (param_key_fixed(name)) {
		param_file_complain(&s->file, s->file.line,
				    "[%s] %s is the hardware's: it is the dictionary's alone",
				    section, name);
		return 1;
	}
	param_key_put(&s->file, s->kind, section, name, value, &s->seen);
	return 1;
}

static int read_once(struct params *p, const char *path, bool of_kinds, unsigned *count,
		     struct sc_error *error)
{
	struct site *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		return sc_fail(error, -ENOMEM, "memory", "", "out of memory");
	}
	s->file = (struct param_file){.path = path, .error = error};
	s->params = p;
	s->of_kinds = of_kinds;
	r = param_file_read(&s->file, on_key, s);
	if (!s->file.file) {
		sc_fail(error, r, "dictionary",
			"Make it readable, or correct [slowctl] site_dictionary.",
			"site dictionary %s: %s", path, strerror(-r));
	} else {
		section_end(s);
		r = s->file.result;
	}
	*count += of_kinds ? s->count : 0;
	free(s);
	return r;
}

static int is_conf(const struct dirent *d)
{
	const char *end = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && end && strcmp(end, ".conf") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* All files of a directory: kinds of all before parameters of any. */
static int read_directory(struct params *p, const char *path, unsigned *count,
			  struct sc_error *error)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, is_conf, by_name), r = 0;

	if (n < 0) {
		r = -errno;
		return sc_fail(error, r, "dictionary",
			       "Make it readable, or correct [slowctl] site_dictionary.",
			       "site dictionary %s: %s", path, strerror(-r));
	}
	for (unsigned pass = 0; pass < 2; pass++) {
		for (int i = 0; i < n && r == 0; i++) {
			char file[PATH_MAX];

			snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
			r = read_once(p, file, pass == 0, count, error);
		}
	}
	for (int i = 0; i < n; i++) {
		free(names[i]);
	}
	free(names);
	return r;
}

int params_override(struct params *p, const char *path, unsigned *ret_count, struct sc_error *error)
{
	unsigned count = 0;
	struct stat st;
	int r;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		r = read_directory(p, path, &count, error);
	} else {
		r = read_once(p, path, true, &count, error);
		r = r ? r : read_once(p, path, false, &count, error);
	}
	if (r == 0 && ret_count) {
		*ret_count = count;
	}
	return r;
}
