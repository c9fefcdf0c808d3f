/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts about errors of the database's disk and of an FCM: see trouble.h. */
#include "slowctl/param/trouble.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tdm/word.h"

struct sc_trouble journal_trouble(int result)
{
	static const struct {
		int result;
		struct sc_trouble trouble;
	} known[] = {
		{-ENOSPC, {"the disk is full", "Free space on its disk: df -h."}},
		{-EDQUOT, {"the disk quota is used up", "Free space, or raise the quota."}},
		{-EFBIG, {"the file may not grow further", "Raise the limit of file sizes."}},
		{-EROFS, {"it is read-only", "Make its file system writable: dmesg tells why."}},
		{-EACCES, {"no permission", "Give the daemon's user the file and its directory."}},
		{-EBUSY, {"another program holds it", "End what writes to it: fuser -v FILE."}},
		{-EUCLEAN,
		 {"it is damaged",
		  "Put a good copy in its place, or move it away (with its -wal and -shm)."}},
		{-EIO, {"the disk fails", "Look at the disk: dmesg, smartctl."}},
		{-ETIMEDOUT, {"the disk does not answer", "Look at the disk: dmesg, iostat."}},
		{-EPROTONOSUPPORT,
		 {"it is of another version or program",
		  "Move it away (with its -wal and -shm); fcmctl status shows the command."}},
		{-ENOBUFS, {"too many rows wait for a slow disk", "Is the disk slow? iostat."}},
	};

	for (size_t n = 0; n < sizeof(known) / sizeof(known[0]); n++) {
		if (known[n].result == result) {
			return known[n].trouble;
		}
	}
	return (struct sc_trouble){strerror(-result), "Look at the disk and the system log."};
}

struct sc_trouble fcm_trouble(uint8_t status)
{
	static const struct sc_trouble mismatch = {
		"for a reason this program does not know",
		"The parameter dictionary and the FCM's firmware do not agree: tell "
		"the maintainer."};

	switch (status) {
	case WORD_BAD_REG:
		return (struct sc_trouble){"it knows no such register", mismatch.action};
	case WORD_READ_ONLY:
		return (struct sc_trouble){"the register is read-only", mismatch.action};
	case WORD_BAD_VALUE:
		return (struct sc_trouble){
			"the value is outside the hardware's range",
			"Choose a value inside the range; tell the maintainer that "
			"the dictionary's range is wrong."};
	case WORD_REFUSED:
		return (struct sc_trouble){"not possible now",
					   "Is the module powered, is it tripped? fcmctl get shows "
					   "its power and trip; then set it again."};
	case WORD_BUSY:
		return (struct sc_trouble){"it is busy", "Try again."};
	default:
		return mismatch;
	}
}
