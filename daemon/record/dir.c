// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording's directory: see dir.h. */
#include "daemon/record/dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "daemon/core/now.h"
#include "tdm/frame.h"
#include "tdm/recording.h"

#define PASSPORT "recording.json"
#define KIND_BOX "black-box"
#define KIND	 "recording"
/* recording.json has this size from the beginning, so that the end can be written over it when the disk is full. */
#define PASSPORT_BYTES 4096

struct record_dir {
	struct record_spec spec;
	char root[PATH_MAX / 2], path[PATH_MAX];
	int fd;
	struct segment *link[NANET3_LINKS];
	uint64_t let_go_before; /* cells, by predecessors */
	bool let_go_at_least;	/* one of them was killed: there may be more */
	bool left;		/* its writer ends, it goes on */
	int64_t ended_ns;	/* 0: it goes on */
	char why[96], trouble[RECORD_TROUBLE];
};

/* ------------------------------------------------------------------------------------ the passport */

static json_t *time_json(int64_t ns)
{
	return ns ? json_real((double)ns / 1e9) : json_null();
}

json_t *record_links_json(unsigned links)
{
	json_t *j = json_array();

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (links & 1u << link) {
			json_array_append_new(j, json_integer(link));
		}
	}
	return j;
}

static json_t *passport(const struct record_dir *r)
{
	const struct record_spec *s = &r->spec;
	bool ended = r->ended_ns != 0;
	bool counted = ended || r->left; /* before, the number would be too small after a kill */
	struct segment_counts counts;

	record_dir_counts(r, &counts);
	counts.let_go += r->let_go_before;
	/* o*: not there when NULL, which json_string() is for what is no UTF-8, a name that was cut. */
	return json_pack("{s:i,s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:s,s:s,s:o,s:o*,s:o*,s:o*,s:o*}",
			 "version", 1, "name", s->name, "kind", *s->incident ? KIND_BOX : KIND,
			 "note", s->note, "who", s->who, "links", record_links_json(s->links),
			 "begun", time_json(s->begun_ns), "until", time_json(s->until_ns), "ended",
			 time_json(r->ended_ns), "incident", s->incident, "incident_text",
			 s->incident_text, "incident_time", time_json(s->incident_ns), "why",
			 ended ? json_string(r->why) : NULL, "trouble",
			 ended ? json_string(r->trouble) : NULL, "let_go_frames",
			 counted ? json_integer((json_int_t)counts.let_go) : NULL,
			 "let_go_at_least", counted ? json_boolean(r->let_go_at_least) : NULL);
}

static void sync_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!fsync(fd);
		close(fd);
	}
}

