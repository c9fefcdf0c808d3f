// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The emergency journal: see emergency.h. Two areas of rows; one is active. To make room, the rows that are still
 * needed are written into the other area, which then becomes the active one.
 */
#include "daemon/disk/emergency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/core/log.h"
#include "daemon/store/store.h"
#include "slowctl/safe/safe.h"

#define MAGIC	     "FCMEMRG2" /* another number for each other layout */
#define AREA_BYTES   (512u * 1024)
#define FOLDED	     128u
#define AGAIN_NS     1000000000ull
#define COOKIE_BYTES 0xffffffffull /* end of the bytes brought; above: number of the bring */

/* Count of ended commands of a parameter, and the last of them. */
struct folded {
	char parameter[PARAM_NAME_MAX];
	uint64_t count;
	int64_t time_ns;
	double value;
	char state[16];
};

struct area {
	_Atomic uint32_t used;	  /* bytes of rows */
	_Atomic uint32_t brought; /* of them, in the database */
	uint64_t dropped;
	uint32_t folded_count, unused;
	struct folded folded[FOLDED];
	char rows[AREA_BYTES];
};

struct image {
	char magic[8];
	uint64_t sum;	/* of all behind it, in a copy */
	uint32_t bytes; /* of the whole image */
	_Atomic uint32_t active;
	struct engine_marks marks;
	struct area area[2];
};

/* A row and, before it, the length of both, a multiple of 8. The row is cut to the arena it uses. */
struct entry {
	uint32_t bytes, unused;
	struct row row;
};

struct emergency {
	struct image *image;
	int fd; /* -1: the memory is our own */
	uint64_t generation;
	uint64_t bring; /* its number; 0: none is under way */
	uint64_t brings, again_ns;
	char error[200];
};

/* ------------------------------------------------------------------ rows */

static struct area *active(const struct emergency *j)
{
	return &j->image->area[atomic_load(&j->image->active) & 1];
}

static uint32_t row_bytes(const struct row *row)
{
	size_t bytes = offsetof(struct entry, row.arena) + row->used;

	return (uint32_t)((bytes + 7) & ~(size_t)7);
}

static const struct entry *entry_at(const struct area *a, uint32_t at)
{
	return (const struct entry *)(a->rows + at);
}

/* The row at *at, which moves behind it; NULL: there are no more. */
static const struct row *next_row(const struct area *a, uint32_t *at)
{
	const struct entry *entry = entry_at(a, *at);

	if (*at >= atomic_load(&a->used)) {
		return NULL;
	}
	*at += entry->bytes;
	return &entry->row;
}

/* A file may be damaged: an invalid row ends it. */
static bool row_good(const struct area *a, uint32_t at, uint32_t used)
{
	const struct entry *entry = entry_at(a, at);
	const struct row *row = &entry->row;

	if (at + offsetof(struct entry, row.arena) > used || entry->bytes > used - at ||
	    row->used > ROW_ARENA || row_bytes(row) != entry->bytes ||
	    (row->id == ROW_COMMAND ? row->count != 21
				    : row->id != ROW_TRANSITION || row->count != 9)) {
		return false;
	}
	for (unsigned n = 0; n < row->count; n++) {
		const struct row_value *v = &row->values[n];

		if (v->type == ROW_TEXT && (v->text >= row->used || !memchr(row->arena + v->text, 0,
									    row->used - v->text))) {
			return false;
		}
	}
	return true;
}

static const char *text_of(const struct row *row, unsigned n)
{
	return row->values[n].type == ROW_TEXT ? row->arena + row->values[n].text : "";
}

static uint64_t id_of(const struct row *row)
{
	return (uint64_t)row->values[0].i;
}

static bool is_end(const struct row *row)
{
	return row->values[row->id == ROW_COMMAND ? 20 : 8].type == ROW_INT;
}

/* The row with which the command ended; NULL: it is open. */
static const struct row *end_of(const struct area *a, uint64_t id)
{
	const struct row *row, *end = NULL;
	uint32_t at = 0;

	while ((row = next_row(a, &at))) {
		end = id_of(row) == id && is_end(row) ? row : end;
	}
	return end;
}

/* False: there is no room. */
static bool append(struct area *a, const struct row *row)
{
	uint32_t used = atomic_load(&a->used), bytes = row_bytes(row);
	struct entry *entry = (struct entry *)(a->rows + used);

	if (bytes > AREA_BYTES - used) {
		return false;
	}
	entry->bytes = bytes;
	entry->unused = 0;
	memcpy(&entry->row, row, offsetof(struct row, arena) + row->used);
	atomic_store(&a->used, used + bytes);
	return true;
}

