// SPDX-License-Identifier: GPL-2.0-or-later
/* Where blocks come from: see source.h. */
#include "daemon/convert/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>

#include "daemon/convert/output/text.h"

#define WAIT_MS	 200
#define QUEUE	 1024u /* blocks that may wait: three seconds of four floors */
#define ANSWER_S 3.0
#define SILENT_S 5.0

struct source {
	struct source_config config;
	struct fcmdata_recording *recording;
	struct fcmdata *live;
	const struct fcmdata_block *block; /* in our hands */
	bool waited;			   /* it is the next one still */
	double began, until;
	double silent_at; /* when it is said that nothing comes any more; 0: not (again) */
	double patience;  /* 0: it has been said that no daemon answers, or one does */
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
	s->began = mono_s();
	s->patience = s->began + ANSWER_S;
	s->until = s->config.seconds > 0 ? s->began + s->config.seconds : 0;
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

	if (s->silent_at > 0 && mono_s() >= s->silent_at) {
		s->silent_at = 0;
		report_say(s->config.report, "%s: nothing has come for %.0f s; still waiting",
			   s->config.path, SILENT_S);
	}
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
		double left_ms = s->until == 0 ? WAIT_MS : (s->until - mono_s()) * 1000 + 1;

		n = fcmdata_receive(s->live, (int)MIN(WAIT_MS, left_ms), &s->block);
		n = n == -EINTR ? 0 : n;
		if (n == 0) {
			look_for_daemon(s);
		} else if (n > 0) {
			s->silent_at = mono_s() + SILENT_S;
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

	if (s->waited) {
		s->waited = false;
		*ret_block = s->block;
		return 1;
	}
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

int source_wait(struct source *s)
{
	const struct fcmdata_block *b;
	int n = source_next(s, &b);

	s->waited = n > 0;
	return n;
}

static void say_no_live(const struct source *s)
{
	const double waited_s = mono_s() - s->began;
	struct fcmdata_stats stats;

	fcmdata_get_stats(s->live, &stats);
	report_say(s->config.report, "nothing came from %s in %.3g s: %s", s->config.path,
		   s->until > 0 ? MIN(waited_s, s->config.seconds) : waited_s,
		   stats.blocks > 0 ? "all blocks were of other links or runs"
		   : stats.connections > 0
			   ? "a daemon is there, but sent no blocks; is that the port of the "
			     "monitors (5730 + board number), and is a link up?"
			   : "no daemon answers there; monitors have port 5730 + board number");
}

/* "2026-11-28T12:00:00.125Z" */
static const char *utc_of(int64_t tai_ns, const struct input *in, char text[40])
{
	text_utc(tai_ns, in->tai_utc_s, text, 40);
	strcpy(text + strlen("2026-11-28T12:00:00.125"), "Z");
	return text;
}

void source_say_nothing(const struct source *s, const struct input *in)
{
	const int64_t from_ns = s->config.from_tai_ns, until_ns = s->config.until_tai_ns;
	char from[40], until[40], begin[40], end[40];
	const char *trouble;

	if (s->live) {
		say_no_live(s);
		return;
	}
	if (source_troubles(s, &trouble) > 0) {
		report_say(s->config.report, "%s", trouble);
	}
	if (!from_ns && !until_ns) {
		report_say(s->config.report, "%s: no data of these streams, links or runs in it",
			   in->path);
		return;
	}
	report_say(s->config.report, "%s: no data %s%s%s%s: the recording has %s to %s", in->path,
		   !from_ns    ? "before"
		   : !until_ns ? "from "
			       : "between ",
		   from_ns ? utc_of(from_ns, in, from) : "", !from_ns || !until_ns ? " " : " and ",
		   until_ns ? utc_of(until_ns, in, until) : "on",
		   utc_of(in->begin_tai_ns, in, begin), utc_of(input_end_tai_ns(in), in, end));
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
