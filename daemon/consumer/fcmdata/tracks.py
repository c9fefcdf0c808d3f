# SPDX-License-Identifier: LGPL-2.1-or-later
"""Repeats and gaps: daemon/consumer/track.c explains the rules. Pure."""
from __future__ import annotations

from fcm_data import SEQUENCE_BITS

from .blocks import Block

WINDOW = 65536  # sequences of a stream that are remembered
TRACKS = 128    # streams of floors, DMA epochs and block lengths
SLICE_FRAMES = 1600

Name = tuple[int, bytes]  # of a stream of a floor in a DMA epoch

SEEN, ACKED, OWED = 1, 2, 4


class _Track:
    """What this handle has had of a stream of a floor in a DMA epoch, in blocks of one length."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.bits: dict[int, int] = {}
        self.top = 0

    def inside(self, n: int) -> bool:
        return n < self.top <= n + WINDOW

    def raise_top(self, n: int) -> None:
        self.top = max(self.top, n + 1)
        if len(self.bits) > 2 * WINDOW:
            self.bits = {k: v for k, v in self.bits.items() if self.inside(k)}


class _Line:
    """Up to which frame blocks of a link and stream have come."""

    def __init__(self, block: Block, membership: int) -> None:
        self.dma_epoch, self.label = block["dma_epoch"], _label(block)
        self.resent, self.membership = "resent" in block.flags(), membership
        self.last_first, self.end = block["first_frame"], block["first_frame"] + block.frames


def _label(block: Block) -> tuple[int, bool]:
    return block["time_epoch"], "no-time" in block.flags()


def _split_key(key: bytes) -> tuple[Name, int, int]:
    """(stream of a floor and epoch, number, block length; 0: not said) of an acknowledgement's bytes."""
    sequence, length = int.from_bytes(key[:8], "little"), int.from_bytes(key[12:16], "little")
    return (sequence >> SEQUENCE_BITS, key[8:12]), sequence & (1 << SEQUENCE_BITS) - 1, length


class Tracks:
    def __init__(self, sole: bool = False, monitor: bool = False) -> None:
        self.sole, self.monitor, self.membership = sole, monitor, 0
        self.tracks: dict[tuple[Name, int], _Track] = {}
        self.lines: dict[tuple[int, int], _Line] = {}

    def restart(self) -> None:
        """A membership begins: of what was handed out before, the daemon expects no acknowledgement."""
        self.membership += 1
        for t in self.tracks.values():
            t.bits = {n: bits & ~OWED for n, bits in t.bits.items()}

    def _find(self, name: Name, length: int) -> tuple[Name, int] | None:
        """The track's own key. Where one of the two does not say its length, the one used last that may be meant."""
        if (name, length) in self.tracks:
            return name, length
        return next((k for k in reversed(self.tracks) if k[0] == name and not (k[1] and length)), None)

    def _of(self, name: Name, length: int) -> _Track:
        found = self._find(name, length)
        t = self.tracks.pop(found) if found else _Track()
        self.tracks[name, length or (found[1] if found else 0)] = t  # the last used is the last
        if len(self.tracks) > TRACKS:
            del self.tracks[next(iter(self.tracks))]
        return t

    def take(self, block: Block, owed: bool) -> bool:
        """A block comes: its facts. Returns whether it lies before a gap's end."""
        name, n, length = _split_key(block.key)
        t, resent = self._of(name, length), "resent" in block.flags()
        block.repeat = block.again = False
        block.gap_first = block.gap_frames = block.gap_lost = 0
        other_life = not resent and n < t.top and (self.monitor or not t.inside(n) or t.bits.get(n, 0) & SEEN)
        if other_life:
            self.lines.pop((block["link"], block["stream"]), None)
            for key, track in self.tracks.items():
                if key[0] == name:
                    track.forget()
        t.raise_top(n)
        if t.inside(n):
            bits = t.bits.get(n, 0)
            block.repeat = bool(bits & ACKED)
            block.again = bool(bits & SEEN) and not block.repeat
            t.bits[n] = bits & ACKED | SEEN | (OWED if owed else 0)
        return not (block.repeat or block.again) and self._measure(block, resent)

    def _measure(self, block: Block, resent: bool) -> bool:
        at = block["link"], block["stream"]
        line, first = self.lines.get(at), block["first_frame"]
        if line and line.dma_epoch == block["dma_epoch"]:
            if first + block.frames <= line.end:
                return first < line.last_first
            if first > line.end:
                until = self._ours_until(line, block)
                block.gap_first, block.gap_frames = line.end, first - line.end
                block.gap_lost = min(until, first) - line.end
        elif line and resent:
            return False  # a straggler of a former epoch
        self.lines[at] = _Line(block, self.membership)
        return False

    def _ours_until(self, line: _Line, block: Block) -> int:
        if "step" in block.flags():
            return line.end
        if self.monitor or self.sole and not line.resent:
            return block["first_frame"]
        if line.membership != self.membership or line.resent or line.label != _label(block):
            return line.end
        return -(-line.end // SLICE_FRAMES) * SLICE_FRAMES

    def ack(self, key: bytes) -> bool:
        """It is processed: whether the daemon expects an acknowledgement."""
        name, n, length = _split_key(key)
        found = self._find(name, length)
        t = self.tracks[found] if found else None
        if not t or (n < t.top and not t.inside(n)):
            return True
        if n >= t.top:
            return False
        bits = t.bits.get(n, 0)
        t.bits[n] = bits & ~OWED | ACKED
        return bool(bits & OWED)

    def remember(self, key: bytes) -> None:
        name, n, length = _split_key(key)
        t = self._of(name, length)
        t.raise_top(n)
        if t.inside(n):
            t.bits[n] = t.bits.get(n, 0) | SEEN | ACKED