/* ------------------------------------------------------------------ making room */

static void fold(struct area *a, const struct row *command, const struct row *end)
{
	const char *parameter = text_of(command, 11);
	struct folded *f = NULL;

	for (uint32_t n = 0; n < a->folded_count && !f; n++) {
		f = strcmp(a->folded[n].parameter, parameter) == 0 ? &a->folded[n] : NULL;
	}
	if (!f && a->folded_count == FOLDED) {
		a->dropped++;
		return;
	}
	if (!f) {
		f = &a->folded[a->folded_count++];
		*f = (struct folded){.count = 0};
		snprintf(f->parameter, sizeof(f->parameter), "%s", parameter);
	}
	f->count++;
	f->time_ns = command->values[2].i;
	f->value = command->values[14].type == ROW_REAL ? command->values[14].d : 0;
	snprintf(f->state, sizeof(f->state), "%s", text_of(end, end->id == ROW_COMMAND ? 18 : 2));
}

/* Write into the other area what is still needed: rows of open commands, and rows that the database
 * does not have. With `folding` only the former, and a count of the others. */
static void make_room(struct emergency *j, bool folding)
{
	const struct area *from = active(j);
	struct area *to = &j->image->area[(atomic_load(&j->image->active) & 1) ^ 1];
	uint32_t at = 0, brought = atomic_load(&from->brought);
	const struct row *row;

	atomic_store(&to->used, 0);
	atomic_store(&to->brought, 0);
	to->dropped = from->dropped;
	to->folded_count = from->folded_count;
	memcpy(to->folded, from->folded, sizeof(to->folded));
	for (;;) {
		bool is_brought = at < brought, ended;

		row = next_row(from, &at);
		if (!row) {
			break;
		}
		ended = end_of(from, id_of(row)) != NULL;
		if (!ended || (!is_brought && !folding)) {
			append(to, row);
		} else if (!is_brought && row->id == ROW_COMMAND) {
			fold(to, row, end_of(from, id_of(row)));
		}
		if (is_brought) {
			atomic_store(&to->brought, atomic_load(&to->used));
		}
	}
	atomic_fetch_xor(&j->image->active, 1);
	j->bring = 0; /* its offsets belong to the old area */
}

int emergency_put(struct emergency *j, const struct row *row)
{
	bool there = append(active(j), row);

	for (unsigned folding = 0; !there && folding < 2; folding++) {
		make_room(j, folding);
		there = append(active(j), row);
	}
	active(j)->dropped += !there;
	j->generation++;
	return there ? 0 : -ENOSPC;
}

/* ------------------------------------------------------------------ into the engine */

static uint64_t boot_of(const struct row *row, unsigned place)
{
	return row->values[place].type == ROW_INT ? (uint32_t)row->values[place].i
						  : ENGINE_BOOT_UNKNOWN;
}

static void journal_of(const struct row *row, struct engine_journal *ret_j)
{
	*ret_j = (struct engine_journal){
		.id = id_of(row),
		.action = strcmp(text_of(row, 12), "action") == 0,
		.new_value = row->values[14].type == ROW_REAL ? row->values[14].d : (double)NAN,
		.sequence = row->values[16].type == ROW_INT ? (uint32_t)row->values[16].i : 0,
		.boot = boot_of(row, 17),
		.time_ns = row->values[2].i,
		.later = UINT16_MAX, /* unknown: the FCM may have forgotten it */
		.job = safe_of(text_of(row, 7), id_of(row)),
		.emergency = true,
	};
	snprintf(ret_j->client_id, sizeof(ret_j->client_id), "%s", text_of(row, 1));
	snprintf(ret_j->parameter, sizeof(ret_j->parameter), "%s", text_of(row, 11));
	snprintf(ret_j->state, sizeof(ret_j->state), "%s", text_of(row, 18));
}

static void move_on(struct engine_journal *j, const struct row *row)
{
	snprintf(j->state, sizeof(j->state), "%s", text_of(row, 2));
	snprintf(j->detail, sizeof(j->detail), "%s", text_of(row, 4));
	j->sequence = (uint32_t)row->values[5].i;
	j->boot = boot_of(row, 6);
	j->attempts = (uint32_t)row->values[7].i;
	j->ended = is_end(row);
}

int emergency_recover(const struct emergency *j, struct engine *e, struct engine_now now)
{
	const struct area *a = active(j);
	uint32_t at = 0, used = atomic_load(&a->used);
	const struct row *row, *more;
	int r = 0;

	while (at < used && (row = next_row(a, &at))) { /* rows added meanwhile lie behind */
		struct engine_journal command;
		uint32_t rest = at;

		if (row->id != ROW_COMMAND) {
			continue;
		}
		journal_of(row, &command);
		while (rest < used && (more = next_row(a, &rest))) {
			if (more->id == ROW_TRANSITION && id_of(more) == command.id) {
				move_on(&command, more);
			}
		}
		r = engine_recover_command(e, &command, now) == -ENOMEM ? -ENOMEM : r;
	}
	return r;
}

