// SPDX-License-Identifier: GPL-2.0-or-later
/* The output as numpy arrays: see numpy.h. The format: numpy.lib.format, version 1.0. */
#include "daemon/convert/output/numpy.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/convert/output/text.h"
#include "daemon/convert/output/zip.h"

#define HEAD	2048u /* of a file: room for every length, a multiple of 64 */
#define ABOUT	"about.json"
#define SAMPLES 64u /* of a hit, at most */
#define BATCH	1024u

struct numpy {
	struct sink sink; /* first */
	struct numpy_state *state;
	const char *path; /* of the output */
	bool zipped;
	const struct about *about;
	char place[PATH_MAX]; /* of the files, a slash behind it */
	struct files *files;
	uint16_t values[BATCH * SAMPLES];
	uint64_t offsets[BATCH + 1];
};

static struct numpy *numpy_of(struct sink *s)
{
	return (struct numpy *)s;
}

static int checked(struct numpy *n, int err)
{
	return err < 0 ? sink_fail(&n->sink, err, "cannot write", files_failed(n->files)) : 0;
}

/* ------------------------------------------------------------------------------------------- arrays */

static void type_of_field(const struct field *f, char *text, size_t size)
{
	static const char *const names[] = {"|u1", "<u2", "<u4", "<u8", "<i4", "<i8"};

	if (f->type == FIELD_TEXT) {
		snprintf(text, size, "'|S%u'", f->bytes);
	} else if (f->type == FIELD_BYTES) {
		snprintf(text, size, "'|u1', (%u,)", f->bytes);
	} else {
		snprintf(text, size, "'%s'", names[f->type]);
	}
}

/* Fields as they follow in memory; there is nothing between them. */
static void type_of_table(const struct table *t, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "[");

	for (unsigned at = 0; at < t->row_bytes;) {
		const struct field *f = t->fields;
		char type[32];

		while (f->at != at) {
			f++;
		}
		type_of_field(f, type, sizeof(type));
		n += (size_t)snprintf(text + n, size - n, "%s('%s', %s)", at ? ", " : "", f->name,
				      type);
		at += f->bytes;
	}
	snprintf(text + n, size - n, "]");
}

static int put_head(struct numpy *n, int file, const char *type)
{
	static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
	char head[HEAD];
	int length;

	memset(head, ' ', sizeof(head));
	memcpy(head, magic, sizeof(magic));
	head[8] = (char)((HEAD - 10) & 0xff);
	head[9] = (char)((HEAD - 10) >> 8);
	length = snprintf(head + 10, HEAD - 10,
			  "{'descr': %s, 'fortran_order': False, 'shape': (%" PRIu64 ",), }", type,
			  n->state->files.file[file].items);
	head[10 + length] = ' ';
	head[HEAD - 1] = '\n';
	return files_put_head(n->files, file, head, sizeof(head));
}

/* Items of an array. */
static int put_numbers(struct numpy *n, const char *name, const void *items, size_t bytes,
		       size_t count)
{
	char file_name[FILES_NAME];
	int file;

	snprintf(file_name, sizeof(file_name), "%s.npy", name);
	file = files_find(n->files, file_name, HEAD);
	if (file < 0) {
		return file;
	}
	n->state->files.file[file].items += count;
	return files_put(n->files, file, items, bytes * count);
}

static int put_rows(struct numpy *n, enum table_id id, const void *rows, size_t count)
{
	return put_numbers(n, tables[id].name, rows, tables[id].row_bytes, count);
}

/* The type of the array in a file, by the file's name. */
static void type_of_file(const char *name, char *text, size_t size)
{
	char array[FILES_NAME];
	const char *dot = strrchr(name, '.');

	snprintf(array, sizeof(array), "%.*s", dot ? (int)(dot - name) : 0, name);
	for (unsigned i = 0; i < TABLES; i++) {
		if (strcmp(array, tables[i].name) == 0) {
			type_of_table(&tables[i], text, size);
			return;
		}
	}
	type_of_field(strcmp(array, "waveforms") == 0	   ? &waveforms_field
		      : strcmp(array, "serial_bytes") == 0 ? &serial_bytes_field
							   : &hydrophone_field,
		      text, size);
}

static int put_heads(struct numpy *n)
{
	char type[1200];
	int err = 0;

	for (int i = 0; i < (int)n->state->files.n && err == 0; i++) {
		type_of_file(n->state->files.file[i].name, type, sizeof(type));
		err = put_head(n, i, type);
	}
	return err;
}

/* --------------------------------------------------------------------------------------------- data */

static int on_hits(struct sink *sink, const struct hit_run *run)
{
	struct numpy *n = numpy_of(sink);
	int err = 0;

	for (size_t at = 0; at < run->n && err == 0; at += BATCH) {
		size_t count = run->n - at < BATCH ? run->n - at : BATCH;

		fcmdata_hits_waveforms(run->rows + at, count, run->payloads, n->values, n->offsets);
		err = put_rows(n, TABLE_HITS, run->hits + at, count);
		if (err == 0) {
			err = put_numbers(n, "waveforms", n->values, 2, n->offsets[count]);
		}
	}
	return checked(n, err);
}

