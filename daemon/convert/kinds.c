// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds of output: see kinds.h. */
#include "daemon/convert/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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

/* Files of `place` whose names match go. */
static void remove_matching(const char *place, const char *pattern)
{
	DIR *d = opendir(place);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (fnmatch(pattern, e->d_name, 0) == 0) {
			unlinkat(dirfd(d), e->d_name, 0);
		}
	}
	if (d) {
		closedir(d);
	}
}

static void remove_place(const char *place)
{
	remove_matching(place, "*.npy");
	remove_matching(place, "*.raw");
	remove_matching(place, "about.json");
	rmdir(place);
}

static void remove_named(const char *base, int length, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%.*s.%s.csv", length, base, name);
	unlink(path);
}

/* The tables of OUTPUT.csv. */
static void remove_tables(const char *output, int base)
{
	for (unsigned i = 0; i < TABLES; i++) {
		remove_named(output, base, tables[i].name);
	}
	remove_named(output, base, "hydrophones");
	remove_named(output, base, "serial_bytes");
}

/* OUTPUT-T01F07H0.wav, and the tables beside OUTPUT.wav. */
static void remove_sounds(const char *output, int base, const char *suffix)
{
	const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
	char place[PATH_MAX], pattern[PATH_MAX];

	remove_named(output, (int)strlen(output), tables[TABLE_PIECES].name);
	remove_named(output, (int)strlen(output), tables[TABLE_MISSING].name);
	snprintf(place, sizeof(place), "%.*s", slash ? (int)(name - output) : 1,
		 slash ? output : ".");
	snprintf(pattern, sizeof(pattern), "%.*s-T[0-9][0-9]F[0-9][0-9]H[0-9]*%s",
		 base - (int)(name - output), name, suffix);
	if (!strpbrk(name, "*?[\\")) { /* such a name would match others */
		remove_matching(place, pattern);
	}
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

int kind_clear(const struct kind *kind, const char *output)
{
	char path[PATH_MAX];
	int base;

	snprintf(path, sizeof(path), "%s.parts", output);
	remove_place(path);
	snprintf(path, sizeof(path), "%s.resume", output);
	unlink(path);
	if (strcmp(kind->name, "npy") == 0) {
		remove_place(output);
	}
	base = (int)strlen(output);
	base -= ends_with(output, kind->suffix) ? (int)strlen(kind->suffix) : 0;
	if (strcmp(kind->name, "csv") == 0) {
		remove_tables(output, base);
	} else if (kind->streams == SOUND) {
		remove_sounds(output, base, kind->suffix);
	}
	return unlink(output) < 0 && errno != ENOENT && errno != EISDIR ? -errno : 0;
}
