// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The output as an HDF5 file. /hits has a dataset for each column, the other tables are datasets of rows: so a program reads
 * only the columns of hits that it wants. Everything goes through h5_series.c; the file is always as of the last commit,
 * or can be put back to it (h5_driver.c).
 */
#include "daemon/convert/hdf5/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/convert/hdf5/h5_attribute.h"
#include "daemon/convert/hdf5/h5_cells.h"
#include "daemon/convert/hdf5/h5_series.h"

#define COLUMNS	       12u
#define WAVEFORM_CHUNK 262144u
#define SOUND_CHUNK    131072u
#define SERIAL_CHUNK   65536u
#define JOBS_A_THREAD  8u

struct sound_series {
	uint8_t tower, floor, hydrophone;
	struct h5_series *series;
};

struct hdf5 {
	struct sink sink; /* first */
	struct h5_out out;
	const char *path;
	unsigned streams;
	hid_t hits, hydrophones, instrument; /* groups; 0: none */
	struct h5_series *columns[COLUMNS], *tables[TABLES], *waveforms, *serial;
	struct sound_series sounds[SOUNDS_MAX];
	unsigned sounds_n;
	struct h5_cells cells;
	bool warned; /* that the data are emulated */
	bool finished;
};

static struct hdf5 *hdf5_of(struct sink *s)
{
	return (struct hdf5 *)s;
}

/* `err`: of a call that says -1 when HDF5 has failed. It may not say so when the disk has: some of its writes come late,
 * and behind an error none is made any more. */
static int checked(struct hdf5 *h, int err)
{
	if (err >= 0 && h5_out_error(&h->out) == 0) {
		return 0;
	}
	err = h5_out_error(&h->out) < 0 ? h5_out_error(&h->out) : -EIO;
	return sink_fail(&h->sink, err, err == -EIO ? "HDF5 cannot write" : "cannot write",
			 h->path);
}

/* ------------------------------------------------------------------------------------------ groups */

