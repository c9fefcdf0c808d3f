// SPDX-License-Identifier: GPL-2.0-or-later
/* The output as sound: see sound.h. */
#include "daemon/convert/output/sound.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/convert/output/csv.h"
#include "daemon/convert/output/text.h"
#include "daemon/convert/output/write.h"

#define RATE	    192000
#define HOLE_FRAMES (60u * 8000u)
#define PIECE	    65536u /* samples at a time */
#define WAV_BYTES   4000000000ull
#define LIMIT	    (1 << 23)
#define DAY_S	    86400
#define SECOND_NS   1000000000ll

struct sound {
	struct sink sink; /* first */
	struct sound_state *state;
	const struct about *about;
	bool flac, emulated;
	char base[PATH_MAX - 64]; /* the output's name without its suffix */
	char place[PATH_MAX];	  /* of the parts, a slash behind it */
	struct files *files, *tables;
	int32_t samples[PIECE];
};

static struct sound *sound_of(struct sink *s)
{
	return (struct sound *)s;
}

static int checked(struct sound *s, int err)
{
	return err < 0 ? sink_fail(&s->sink, err, "cannot write", files_failed(s->files)) : 0;
}

/* ----------------------------------------------------------------------------------------- collecting */

/* The newest part of a hydrophone; NULL: none. */
static struct sound_part *newest(struct sound_state *state, const struct sound_run *run)
{
	for (uint32_t i = state->parts_n; i-- > 0;) {
		struct sound_part *p = &state->parts[i];

		if (p->tower == run->tower && p->floor == run->floor &&
		    p->hydrophone == run->hydrophone) {
			return p;
		}
	}
	return NULL;
}

/* Frames to be filled up to the run; -1: it is not of this part. */
static int64_t hole_before(const struct sound_part *p, const struct sound_run *run)
{
	if (p->dma_epoch != run->dma_epoch || p->time_epoch != run->time_epoch ||
	    run->first_frame < p->next_frame || run->first_frame - p->next_frame > HOLE_FRAMES) {
		return -1;
	}
	return (int64_t)(run->first_frame - p->next_frame);
}

static struct sound_part *begin_part(struct sound *s, const struct sound_run *run, unsigned number,
				     int *ret_err)
{
	struct sound_part *p = &s->state->parts[s->state->parts_n];
	char name[FILES_NAME];
	int file;

	if (s->state->parts_n == FILES_MAX) {
		*ret_err = -E2BIG;
		return NULL;
	}
	snprintf(name, sizeof(name), "T%02uF%02uH%u-%u.raw", run->tower, run->floor,
		 run->hydrophone, number);
	file = files_find(s->files, name, 0);
	if (file < 0) {
		*ret_err = file;
		return NULL;
	}
	s->state->parts_n++;
	*p = (struct sound_part){
		.tower = run->tower,
		.floor = run->floor,
		.hydrophone = run->hydrophone,
		.number = (uint16_t)number,
		.file = file,
		.dma_epoch = run->dma_epoch,
		.time_epoch = run->time_epoch,
		.next_frame = run->first_frame,
		.tai_ns = run->tai_ns,
		.tai_utc_s = run->tai_utc_s,
	};
	return p;
}

static int put_zeros(struct sound *s, const struct sound_part *p, uint64_t frames)
{
	static const int32_t zeros[FCMDATA_SAMPLES];
	int err = 0;

	for (uint64_t i = 0; i < frames && err == 0; i++) {
		err = files_put(s->files, p->file, zeros, sizeof(zeros));
	}
	return err;
}

static int on_sound(struct sink *sink, const struct sound_run *run)
{
	struct sound *s = sound_of(sink);
	struct sound_part *p = newest(s->state, run);
	int64_t hole = p ? hole_before(p, run) : -1;
	int err = 0;

	if (hole < 0) {
		p = begin_part(s, run, p ? p->number + 1u : 1, &err);
	} else {
		err = put_zeros(s, p, (uint64_t)hole);
		p->zeros += (uint64_t)hole * FCMDATA_SAMPLES;
	}
	for (size_t i = 0; i < run->n && p; i++) {
		p->wide = p->wide || run->samples[i] >= LIMIT || run->samples[i] < -LIMIT;
	}
	if (err == 0) {
		p->next_frame = run->first_frame + run->n / FCMDATA_SAMPLES;
		err = files_put(s->files, p->file, run->samples, run->n * sizeof(int32_t));
	}
	return checked(s, err);
}

static int on_table(struct sink *sink, enum table_id id, const void *rows, size_t n)
{
	struct sound *s = sound_of(sink);
	int err = 0;

	if (id != TABLE_PIECES && id != TABLE_MISSING) {
		return 0;
	}
	for (size_t i = 0; i < n && err == 0; i++) {
		err = csv_put_row(s->tables, id, (const uint8_t *)rows + i * tables[id].row_bytes);
	}
	return err < 0 ? sink_fail(sink, err, "cannot write", files_failed(s->tables)) : 0;
}

