# SPDX-License-Identifier: GPL-2.0-or-later
"""What fcm-consumer records, for Python: tests/system/consumer_check.h, struct consumer_record."""
import os

import numpy as np

MAGIC = 0x5246
GOOD = 0  # status
RESENT, REPEAT = 1, 2  # flags

record_dtype = np.dtype([
    ("magic", "<u2"), ("link", "u1"), ("tower", "u1"), ("floor", "u1"), ("stream", "u1"), ("status", "u1"),
    ("flags", "u1"), ("floor_frame", "<u8"), ("tai_ns", "<i8"), ("dma_epoch", "<u4"), ("block_flags", "<u4"),
    ("uncertainty_ns", "<u4"), ("clock_state", "u1"), ("label_source", "u1"), ("time_errors", "<u2"),
    ("hits", "<u2", (6,)), ("bad_hits", "<u2"), ("reserved", "<u2"), ("hash", "<u8", (6,)), ("sequence", "<u8"),
    ("reserved2", "<u8", (2,))])
assert record_dtype.itemsize == 128


def read(path):
    """All whole records of a file."""
    with open(path, "rb") as f:
        return np.frombuffer(f.read(), record_dtype, os.path.getsize(path) // record_dtype.itemsize)


def counted(records):
    """Good frames that a consumer has counted, as an array of numbers that are equal for the same frame and stream:
    frames of blocks that libfcmdata does not call repeats."""
    r = records[(records["status"] == GOOD) & (records["flags"] & REPEAT == 0)]
    return r["floor_frame"] << np.uint64(8) | r["link"].astype("u8") << np.uint64(4) | r["stream"].astype("u8")


def block_lengths(records):
    """Lengths of the blocks that they came in: a number is the first frame divided by the length (FCM_SEQUENCE_MASK)."""
    return set(np.unique(records["floor_frame"] // (records["sequence"] & np.uint64((1 << 40) - 1))).tolist())
