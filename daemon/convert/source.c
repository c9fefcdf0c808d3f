// SPDX-License-Identifier: GPL-2.0-or-later
/* Where blocks come from: see source.h. */
#include "daemon/convert/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS	 200
#define QUEUE	 1024u /* blocks that may wait: three seconds of four floors */
#define NOBODY_S 3.0

struct source {
	struct source_config config;
	struct fcmdata_recording *recording;
	struct fcmdata *live;
	const struct fcmdata_block *block; /* in our hands */
	double until,
		patience; /* patience: 0: it has been said that nobody answers, or somebody does */
};

static double mono_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_live(struct source *s)
{
	struct fcmdata_config config = {
		.mode = FCMDATA_MONITOR,
		.endpoint = s->config.path,
		.queue = QUEUE,
		.server_key = s->config.server_key,
		.key_file = s->config.key_file,
	};
	const char *topics[FCM_STREAMS + 1] = {NULL};
	unsigned n = 0;

	for (unsigned i = 0; i < FCM_STREAMS; i++) {
		if (s->config.streams & 1u << i) {
			topics[n++] = fcm_stream_name(i);
		}
	}
	config.topics = topics;
	s->patience = mono_s() + NOBODY_S;
	s->until = s->config.seconds > 0 ? mono_s() + s->config.seconds : 0;
	return fcmdata_open(&config, &s->live);
}

static int open_recording(struct source *s)
{
	const struct fcmdata_recording_config config = {
		.links = s->config.links,
		.streams = s->config.streams,
		.run = s->config.one_run ? s->config.run : 0,
		.from_tai_ns = s->config.from_tai_ns,
		.until_tai_ns = s->config.until_tai_ns,
	};

	return fcmdata_recording_open(s->config.path, &config, &s->recording);
}

int source_open(struct source_config *config, struct source **ret_source)
{
	struct source *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		return -ENOMEM;
	}
	s->config = *config;
	err = config->live ? open_live(s) : open_recording(s);
	if (err < 0) {
		snprintf(config->why, sizeof(config->why), "%s: %s", config->path,
			 err == -ENODATA   ? "no segments in it"
			 : err == -EBADMSG ? "not a recording, or damaged at its beginning"
			 : err == -EPROTO  ? "a recording of another version"
					   : strerror(-err));
		source_close(s);
		return err;
	}
	*ret_source = s;
	return 0;
}

void source_close(struct source *s)
{
	if (s) {
		if (s->live) {
			fcmdata_release(s->live, s->block);
		}
		fcmdata_close(s->live);
		fcmdata_recording_close(s->recording);
		free(s);
	}
}

/* Whoever waits for a daemon that is not there shall know it. */
static void look_for_daemon(struct source *s)
{
	struct fcmdata_stats stats;

	if (s->patience == 0 || mono_s() < s->patience) {
		return;
	}
	s->patience = 0;
	fcmdata_get_stats(s->live, &stats);
	if (stats.connections == 0) {
		report_say(s->config.report, "%s: no daemon answers there; still trying",
			   s->config.path);
	} else if (stats.blocks == 0) {
		report_say(s->config.report,
			   "%s: connected, but no blocks come; is that the port "
			   "of the monitors, and is a link up?",
			   s->config.path);
	}
}

static int next_live(struct source *s)
{
	int n = 0;

	fcmdata_release(s->live, s->block);
	s->block = NULL;
	while (n == 0 && !*s->config.stop && (s->until == 0 || mono_s() < s->until)) {
		n = fcmdata_receive(s->live, WAIT_MS, &s->block);
		n = n == -EINTR ? 0 : n;
		if (n == 0) {
			look_for_daemon(s);
		}
	}
	return n;
}

static bool wanted(const struct source *s)
{
	const struct fcm_block_header *h = &s->block->header;

	return s->config.links & 1u << h->link && (!s->config.one_run || h->run == s->config.run);
}

int source_next(struct source *s, const struct fcmdata_block **ret_block)
{
	int n;

	do {
		n = s->live ? next_live(s) : fcmdata_recording_next(s->recording, &s->block);
	} while (n > 0 && !wanted(s));
	*ret_block = s->block;
	if (n < 0) {
		const char *refusal = s->live ? fcmdata_refusal(s->live) : NULL;

		snprintf(s->config.why, sizeof(s->config.why), "%s: %s", s->config.path,
			 refusal ? refusal : strerror(-n));
	}
	return n;
}

const char *source_why(const struct source *s)
{
	return s->config.why;
}

unsigned source_troubles(const struct source *s, const char **ret_text)
{
	*ret_text = NULL;
	return s->recording ? fcmdata_recording_troubles(s->recording, ret_text) : 0;
}