static int on_hits(struct sink *sink, const struct hit_run *run)
{
	return 0;
}

static int on_serial(struct sink *sink, const uint8_t *bytes, size_t n)
{
	return 0;
}

/* ------------------------------------------------------------------------------------------- encoding */

static void name_of(const struct sound *s, const struct sound_part *p, char *path, size_t size)
{
	const char *suffix = s->flac ? "flac" : "wav";

	if (s->state->parts_n == 1) {
		snprintf(path, size, "%s.%s", s->base, suffix);
	} else if (p->number == 1) {
		snprintf(path, size, "%s-T%02uF%02uH%u.%s", s->base, p->tower, p->floor,
			 p->hydrophone, suffix);
	} else {
		snprintf(path, size, "%s-T%02uF%02uH%u-%u.%s", s->base, p->tower, p->floor,
			 p->hydrophone, p->number, suffix);
	}
}

static void describe(const struct sound *s, const struct sound_part *p, char *text, size_t size)
{
	char utc[48] = "unknown";

	if (p->tai_ns != FCM_NO_TAI) {
		text_utc(p->tai_ns, p->tai_utc_s, utc, sizeof(utc));
	}
	snprintf(text, size,
		 "%stower %u floor %u hydrophone %u; first sample at UTC %s, TAI ns %" PRId64
		 ", TAI-UTC %d s",
		 s->emulated ? "EMULATED DATA; " : "", p->tower, p->floor, p->hydrophone, utc,
		 p->tai_ns, p->tai_utc_s);
}

/* Broadcast WAV's header: samples since midnight, UTC. */
static void put_bext(SNDFILE *f, const struct sound_part *p, const char *text)
{
	int64_t utc_ns = p->tai_ns - p->tai_utc_s * SECOND_NS;
	int64_t of_day_ns = utc_ns % (DAY_S * SECOND_NS);
	/* 192 samples take a million ns: so nothing overflows. */
	uint64_t samples =
		(uint64_t)(of_day_ns / 1000000 * 192 + of_day_ns % 1000000 * 192 / 1000000);
	SF_BROADCAST_INFO info;
	char utc[48];

	if (p->tai_ns == FCM_NO_TAI) {
		return;
	}
	text_utc(p->tai_ns, p->tai_utc_s, utc, sizeof(utc));
	memset(&info, 0, sizeof(info));
	snprintf(info.description, sizeof(info.description), "%.255s", text);
	snprintf(info.originator, sizeof(info.originator), "fcm-convert " FCM_VERSION);
	memcpy(info.origination_date, utc, sizeof(info.origination_date));
	memcpy(info.origination_time, utc + 11, sizeof(info.origination_time));
	info.time_reference_low = (uint32_t)samples;
	info.time_reference_high = (uint32_t)(samples >> 32);
	info.version = 1;
	sf_command(f, SFC_SET_BROADCAST_INFO, &info, sizeof(info));
}

static void put_tags(const struct sound *s, SNDFILE *f, const struct sound_part *p,
		     const char *text)
{
	char utc[48];

	sf_set_string(f, SF_STR_COMMENT, text);
	sf_set_string(f, SF_STR_SOFTWARE, "fcm-convert " FCM_VERSION);
	sf_set_string(f, SF_STR_TITLE, s->about->source);
	if (p->tai_ns != FCM_NO_TAI) {
		text_utc(p->tai_ns, p->tai_utc_s, utc, sizeof(utc));
		sf_set_string(f, SF_STR_DATE, utc);
	}
}

/* Samples of the part, in the format's own width. */
static int copy(struct sound *s, SNDFILE *f, const struct sound_part *p, int fd)
{
	uint64_t left = s->state->files.file[p->file].bytes / sizeof(int32_t), at = 0;
	int err = 0;

	while (left > 0 && err == 0) {
		size_t n = MIN(left, PIECE);

		err = read_whole(fd, at, s->samples, n * sizeof(int32_t));
		for (size_t i = 0; i < n && !p->wide; i++) { /* libsndfile takes the upper bits */
			s->samples[i] = (int32_t)((uint32_t)s->samples[i] << 8);
		}
		if (err == 0 && sf_write_int(f, s->samples, (sf_count_t)n) != (sf_count_t)n) {
			err = errno ? -errno : -EIO;
		}
		at += n * sizeof(int32_t);
		left -= n;
	}
	return err;
}

/* WAV has lengths of 32 bits; RF64 is the same with longer ones, which fewer programs read. */
static int format_of(const struct sound *s, const struct sound_part *p)
{
	bool fits = s->state->files.file[p->file].bytes < WAV_BYTES;

	return (s->flac ? SF_FORMAT_FLAC
		: fits	? SF_FORMAT_WAV
			: SF_FORMAT_RF64) |
	       (p->wide ? SF_FORMAT_PCM_32 : SF_FORMAT_PCM_24);
}