static int write_all(int fd, const char *text)
{
	return dprintf(fd, "%s", text) < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Complete or not at all. */
static int write_file(int directory, const char *name, const char *text)
{
	char fresh[64];
	int fd, r;

	snprintf(fresh, sizeof(fresh), ".%s.new", name);
	/* Left by a daemon that was killed, or somebody's link, which is not followed. */
	if (unlinkat(directory, fresh, 0) < 0 && errno != ENOENT) {
		return -errno;
	}
	fd = openat(directory, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (fd < 0) {
		return -errno;
	}
	r = write_all(fd, text);
	close(fd);
	if (r == 0 && renameat(directory, fresh, directory, name) < 0) {
		r = -errno;
	}
	if (r < 0) {
		unlinkat(directory, fresh, 0);
	}
	return r < 0 || fsync(directory) == 0 ? r : -errno;
}

/* Over the existing file: needs no space on the disk. */
static int write_over(int directory, const char *name, const char *text)
{
	int fd = recording_open_below(directory, name, O_WRONLY);
	int r = fd < 0 ? fd : write_all(fd, text);

	if (fd >= 0) {
		close(fd);
	}
	return r;
}

static int write_passport(const struct record_dir *r)
{
	json_t *j = passport(r);
	char *text = json_dumps(j, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	char *padded = NULL;
	int e = -ENOMEM;

	if (text && asprintf(&padded, "%-*s\n", PASSPORT_BYTES - 1, text) >= 0) {
		e = write_file(r->fd, PASSPORT, padded);
		if (e < 0 && (r->ended_ns || r->left)) {
			e = write_over(r->fd, PASSPORT, padded) < 0 ? e : 0;
		}
		free(padded);
	}
	free(text);
	json_decref(j);
	return e;
}

static json_t *read_passport(const char *directory, const char *name)
{
	char text[RECORDING_TEXT_SIZE];
	int fd = recording_enter(directory, name);
	ssize_t n;

	if (fd < 0) {
		return NULL;
	}
	n = recording_read_text(fd, PASSPORT, text, sizeof(text));
	close(fd);
	return n > 0 ? json_loads(text, 0, NULL) : NULL;
}

static int64_t time_of(const json_t *j, const char *key)
{
	return (int64_t)(json_number_value(json_object_get(j, key)) * 1e9);
}

static void text_of(const json_t *j, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(j, key));

	snprintf(to, size, "%s", text ? text : "");
}

static void spec_of(const json_t *j, const char *name, struct record_spec *s)
{
	json_t *links = json_object_get(j, "links"), *link;
	size_t n;

	memset(s, 0, sizeof(*s));
	memccpy(s->name, name, 0, sizeof(s->name) - 1);
	text_of(j, "note", s->note, sizeof(s->note));
	text_of(j, "who", s->who, sizeof(s->who));
	s->begun_ns = time_of(j, "begun");
	s->until_ns = time_of(j, "until");
	json_array_foreach (links, n, link) {
		json_int_t v = json_integer_value(link);

		s->links |= v >= 0 && v < (json_int_t)NANET3_LINKS ? 1u << v : 0;
	}
}

/* ----------------------------------------------------------------------------- directories */

bool record_dir_name_ok(const char *name)
{
	size_t n = 0;

	while (isalnum((unsigned char)name[n]) || (name[n] && strchr("._-", name[n]))) {
		n++;
	}
	return n > 0 && n < RECORD_NAME && !name[n] && name[0] != '.';
}

static int make_directories(const char *path)
{
	char part[PATH_MAX];
	int n = snprintf(part, sizeof(part), "%s", path);

	for (int i = 1; i <= n; i++) {
		if (part[i] == '/' || part[i] == '\0') {
			char c = part[i];

			part[i] = '\0';
			if (mkdir(part, 0750) < 0 && errno != EEXIST) {
				return -errno;
			}
			part[i] = c;
		}
	}
	return 0;
}

int record_dir_free_bytes(const char *directory, uint64_t *ret_bytes)
{
	char path[PATH_MAX];
	struct statvfs f;

	/* While it does not exist, of the nearest directory above it. */
	snprintf(path, sizeof(path), "%s", directory);
	while (statvfs(path, &f) < 0) {
		char *slash = strrchr(path, '/');

		if (errno != ENOENT || !slash || slash == path) {
			return -errno;
		}
		*slash = '\0';
	}
	*ret_bytes = (uint64_t)f.f_bavail * f.f_frsize;
	return 0;
}

int record_dir_remove(const char *directory, const char *name)
{
	int fd = recording_enter(directory, name);
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;

	if (fd < 0) {
		return fd;
	}
	d = fdopendir(fd);
	if (!d) {
		int r = -errno;

		close(fd);
		return r;
	}
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			unlinkat(dirfd(d), e->d_name, 0);
		}
	}
	closedir(d);
	return rmdir(path) < 0 ? -errno : 0;
}

static int open_segments(struct record_dir *r, const struct record_place *place)
{
	int e = 0;

	for (unsigned link = 0; e == 0 && link < NANET3_LINKS; link++) {
		struct segment_config c = {
			.directory = r->fd,
			.board = place->board,
			.link = (uint8_t)link,
			.maker = place->maker,
			.bytes = place->segment_bytes,
		};

		if (r->spec.links & 1u << link) {
			e = segment_create(&c, &r->link[link]);
		}
	}
	return e;
}

static int open_directory(struct record_dir *r)
{
	r->fd = recording_enter(r->root, r->spec.name);
	return r->fd < 0 ? r->fd : 0;
}

static struct record_dir *make(const struct record_place *place, const struct record_spec *spec)
{
	struct record_dir *r = calloc(1, sizeof(*r));

	if (r) {
		r->spec = *spec;
		r->fd = -1;
		snprintf(r->root, sizeof(r->root), "%s", place->directory);
		snprintf(r->path, sizeof(r->path), "%s/%s", r->root, spec->name);
	}
	return r;
}

void record_dir_name_time(int64_t utc_ns, char *name, size_t size)
{
	time_t t = (time_t)(utc_ns / 1000000000);
	struct tm tm;

	strftime(name, size, "%Y%m%dT%H%M%SZ", gmtime_r(&t, &tm));
}

int record_dir_create(const struct record_place *place, struct record_spec *spec,
		      struct record_dir **ret_recording)
{
	struct record_dir *r;
	int e;

