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
		f->result = sc_fail(f->error, -ENOMEM, "memory", "", "out of memory");
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

static int read_once(struct params *p, const char *path, bool of_kinds, unsigned *count,
		     struct sc_error *error)
{
	struct param_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		return sc_fail(error, -ENOMEM, "memory", "", "out of memory");
	}
	f->path = path;
	f->params = p;
	f->error = error;
	f->begin = of_kinds ? begin_kind : begin_param;
	f->site = true;
	r = param_file_read(f);
	if (!f->file) {
		sc_fail(error, r, "dictionary",
			"Make it readable, or correct [slowctl] site_dictionary.",
			"site dictionary %s: %s", path, strerror(-r));
	}
	*count += of_kinds ? f->count : 0;
	free(f);
	return r;
}

static int is_conf(const struct dirent *d)
{
	const char *end = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && end && strcmp(end, ".conf") == 0;
}

/* All files of a directory: kinds of all before parameters of any. */
static int read_directory(struct params *p, const char *path, unsigned *count,
			  struct sc_error *error)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, is_conf, alphasort), r = 0;

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
