/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A truth file (driver/emu/common/truth.h) as its readers find it in memory. Records may be longer than they are known
 * here: what is behind the known part is passed over (schemas/VERSIONS.md). */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/emu/common/truth.h"

struct truth {
	const uint8_t *bytes; /* of the first record */
	size_t record_bytes;
	size_t records; /* a last one that a kill has cut short does not count */
};

static inline const struct truth_record *truth_at(const struct truth *t, size_t record)
{
	return (const struct truth_record *)(const void *)(t->bytes + record * t->record_bytes);
}

/* -EBADMSG: not a truth file; -EPROTO: one of another version. `bytes`: of a file's beginning, 8-byte aligned. */
static inline int truth_read(const void *bytes, size_t length, struct truth *ret_truth)
{
	const struct truth_head *head = bytes;

	if (length < sizeof(*head) || head->magic != TRUTH_MAGIC) {
		return -EBADMSG;
	}
	if (head->version != TRUTH_VERSION) {
		return -EPROTO;
	}
	if (head->record_bytes < sizeof(struct truth_record) || head->record_bytes % 8 != 0) {
		return -EBADMSG;
	}
	*ret_truth = (struct truth){
		.bytes = (const uint8_t *)bytes + sizeof(*head),
		.record_bytes = head->record_bytes,
		.records = (length - sizeof(*head)) / head->record_bytes,
	};
	return 0;
}

static inline const char *truth_error(int err)
{
	return err == -EPROTO
		       ? "a truth file of another version: use the tools of the emulator's version"
		       : "not a truth file";
}
