# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulator's truth file for Python: driver/emu/common/truth.h."""
import os

import numpy as np

MAGIC, VERSION = 0x48545552, 2
OUTCOMES = ("nothing", "hit", "dim", "off", "busy", "full", "away")
NOTHING, HIT, DIM, OFF, BUSY, FULL, AWAY = range(7)

head_dtype = np.dtype([
    ("magic", "<u4"), ("version", "<u4"), ("record_bytes", "<u4"), ("links", "<u4"), ("seed", "<u8"),
    ("tai_start_ns", "<i8"), ("reserved", "u1", (96,))])

record_dtype = np.dtype([
    ("count", "<u8"), ("floor_frame", "<u8"), ("tai_ns", "<i8"), ("link", "u1"), ("tower", "u1"), ("floor", "u1"),
    ("fate", "u1"), ("flags", "<u2"), ("hits_lost", "<u2"), ("hits", "<u2", (6,)), ("reserved", "u1", (4,)),
    ("hit_hash", "<u8", (6,)), ("sample_hash", "<u8", (2,)), ("reserved2", "<u8", (2,))])

light_dtype = np.dtype([
    ("flash_tai_ns", "<i8"), ("ping_tai_ns", "<i8"), ("travel_ps", "<u4", (6,)), ("spread_ps", "<i2", (6,)),
    ("electrons", "<u2", (6,)), ("light", "u1", (6,)), ("led", "u1"), ("pinger", "u1"), ("sound", "u1", (2,)),
    ("reserved", "u1", (6,)), ("sound_ns", "<u4", (2,)), ("reserved2", "<u8")])

"""Light of a flash at a module, and the frame in which it arrives."""
flash_dtype = np.dtype([
    ("flash_tai_ns", "<i8"), ("led", "u1"), ("link", "u1"), ("tower", "u1"), ("floor", "u1"), ("module", "u1"),
    ("floor_frame", "<u8"), ("travel_ps", "<u4"), ("spread_ps", "<i2"), ("electrons", "<u2"), ("outcome", "u1")])

"""Sound of a ping at a hydrophone, and the frame in which it arrives."""
ping_dtype = np.dtype([
    ("ping_tai_ns", "<i8"), ("pinger", "u1"), ("link", "u1"), ("tower", "u1"), ("floor", "u1"), ("hydrophone", "u1"),
    ("floor_frame", "<u8"), ("sound_ns", "<u4"), ("outcome", "u1")])


class Truth:
    """All whole records of a file; ValueError when it is none. `light` is None without beacons."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        if len(data) < head_dtype.itemsize:
            raise ValueError("not a truth file")
        self.head = np.frombuffer(data, head_dtype, 1)[0]
        if self.head["magic"] != MAGIC or self.head["version"] != VERSION:
            raise ValueError("not a truth file of this version")
        length = int(self.head["record_bytes"])
        count = (os.path.getsize(path) - head_dtype.itemsize) // length
        self._raw = np.frombuffer(data, np.uint8, count * length, head_dtype.itemsize).reshape(count, length)
        self.records = self._part(record_dtype, 0)
        begin = record_dtype.itemsize
        self.light = self._part(light_dtype, begin) if length >= begin + light_dtype.itemsize else None

    def _part(self, dtype, begin):
        return np.ascontiguousarray(self._raw[:, begin:begin + dtype.itemsize]).view(dtype)[:, 0]

    def _rows(self, dtype, outcomes, column, one_each, of_column):
        """A row where a column of `outcomes` says that something arrived."""
        at, number = np.nonzero(outcomes)
        rows = np.zeros(len(at), dtype)
        rows["outcome"], rows[column] = outcomes[at, number], number
        for name in ("link", "tower", "floor", "floor_frame"):
            rows[name] = self.records[name][at]
        for name in one_each:
            rows[name] = self.light[name][at]
        for name in of_column:
            rows[name] = self.light[name][at, number]
        return rows

    def flashes(self):
        """flash_dtype: a row for each flash and module, in order of arrival at each link."""
        return self._rows(flash_dtype, self.light["light"], "module", ("flash_tai_ns", "led"),
                          ("travel_ps", "spread_ps", "electrons"))

    def pings(self):
        """ping_dtype: a row for each ping and hydrophone."""
        return self._rows(ping_dtype, self.light["sound"], "hydrophone", ("ping_tai_ns", "pinger"), ("sound_ns",))