static hid_t group(hid_t file, const char *name)
{
	return H5Lexists(file, name, H5P_DEFAULT) > 0
		       ? H5Gopen2(file, name, H5P_DEFAULT)
		       : H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

static struct h5_series *open_field(struct hdf5 *h, hid_t place, const char *name,
				    const struct field *f, uint32_t chunk)
{
	hid_t type = h5_field_type(f);
	bool there = H5Lexists(place, name, H5P_DEFAULT) > 0;
	struct h5_series *s = type < 0 ? NULL : h5_series_open(&h->out, place, name, type, chunk);

	H5Tclose(type);
	if (s && !there && h5_describe_field(h5_series_id(s), f) < 0) {
		h5_series_close(s);
		return NULL;
	}
	return s;
}

static struct h5_series *open_table(struct hdf5 *h, enum table_id id)
{
	const struct table *t = &tables[id];
	bool there = H5Lexists(h->out.file, t->path, H5P_DEFAULT) > 0;
	hid_t type = h5_row_type(t);
	struct h5_series *s =
		type < 0 ? NULL
			 : h5_series_open(&h->out, h->out.file, t->path, type, t->chunk_rows);

	H5Tclose(type);
	if (s && !there && h5_describe_table(h5_series_id(s), t) < 0) {
		h5_series_close(s);
		return NULL;
	}
	return s;
}

static bool has(const struct hdf5 *h, enum fcm_stream stream)
{
	return h->streams & 1u << stream;
}

static bool wants_table(const struct hdf5 *h, enum table_id id)
{
	switch (id) {
	case TABLE_HITS:
		return false; /* it has columns */
	case TABLE_HIT_INDICES:
	case TABLE_WAVEFORM_INDICES:
		return has(h, FCM_PMT);
	case TABLE_PIECES:
		return has(h, FCM_HYDROPHONE);
	case TABLE_TELEMETRY:
	case TABLE_SERIAL:
		return has(h, FCM_INSTRUMENT);
	default:
		return true;
	}
}

static int open_groups(struct hdf5 *h)
{
	h->hits = has(h, FCM_PMT) ? group(h->out.file, "hits") : 0;
	h->hydrophones = has(h, FCM_HYDROPHONE) ? group(h->out.file, "hydrophones") : 0;
	h->instrument = has(h, FCM_INSTRUMENT) ? group(h->out.file, "instrument") : 0;
	return h->hits < 0 || h->hydrophones < 0 || h->instrument < 0 ? -1 : 0;
}

static int open_hits(struct hdf5 *h)
{
	const struct table *t = &tables[TABLE_HITS];

	for (unsigned i = 0; t->fields[i].name; i++) {
		h->columns[i] =
			open_field(h, h->hits, t->fields[i].name, &t->fields[i], t->chunk_rows);
		if (!h->columns[i]) {
			return -1;
		}
	}
	h->waveforms = open_field(h, h->out.file, "waveforms", &waveforms_field, WAVEFORM_CHUNK);
	return h->waveforms ? h5_attribute_text(h->hits, "description", t->about) : -1;
}

static int open_series(struct hdf5 *h)
{
	if (open_groups(h) < 0 || (has(h, FCM_PMT) && open_hits(h) < 0)) {
		return -1;
	}
	for (unsigned i = 0; i < TABLES; i++) {
		if (wants_table(h, (enum table_id)i) &&
		    !(h->tables[i] = open_table(h, (enum table_id)i))) {
			return -1;
		}
	}
	if (has(h, FCM_INSTRUMENT)) {
		h->serial = open_field(h, h->instrument, "serial_bytes", &serial_bytes_field,
				       SERIAL_CHUNK);
		return h->serial ? 0 : -1;
	}
	return 0;
}

/* ---------------------------------------------------------------------------------------- attributes */

static int put_time(hid_t file, const char *name, int64_t utc_s)
{
	const time_t seconds = (time_t)utc_s;
	struct tm tm;
	char text[32];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return h5_attribute_text(file, name, text);
}

static int put_about(hid_t file, const struct about *a)
{
	const struct {
		const char *name, *text;
	} texts[] = {
		{"format", HDF5_FORMAT},
		{"program", "fcm-convert " FCM_VERSION},
		{"source", a->source},
		{"command", a->command},
		{"host", a->host},
		{"station", a->station},
		{"recording_json", a->recording_json},
		{"time",
		 "TAI since 1970 in ns, without leap seconds; UTC = TAI - tai_utc seconds. The "
		 "configured delay of each floor's cable is added (cable_delay_ns in blocks)."},
		{"calibration", "none: charges and samples are the FCM's counts; times have the "
				"configured cable delay only"},
	};
	int err = h5_attribute_number(file, "format_number", HDF5_VERSION);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && err == 0; i++) {
		err = texts[i].text ? h5_attribute_text(file, texts[i].name, texts[i].text) : 0;
	}
	return err < 0 ? err : put_time(file, "created", a->created_utc_s);
}

static int warn(struct hdf5 *h)
{
	if (h->warned) {
		return 0;
	}
	h->warned = true;
	return h5_attribute_text(h->out.file, "WARNING",
				 "EMULATED DATA: FROM A MODEL, NOT FROM THE SEA");
}

static int put_totals(struct hdf5 *h, const struct totals *t)
{
	const struct {
		const char *name;
		int64_t number;
	} numbers[] = {
		{"complete", t->complete},
		{"emulated", t->emulated},
		{"board", t->board},
		{"run", t->run},
		{"several_runs", t->several_runs},
		{"tai_utc", t->tai_utc_s},
		{"first_tai_ns", t->first_tai_ns},
		{"last_tai_ns", t->last_tai_ns},
		{"frames_missing", (int64_t)t->frames_missing},
		{"frames_missing_at_edges", (int64_t)t->edge_frames},
		{"segments_damaged", (int64_t)t->troubles},
	};
	int err = t->emulated ? warn(h) : 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && err == 0; i++) {
		err = h5_attribute_number(h->out.file, numbers[i].name, numbers[i].number);
	}
	return err;
}

/* ---------------------------------------------------------------------------------------------- data */

static int on_hits(struct sink *sink, const struct hit_run *run)
{
	struct hdf5 *h = hdf5_of(sink);
	const struct field *fields = tables[TABLE_HITS].fields;
	int err = 0;

	for (unsigned i = 0; fields[i].name && err == 0; i++) {
		err = h5_series_put(h->columns[i], (const uint8_t *)run->hits + fields[i].at,
				    sizeof(*run->hits), run->n);
	}
	for (size_t i = 0; i < run->n && err == 0; i++) {
		const struct fcm_hit_row *r = &run->rows[i];

		err = h5_series_put_samples(h->waveforms, run->payloads[r->block] + r->samples_at,
					    r->flags & FCM_HIT_ZIP, r->samples);
	}
	return checked(h, err);
}

