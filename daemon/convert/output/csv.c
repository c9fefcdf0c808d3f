// SPDX-License-Identifier: GPL-2.0-or-later
/* The output as text with commas: see csv.h. */
#include "daemon/convert/output/csv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/convert/output/text.h"

#define SUFFIX	".csv"
#define SAMPLES 64u /* of a hit, at most */

struct csv {
	struct sink sink; /* first */
	struct csv_state *state;
	char prefix[PATH_MAX]; /* of all files */
	struct files *files;
	uint16_t values[SAMPLES];
};

static struct csv *csv_of(struct sink *s)
{
	return (struct csv *)s;
}

static int checked(struct csv *c, int err)
{
	return err < 0 ? sink_fail(&c->sink, err, "cannot write", files_failed(c->files)) : 0;
}

/* The file of a table; new: with its names. `more`: names that the table does not have. */
static int find(struct files *files, enum table_id id, const char *name, const char *more)
{
	char text[TEXT_ROW];
	int file = files_find(files, name, 0);
	size_t n;
	int err;

	if (file < 0 || files_length(files, file) > 0) {
		return file;
	}
	n = id < TABLES ? text_names(&tables[id], text) : 0;
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n", more);
	err = files_put(files, file, text, n);
	return err < 0 ? err : file;
}

static int find_table(struct files *files, enum table_id id)
{
	char name[FILES_NAME];

	snprintf(name, sizeof(name), ".%s" SUFFIX, tables[id].name);
	return find(files, id, name, "");
}

int csv_put_row(struct files *files, enum table_id id, const void *row)
{
	char text[TEXT_ROW];
	int file = find_table(files, id);
	size_t n;

	if (file < 0) {
		return file;
	}
	n = text_row(&tables[id], row, text);
	text[n++] = '\n';
	return files_put(files, file, text, n);
}

/* Numbers with blanks between and a newline behind. */
static size_t put_values(const int32_t *values, size_t count, char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (i > 0) {
			text[n++] = ' ';
		}
		n += text_number(values[i], text + n);
	}
	text[n++] = '\n';
	return n;
}

static int put_hit(struct csv *c, int file, const struct hit_run *run, size_t i)
{
	char text[TEXT_ROW];
	int32_t values[SAMPLES];
	uint64_t offsets[2];
	size_t n = text_row(&tables[TABLE_HITS], &run->hits[i], text);

	fcmdata_hits_waveforms(&run->rows[i], 1, run->payloads, c->values, offsets);
	for (size_t k = 0; k < offsets[1]; k++) {
		values[k] = c->values[k];
	}
	text[n++] = ',';
	n += put_values(values, offsets[1], text + n);
	return files_put(c->files, file, text, n);
}

static int on_hits(struct sink *sink, const struct hit_run *run)
{
	struct csv *c = csv_of(sink);
	int file = find(c->files, TABLE_HITS, SUFFIX, ",waveform"), err = MIN(file, 0);

	for (size_t i = 0; i < run->n && err == 0; i++) {
		err = put_hit(c, file, run, i);
	}
	return checked(c, err);
}

static int on_table(struct sink *sink, enum table_id id, const void *rows, size_t n)
{
	struct csv *c = csv_of(sink);
	int err = 0;

	for (size_t i = 0; i < n && err == 0; i++) {
		err = csv_put_row(c->files, id, (const uint8_t *)rows + i * tables[id].row_bytes);
	}
	return checked(c, err);
}

static int on_sound(struct sink *sink, const struct sound_run *run)
{
	struct csv *c = csv_of(sink);
	int file = find(c->files, TABLES, ".hydrophones" SUFFIX,
			"tai_ns,frame,link,tower,floor,hydrophone,samples");
	int err = MIN(file, 0);
	char text[TEXT_ROW];

	for (size_t i = 0; i < run->n && err == 0; i += FCMDATA_SAMPLES) {
		const int64_t frame = (int64_t)(i / FCMDATA_SAMPLES);
		size_t n = (size_t)snprintf(
			text, sizeof(text), "%lld,%llu,%u,%u,%u,%u,",
			(long long)(run->tai_ns == FCM_NO_TAI ? FCM_NO_TAI
							      : run->tai_ns + frame * 125000),
			(unsigned long long)run->first_frame + (unsigned long long)frame, run->link,
			run->tower, run->floor, run->hydrophone);

		n += put_values(run->samples + i, FCMDATA_SAMPLES, text + n);
		err = files_put(c->files, file, text, n);
	}
	return checked(c, err);
}

/* A line a record: its bytes are where `at` and `length` of the table say. */
static int on_serial(struct sink *sink, const uint8_t *bytes, size_t n)
{
	struct csv *c = csv_of(sink);
	int file = find(c->files, TABLES, ".serial_bytes" SUFFIX, "byte"), err = MIN(file, 0);
	char text[8];

	for (size_t i = 0; i < n && err == 0; i++) {
		size_t length = text_number(bytes[i], text);

		text[length++] = '\n';
		err = files_put(c->files, file, text, length);
	}
	return checked(c, err);
}

static int on_commit(struct sink *sink, const struct totals *totals, bool last)
{
	struct csv *c = csv_of(sink);

	return checked(c, files_commit(c->files, last));
}

static int on_finish(struct sink *sink, const struct totals *totals)
{
	return on_commit(sink, totals, true);
}

static void on_close(struct sink *sink)
{
	struct csv *c = csv_of(sink);

	files_close(c->files);
	free(c);
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

/* Those that are always there, if only with their names. */
static int make_files(struct csv *c, unsigned streams)
{
	int err = find_table(c->files, TABLE_BLOCKS);

	if (err >= 0) {
		err = find_table(c->files, TABLE_MISSING);
	}
	if (err >= 0 && streams & 1u << FCM_PMT) {
		err = find(c->files, TABLE_HITS, SUFFIX, ",waveform");
	}
	return MIN(err, 0);
}

int csv_open(struct sink_config *config, struct sink **ret_sink)
{
	struct csv *c = calloc(1, sizeof(*c));
	size_t length = strlen(config->path), cut = strlen(SUFFIX);
	int err;

	if (!c) {
		return -ENOMEM;
	}
	c->sink.ops = &ops;
	c->state = config->state;
	snprintf(c->prefix, sizeof(c->prefix), "%s", config->path);
	if (length > cut && length < PATH_MAX && strcmp(config->path + length - cut, SUFFIX) == 0) {
		c->prefix[length - cut] = '\0';
	}
	err = files_open(c->prefix, &c->state->files, config->resume, config->again, &c->files);
	if (err == 0 && !config->resume) {
		err = make_files(c, config->streams);
	}
	if (err < 0) {
		snprintf(config->why, sizeof(config->why), "%.300s: %s",
			 c->files ? files_failed(c->files) : c->prefix, strerror(-err));
		on_close(&c->sink);
		return err;
	}
	*ret_sink = &c->sink;
	return 0;
}