static int on_table(struct sink *sink, enum table_id id, const void *rows, size_t count)
{
	struct numpy *n = numpy_of(sink);

	return checked(n, put_rows(n, id, rows, count));
}

static int on_sound(struct sink *sink, const struct sound_run *run)
{
	struct numpy *n = numpy_of(sink);
	char name[FILES_NAME];

	snprintf(name, sizeof(name), "T%02uF%02uH%u", run->tower, run->floor, run->hydrophone);
	return checked(n, put_numbers(n, name, run->samples, 4, run->n));
}

static int on_serial(struct sink *sink, const uint8_t *bytes, size_t count)
{
	struct numpy *n = numpy_of(sink);

	return checked(n, put_numbers(n, "serial_bytes", bytes, 1, count));
}

/* Of nothing there are arrays, too: who reads finds them. */
static int put_nothing(struct numpy *n)
{
	int err = 0;

	for (unsigned i = 0; i < TABLES && err == 0; i++) {
		err = put_rows(n, (enum table_id)i, "", 0);
	}
	return err < 0 ? err : put_numbers(n, "waveforms", "", 2, 0);
}

/* -------------------------------------------------------------------------------------- commit, finish */

static int put_about(struct numpy *n, const struct totals *totals)
{
	char path[PATH_MAX + 16], *text = text_about(n->about, totals);
	FILE *f;
	int err = 0;

	snprintf(path, sizeof(path), "%s" ABOUT, n->place);
	f = text ? fopen(path, "we") : NULL;
	if (!f || fputs(text, f) < 0) {
		err = text ? -errno : -ENOMEM;
	}
	if (f && fclose(f) != 0 && err == 0) {
		err = -errno;
	}
	free(text);
	return err < 0 ? sink_fail(&n->sink, err, "cannot write", path) : 0;
}

static int on_commit(struct sink *sink, const struct totals *totals, bool last)
{
	struct numpy *n = numpy_of(sink);
	int err = files_commit(n->files, false);

	if (err == 0) {
		err = put_heads(n);
	}
	if (err == 0) {
		err = files_commit(n->files, last);
	}
	err = checked(n, err);
	return err < 0 ? err : put_about(n, totals);
}

static int zip_all(struct numpy *n)
{
	char about[PATH_MAX + 16];
	struct zip *z;
	int err = zip_create(n->path, &z);

	for (int i = 0; i < (int)n->state->files.n && err == 0; i++) {
		err = zip_add(z, n->state->files.file[i].name, files_path(n->files, i));
	}
	if (err == 0) {
		snprintf(about, sizeof(about), "%s" ABOUT, n->place);
		err = zip_add(z, ABOUT, about);
	}
	if (err == 0) {
		err = zip_end(z);
	}
	zip_close(z);
	return err < 0 ? sink_fail(&n->sink, err, "cannot write", n->path) : 0;
}

static void remove_parts(struct numpy *n)
{
	char path[PATH_MAX + 16];

	for (int i = 0; i < (int)n->state->files.n; i++) {
		unlink(files_path(n->files, i));
	}
	snprintf(path, sizeof(path), "%s" ABOUT, n->place);
	unlink(path);
	rmdir(n->place);
}

static int on_finish(struct sink *sink, const struct totals *totals)
{
	struct numpy *n = numpy_of(sink);
	int err = on_commit(sink, totals, !n->zipped);

	if (err == 0 && n->zipped) {
		err = zip_all(n);
		if (err == 0) {
			remove_parts(n);
		}
	}
	return err;
}

static void on_close(struct sink *sink)
{
	struct numpy *n = numpy_of(sink);

	files_close(n->files);
	free(n);
}

static const struct sink_ops ops = {
	.hits = on_hits,
	.table = on_table,
	.sound = on_sound,
	.serial = on_serial,
	.commit = on_commit,
	.finish = on_finish,
	.close = on_close,
};

static int open_place(struct numpy *n, const struct sink_config *config)
{
	int err;

	if (snprintf(n->place, sizeof(n->place), "%s%s/", config->path,
		     n->zipped ? ".parts" : "") >= (int)sizeof(n->place)) {
		return -ENAMETOOLONG;
	}
	if (!config->resume && mkdir(n->place, 0777) < 0 && !(errno == EEXIST && config->again)) {
		return -errno;
	}
	err = files_open(n->place, &n->state->files, config->resume, config->again, &n->files);
	return err < 0 || config->resume ? err : put_nothing(n);
}

static int open_numpy(struct sink_config *config, bool zipped, struct sink **ret_sink)
{
	struct numpy *n = calloc(1, sizeof(*n));
	int err;

	if (!n) {
		return -ENOMEM;
	}
	n->sink.ops = &ops;
	n->state = config->state;
	n->path = config->path;
	n->about = config->about;
	n->zipped = zipped;
	err = open_place(n, config);
	if (err < 0) {
		snprintf(config->why, sizeof(config->why), "%.300s: %s", n->place, strerror(-err));
		on_close(&n->sink);
		return err;
	}
	*ret_sink = &n->sink;
	return 0;
}

int numpy_open(struct sink_config *config, struct sink **ret_sink)
{
	return open_numpy(config, false, ret_sink);
}

int npz_open(struct sink_config *config, struct sink **ret_sink)
{
	return open_numpy(config, true, ret_sink);
}