static int on_table(struct sink *sink, enum table_id id, const void *rows, size_t n)
{
	struct hdf5 *h = hdf5_of(sink);

	return h->tables[id]
		       ? checked(h, h5_series_put(h->tables[id], rows, tables[id].row_bytes, n))
		       : 0;
}

static struct sound_series *sound_of(struct hdf5 *h, const struct sound_run *run)
{
	struct sound_series *s;
	char name[32];

	for (unsigned i = 0; i < h->sounds_n; i++) {
		s = &h->sounds[i];
		if (s->tower == run->tower && s->floor == run->floor &&
		    s->hydrophone == run->hydrophone) {
			return s;
		}
	}
	if (h->sounds_n == SOUNDS_MAX) {
		return NULL;
	}
	s = &h->sounds[h->sounds_n];
	snprintf(name, sizeof(name), "T%02uF%02uH%u", run->tower, run->floor, run->hydrophone);
	s->series = open_field(h, h->hydrophones, name, &hydrophone_field, SOUND_CHUNK);
	if (!s->series || h5_attribute_number(h5_series_id(s->series), "tower", run->tower) < 0 ||
	    h5_attribute_number(h5_series_id(s->series), "floor", run->floor) < 0 ||
	    h5_attribute_number(h5_series_id(s->series), "hydrophone", run->hydrophone) < 0 ||
	    h5_attribute_number(h5_series_id(s->series), "samples_per_second", 192000) < 0 ||
	    (H5Aexists(h5_series_id(s->series), "start_tai_ns") <= 0 &&
	     h5_attribute_number(h5_series_id(s->series), "start_tai_ns", run->tai_ns) < 0)) {
		h5_series_close(s->series);
		return NULL;
	}
	s->tower = run->tower;
	s->floor = run->floor;
	s->hydrophone = run->hydrophone;
	h->sounds_n++;
	return s;
}

static int on_sound(struct sink *sink, const struct sound_run *run)
{
	struct hdf5 *h = hdf5_of(sink);
	const struct sound_series *s = sound_of(h, run);

	return checked(h, s ? h5_series_put(s->series, run->samples, 4, run->n) : -1);
}

static int on_serial(struct sink *sink, const uint8_t *bytes, size_t n)
{
	struct hdf5 *h = hdf5_of(sink);

	return checked(h, h5_series_put(h->serial, bytes, 1, n));
}

static int on_cells(struct sink *sink, const char *file, const uint8_t *bytes, size_t n, bool last)
{
	struct hdf5 *h = hdf5_of(sink);

	return checked(h, h5_cells_put(&h->cells, file, bytes, n, last));
}

/* -------------------------------------------------------------------------------------------- commit */

static int flush_all(struct hdf5 *h)
{
	int err = h->waveforms ? h5_series_flush(h->waveforms) : 0;

	for (unsigned i = 0; i < COLUMNS && err == 0; i++) {
		err = h->columns[i] ? h5_series_flush(h->columns[i]) : 0;
	}
	for (unsigned i = 0; i < TABLES && err == 0; i++) {
		err = h->tables[i] ? h5_series_flush(h->tables[i]) : 0;
	}
	for (unsigned i = 0; i < h->sounds_n && err == 0; i++) {
		err = h5_series_flush(h->sounds[i].series);
	}
	if (err == 0 && h->serial) {
		err = h5_series_flush(h->serial);
	}
	if (err == 0) {
		err = h5_cells_flush(&h->cells);
	}
	return err < 0 ? err : h5_out_write(&h->out, true);
}

static int sync_file(struct hdf5 *h)
{
	return fsync(h->out.disk.fd) < 0 ? sink_fail(&h->sink, -errno, "cannot sync", h->path) : 0;
}

static int on_commit(struct sink *sink, const struct totals *totals, bool last)
{
	struct hdf5 *h = hdf5_of(sink);
	int err = flush_all(h);

	if (err == 0) {
		err = put_totals(h, totals);
	}
	if (err == 0) {
		err = H5Fflush(h->out.file, H5F_SCOPE_GLOBAL) < 0 ? -1 : 0;
	}
	sink->mark = h->out.disk.size;
	err = checked(h, err);
	return err == 0 && last ? sync_file(h) : err;
}

/* --------------------------------------------------------------------------------- the end, the begin */

