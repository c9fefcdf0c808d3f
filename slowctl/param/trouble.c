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
	static const char mismatch[] = "The parameter dictionary and the FCM's firmware do not "
				       "agree: tell the maintainer.";
	static const struct sc_trouble known[] = {
		[WORD_BAD_REG] = {"it knows no such register", mismatch},
		[WORD_READ_ONLY] = {"the register is read-only", mismatch},
		[WORD_BAD_VALUE] = {"the value is outside the hardware's range",
				    "Choose a value inside the range; tell the maintainer that "
				    "the dictionary's range is wrong."},
		[WORD_REFUSED] = {"not possible now",
				  "Is the module powered, is it tripped? fcmctl get shows "
				  "its power and trip; then set it again."},
		[WORD_BUSY] = {"it is busy", "Try again."},
	};

	if (status < sizeof(known) / sizeof(known[0]) && known[status].what) {
		return known[status];
	}
	return (struct sc_trouble){"for a reason this program does not know", mismatch};
}
