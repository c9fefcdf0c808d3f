// SPDX-License-Identifier: GPL-2.0-or-later
/* The directory of recordings: see recordings.h. */
#include "slowctl/query/recordings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tdm/recording.h"

const char *recordings_beside(const char *database, char *path, size_t size)
{
	const char *slash = strrchr(database, '/');

	snprintf(path, size, "%.*srecordings", slash ? (int)(slash - database) + 1 : 0, database);
	return path;
}

struct found {
	char name[NAME_MAX + 1];
	int64_t changed_ns;
};

static int newest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->changed_ns != y->changed_ns) {
		return x->changed_ns < y->changed_ns ? 1 : -1;
	}
	return strcmp(y->name, x->name);
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* The directories in it, newest first. How many, or negative errno. */
static int find(const char *directory, struct found **ret_found)
{
	struct dirent **names = NULL;
	struct found *found;
	char path[2 * PATH_MAX];
	struct stat st;
	int n = 0, all = scandir(directory, &names, not_hidden, NULL);

	if (all < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	found = calloc((size_t)all + 1, sizeof(*found));
	for (int i = 0; i < all; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
		if (found && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
			memccpy(found[n].name, names[i]->d_name, 0, sizeof(found[n].name));
			found[n++].changed_ns =
				st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
		}
		free(names[i]);
	}
	free(names);
	if (!found) {
		return -ENOMEM;
	}
	qsort(found, (size_t)n, sizeof(*found), newest_first);
	*ret_found = found;
	return n;
}

/* `fd`: the recording's directory, closed here. */
static void count_segments(int fd, json_t *entry)
{
	json_int_t bytes = 0;
	int segments = 0;
	uint32_t number;
	unsigned link;
	struct dirent *e;
	struct stat st;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	while (d && (e = readdir(d))) {
		if (recording_name_parse(e->d_name, &link, &number) == 0 &&
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode)) {
			segments++;
			bytes += (json_int_t)st.st_size;
		}
	}
	if (d) {
		closedir(d);
	} else if (fd >= 0) {
		close(fd);
	}
	json_object_set_new(entry, "segments", json_integer(segments));
	json_object_set_new(entry, "bytes", json_integer(bytes));
}

static json_t *entry_of(const char *directory, const char *name)
{
	/* `before`: as a daemon called it that knew alarms. */
	static const struct {
		const char *name, *in_file, *before;
	} keys[] = {{"kind", "kind"},
		    {"note", "note"},
		    {"who", "who"},
		    {"links", "links"},
		    {"begun", "begun"},
		    {"until", "until"},
		    {"ended", "ended"},
		    {"why", "why"},
		    {"trouble", "trouble"},
		    {"cause", "incident", "alarm"},
		    {"cause_text", "incident_text", "alarm_text"},
		    {"let_go_frames", "let_go_frames"},
		    {"let_go_at_least", "let_go_at_least"}};
	char text[RECORDING_TEXT_SIZE];
	const char *why;
	json_t *entry = json_object(), *j = NULL;
	int fd = recording_enter(directory, name);

	if (fd >= 0 && recording_read_text(fd, "recording.json", text, sizeof(text)) > 0) {
		j = json_loads(text, 0, NULL);
	}
	json_object_set_new(entry, "name", json_string(name));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(j, keys[i].in_file);

		value = value || !keys[i].before ? value : json_object_get(j, keys[i].before);
		json_object_set(entry, keys[i].name, value ? value : json_null());
	}
	why = json_string_value(json_object_get(entry, "why"));
	if (why && strcmp(why, "alarm") == 0) {
		json_object_set_new(entry, "why", json_string("incident"));
	}
	json_decref(j);
	count_segments(fd, entry);
	return entry;
}

int recordings_list(const char *directory, unsigned limit, json_t **ret_list)
{
	struct found *found = NULL;
	int n = find(directory, &found);

	if (n < 0) {
		return n;
	}
	*ret_list = json_array();
	for (int i = 0; i < n && (limit == 0 || (unsigned)i < limit); i++) {
		json_array_append_new(*ret_list, entry_of(directory, found[i].name));
	}
	free(found);
	return 0;
}
