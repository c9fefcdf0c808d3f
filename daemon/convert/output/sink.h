/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a conversion goes. Each kind of output is a file of its own (numpy.c, csv.c, sound.c, ../hdf5/hdf5.c) with a struct
 * sink_ops. Calls return 0 or a negative errno; `why` then says what, in words, and only close() may follow.
 *
 *   open() -> [ hits(), table(), sound(), serial(), cells() ... -> commit() ] ... -> finish() -> close()
 *
 * commit(): all so far is in the files in such a way that a later process can go on after it (journal.h): the sink puts
 * what it has to know for that into config->state, which is kept as it is. close() without finish() leaves the output as of the
 * last commit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/consumer/fcmdata.h"
#include "daemon/convert/output/journal.h"
#include "daemon/convert/output/tables.h"

/* What holds for the whole of an output: for its attributes. Strings are the caller's. */
struct about {
	const char *source;	    /* as it was named on the command line */
	const char *recording_json; /* the recording's, or NULL */
	const char *command;	    /* the whole command line */
	const char *host;
	const char *station;
	int64_t created_utc_s;
};

/* What is known at a commit. */
struct totals {
	uint64_t blocks, hits, groups, frames_missing, edge_frames, troubles;
	int64_t first_tai_ns, last_tai_ns; /* FCM_NO_TAI: none */
	uint32_t run;
	int32_t tai_utc_s; /* 0: unknown */
	uint8_t board;
	bool emulated, several_runs, complete;
};

/* Samples of a hydrophone, without a hole. */
struct sound_run {
	uint8_t link, tower, floor, hydrophone;
	uint32_t dma_epoch, time_epoch;
	uint64_t first_frame; /* of the first sample */
	int64_t tai_ns;
	int32_t tai_utc_s;
	bool begins; /* a piece: what was before does not end here */
	const int32_t *samples;
	size_t n; /* a multiple of FCMDATA_SAMPLES */
};

/* Hits in order of time. `rows`: the same as the library has them; `payloads`: of their blocks. */
struct hit_run {
	const struct out_hit *hits;
	const struct fcm_hit_row *rows;
	size_t n;
	const uint8_t *const *payloads;
};

#define SOUNDS_MAX 64u /* hydrophones of an output: a board has 8, more when floors are swapped */

struct sink;

struct sink_ops {
	int (*hits)(struct sink *s, const struct hit_run *run);
	int (*table)(struct sink *s, enum table_id table, const void *rows, size_t n);
	int (*sound)(struct sink *s, const struct sound_run *run);
	int (*serial)(struct sink *s, const uint8_t *bytes, size_t n);
	/* Bytes of a file of the recording, one after the other, `last`: it ends with them. NULL: this kind cannot. */
	int (*cells)(struct sink *s, const char *file, const uint8_t *bytes, size_t n, bool last);
	/* `last`: this process will not go on. */
	int (*commit)(struct sink *s, const struct totals *totals, bool last);
	int (*finish)(struct sink *s, const struct totals *totals);
	void (*close)(struct sink *s);
};

struct sink {
	const struct sink_ops *ops;
	uint64_t mark; /* for the journal; after commit() */
	char why[400];
	char made[500]; /* after finish(): what was made, in words; empty: hits and blocks */
};

/* How an output is opened. */
struct sink_config {
	const char *path;
	const struct about *about;
	struct journal *journal;
	bool resume; /* the output is as of the last commit, and so is `state` */
	bool again;  /* what is there may be written over */
	void *state; /* of kind->state_bytes, the caller's; all 0 at the beginning */
	unsigned threads;
	unsigned streams; /* bit mask */
	char why[400];	  /* why it could not be opened */
};

/* A sink for config->path. Negative: errno, and config->why. */
typedef int sink_open_fn(struct sink_config *config, struct sink **ret_sink);

/* Notes what failed, and returns `err`. */
int sink_fail(struct sink *s, int err, const char *what, const char *path);
