/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's thread on a tap that the test feeds. See recorder_rig.h. */
#include "tests/unit/daemon/record/recorder_rig.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/core/now.h"

struct recorder_rig rig;

static uint8_t cells[16 * TDM_FRAME_BYTES];
static struct label label = {.time_epoch = 1};
static const struct tap_board board = {.serial = 7, .boot_count = 1};

struct recorder_config rig_config(void)
{
	return (struct recorder_config){
		.place = {.directory = rig.place, .segment_bytes = 1 << 30},
		.links = 1u << RIG_LINK,
		.blackbox_s = 1,
		.blackbox_keep = 2,
	};
}

void rig_start(const struct recorder_config *c)
{
	assert_int_equal(tap_init(&rig.tap, 1024), 0);
	tap_begin(&rig.tap, RIG_LINK, 5, &board, rig.position);
	assert_int_equal(recorder_start(c, &rig.tap, &rig.recorder), 0);
}

void rig_end(void)
{
	recorder_finish(rig.recorder, 5000);
	recorder_destroy(rig.recorder);
	tap_fini(&rig.tap);
}

int rig_set_up(void **state)
{
	snprintf(rig.directory, sizeof(rig.directory), "/tmp/test_recorder.XXXXXX");
	assert_non_null(mkdtemp(rig.directory));
	snprintf(rig.place, sizeof(rig.place), "%s/a/b", rig.directory); /* made when needed */
	rig.age_ns = 0;
	rig.position = 0;
	rig.count = RIG_FIRST;
	return 0;
}

int rig_tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", rig.directory);
	return system(command);
}

bool rig_offer(unsigned n, uint32_t frames, uint32_t bytes)
{
	uint64_t at, now_ns = now_mono_ns();

	if (!tap_feeding(&rig.tap, RIG_LINK, rig.position, now_ns, &at)) {
		return false;
	}
	for (unsigned i = 0; i < n; i++, rig.position++, rig.count += frames) {
		struct nanet3_event e = {.dma_epoch = 5,
					 .frame_count = rig.count,
					 .frames = frames,
					 .length = bytes,
					 .reason = (uint8_t)(bytes ? 0 : NANET3_GAP_LINK_DOWN),
					 .time_ns = now_ns - rig.age_ns};

		tap_offer(&rig.tap, RIG_LINK, rig.position, &e, cells, bytes, &label, 0, now_ns);
	}
	return true;
}

bool rig_feed(unsigned n)
{
	return rig_offer(n, 16, sizeof(cells));
}

bool rig_feed_gap(void)
{
	return rig_offer(1, 1000, 0);
}

void rig_wait_event(struct recorder_event *e, enum recorder_event_type type)
{
	for (unsigned i = 0; i < 5000; i++) {
		if (recorder_next_event(rig.recorder, e)) {
			assert_int_equal(e->type, type);
			return;
		}
		usleep(1000);
	}
	fail_msg("no event %d", type);
}

void rig_wait_wanted(bool wanted)
{
	for (unsigned i = 0; i < 5000 && atomic_load(&rig.tap.link[RIG_LINK].wanted) != wanted;
	     i++) {
		usleep(1000);
	}
	assert_int_equal(atomic_load(&rig.tap.link[RIG_LINK].wanted), wanted);
}

void rig_wait_taken(void)
{
	for (unsigned i = 0;
	     i < 5000 && atomic_load(&rig.tap.link[RIG_LINK].done) < tap_ticket(1, rig.position);
	     i++) {
		usleep(1000);
	}
	assert_true(atomic_load(&rig.tap.link[RIG_LINK].done) >= tap_ticket(1, rig.position));
}

void rig_order(const char *name)
{
	struct record_spec spec = {.links = 1u << RIG_LINK, .begun_ns = now_utc_ns()};

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	assert_int_equal(recorder_order_start(rig.recorder, ++rig.number, &spec), 0);
}

bool rig_there(const char *name, const char *file)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/%s", rig.place, name, file);
	return stat(path, &st) == 0;
}

json_t *rig_passport(const char *name)
{
	char path[512];
	json_t *j;

	snprintf(path, sizeof(path), "%s/%s/recording.json", rig.place, name);
	j = json_load_file(path, 0, NULL);
	assert_non_null(j);
	return j;
}

unsigned rig_names(const char *prefix, char *last)
{
	DIR *d = opendir(rig.place);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0) {
			n++;
			if (last) {
				snprintf(last, 256, "%s", e->d_name);
			}
		}
	}
	if (d) {
		closedir(d);
	}
	return n;
}

void rig_put(const char *name, const char *file, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", rig.place, name);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", rig.place, name, file);
	if (!text) {
		unlink(path);
		assert_int_equal(mkdir(path, 0700), 0);
		return;
	}
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

void rig_take_away(const char *name, const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/%s", rig.place, name, file);
	assert_int_equal(rmdir(path), 0);
}

void rig_assert_nothing_goes_on(const struct recorder_config *c)
{
	struct recorder_event e;

	rig_start(c);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EBUSY);
	rig_end();
}
