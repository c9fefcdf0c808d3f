# SPDX-License-Identifier: GPL-2.0-or-later
"""What fcm-convert must make of a recording, worked out in another way: from the recording's blocks as recording-blocks
prints them, read by fcm_data.py, put into order by numpy. A file of any kind is compared with it by the hash of each
column."""
import hashlib
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "schemas"))
import fcm_data  # noqa: E402

FRAME_NS = 125000
REASONS = (*fcm_data.LOSSES, "no-block")
HIT_FIELDS = ("tai_ns", "charge", "tower", "floor", "module", "samples", "waveform_at", "flags", "pmt", "frame", "t5ns",
              "block")
NO_TAI = fcm_data.NO_TAI


def sha(values):
    return hashlib.sha256(np.ascontiguousarray(values).view(np.uint8)).hexdigest()[:16]


def blocks(program, recording):
    """(block, (gap_first, gap_frames, gap_lost)) one after the other."""
    with subprocess.Popen([program, recording], stdout=subprocess.PIPE) as child:
        while header := child.stdout.read(fcm_data.HEADER_BYTES):
            gap = np.frombuffer(child.stdout.read(24), "<u8")
            size = int(np.frombuffer(header, fcm_data.header_dtype)[0]["payload_bytes"])
            block = fcm_data.Block(header, child.stdout.read(size))
            block.verify()
            yield block, gap
    if child.returncode:
        raise RuntimeError(f"{program}: exit {child.returncode}")


def hash_of_blocks(program, recording):
    """Of all headers and payloads, and how many."""
    h, n = hashlib.sha256(), 0
    for block, _ in blocks(program, recording):
        h.update(block.header.tobytes())
        h.update(block.payload)
        n += 1
    return h.hexdigest(), n


def tai_of(block, frame):
    return NO_TAI if "no-time" in block.flags() else block["tai_ns"] + frame * FRAME_NS


