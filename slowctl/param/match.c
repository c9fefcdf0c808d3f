/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which names a shell pattern means: fnmatch(3) with slashes for dots, so that * ? and [...] stay between dots and a
 * pattern also means all below it. What a pattern costs is bounded: both texts are short, and the C library goes back
 * to the last star only. That matters, because the daemon matches a client's patterns in its event loop.
 */
#include "slowctl/param/param.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#define PATTERN_MAX (2u * PARAM_NAME_MAX)
#define FLAGS	    (FNM_PATHNAME | FNM_LEADING_DIR | FNM_NOESCAPE)

static int as_path(const char *name, char *path, size_t size)
{
	if (strlen(name) >= size || strchr(name, '/')) {
		return -EINVAL;
	}
	strcpy(path, name);
	for (char *dot = path; (dot = strchr(dot, '.'));) {
		*dot = '/';
	}
	return 0;
}

static bool path_matches(const char *glob, const char *name)
{
	char path[PARAM_NAME_MAX];
	const char *slash;

	if (as_path(name, path, sizeof(path)) < 0) {
		return false;
	}
	slash = strncmp(path, "tower", 5) == 0 ? strchr(path, '/') : NULL;
	return fnmatch(glob, path, FLAGS) == 0 || (slash && fnmatch(glob, slash + 1, FLAGS) == 0);
}

bool param_name_matches(const char *pattern, const char *name)
{
	char glob[PATTERN_MAX];

	return as_path(pattern, glob, sizeof(glob)) == 0 && path_matches(glob, name);
}

unsigned params_match(struct params *p, const char *pattern,
		      void (*fn)(void *context, struct param *param), void *context)
{
	char glob[PATTERN_MAX];
	unsigned matches = 0;

	if (as_path(pattern, glob, sizeof(glob)) < 0) {
		return 0;
	}
	for (unsigned i = 0; i < params_count(p); i++) {
		struct param *param = params_at(p, i);

		if (path_matches(glob, param->name)) {
			matches++;
			if (fn) {
				fn(context, param);
			}
		}
	}
	return matches;
}
