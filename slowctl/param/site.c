/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a site changes of the dictionary: other soft limits for all modules, other alarm limits for one that is known
 * to be warm. Each file is read twice: first its sections of kinds, then those of single parameters, which get a kind
 * of their own.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "slowctl/param/private.h"

static struct param_kind *kind_named(struct params *p, const char *section)
{
	for (unsigned i = 0; i < p->kind_count; i++) {
		if (strcmp(p->kinds[i].section, section) == 0) {
			return &p->kinds[i];
		}
	}
	return NULL;
}

/* The parameter's own kind: a copy of its present one, if it has none yet. */
static struct param_kind *own_kind(struct param_file *f, struct param *param)
{
	struct param_own *own;

	for (own = f->params->own; own; own = own->next) {
		if (&own->kind == param->kind) {
			return &own->kind;
		}
	}
	own = malloc(sizeof(*own));
	if (!own) {
		f->result = param_no_memory(f->error);
		return NULL;
	}
	own->kind = *param->kind;
	own->next = f->params->own;
	f->params->own = own;
	param->kind = &own->kind;
	return &own->kind;
}

/* First reading: sections of kinds; those of parameters are only looked up. */
static void begin_kind(struct param_file *f, const char *section, int line)
{
	struct sc_error error = {0};
	struct param *param;

	f->kind = kind_named(f->params, section);
	if (f->kind) {
		f->kind->line = line;
	} else if (params_find(f->params, section, &param, &error) < 0) {
		param_file_complain(f, line,
				    "[%s] is neither a kind, as [om.hv], nor a parameter: %s %s",
				    section, error.message, error.hint);
	}
}

/* Second reading: sections of parameters. */
static void begin_param(struct param_file *f, const char *section, int line)
{
	struct param *param;

	if (kind_named(f->params, section) || params_find(f->params, section, &param, NULL) < 0) {
		return;
	}
	f->kind = own_kind(f, param);
	if (f->kind) {
		f->kind->line = line;
	}
}

static int is_conf(const struct dirent *d)
{
	const char *end = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && end && strcmp(end, ".conf") == 0;
}

/* The n-th file of the site: `path` itself, or the entry of that directory. */
static int read_file(struct params *p, const char *path, const struct dirent *entry,
		     param_begin_fn begin, unsigned *ret_count, struct sc_error *error)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s%s%s", path, entry ? "/" : "", entry ? entry->d_name : "");
	return param_file_read(p, file, true, begin, ret_count, error);
}

int params_override(struct params *p, const char *path, unsigned *ret_count, struct sc_error *error)
{
	static const param_begin_fn passes[] = {begin_kind, begin_param};
	struct dirent **entries = NULL;
	unsigned sections = 0;
	struct stat st;
	bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	int n = directory ? scandir(path, &entries, is_conf, alphasort) : 1, r = 0;

	if (n < 0) {
		return param_file_unreadable(path, true, -errno, error);
	}
	/* Kinds of all files before parameters of any. */
	for (unsigned pass = 0; pass < 2; pass++) {
		for (int i = 0; i < n && r == 0; i++) {
			unsigned count = 0;

			r = read_file(p, path, directory ? entries[i] : NULL, passes[pass], &count,
				      error);
			sections += pass == 0 ? count : 0;
		}
	}
	for (int i = 0; directory && i < n; i++) {
		free(entries[i]);
	}
	free(entries);
	if (r == 0 && ret_count) {
		*ret_count = sections;
	}
	return r;
}
