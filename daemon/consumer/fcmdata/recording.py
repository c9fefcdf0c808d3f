# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings: the blocks that the daemon made of recorded cells, made again by libfcmdata."""
from __future__ import annotations

import ctypes
import errno
import os
import time
import weakref
from collections.abc import Iterable

import numpy as np

from fcm_data import FRAMES_MAX, LINKS, NO_TAI, STREAMS, header_dtype

from . import native
from .blocks import Block
from .source import Source
from .times import Y2000_UTC_NS, When, tai_ns

FOLLOW_S = 0.05  # between two looks at a recording that is being written


class Recording(Source[Block]):
    """The blocks of a recording: a directory of segments (`fcmctl record list` names them), or one segment.

        for block in Recording("recordings/night", streams=["pmt"], start=datetime64("2026-11-27T20:15")): ...

    start, end  data of [start, end) only: TAI ns since 1970, as `first` and `last` are, a datetime with tzinfo, or a
                numpy.datetime64 (UTC); None: no limit. A block that has some of it comes whole; with a limit blocks
                without time are left out
    run         blocks of this run only
    links       of these links of the board, 0..3
    streams     of these: "pmt", "hydrophone", "instrument"
    block_frames  length of the blocks, a divisor of 1600; None: as the daemon had it
    follow      it is being written: at its end the iteration waits for more
    timeout     s, with `follow`: the iteration ends when nothing has come for so long. None: never

    They are those that the daemon sent, without its flag "resent"; gap_first and gap_frames say what the recording
    lacks before a block. Where a recording begins or ends inside of a block, the frames that it does not have are lost
    for "board-fifo", and edges (edge_begin, edge_end, missing()): no loss. A range without data gives no blocks; first
    and last say what there is. Blocks of a link come in order, those of several links by board count. A block is the
    caller's own, and outlives the recording. `troubles` lists damaged segments.

    ImportError: there is no libfcmdata.so.0. FileNotFoundError and other OSErrors: no segments there, or they cannot be
    read. ValueError: not a recording, or of another version; an argument that makes no sense."""

    def __init__(self, path: str | os.PathLike[str], *, start: When | None = None, end: When | None = None,
                 run: int | None = None, links: Iterable[int] | None = None,
                 streams: Iterable[str] | str | None = None, block_frames: int | None = None, follow: bool = False,
                 timeout: float | None = None) -> None:
        super().__init__(timeout)
        if not native.LIB:
            raise ImportError(f"fcmdata.Recording needs {native.NAME} ({native.ABSENT}): `make install-fcmdata` "
                              "installs it, `pip install ./daemon/consumer` builds it where it can")
        self.path, self.follow = os.fspath(path), follow
        self.troubles: list[str] = []
        """Segments that were damaged, a line each; reading went on with the next segment."""
        self._troubles = 0
        config = native.RecordingConfig(
            links=_mask("link", range(LINKS), links), follow=follow, run=_positive("run", run),
            streams=_mask("stream", STREAMS, (streams,) if isinstance(streams, str) else streams),
            block_frames=_positive("block_frames", block_frames), from_tai_ns=_limit("start", start),
            until_tai_ns=_limit("end", end))
        if start is not None and end is not None and config.from_tai_ns > config.until_tai_ns:
            raise ValueError(f"start {start} is after end {end}")
        if block_frames and FRAMES_MAX % block_frames:
            raise ValueError(f"block_frames {block_frames}: a divisor of {FRAMES_MAX}")
        handle = ctypes.c_void_p()
        _raise(native.LIB.fcmdata_recording_open(os.fsencode(path), ctypes.byref(config), ctypes.byref(handle)),
               self.path)
        self._handle: ctypes.c_void_p | None = handle
        self._range: tuple[int, int] | None = None
        self._close = weakref.finalize(self, native.LIB.fcmdata_recording_close, handle)

    @property
    def first(self) -> int:
        """TAI ns since 1970 at which the recorded cells begin, whatever `start` and `end`: data are up to 12 ms older;
        NO_TAI where they have no time."""
        return self._looked_up()[0]

    @property
    def last(self) -> int:
        """The same of their end."""
        return self._looked_up()[1]

    def _looked_up(self) -> tuple[int, int]:
        if not self._handle:
            raise ValueError(f"{self.path}: has been closed")
        if not self._range or self.follow:
            first, last = ctypes.c_int64(NO_TAI), ctypes.c_int64(NO_TAI)
            native.LIB.fcmdata_recording_range(self._handle, ctypes.byref(first), ctypes.byref(last))
            self._range = first.value, last.value
        return self._range

    def close(self) -> None:
        self._handle = None
        self._close()

    def receive(self, timeout: float | None = None) -> Block | None:
        """The next block; None: there are no more, with `follow` none within `timeout` seconds (None: for ever)."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._handle:
            block = self._next()
            if block or not self.follow:
                return block
            left = FOLLOW_S if end is None else min(end - time.monotonic(), FOLLOW_S)
            if left <= 0:
                return None
            time.sleep(left)
        return None

    def _next(self) -> Block | None:
        found = ctypes.POINTER(native.BlockStruct)()
        n = native.LIB.fcmdata_recording_next(self._handle, ctypes.byref(found))
        self._note_troubles()
        _raise(n, self.path)
        if n == 0:
            return None
        given = found.contents
        header = bytes(given.header)
        # Of our own: the library's memory is the next block's soon.
        payload = ctypes.string_at(given.payload, int(np.frombuffer(header, header_dtype)["payload_bytes"][0]))
        block = Block(header, payload)
        block.repeat, block.again = given.repeat, given.again
        block.gap_first, block.gap_frames, block.gap_lost = given.gap_first, given.gap_frames, given.gap_lost
        begin, end = ctypes.c_uint32(), ctypes.c_uint32()
        native.LIB.fcmdata_recording_edges(self._handle, ctypes.byref(begin), ctypes.byref(end))
        block.edge_begin, block.edge_end = begin.value, end.value
        return block

    def _note_troubles(self) -> None:
        text = ctypes.c_char_p()
        n = native.LIB.fcmdata_recording_troubles(self._handle, ctypes.byref(text))
        if n > self._troubles:
            unsaid = n - self._troubles - 1
            self.troubles += [f"{unsaid} more damaged segments"] if unsaid else []
            self.troubles.append((text.value or b"").decode(errors="replace"))
            self._troubles = n


def _mask(what: str, known: range | tuple[str, ...], wanted: Iterable[int] | Iterable[str] | None) -> int:
    """0: all."""
    if wanted is None:
        return 0
    mask = 0
    for x in wanted:
        if x not in known:
            raise ValueError(f"{what} {x!r}: one of {', '.join(map(str, known))}")
        mask |= 1 << known.index(x)  # type: ignore[arg-type]
    if not mask:
        raise ValueError(f"no {what} at all")
    return mask


def _positive(what: str, number: int | None) -> int:
    if number is not None and not 0 < number < 1 << 32:
        raise ValueError(f"{what} {number}: 1 or more")
    return number or 0


def _limit(what: str, when: When | None) -> int:
    """0: none."""
    if when is None:
        return 0
    tai = tai_ns(when)
    if tai < Y2000_UTC_NS:  # the slices' count begins there: no data are older
        raise ValueError(f"{what} {when}: TAI ns since 1970; 2 s after a recording's begin is its first + 2 * 10**9")
    return tai


def _raise(result: int, path: str) -> None:
    if result >= 0:
        return
    if result == -errno.ENOMEM:
        raise MemoryError(path)
    if result in (-errno.EBADMSG, -errno.ENODATA) and _is_hdf5(path):
        raise ValueError(f"{path} is an HDF5 file: open it with h5py; recordings are directories of segments")
    if result in (-errno.EBADMSG, -errno.EPROTO, -errno.EINVAL):
        raise ValueError(f"{path}: " + {errno.EBADMSG: "not a segment of a recording, or a damaged one",
                                        errno.EPROTO: "a segment of another version"}.get(-result, "invalid arguments"))
    if result == -errno.ENODATA:
        raise FileNotFoundError(errno.ENOENT, "no segments of a recording (linkL-NNNNN.fcmr) there", path)
    raise OSError(-result, os.strerror(-result), path)


def _is_hdf5(path: str) -> bool:
    try:
        with open(path, "rb") as f:
            return f.read(8) == b"\x89HDF\r\n\x1a\n"
    except OSError:
        return False
