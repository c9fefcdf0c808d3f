# SPDX-License-Identifier: LGPL-2.1-or-later
"""The TriDAS feed of one floor (schemas/README.md): a TCP stream of hits and nothing else, in pieces of whole hits."""
from __future__ import annotations

import datetime
import socket
import time

import numpy as np
from numpy.typing import NDArray

from fcm_data import FRAME_NS, HIT_HEADER_BYTES, HIT_SYNC, hit_lengths, hit_rows, raw_hits

from .arrays import Waveforms, waveforms
from .source import Source
from .times import SECOND_NS, utc_to_tai

PIECE_BYTES = 1 << 20  # read at a time, at most
DAY_SHIFT = 46         # of the time word: day and year are above
EPOCH = datetime.date(1970, 1, 1).toordinal()


def whole_hits(data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], int]:
    """(offsets of the whole hits that lie one after the other from the beginning of `data`, where the last of them
    ends). ValueError: where a hit should begin there is none."""
    last = len(data) - HIT_HEADER_BYTES  # the last byte at which a header can begin
    if last < 0:
        return np.zeros(0, np.int64), 0
    # Every place that looks like the beginning of a hit; samples may look so, too, but rarely.
    begins = np.flatnonzero((data[2:last + 3] == HIT_SYNC & 0xFF) & (data[3:last + 4] == HIT_SYNC >> 8))
    ends = begins + hit_lengths(raw_hits(data, begins)["shape"])
    true = np.ones(len(begins), bool)
    i, n = 0, len(begins)
    if not n or begins[0] != 0:
        raise ValueError("not on the border of a hit at byte 0")
    for b in np.flatnonzero(ends[:-1] != begins[1:]).tolist():  # behind b is not the next place that looks so
        if b < i:
            continue  # b itself was no hit
        i = int(np.searchsorted(begins, ends[b]))
        true[b + 1:i] = False
        if (i == n or begins[i] != ends[b]) and ends[b] <= last:
            raise ValueError(f"not on the border of a hit at byte {ends[b]}")
    begins, ends = begins[true], ends[true]
    if ends[-1] > len(data):
        return begins[:-1], int(begins[-1])
    if ends[-1] <= last:
        raise ValueError(f"not on the border of a hit at byte {ends[-1]}")
    return begins, int(ends[-1])


def _decimal(bcd: int) -> int:
    """Of a number in BCD. ValueError."""
    return int(f"{bcd:x}")


def _midnight_tai_ns(day_year: int, day_origin: int) -> int:
    """TAI of the beginning of a day as hits say it: in BCD, the day of the year in 10 bits, the year of the century
    above them."""
    try:
        day, year = _decimal(day_year & 0x3FF) - day_origin, 2000 + _decimal(day_year >> 10)
    except ValueError:
        raise ValueError(f"a hit of day {day_year & 0x3FF:x}, year {day_year >> 10:x}") from None
    days = datetime.date(year, 1, 1).toordinal() - EPOCH + day
    return utc_to_tai(days * 86400 * SECOND_NS)


class Piece:
    """Some whole hits of a feed, in the order sent: time order per module."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], day_origin: int,
                 cable_delay_ns: int) -> None:
        self.data = data
        """Their bytes: u8."""
        self._offsets, self._day_origin, self._cable_delay_ns = offsets, day_origin, cable_delay_ns

    def __len__(self) -> int:
        """How many hits."""
        return len(self._offsets)

    def hits(self, number: int = 0) -> NDArray[np.void]:
        """The hits: hit_row_dtype[n], as Block.hits(). Tower, floor and module are those that the hits themselves say;
        tai_ns is the time stamped in them (the floor's label, and the feed's cable_delay_ns). A leap second's hits are
        stamped as of the second before it. `number`: what their `block` says. ValueError: bytes that are no hit, a day
        that is none."""
        raw = raw_hits(self.data, self._offsets)
        rows = hit_rows(raw, self._offsets)
        word = raw["time"]
        days, day = np.unique(word >> DAY_SHIFT, return_inverse=True)
        midnights = np.array([_midnight_tai_ns(d, self._day_origin) for d in days.tolist()], np.int64)
        rows["tai_ns"] = (midnights[day.ravel()] + (word >> 29 & 0x1FFFF).astype(np.int64) * SECOND_NS +
                          rows["frame"].astype(np.int64) * FRAME_NS + rows["t5ns"].astype(np.int64) * 5 +
                          self._cable_delay_ns)
        rows["block"] = number
        return rows

    def waveforms(self, hits: NDArray[np.void]) -> Waveforms:
        """The samples of rows of this piece: as Block.waveforms()."""
        if len(hits) and hits["block"].any():
            hits = hits.copy()
            hits["block"] = 0
        return waveforms(hits, [self])


class Feed(Source[Piece]):
    """The TriDAS feed of one floor.

        with Feed("127.0.0.1", 5602) as data:
            for piece in data:
                hits = piece.hits()

    timeout         s, for the connection, and the iteration ends when nothing has come for so long. None: never
    cable_delay_ns  added to the times: the stamps in hits are the floor's label, which lags true time by it
    day_origin      which number 1 January has in the stamps: [data] day_origin of the daemon, 0 or 1

    The iteration ends when the connection does: then `ended` is true, and `cut_bytes` says how many bytes of a last hit
    had come. bytes_received and hits_received count. The daemon disconnects a reader that is too far behind; make
    another Feed, which begins with the newest hit.

    ConnectionRefusedError, TimeoutError and other OSErrors: nothing listens there. While iterating, ValueError: the
    stream is not one of hits; OSError: the connection broke."""

    def __init__(self, host: str, port: int, *, timeout: float | None = None, cable_delay_ns: int = 0,
                 day_origin: int = 0) -> None:
        super().__init__(timeout)
        if day_origin not in (0, 1):
            raise ValueError(f"day_origin {day_origin}: 0 or 1")
        self.cable_delay_ns, self.day_origin = cable_delay_ns, day_origin
        self.ended, self.cut_bytes = False, 0
        self.bytes_received, self.hits_received = 0, 0
        self._buffer = bytearray(2 * PIECE_BYTES)
        self._have = np.frombuffer(self._buffer, np.uint8)
        self._length = 0
        self.socket = socket.create_connection((host, port), timeout)

    def close(self) -> None:
        self.socket.close()
        self.ended = True

    def receive(self, timeout: float | None = None) -> Piece | None:
        """The next whole hits; None: none within `timeout` seconds (None: for ever), or the connection has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.ended:
            self.socket.settimeout(None if end is None else max(end - time.monotonic(), 0))
            try:
                n = self.socket.recv_into(memoryview(self._buffer)[self._length:self._length + PIECE_BYTES])
            except (TimeoutError, BlockingIOError):
                return None
            if n == 0:
                self.ended, self.cut_bytes = True, self._length
                break
            self.bytes_received += n
            self._length += n
            piece = self._cut()
            if piece is not None:
                return piece
        return None

    def _cut(self) -> Piece | None:
        """The whole hits that are there; what comes after them stays."""
        have = self._have[:self._length]
        offsets, end = whole_hits(have)
        if not end:
            return None
        piece = Piece(have[:end].copy(), offsets, self.day_origin, self.cable_delay_ns)
        self._length -= end
        self._have[:self._length] = have[end:].copy()
        self.hits_received += len(offsets)
        return piece

