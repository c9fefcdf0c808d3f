/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See monitor.h. */
#include "slowctl/fcmctl/core/monitor.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slowctl/access/keyfile.h"
#include "slowctl/fcmctl/show/value.h"

#define QUEUED	 2000u /* blocks: some seconds of a floor */
#define SLICE_NS 200000000ll
#define FRAME_NS 125000ll

/* The key file must be there and sound; libfcmdata reads it again. */
static int check_key(struct ctl *ctl, const char *file)
{
	char secret[ACCESS_KEY_TEXT], public[ACCESS_KEY_TEXT];
	struct sc_error error = {0};

	if (file == NULL) {
		return ctl_fail(ctl, CTL_NOT, "refused",
				"--key FILE, of fcmctl key make NAME monitor, whose line is in "
				"the daemon's allow list",
				"this daemon encrypts its data");
	}
	if (keyfile_read(geteuid(), file, secret, public, &error) < 0) {
		return ctl_fail(ctl, CTL_NOT, error.code, error.hint, "%s", error.message);
	}
	explicit_bzero(secret, sizeof(secret));
	return CTL_DONE;
}

int ctl_monitor_open(struct ctl *ctl, const struct ctl_args *args, const json_t *where,
		     const char *topic, struct ctl_monitor *m)
{
	const char *const topics[] = {topic, NULL};
	struct fcmdata_config config = {
		.mode = FCMDATA_MONITOR,
		.endpoint = m->endpoint,
		.topics = topics,
		.queue = QUEUED,
		.server_key = json_string_value(json_object_get(where, "public_key")),
	};
	int r;

	*m = (struct ctl_monitor){0};
	snprintf(m->endpoint, sizeof(m->endpoint), "%s",
		 value_string(where, "monitor_endpoint", ""));
	if (*m->endpoint == '\0') {
		return ctl_fail(ctl, CTL_NOT, "refused",
				"set monitor_endpoint in [data] of the configuration",
				"this daemon serves no monitors");
	}
	if (config.server_key != NULL) {
		config.key_file =
			ctl_given(args, CTL_KEY) ? args->text[CTL_KEY] : getenv("FCM_KEY");
		r = check_key(ctl, config.key_file);
		if (r != CTL_DONE) {
			return r;
		}
	}
	r = fcmdata_open(&config, &m->data);
	return r == 0 ? CTL_DONE
		      : ctl_fail(ctl, CTL_NOT, "failed",
				 "is the endpoint right? fcmctl --json status",
				 "cannot listen to %s: %s", m->endpoint, strerror(-r));
}

static void report_damage(const struct ctl_monitor *m, const struct fcmdata_stats *before)
{
	struct fcmdata_stats now;
	const char *why;

	fcmdata_get_stats(m->data, &now);
	why = now.payload_crcs > before->payload_crcs ? "the payload is damaged"
	      : now.header_crcs > before->header_crcs ? "the header is damaged"
	      : now.malformed > before->malformed     ? "the header is invalid"
	      : now.strangers > before->strangers     ? "it does not have three parts"
						      : NULL;
	if (why != NULL) {
		ctl_remark("a message from %s is not a data message: %s", m->endpoint, why);
	}
}

int ctl_monitor_next(struct ctl *ctl, struct ctl_monitor *m, int timeout_ms,
		     const struct fcmdata_block **ret_block)
{
	struct fcmdata_stats before;
	const char *refusal;

	*ret_block = NULL;
	fcmdata_get_stats(m->data, &before);
	if (fcmdata_receive(m->data, timeout_ms, ret_block) != -ECONNREFUSED) {
		report_damage(m, &before);
		return CTL_DONE;
	}
	refusal = fcmdata_refusal(m->data);
	if (strncmp(refusal, "version", strlen("version")) == 0) {
		return ctl_fail(ctl, CTL_NOT, "refused", "use the fcmctl of the daemon's version",
				"%s: %s", m->endpoint, refusal);
	}
	return ctl_fail(ctl, CTL_NOT, "refused",
			strncmp(refusal, "key-refused", strlen("key-refused")) == 0
				? "a line of fcmctl key make NAME monitor in its allow list, then "
				  "reload it"
				: "does another program listen there? fcmctl --json status",
			"%s refused this key", m->endpoint);
}

double ctl_block_utc(const struct fcm_block_header *h)
{
	int64_t counted_ns = (int64_t)(h->first_frame % FCM_SLICE_FRAMES) * FRAME_NS;
	int64_t off_ns;

	if ((h->flags & FCM_BLOCK_NO_TIME) != 0 || h->tai_ns == FCM_NO_TAI) {
		return (double)NAN;
	}
	/* The slice goes by the floor's frames, tai_ns is later by the cable delay: the frames say which
	 * slice's beginning is near, tai_ns how far off. */
	off_ns = (h->tai_ns % SLICE_NS - counted_ns) % SLICE_NS;
	off_ns += off_ns < -SLICE_NS / 2 ? SLICE_NS : off_ns >= SLICE_NS / 2 ? -SLICE_NS : 0;
	/* 946684800: 2000-01-01 */
	return 946684800.0 + (double)h->slice_id * 0.2 + (double)(counted_ns + off_ns) * 1e-9;
}

int64_t ctl_utc_ns(const struct fcm_block_header *h, int64_t tai_ns)
{
	double tai_utc_s = (double)h->tai_ns * 1e-9 - ctl_block_utc(h);

	/* A header's times may be any numbers. */
	if (tai_ns == FCM_NO_TAI || !(fabs(tai_utc_s) < 1e6)) {
		return INT64_MIN;
	}
	return (int64_t)((uint64_t)tai_ns - (uint64_t)(llround(tai_utc_s) * 1000000000ll));
}