static void close_group(hid_t *id)
{
	if (*id > 0) {
		H5Gclose(*id);
	}
	*id = 0;
}

/* 0, or -1: HDF5 could not close the file. */
static int close_file(struct hdf5 *h)
{
	hid_t file = h->out.file;

	for (unsigned i = 0; i < COLUMNS; i++) {
		h5_series_close(h->columns[i]);
		h->columns[i] = NULL;
	}
	for (unsigned i = 0; i < TABLES; i++) {
		h5_series_close(h->tables[i]);
		h->tables[i] = NULL;
	}
	for (; h->sounds_n > 0; h->sounds_n--) {
		h5_series_close(h->sounds[h->sounds_n - 1].series);
	}
	h5_series_close(h->waveforms);
	h5_series_close(h->serial);
	h->waveforms = h->serial = NULL;
	h5_cells_close(&h->cells);
	close_group(&h->hits);
	close_group(&h->hydrophones);
	close_group(&h->instrument);
	h->out.file = 0;
	return file > 0 && H5Fclose(file) < 0 ? -1 : 0;
}

static int on_finish(struct sink *sink, const struct totals *totals)
{
	struct hdf5 *h = hdf5_of(sink);
	int err = flush_all(h);

	if (err == 0) {
		err = put_totals(h, totals);
	}
	if (err == 0) {
		err = close_file(h);
	}
	err = checked(h, err);
	err = err == 0 ? sync_file(h) : err;
	h->finished = err == 0;
	return err;
}

static void on_close(struct sink *sink)
{
	struct hdf5 *h = hdf5_of(sink);

	/* Not finished: nothing more is written, and the file becomes that of the last commit. */
	h->out.disk.dead = !h->finished;
	while (h->out.pack && pack_take(h->out.pack)) {
	}
	close_file(h);
	if (h->out.disk.fd >= 0) {
		if (!h->finished && journal_mark(h->out.disk.journal) > 0) {
			(void)journal_roll_back(h->out.disk.journal, h->out.disk.fd);
		}
		close(h->out.disk.fd);
	}
	pack_destroy(h->out.pack);
	free(h);
}

static const struct sink_ops ops = {
	.hits = on_hits,
	.table = on_table,
	.sound = on_sound,
	.serial = on_serial,
	.cells = on_cells,
	.commit = on_commit,
	.finish = on_finish,
	.close = on_close,
};

/* The file's descriptor, put back to its last commit. 0 or negative errno. */
static int open_disk(struct hdf5 *h, const struct sink_config *config)
{
	struct h5_disk *d = &h->out.disk;

	d->journal = config->journal;
	d->fd = open(config->path, O_RDWR | O_CLOEXEC | (config->resume ? 0 : O_CREAT | O_EXCL),
		     0666);
	if (d->fd < 0) {
		return -errno;
	}
	return config->resume ? journal_roll_back(config->journal, d->fd) : 0;
}

static int open_hdf5(struct hdf5 *h, const struct sink_config *config)
{
	hid_t access = h5_driver_access(&h->out.disk);

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* what it says is for its own developers */
	if (access < 0) {
		return -1;
	}
	h->out.file = config->resume ? H5Fopen(config->path, H5F_ACC_RDWR, access)
				     : H5Fcreate(config->path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	H5Pclose(access);
	if (h->out.file < 0 || (!config->resume && put_about(h->out.file, config->about) < 0)) {
		return -1;
	}
	h->cells = (struct h5_cells){.out = &h->out};
	return open_series(h);
}

int hdf5_open(struct sink_config *config, struct sink **ret_sink)
{
	struct hdf5 *h = calloc(1, sizeof(*h));
	int err;

	if (!h) {
		return -ENOMEM;
	}
	h->sink.ops = &ops;
	h->path = config->path;
	h->streams = config->streams;
	h->out.disk.fd = -1;
	err = pack_create(config->threads, JOBS_A_THREAD * config->threads, H5_CHUNK_BYTES,
			  &h->out.pack);
	if (err == 0) {
		err = open_disk(h, config);
	}
	if (err == 0) {
		err = checked(h, open_hdf5(h, config));
	}
	if (err < 0) {
		sink_fail(&h->sink, err, "cannot write", config->path);
		snprintf(config->why, sizeof(config->why), "%s", h->sink.why);
		on_close(&h->sink);
		return err;
	}
	*ret_sink = &h->sink;
	return 0;
}