static int encode(struct sound *s, const struct sound_part *p)
{
	SF_INFO info = {.samplerate = RATE, .channels = 1, .format = format_of(s, p)};
	char path[PATH_MAX], text[300];
	SNDFILE *f;
	int fd, err;

	name_of(s, p, path, sizeof(path));
	if (p->wide && s->flac) {
		return sink_fail(&s->sink, -ERANGE,
				 "samples beyond 24 bits; convert to .wav, which holds 32", path);
	}
	fd = open(files_path(s->files, p->file), O_RDONLY | O_CLOEXEC);
	errno = 0;
	f = fd < 0 ? NULL : sf_open(path, SFM_WRITE, &info);
	if (!f) {
		err = errno ? -errno : -EIO;
		if (fd >= 0) {
			close(fd);
		}
		return sink_fail(&s->sink, err, "cannot write", path);
	}
	describe(s, p, text, sizeof(text));
	put_bext(f, p, text);
	put_tags(s, f, p, text);
	err = copy(s, f, p, fd);
	sf_write_sync(f);
	errno = 0;
	if (sf_close(f) != 0 && err == 0) {
		err = errno ? -errno : -EIO;
	}
	close(fd);
	return err < 0 ? sink_fail(&s->sink, err, "cannot write", path) : 0;
}

/* ------------------------------------------------------------------------------- commit, finish, begin */

static int on_commit(struct sink *sink, const struct totals *totals, bool last)
{
	struct sound *s = sound_of(sink);
	int err = checked(s, files_commit(s->files, last));

	if (err == 0) {
		err = files_commit(s->tables, last);
		err = err < 0 ? sink_fail(sink, err, "cannot write", files_failed(s->tables)) : 0;
	}
	return err;
}

static void say_made(struct sound *s)
{
	const struct sound_state *state = s->state;
	uint64_t longest = 0, zeros = 0, all = 0;
	char first[PATH_MAX];

	for (uint32_t i = 0; i < state->parts_n; i++) {
		const struct sound_part *p = &state->parts[i];
		uint64_t samples = state->files.file[p->file].bytes / sizeof(int32_t);

		longest = MAX(longest, samples);
		all += samples;
		zeros += p->zeros;
	}
	if (state->parts_n > 0) {
		name_of(s, &state->parts[0], first, sizeof(first));
		snprintf(s->sink.made, sizeof(s->sink.made),
			 "%u file%s named %.250s%s, %.3f s%s; %" PRIu64 " of %" PRIu64
			 " samples missing%s",
			 state->parts_n, state->parts_n > 1 ? "s" : "", first,
			 state->parts_n > 1 ? " and so on" : "", (double)longest / RATE,
			 state->parts_n > 1 ? " each at most" : "", zeros, all,
			 zeros ? ", zeros in their place" : "");
	}
}

static int on_finish(struct sink *sink, const struct totals *totals)
{
	struct sound *s = sound_of(sink);
	int err = on_commit(sink, totals, false);

	s->emulated = totals->emulated;
	for (uint32_t i = 0; i < s->state->parts_n && err == 0; i++) {
		err = encode(s, &s->state->parts[i]);
	}
	for (uint32_t i = 0; i < s->state->parts_n && err == 0; i++) {
		unlink(files_path(s->files, s->state->parts[i].file));
	}
	if (err == 0) {
		rmdir(s->place);
		say_made(s);
	}
	return err;
}

static void on_close(struct sink *sink)
{
	struct sound *s = sound_of(sink);

	files_close(s->files);
	files_close(s->tables);
	free(s);
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

static int open_places(struct sound *s, const struct sink_config *config)
{
	const char *suffix = s->flac ? ".flac" : ".wav";
	size_t length = strlen(config->path), cut = strlen(suffix);
	int err;

	if (length >= sizeof(s->base)) {
		return -ENAMETOOLONG;
	}
	memcpy(s->base, config->path, length + 1);
	if (length > cut && strcmp(s->base + length - cut, suffix) == 0) {
		s->base[length - cut] = '\0';
	}
	snprintf(s->place, sizeof(s->place), "%s.parts/", config->path);
	if (!config->resume && mkdir(s->place, 0777) < 0 && !(errno == EEXIST && config->again)) {
		return -errno;
	}
	err = files_open(s->place, &s->state->files, config->resume, config->again, &s->files);
	return err < 0 ? err
		       : files_open(config->path, &s->state->tables, config->resume, config->again,
				    &s->tables);
}

static int open_sound(struct sink_config *config, bool flac, struct sink **ret_sink)
{
	struct sound *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		return -ENOMEM;
	}
	s->sink.ops = &ops;
	s->state = config->state;
	s->about = config->about;
	s->flac = flac;
	err = open_places(s, config);
	if (err < 0) {
		snprintf(config->why, sizeof(config->why), "%.300s: %s", s->place, strerror(-err));
		on_close(&s->sink);
		return err;
	}
	*ret_sink = &s->sink;
	return 0;
}

int wav_open(struct sink_config *config, struct sink **ret_sink)
{
	return open_sound(config, false, ret_sink);
}

int flac_open(struct sink_config *config, struct sink **ret_sink)
{
	return open_sound(config, true, ret_sink);
}