class Expected:
    def __init__(self, program, recording, streams=fcm_data.STREAMS):
        self.hits = {name: [] for name in HIT_FIELDS}
        self.waveforms, self.sounds, self.telemetry, self.serial = [], {}, [], []
        self.headers, self.groups, self.missing = [], [], []
        self._pieces, self._runs, self._open = {}, {}, {}
        self.samples_n = 0
        group, key = [], None
        for block, gap in blocks(program, recording):
            if block.stream not in streams:
                continue
            now = block["dma_epoch"], block["run"], block["first_frame"] // 1600
            if group and (now[:2] != key[:2] or now[2] not in (key[2], key[2] - 1)):
                self._end_group(group)
                group = []
            if not group:
                key = now
            group.append(block)
            self._note_missing(block, gap)
            self._take(block, len(self.headers))
            self.headers.append((block.header.copy(), gap))
        if group:
            self._end_group(group)
        self._end_missing()
        self.hits = {name: np.concatenate(parts) for name, parts in self.hits.items()}
        self.waveforms = np.concatenate(self.waveforms) if self.waveforms else np.zeros(0, "<u2")
        self.sounds = {name: np.concatenate(parts) for name, parts in self.sounds.items()}

    # -- hits: of a group in order of time, those of the same ns as they came
    def _end_group(self, group):
        first, parts = len(self.headers) - len(group), []
        for number, block in enumerate(group, first):
            data = np.frombuffer(block.payload, np.uint8).astype("<u2") if block.stream == "pmt" else None
            for module in range(block.channels if block.stream == "pmt" else 0):
                parts.append(self._of_module(block, number, module, data))
        hits = sum(len(p["tai_ns"]) for p in parts)
        self.groups.append((first, len(group), hits))
        if not hits:
            return
        joined = {name: np.concatenate([p[name] for p in parts]) for name in (*parts[0],)}
        order = np.argsort(joined["tai_ns"], kind="stable")
        wave, starts = joined.pop("wave"), joined.pop("at")
        lengths = joined["samples"].astype(np.int64)
        offsets = np.cumsum(np.concatenate([[0], lengths[order]]))
        index = np.repeat(starts[order] - offsets[:-1], lengths[order]) + np.arange(offsets[-1])
        self.waveforms.append(wave[index])
        for name, values in joined.items():
            self.hits[name].append(values[order])
        self.hits["waveform_at"].append((self.samples_n + offsets[:-1]).astype("<u8"))
        self.samples_n += int(offsets[-1])

    def _of_module(self, block, number, module, data):
        offsets = block.hit_offsets(module)
        hits = block.hit_fields(module)
        index = block.index()[module]
        carrier = np.searchsorted(index, offsets, "right") - 1
        of_second = (block["first_frame"] + carrier) % 8000
        age = (of_second - hits["frame"]) % 8000
        tai = (np.full(len(hits), NO_TAI) if "no-time" in block.flags() else
               block["tai_ns"] + (carrier - age) * FRAME_NS + hits["t5ns"].astype(np.int64) * 5)
        lengths = hits["samples"].astype(np.int64)
        starts = np.cumsum(np.concatenate([[0], lengths]))
        at = np.repeat(offsets + 16, lengths)
        k = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        zipped = np.repeat(hits["zip"], lengths)
        low = at + np.where(zipped, k, 2 * k)
        wave = np.where(zipped, data[low], data[low] | data[np.minimum(low + 1, len(data) - 1)] << 8).astype("<u2")
        n = len(hits)
        return {"tai_ns": tai.astype("<i8"), "charge": hits["charge"], "samples": hits["samples"],
                "flags": (hits["zip"] * 1 + hits["fragment"] * 2 + hits["fifo_full"] * 4).astype("u1"),
                "pmt": hits["pmt"], "frame": hits["frame"], "t5ns": hits["t5ns"],
                "tower": np.full(n, block["tower"], "u1"), "floor": np.full(n, block["floor"], "u1"),
                "module": np.full(n, module, "u1"), "block": np.full(n, number, "<u4"),
                "wave": wave, "at": starts[:-1] + self._wave_base(n, lengths)}

    def _wave_base(self, n, lengths):
        """Where this module's samples begin among those of the group: parts are joined in this order."""
        if not hasattr(self, "_base") or self._base[0] != len(self.groups):
            self._base = [len(self.groups), 0]
        base = self._base[1]
        self._base[1] += int(lengths.sum())
        return base

    # -- everything else, frame by frame
    def _take(self, block, number):
        if not block.channels or block.stream == "pmt":
            return
        index = block.index()
        for channel in range(block.channels):
            sizes = np.diff(index[channel].astype(np.int64))
            if block.stream == "hydrophone":
                self._take_sound(block, channel, sizes)
            elif channel == 0:
                for f in np.flatnonzero(sizes == 64):
                    at = index[channel][f]
                    self.telemetry.append((tai_of(block, int(f)), block["first_frame"] + int(f), number, block["link"],
                                           block["tower"], block["floor"], bytes(block.payload[at:at + 64])))
            else:
                self._take_serial(block, index[channel])

    def _take_sound(self, block, channel, sizes):
        name = f"T{block['tower']:02}F{block['floor']:02}H{channel}"
        values = block.samples(channel)
        self.sounds.setdefault(name, []).append(values)
        runs = self._runs.setdefault(name, [])
        done = sum(r[1] for r in runs)
        for f in np.flatnonzero(sizes):
            frame = block["first_frame"] + int(f)
            place = block["dma_epoch"], block["time_epoch"], block["link"]
            if runs and runs[-1][3] == place and runs[-1][2] + runs[-1][1] // 24 == frame:
                runs[-1][1] += 24
            else:
                runs.append([done, 24, frame, place, tai_of(block, int(f))])
            done += 24

    def _take_serial(self, block, index):
        for f in range(block.frames):
            at, end = int(index[f]), int(index[f + 1])
            while at + 4 <= end:
                channel, length = block.payload[at], block.payload[at + 1]
                self.serial.append((tai_of(block, f), block["first_frame"] + f, channel, length,
                                    int.from_bytes(block.payload[at + 2:at + 4], "little"),
                                    bytes(block.payload[at + 4:at + 4 + length])))
                at += 4 + length

    def filled(self, name):
        """The samples of a hydrophone as a file of sound has them: zeros for frames that the recorder let go."""
        parts, runs = [], self._runs[name]
        for run, after in zip(runs, [*runs[1:], None]):
            parts.append(self.sounds[name][run[0]:run[0] + run[1]])
            if after:
                assert after[3] == run[3], "one epoch: else it is another file"
                parts.append(np.zeros((after[2] - run[2]) * 24 - run[1], parts[0].dtype))
        return np.concatenate(parts)

    def pieces(self, name):
        """(at, samples, first_frame, tai_ns)"""
        return [(r[0], r[1], r[2], r[4]) for r in self._runs.get(name, [])]

    # -- missing frames: (stream, link, first, frames, reason, tai), runs joined
    def _note_missing(self, block, gap):
        line, first = (block["stream"], block["link"]), block["first_frame"]
        if gap[1]:
            self._add(line, block, int(gap[0]), int(gap[1]), len(REASONS) - 1)
        status = block.status()
        edges = np.flatnonzero(np.concatenate([[True], status[1:] != status[:-1], [True]]))
        for a, b in zip(edges[:-1], edges[1:]):
            if status[a]:
                self._add(line, block, first + int(a), int(b - a), int(status[a]))
            else:
                self._close(line)

    def _add(self, line, block, first, frames, reason):
        now = self._open.get(line)
        place = reason, block["tower"], block["floor"], block["dma_epoch"], block["run"]
        if now and now["place"] == place and now["first"] + now["frames"] == first:
            now["frames"] += frames
            return
        self._close(line)
        tai = NO_TAI if "no-time" in block.flags() else block["tai_ns"] + (first - block["first_frame"]) * FRAME_NS
        self._open[line] = {"place": place, "first": first, "frames": frames, "tai": tai}

    def _close(self, line):
        row = self._open.pop(line, None)
        if row:
            self.missing.append((*line, row["first"], row["frames"], REASONS[row["place"][0]], row["tai"]))

    def _end_missing(self):
        for line in list(self._open):
            self._close(line)
