# SPDX-License-Identifier: LGPL-2.1-or-later
"""A block as this package hands it out: that of fcm_data.py, with what its source says of it, quicker by libfcmdata."""
from __future__ import annotations

import errno

import numpy as np
from numpy.typing import NDArray

import fcm_data
from fcm_data import HEADER_BYTES, HIT_HEADER_BYTES, OtherVersion, hit_row_dtype

from . import native
from .arrays import Waveforms, waveforms
from .times import datetime64_of

missing_dtype = np.dtype([("first_frame", "<u8"), ("frames", "<u8"), ("tai_ns", "<i8"), ("reason", "U10"),
                          ("edge", np.bool_)])


class Block(fcm_data.Block):
    """Data of one floor and one stream, usually of 10 ms: see schemas/fcm_data.h.

    block["tai_ns"]     a header field as a number: tower, floor, tai_ns, first_frame, frames, slice_id, run, items, ...
    stream              "pmt", "hydrophone" or "instrument"
    flags()             names of the flags that are set: "partial", "no-time", ...
    status()            what became of each frame: u8[frames], 0 good, else an index of LOSSES
    hits(), waveforms() of a pmt block
    samples(), sample_times()  of a hydrophone block
    channel()           bytes of an instrument block: 0 telemetry, 1 serial records
    key                 16 bytes that name it, for Member.ack()

    What its source knows of it, and False and 0 for a block that was made from bytes:

    repeat      handed out and acknowledged before: its data have been processed
    again       handed out before, not acknowledged since
    gap_first, gap_frames, gap_lost
                frames [gap_first, gap_first + gap_frames) of this link and stream, right before this block, have not
                come. The first gap_lost of them were this reader's for certain and are lost; the rest may have gone to
                other members of the group. Of a monitor and of a recording all are
    edge_begin, edge_end
                of a recording: so many frames at the block's begin and end are missing only because the recording
                begins or ends there; nothing was lost. Of a live block 0

    ValueError: header and payload are not those of a block; OtherVersion, a ValueError: they are of another version."""

    def __init__(self, header: bytes, payload: bytes | memoryview) -> None:
        super().__init__(header, payload)
        self.repeat, self.again = False, False
        self.gap_first, self.gap_frames, self.gap_lost = 0, 0, 0
        self.edge_begin, self.edge_end = 0, 0
        self._whole_header = bytes(header)
        self._data: NDArray[np.uint8] = np.frombuffer(self.payload, np.uint8)
        self._struct: native.BlockStruct | None = None  # made when its index has been checked

    def __repr__(self) -> str:
        begin = datetime64_of(self["tai_ns"]) if self.has_time else "a time that is unknown"
        words = [f"{self.topic.decode()}: {self.frames} frames from {begin}", f"{self['items']} items", *self.flags()]
        return f"<Block {', '.join(words)}>"

    @property
    def data(self) -> NDArray[np.uint8]:
        """The payload, without copying: u8[payload_bytes]."""
        return self._data

    def verify(self, topic: bytes | None = None) -> None:
        """Checks both checksums, every number of the header, every offset, and the topic where it is given. ValueError
        says what is wrong. What Monitor and Member hand out has been verified."""
        if not native.LIB or self["stream"] >= len(fcm_data.STREAMS):
            super().verify(topic)
            return
        damage = native.check(self.topic if topic is None else bytes(topic), self._whole_header, self._data)
        if damage == native.VERSION:
            raise OtherVersion("a data message of another version")
        if damage != native.GOOD:
            super().verify(topic)  # says it more exactly
            raise ValueError(native.HEADER_WORD.get(damage, "damaged"))
        self._prepare()

    def missing(self) -> NDArray[np.void]:
        """What is missing before and in this block, a row for each run of frames: missing_dtype[n].

        first_frame, frames   u64, frames of 125 us
        tai_ns      i64, start of the first; NO_TAI without a label
        reason      a name of LOSSES; "no-block": the frames before it, of which no block came
        edge        bool, only because the recording begins or ends there; nothing was lost

        What goes on in the next block is a row of each."""
        first, n, status = self["first_frame"], self.frames, self.status()
        at = np.arange(n)
        edge = (status > 0) & ((at < self.edge_begin) | (at >= n - self.edge_end))
        kind = status.astype(int) * 2 + edge
        starts = np.flatnonzero(np.diff(kind, prepend=-1))
        rows = [(self.gap_first, self.gap_frames, 0, "no-block", False)] if self.gap_frames else []
        rows += [(first + a, b - a, 0, fcm_data.LOSSES[status[a]] if status[a] < len(fcm_data.LOSSES) else "unknown",
                  edge[a]) for a, b in zip(starts.tolist(), [*starts[1:].tolist(), n]) if status[a]]
        found = np.array(rows, missing_dtype)
        found["tai_ns"] = [self["tai_ns"] + (int(x) - first) * fcm_data.FRAME_NS if self.has_time else fcm_data.NO_TAI
                           for x in found["first_frame"]]
        return found

    def _prepare(self) -> native.BlockStruct:
        """For calls of the library; the index has been checked."""
        self._struct = native.block_struct(self._whole_header[:HEADER_BYTES], self._data)
        return self._struct

    def hits(self, module: int | None = None, number: int = 0,
             out: NDArray[np.void] | None = None) -> NDArray[np.void]:
        """The hits of optical module `module`, 0..5, or of all (None), module by module in the order sent:
        hit_row_dtype[n]. A GAP block has none.

        tai_ns      i64, TAI since 1970 in ns, true time as block["tai_ns"]; NO_TAI without a label
        charge      u32, 22 bits, as the FCM computed it
        tower, floor, module   u8; module 0..5 is the channel in which it came, pmt 0..15 what the hit itself says
        frame, t5ns u16, frame of the second in which it was born, 0..7999; units of 5 ns in it, 0..24999
        samples     u8, 0..63: how many; waveforms() has them
        flags       u8, HIT_ZIP, HIT_FRAGMENT (it goes on with the pulse of the module's hit before it),
                    HIT_FIFO_FULL of fcm_data
        block       u32, `number`; samples_at u32, where its samples are in the payload

        The array is the caller's own. `out`: an array of hit_row_dtype, contiguous, whose beginning is used and returned
        instead of a new array. ValueError: not a block of hits, bytes that are no hit, no room in `out`; IndexError: no
        such module; TypeError: not such an `out`."""
        if out is not None and (getattr(out, "dtype", None) != hit_row_dtype or out.ndim != 1 or
                                not out.flags.c_contiguous or not out.flags.writeable):
            raise TypeError("out: a contiguous array of hit_row_dtype")
        if not self._native(module):
            return _put(super().hits(module, number), out)
        rows = out
        if rows is None:
            rows = np.empty(self._expected() if module is None else self.most_hits(module), hit_row_dtype)
        n = self._fill(rows, module, number)
        if n == -errno.ENOSPC:  # the header counts fewer than there are, or `out` is short
            rows = np.empty(self.most_hits(), hit_row_dtype)
            n = self._fill(rows, module, number)
            return _put(rows[:n], out)
        return rows[:n]

    def _native(self, module: int | None) -> bool:
        """Whether the library can be asked: it relies on these."""
        return bool(native.LIB) and self["stream"] == fcm_data.PMT and self.channels > 0 and \
            (module is None or 0 <= module < self.channels)

    def _fill(self, rows: NDArray[np.void], module: int | None, number: int) -> int:
        if not self._struct:
            self.index()
        return native.hits_into(self._struct or self._prepare(), -1 if module is None else module, number, rows)

    def _expected(self) -> int:
        """How many hits the header counts; no more than there may be."""
        return min(self["items"], len(self._data) // HIT_HEADER_BYTES)

    def most_hits(self, module: int | None = None) -> int:
        """An upper bound of the hits of one module, or of all (None): none is shorter than its header."""
        if not self.channels:
            return 0
        if module is None:
            return sum(self.most_hits(m) for m in range(self.channels))
        index = self.index()[module]
        return int(index[-1] - index[0]) // HIT_HEADER_BYTES

    def waveforms(self, hits: NDArray[np.void]) -> Waveforms:
        """The samples of rows of this block, which hits() gave: values u16, offsets u64[len(hits) + 1]. ValueError:
        rows of several blocks, or of another one."""
        if not len(hits):
            return waveforms(hits, [self])
        number = int(hits["block"][0])
        if (hits["block"] != number).any():
            raise ValueError("rows of several blocks: fcmdata.waveforms() takes those")
        if number:
            hits = hits.copy()
            hits["block"] = 0
        return waveforms(hits, [self])


def _put(rows: NDArray[np.void], out: NDArray[np.void] | None) -> NDArray[np.void]:
    if out is None:
        return rows
    if len(rows) > len(out):
        raise ValueError(f"out has room for {len(out)} hits, there are {len(rows)}")
    out[:len(rows)] = rows
    return out[:len(rows)]
