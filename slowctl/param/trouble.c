/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See trouble.h. */
#include "slowctl/param/trouble.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct journal_trouble journal_trouble(int result)
{
	static const struct {
		int result;
		struct journal_trouble trouble;
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
		{-ENOBUFS, {"too many rows wait for a slow disk", "Is the disk slow? iostat."}},
	};

	for (size_t n = 0; n < sizeof(known) / sizeof(known[0]); n++) {
		if (known[n].result == result) {
			return known[n].trouble;
		}
	}
	return (struct journal_trouble){strerror(-result), "Look at the disk and the system log."};
}