/* ------------------------------------------------------------------ into the database */

static int bring_folded(const struct area *a, struct store *s, struct engine_now now)
{
	char text[320];
	int r = 0;

	for (uint32_t n = 0; n < a->folded_count && r == 0; n++) {
		const struct folded *f = &a->folded[n];

		snprintf(text, sizeof(text),
			 "%llu commands that were sent before they were journaled have no row of "
			 "their own: the emergency journal was full. The last, of UTC second %lld, "
			 "set it to %g and ended %s",
			 (unsigned long long)f->count, (long long)(f->time_ns / 1000000000),
			 f->value, f->state);
		r = store_put_event(s, "warning", "emergency-folded", f->parameter, text,
				    "compare set value and read-back: fcmctl get", now.utc_ns);
	}
	return r;
}

/* Give the store all rows that it lacks; it answers the last one. Returns the number of bytes
 * taken. */
static uint32_t bring_rows(struct emergency *j, struct store *s)
{
	const struct area *a = active(j);
	uint32_t at = atomic_load(&a->brought), used = atomic_load(&a->used);
	const struct row *row;
	struct row copy;

	while ((row = next_row(a, &at))) {
		bool last = at == used;

		memcpy(&copy, row, offsetof(struct row, arena) + row->used);
		copy.id = row->id == ROW_COMMAND ? ROW_COMMAND_BROUGHT : ROW_TRANSITION_BROUGHT;
		if (store_submit(s, &copy, last ? j->brings << 32 | at : 0,
				 last ? STORE_URGENT | STORE_ANSWER : 0) < 0) {
			return 0; /* all rows again, later */
		}
	}
	return used;
}

void emergency_bring(struct emergency *j, struct store *s, struct engine_now now)
{
	struct area *a = active(j);
	struct store_status v;

	if (j->bring || now.mono_ns < j->again_ns ||
	    (atomic_load(&a->brought) == atomic_load(&a->used) && a->folded_count == 0)) {
		return;
	}
	store_get_status(s, &v);
	j->again_ns = now.mono_ns + AGAIN_NS;
	if (v.away || v.failing || bring_folded(a, s, now) < 0) {
		return;
	}
	a->folded_count = 0;
	j->generation++;
	j->brings++;
	j->bring = bring_rows(j, s) ? j->brings : 0;
}

void emergency_brought(struct emergency *j, uint64_t cookie, int result, struct engine_now now)
{
	struct area *a = active(j);

	if (!j->bring || cookie >> 32 != j->bring) {
		return;
	}
	j->bring = 0;
	if (result < 0 && result != -EEXIST) {
		return; /* tried again */
	}
	j->again_ns = now.mono_ns;
	atomic_store(&a->brought, (uint32_t)(cookie & COOKIE_BYTES));
	make_room(j, false);
	j->generation++;
}

void emergency_get_status(const struct emergency *j, struct emergency_status *ret_status)
{
	const struct area *a = active(j);
	uint32_t at = atomic_load(&a->brought);

	*ret_status = (struct emergency_status){.dropped = a->dropped, .own_memory = j->fd < 0};
	snprintf(ret_status->error, sizeof(ret_status->error), "%s", j->error);
	while (next_row(a, &at)) {
		ret_status->rows++;
	}
	for (uint32_t n = 0; n < a->folded_count; n++) {
		ret_status->folded += a->folded[n].count;
	}
}

struct engine_marks *emergency_marks(struct emergency *j)
{
	return &j->image->marks;
}

/* ------------------------------------------------------------------ the file */

