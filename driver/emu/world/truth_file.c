/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth file's writer: see truth_file.h. At full pace it takes 4 MB/s, so it is written in large pieces. */
#include "driver/emu/world/truth_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BUFFER_BYTES (512u << 10) /* an eighth of a second */

struct truth_file {
	FILE *file;
	int err; /* the first one */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "truth records are written as they lie");

static void note(struct truth_file *t, bool good)
{
	if (!good && t->err == 0) {
		t->err = errno != 0 ? -errno : -EIO;
	}
}

int truth_file_create(const char *path, uint64_t seed, int64_t tai_start_ns, unsigned links,
		      bool light, struct truth_file **ret_file)
{
	const struct truth_head head = {
		.magic = TRUTH_MAGIC,
		.version = TRUTH_VERSION,
		.record_bytes = (uint32_t)(sizeof(struct truth_record) +
					   (light ? sizeof(struct truth_light) : 0)),
		.links = links,
		.seed = seed,
		.tai_start_ns = tai_start_ns,
	};
	struct truth_file *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		return -ENOMEM;
	}
	t->file = fopen(path, "we");
	note(t, t->file != NULL && setvbuf(t->file, NULL, _IOFBF, BUFFER_BYTES) == 0 &&
			fwrite(&head, sizeof(head), 1, t->file) == 1 && fflush(t->file) == 0);
	if (t->err < 0) {
		return truth_file_destroy(t);
	}
	*ret_file = t;
	return 0;
}

void truth_file_start(struct truth_file *t, int64_t tai_start_ns)
{
	const off_t at = offsetof(struct truth_head, tai_start_ns);

	note(t, pwrite(fileno(t->file), &tai_start_ns, sizeof(tai_start_ns), at) ==
			(ssize_t)sizeof(tai_start_ns));
}

void truth_file_put(struct truth_file *t, const struct truth_record *record,
		    const struct truth_light *light)
{
	if (t->err == 0) {
		note(t, fwrite(record, sizeof(*record), 1, t->file) == 1);
	}
	if (t->err == 0 && light != NULL) {
		note(t, fwrite(light, sizeof(*light), 1, t->file) == 1);
	}
}

int truth_file_destroy(struct truth_file *t)
{
	int err;

	if (t == NULL) {
		return 0;
	}
	if (t->file != NULL) {
		note(t, fclose(t->file) == 0);
	}
	err = t->err;
	free(t);
	return err;
}
