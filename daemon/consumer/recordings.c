/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The blocks of a recording, as a handle gives those of a daemon: tdm/blocks/recorded.h, and what is missing between them. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/consumer/fcmdata_private.h"
#include "tdm/blocks/recorded.h"

struct fcmdata_recording {
	struct recorded *recorded;
	struct tracks *tracks;
	struct fcmdata_block block;
};

static struct recorded_config config_of(const struct fcmdata_recording_config *c)
{
	const struct fcmdata_recording_config none = {0};

	c = c ? c : &none;
	return (struct recorded_config){
		.links = (uint8_t)c->links,
		.streams = (uint8_t)c->streams,
		.run = c->run,
		.from_tai_ns = c->from_tai_ns ? c->from_tai_ns : INT64_MIN,
		.until_tai_ns = c->until_tai_ns ? c->until_tai_ns : INT64_MAX,
		.block_frames = c->block_frames,
		.follow = c->follow,
	};
}

int fcmdata_recording_open(const char *path, const struct fcmdata_recording_config *config,
			   struct fcmdata_recording **ret_recording)
{
	const struct recorded_config c = config_of(config);
	struct fcmdata_recording *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		return -ENOMEM;
	}
	/* What a monitor would have missed is missing here. */
	r->tracks = libfcmdata_tracks_create(TRACKS_MONITOR);
	err = r->tracks ? recorded_open(path, &c, &r->recorded) : -ENOMEM;
	if (err < 0) {
		fcmdata_recording_close(r);
		return err;
	}
	*ret_recording = r;
	return 0;
}

int fcmdata_recording_next(struct fcmdata_recording *r, const struct fcmdata_block **ret_block)
{
	const struct fcm_block_header *header;
	const uint8_t *payload;
	bool late;
	int n = recorded_next(r->recorded, &header, &payload);

	if (n <= 0) {
		return n;
	}
	r->block = (struct fcmdata_block){
		.header = *header,
		.payload = payload,
		.key = libfcmdata_key(header),
	};
	if (libfcmdata_tracks_take(r->tracks, false, &r->block, &late) < 0) {
		return -ENOMEM;
	}
	*ret_block = &r->block;
	return 1;
}

void fcmdata_recording_edges(const struct fcmdata_recording *r, uint32_t *ret_begin,
			     uint32_t *ret_end)
{
	recorded_edges(r->recorded, ret_begin, ret_end);
}

int fcmdata_recording_range(const struct fcmdata_recording *r, int64_t *ret_first_tai_ns,
			    int64_t *ret_last_tai_ns)
{
	return recorded_range(r->recorded, ret_first_tai_ns, ret_last_tai_ns) ? 0 : -ENODATA;
}

unsigned fcmdata_recording_troubles(const struct fcmdata_recording *r, const char **ret_text)
{
	return recorded_troubles(r->recorded, ret_text);
}

void fcmdata_recording_close(struct fcmdata_recording *r)
{
	if (r) {
		recorded_close(r->recorded);
		libfcmdata_tracks_destroy(r->tracks);
		free(r);
	}
}
