// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds of output: see kinds.h. */
#include "daemon/convert/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/convert/output/csv.h"
#include "daemon/convert/hdf5/hdf5.h"
#include "daemon/convert/output/numpy.h"
#include "daemon/convert/output/sound.h"

#define PMT   (1u << FCM_PMT)
#define SOUND (1u << FCM_HYDROPHONE)
#define SLOW  (1u << FCM_INSTRUMENT)
#define ALL   (PMT | SOUND | SLOW)

static const struct kind kinds[] = {
	{"h5", ".h5", hdf5_open, 0, ALL, ALL},
	{"h5", ".hdf5", hdf5_open, 0, ALL, ALL},
	{"npz", ".npz", npz_open, sizeof(struct numpy_state), ALL, ALL},
	{"npy", ".npy", numpy_open, sizeof(struct numpy_state), ALL, ALL},
	/* Samples of hydrophones as text take more than all hits. */
	{"csv", ".csv", csv_open, sizeof(struct csv_state), ALL, PMT | SLOW},
	{"wav", ".wav", wav_open, sizeof(struct sound_state), SOUND, SOUND},
	{"flac", ".flac", flac_open, sizeof(struct sound_state), SOUND, SOUND},
	{"recording", NULL, NULL, 0, 0, 0},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const struct kind *kind_of(const char *to, const char *output)
{
	const size_t length = strlen(output);

	for (size_t i = 0; i < KINDS; i++) {
		const char *suffix = kinds[i].suffix;
		size_t n = suffix ? strlen(suffix) : 0;

		if (to ? strcmp(to, kinds[i].name) == 0
		       : n == 0 || (length > n && strncmp(output + length - n, suffix, n) == 0)) {
			return &kinds[i];
		}
	}
	return NULL;
}

/* What is there of an output goes, or only the first name of it is wanted. */
struct sweep {
	char *found; /* NULL: it goes */
	size_t size;
};

static void take(const struct sweep *w, const char *path)
{
	struct stat st;

	if (!w->found) {
		unlink(path);
	} else if (!*w->found && lstat(path, &st) == 0) {
		snprintf(w->found, w->size, "%s", path);
	}
}

/* Files whose names match, below `prefix`: "", or with a slash at its end. */
static void take_matching(const struct sweep *w, const char *prefix, const char *pattern)
{
	DIR *d = opendir(*prefix ? prefix : ".");
	const struct dirent *e;
	char path[PATH_MAX], first[PATH_MAX] = "";

	while (d && (e = readdir(d))) {
		if (fnmatch(pattern, e->d_name, 0) != 0 ||
		    snprintf(path, sizeof(path), "%s%s", prefix, e->d_name) >= (int)sizeof(path)) {
			continue;
		}
		if (!w->found) {
			unlink(path);
		} else if (!*first || strcmp(path, first) < 0) {
			memcpy(first, path, sizeof(first));
		}
	}
	if (d) {
		closedir(d);
	}
	if (*first) {
		take(w, first);
	}
}

static void take_place(const struct sweep *w, const char *place)
{
	char prefix[PATH_MAX];

	if (w->found) {
		take(w, place);
		return;
	}
	snprintf(prefix, sizeof(prefix), "%s/", place);
	take_matching(w, prefix, "*.npy");
	take_matching(w, prefix, "*.raw");
	take_matching(w, prefix, "about.json");
	rmdir(place);
}

static void take_named(const struct sweep *w, const char *base, int length, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%.*s.%s.csv", length, base, name);
	take(w, path);
}

/* The tables of OUTPUT.csv. */
static void take_tables(const struct sweep *w, const char *output, int base)
{
	for (unsigned i = 0; i < TABLES; i++) {
		take_named(w, output, base, tables[i].name);
	}
	take_named(w, output, base, "hydrophones");
	take_named(w, output, base, "serial_bytes");
}

/* OUTPUT-T01F07H0.wav, and the tables beside OUTPUT.wav. */
static void take_sounds(const struct sweep *w, const char *output, int base, const char *suffix)
{
	const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
	char prefix[PATH_MAX], pattern[PATH_MAX];

	snprintf(prefix, sizeof(prefix), "%.*s", (int)(name - output), output);
	snprintf(pattern, sizeof(pattern), "%.*s-T[0-9][0-9]F[0-9][0-9]H[0-9]*%s",
		 base - (int)(name - output), name, suffix);
	if (!strpbrk(name, "*?[\\")) { /* such a name would match others */
		take_matching(w, prefix, pattern);
	}
	take_named(w, output, (int)strlen(output), tables[TABLE_PIECES].name);
	take_named(w, output, (int)strlen(output), tables[TABLE_MISSING].name);
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* All but the output's own name. */
static void take_rest(const struct sweep *w, const struct kind *kind, const char *output)
{
	int base = (int)strlen(output);
	char path[PATH_MAX];

	base -= ends_with(output, kind->suffix) ? (int)strlen(kind->suffix) : 0;
	if (strcmp(kind->name, "csv") == 0) {
		take_tables(w, output, base);
	} else if (kind->streams == SOUND) {
		take_sounds(w, output, base, kind->suffix);
	}
	snprintf(path, sizeof(path), "%s.parts", output);
	take_place(w, path);
}

bool kind_there(const struct kind *kind, const char *output, char *found, size_t size)
{
	const struct sweep w = {found, size};

	*found = '\0';
	take(&w, output);
	take_rest(&w, kind, output);
	return *found;
}

int kind_clear(const struct kind *kind, const char *output)
{
	const struct sweep w = {0};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s.resume", output);
	unlink(path);
	take_rest(&w, kind, output);
	if (strcmp(kind->name, "npy") == 0) {
		take_place(&w, output);
	}
	return unlink(output) < 0 && errno != ENOENT && errno != EISDIR ? -errno : 0;
}