/* FNV-1a by words: a faulty disk may return other blocks. */
static uint64_t sum_of(const struct image *m)
{
	uint64_t sum = 0xcbf29ce484222325ull, word;

	for (size_t at = offsetof(struct image, bytes); at < sizeof(*m); at += sizeof(word)) {
		memcpy(&word, (const char *)m + at, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3ull;
	}
	return sum;
}

size_t emergency_bytes(void)
{
	return sizeof(struct image);
}

const void *emergency_image(const struct emergency *j)
{
	j->image->sum = sum_of(j->image);
	return j->image;
}

bool emergency_changed(const struct emergency *j, uint64_t *generation)
{
	bool other = *generation != j->generation;

	*generation = j->generation;
	return other;
}

/* Keep the valid rows; cut off the first invalid row and all behind it. */
static bool image_good(struct image *m)
{
	if (memcmp(m->magic, MAGIC, sizeof(m->magic)) != 0 || m->bytes != sizeof(*m)) {
		return false;
	}
	for (unsigned n = 0; n < 2; n++) {
		struct area *a = &m->area[n];
		uint32_t used = atomic_load(&a->used), at = 0;

		used = used > AREA_BYTES ? AREA_BYTES : used;
		while (row_good(a, at, used)) {
			at += entry_at(a, at)->bytes;
		}
		atomic_store(&a->used, at);
		if (atomic_load(&a->brought) > at) {
			atomic_store(&a->brought, 0);
		}
		a->folded_count = a->folded_count > FOLDED ? FOLDED : a->folded_count;
		for (unsigned f = 0; f < FOLDED; f++) {
			a->folded[f].parameter[PARAM_NAME_MAX - 1] = 0;
			a->folded[f].state[sizeof(a->folded[f].state) - 1] = 0;
		}
	}
	return true;
}

/* Load an image written by disk.c; false: there is none. */
static bool read_copy(const char *path, struct image *m)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	bool good = fd >= 0 && read(fd, m, sizeof(*m)) == (ssize_t)sizeof(*m) &&
		    m->sum == sum_of(m) && image_good(m);

	if (fd >= 0) {
		close(fd);
	}
	return good;
}

static void begin(struct image *m, const char *copy)
{
	if (image_good(m)) {
		return;
	}
	if (read_copy(copy, m)) {
		m->marks.last_id_old = true;
		return;
	}
	memset(m, 0, sizeof(*m));
	memcpy(m->magic, MAGIC, sizeof(m->magic));
	m->bytes = sizeof(*m);
}

/* The rows of a file of another version cannot be read: the file is renamed. */
static void set_aside(const char *path)
{
	char magic[8] = "", aside[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, magic, sizeof(magic)) : -1;

	if (fd >= 0) {
		close(fd);
	}
	if (n < (ssize_t)sizeof(magic) || !magic[0] || memcmp(magic, MAGIC, sizeof(magic)) == 0) {
		return;
	}
	snprintf(aside, sizeof(aside), "%s.other-version", path);
	if (rename(path, aside) < 0) {
		log_warning("store",
			    "the emergency journal %s is of another version of fcm-server and "
			    "cannot be kept as %s: %s. Commands in it that are not in the database "
			    "are lost",
			    path, aside, strerror(errno));
	} else {
		log_warning("store",
			    "the emergency journal %s is of another version of fcm-server; it is "
			    "kept as %s. Commands in it that are not in the database: start that "
			    "version once with it under its old name",
			    path, aside);
	}
}

/* Allocate all blocks of the file, so that no write to the memory can fail later. 0 or negative
 * errno. */
static int map_file(struct emergency *j, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640), r;
	void *m;

	if (fd < 0) {
		return -errno;
	}
	r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : -posix_fallocate(fd, 0, sizeof(*j->image));
	m = r < 0 ? MAP_FAILED
		  : mmap(NULL, sizeof(*j->image), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			 fd, 0);
	if (m == MAP_FAILED) {
		r = r < 0 ? r : -errno;
		close(fd);
		return r;
	}
	j->image = m;
	j->fd = fd;
	return 0;
}

int emergency_open(const char *path, const char *copy, struct emergency **ret_journal,
		   struct sc_error *error)
{
	struct emergency *j = calloc(1, sizeof(*j));
	int r;

	if (!j) {
		return -ENOMEM;
	}
	j->fd = -1;
	set_aside(path);
	r = map_file(j, path);
	if (r < 0) {
		j->image = mmap(NULL, sizeof(*j->image), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sc_fail(error, r, "emergency",
			"Make its directory, of the daemon's user, on a tmpfs: [store] emergency.",
			"the emergency journal %s cannot be mapped: %s; what is sent while the "
			"database does not answer is forgotten if the daemon is killed then",
			path, strerror(-r));
		snprintf(j->error, sizeof(j->error), "%s: %s", path, strerror(-r));
	}
	if (!j->image || j->image == MAP_FAILED) {
		free(j);
		return -ENOMEM;
	}
	mlock(j->image, sizeof(*j->image)); /* if that is not permitted, the mapping works without
					     * the lock */
	begin(j->image, copy);
	*ret_journal = j;
	return r < 0;
}

void emergency_close(struct emergency *j)
{
	if (!j) {
		return;
	}
	munmap(j->image, sizeof(*j->image));
	if (j->fd >= 0) {
		close(j->fd);
	}
	free(j);
}