	if (!*spec->name) {
		record_dir_name_time(spec->begun_ns, spec->name, sizeof(spec->name));
	}
	r = make(place, spec);
	if (!r) {
		return -ENOMEM;
	}
	e = make_directories(r->root);
	if (e == 0 && mkdir(r->path, 0750) < 0) {
		e = -errno;
	}
	e = e ? e : open_directory(r);
	e = e ? e : write_passport(r);
	e = e ? e : open_segments(r, place);
	if (e < 0) {
		if (r->fd >= 0) { /* we have created it */
			record_dir_remove(r->root, spec->name);
		}
		record_dir_destroy(r);
		return e;
	}
	*ret_recording = r;
	return 0;
}

static bool is_kind(const json_t *passport, const char *kind)
{
	const char *is = json_string_value(json_object_get(passport, "kind"));

	return is && strcmp(is, kind) == 0;
}

bool record_dir_name_is_box(const char *name)
{
	return strncmp(name, RECORD_BOX, strlen(RECORD_BOX)) == 0;
}

bool record_dir_is_box(const char *directory, const char *name)
{
	json_t *j = record_dir_name_is_box(name) ? read_passport(directory, name) : NULL;
	bool is = is_kind(j, KIND_BOX);

	json_decref(j);
	return is;
}

/* The newest without an end. */
static bool find_open(const char *directory, struct record_spec *ret_spec)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d))) {
		json_t *j = record_dir_name_ok(e->d_name) && !record_dir_name_is_box(e->d_name)
				    ? read_passport(directory, e->d_name)
				    : NULL;
		struct record_spec spec;

		if (is_kind(j, KIND) && json_is_null(json_object_get(j, "ended"))) {
			spec_of(j, e->d_name, &spec);
			if (!found || spec.begun_ns > ret_spec->begun_ns) {
				*ret_spec = spec;
			}
			found = true;
		}
		json_decref(j);
	}
	if (d) {
		closedir(d);
	}
	return found;
}

/* Reads the number of cells let go by earlier daemons, and removes it from the file: after a kill it would be too small. */
static void take_up_let_go(struct record_dir *r)
{
	json_t *j = read_passport(r->root, r->spec.name);
	const json_t *n = json_object_get(j, "let_go_frames");
	const bool counted = json_is_integer(n);

	r->let_go_before = counted ? (uint64_t)json_integer_value(n) : 0;
	r->let_go_at_least = !counted || !json_is_false(json_object_get(j, "let_go_at_least"));
	json_decref(j);
	if (counted && write_passport(r) < 0) {
		r->let_go_at_least = true; /* the disk refuses: this will end soon */
	}
}

int record_dir_resume(const struct record_place *place, struct record_dir **ret_recording)
{
	struct record_spec spec;
	struct record_dir *r;
	int e;

	if (!find_open(place->directory, &spec)) {
		return -ENOENT;
	}
	r = make(place, &spec);
	e = r ? open_directory(r) : -ENOMEM;
	e = e ? e : open_segments(r, place);
	if (e < 0) {
		record_dir_destroy(r);
		return e;
	}
	take_up_let_go(r);
	*ret_recording = r;
	return 0;
}

void record_dir_destroy(struct record_dir *r)
{
	if (!r) {
		return;
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		segment_destroy(r->link[link]);
	}
	if (r->fd >= 0) {
		close(r->fd);
	}
	free(r);
}

const struct record_spec *record_dir_spec(const struct record_dir *r)
{
	return &r->spec;
}

/* ------------------------------------------------------------------------------------- the cells */

static int let_go(struct segment *s, const struct tap_entry *e, uint64_t count, uint64_t frames)
{
	return segment_gap(s, FCM_RECORD_LET_GO, 0, count, frames, e->cells.time_ns);
}

/* `frames` cells with data from `skip` cells into the entry. */
static int take_data(struct segment *s, struct tap *tap, const struct tap_entry *e, uint64_t skip,
		     uint64_t frames)
{
	const uint8_t *data = e->cells.data + skip * TDM_FRAME_BYTES;
	struct fcm_record_header h = {
		.kind = FCM_RECORD_DATA,
		.count = e->count + skip,
		.frames = frames,
		.monotonic_ns = e->cells.time_ns,
		.bytes = (uint32_t)(frames * TDM_FRAME_BYTES),
	};
	int r;

	if (!tap || !tap_lend(tap, e)) {
		return let_go(s, e, h.count, frames);
	}
	tdm_record_seal(&h, data);
	tap_return(tap, e);
	/* The checksum is that of the right bytes if the buffer is still ours. A kill during the write then leaves
	 * the right bytes or a wrong checksum. */
	if (!tap_holds(tap, e)) {
		return let_go(s, e, h.count, frames);
	}
	r = segment_data(s, &h, data);
	if (tap_holds(tap, e)) {
		return r;
	}
	if (r == 0) {
		segment_undo(s);
	} else if (r != -EFAULT) { /* which it is when the ring was unmapped in the meantime */
		return r;
	}
	return let_go(s, e, h.count, frames);
}

