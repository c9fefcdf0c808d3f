/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The slow-control word in and out of its 16 bytes. See word.h for the layout and the FCM's duties.
 */
#include "tdm/word.h"

#include <errno.h>

#include "tdm/le.h"

#define WORD_CRC 14u /* offset of the CRC, and how many bytes it covers */

void word_pack(const struct word *w, uint8_t bytes[TDM_WORD_BYTES])
{
	bytes[0] = w->op;
	bytes[1] = w->module;
	bytes[2] = w->reg;
	bytes[3] = w->status;
	le32_put(bytes + 4, (uint32_t)w->value);
	le32_put(bytes + 8, w->sequence);
	le16_put(bytes + 12, w->boot);
	le16_put(bytes + WORD_CRC, tdm_crc16(bytes, WORD_CRC));
}

int word_unpack(const uint8_t bytes[TDM_WORD_BYTES], struct word *ret_w)
{
	/* Before the CRC: an empty place is all zeros, whose CRC is zero and would be right. */
	if (bytes[0] == WORD_NONE) {
		return -ENODATA;
	}
	if (tdm_crc16(bytes, WORD_CRC) != le16_get(bytes + WORD_CRC)) {
		return -EBADMSG;
	}
	*ret_w = (struct word){
		.op = bytes[0],
		.module = bytes[1],
		.reg = bytes[2],
		.status = bytes[3],
		.value = (int32_t)le32_get(bytes + 4),
		.sequence = le32_get(bytes + 8),
		.boot = le16_get(bytes + 12),
	};
	return 0;
}

const char *word_status_name(unsigned status)
{
	static const char *const names[] = {
		[WORD_OK] = "ok",	    [WORD_UNKNOWN] = "unknown",
		[WORD_BAD_REG] = "bad-reg", [WORD_BAD_VALUE] = "bad-value",
		[WORD_REFUSED] = "refused", [WORD_READ_ONLY] = "read-only",
		[WORD_BUSY] = "busy",	    [WORD_DUPLICATE] = "duplicate",
	};

	return status < sizeof(names) / sizeof(names[0]) ? names[status] : "?";
}