/* Cells, or cells that capture has let go. */
static int take_cells(struct segment *s, struct tap *tap, const struct tap_entry *e)
{
	bool let_go = e->kind == TAP_LET_GO;
	uint64_t time_ns = let_go ? now_mono_ns() : e->cells.time_ns;
	uint64_t with_data = let_go ? 0 : e->cells.bytes / TDM_FRAME_BYTES;
	uint64_t next = segment_next(s), skip = next > e->count ? next - e->count : 0;
	int r;

	if (skip >= e->frames) {
		return 0;
	}
	r = segment_turn(s, e->dma_epoch, e->count + skip, time_ns);
	if (r == 0 && skip < with_data) {
		r = take_data(s, tap, e, skip, with_data - skip);
		skip = with_data;
	}
	if (r == 0 && skip < e->frames) {
		r = segment_gap(s, let_go ? FCM_RECORD_LET_GO : FCM_RECORD_GAP,
				let_go ? 0 : e->reason, e->count + skip, e->frames - skip, time_ns);
	}
	return r;
}

int record_dir_take(struct record_dir *r, struct tap *tap, const struct tap_entry *e)
{
	struct segment *s = r->link[e->link];
	struct segment_state state;

	if (!s) {
		return 0;
	}
	switch (e->kind) {
	case TAP_STATE:
		state = (struct segment_state){
			.label = e->state.label,
			.run = e->state.run,
			.serial = e->state.board.serial,
			.boot_count = e->state.board.boot_count,
			.emulated = e->state.board.emulated,
		};
		segment_set_state(s, &state);
		return 0;
	case TAP_CELLS:
	case TAP_LET_GO:
		return take_cells(s, tap, e);
	default:
		return 0;
	}
}

/* Each link's, also when one fails; the first failure. */
static int each(struct record_dir *r, int (*step)(struct segment *s))
{
	int first = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		int e = r->link[link] ? step(r->link[link]) : 0;

		first = first ? first : e;
	}
	return first;
}

int record_dir_tick(struct record_dir *r)
{
	return each(r, segment_tick);
}

int record_dir_pause(struct record_dir *r)
{
	return each(r, segment_end);
}

int record_dir_leave(struct record_dir *r)
{
	int e = record_dir_pause(r), e2;

	r->left = true;
	e2 = record_dir_seal(r);
	return e ? e : e2;
}

int record_dir_seal(struct record_dir *r)
{
	struct stat st;

	/* The directory was removed: there is nothing to continue. */
	return fstat(r->fd, &st) == 0 && st.st_nlink == 0 ? 0 : write_passport(r);
}

int record_dir_end(struct record_dir *r, const char *why, const char *trouble)
{
	r->ended_ns = now_utc_ns();
	snprintf(r->why, sizeof(r->why), "%s", why);
	snprintf(r->trouble, sizeof(r->trouble), "%s", trouble);
	return record_dir_seal(r);
}

void record_dir_counts(const struct record_dir *r, struct segment_counts *ret_counts)
{
	memset(ret_counts, 0, sizeof(*ret_counts));
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct segment_counts c;

		if (r->link[link]) {
			segment_get_counts(r->link[link], &c);
			ret_counts->bytes += c.bytes;
			ret_counts->frames += c.frames;
			ret_counts->gaps += c.gaps;
			ret_counts->let_go += c.let_go;
			ret_counts->segments += c.segments;
		}
	}
}

int record_dir_adopt(struct record_dir *r, const struct record_spec *spec, const char *registers)
{
	char path[PATH_MAX];
	int e = write_file(r->fd, "registers.txt", registers);

	r->spec = *spec;
	e = e ? e : record_dir_end(r, "incident", "");
	if (e < 0) {
		return e;
	}
	snprintf(path, sizeof(path), "%s/%s", r->root, spec->name);
	if (rename(r->path, path) < 0) {
		return -errno;
	}
	memcpy(r->path, path, sizeof(r->path));
	sync_path(r->root); /* the box is there even if this fails */
	return 0;
}
