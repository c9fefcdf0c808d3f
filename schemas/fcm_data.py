# SPDX-License-Identifier: BSD-2-Clause
"""The data message of FCM-Server for Python: numpy dtypes and a reader.

The layout is that of fcm_data.h, fcm_hits.h and tdm/hit.h; a test holds this file against the C structs. Needs
numpy only; a message comes from pyzmq as [topic, header, payload]:

    block = Block(header, payload)
    hits = block.hits()                      # one structured array: tai_ns, module, charge, ...
    values, offsets = block.waveforms(hits)  # of hit i: values[offsets[i]:offsets[i + 1]]

daemon/consumer/fcmdata is a package that receives such blocks, and whose own Block is quicker by libfcmdata.
"""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = Any  # whatever has a buffer of bytes
Rows = NDArray[np.void]

MAGIC = 0x424D4346
VERSION = 1
HEADER_BYTES = 256
CHANNELS_MAX = 6
NO_UNCERTAINTY = 0xFFFFFFFF
NO_TAI = -(1 << 63)
FRAME_NS = 125000
FRAMES_PER_SECOND = 8000
SAMPLES_PER_FRAME = 24
SAMPLE_NS = np.arange(SAMPLES_PER_FRAME) * FRAME_NS // SAMPLES_PER_FRAME  # of a frame's samples, behind its start

PMT, HYDROPHONE, INSTRUMENT = 0, 1, 2
STREAMS = ("pmt", "hydrophone", "instrument")
CHANNELS = (6, 2, 2)
FRAMES_MAX = 1600
LINKS = 4
SEQUENCE_BITS = 40  # the block's number; above them the DMA epoch's lowest 24

FLAGS = {
    "resent": 0x001, "gap": 0x002, "no-time": 0x004, "partial": 0x008, "step": 0x010,
    "relabel": 0x020, "fifo-full": 0x040, "identity": 0x080, "time-fault": 0x100, "emulated": 0x200,
}
"""What became of a frame: status 0 is good."""
LOSSES = ("good", "link-down", "board-fifo", "ring-full", "crc", "alignment", "time-fault")
CLOCK_STATES = ("no-time", "acquiring", "locked", "holdover", "fault")
LABEL_SOURCES = ("none", "gpsd", "floors", "system", "emulator")

header_dtype = np.dtype([
    ("magic", "<u4"), ("version", "<u2"), ("header_bytes", "<u2"),
    ("stream", "u1"), ("board", "u1"), ("link", "u1"), ("channels", "u1"),
    ("tower", "u1"), ("floor", "u1"), ("label_source", "u1"), ("clock_state", "u1"),
    ("flags", "<u4"), ("run", "<u4"), ("dma_epoch", "<u4"), ("time_epoch", "<u4"),
    ("uncertainty_ns", "<u4"), ("frames", "<u4"), ("frames_lost", "<u4"), ("frames_bad", "<u4"),
    ("sequence", "<u8"), ("first_frame", "<u8"), ("tai_ns", "<i8"), ("slice_id", "<u8"),
    ("first_item_tai_ns", "<i8"), ("last_item_tai_ns", "<i8"),
    ("cable_delay_ns", "<u4"), ("items", "<u4"), ("payload_bytes", "<u4"),
    ("status_offset", "<u4"), ("index_offset", "<u4"), ("data_offset", "<u4"),
    ("channel_offset", "<u4", (CHANNELS_MAX + 1,)), ("item_faults", "<u4"),
    ("reserved", "u1", (96,)), ("payload_crc", "<u4"), ("header_crc", "<u4"),
])
assert header_dtype.itemsize == HEADER_BYTES

ack_dtype = np.dtype([
    ("sequence", "<u8"), ("stream", "u1"), ("link", "u1"), ("tower", "u1"), ("floor", "u1"),
    ("block_frames", "<u4"),
])

"""The header of a hit in the stream: three little-endian words with bit fields."""
hit_dtype = np.dtype([("identity", "<u4"), ("time", "<u8"), ("shape", "<u4")])
HIT_HEADER_BYTES = 16
HIT_MAX_BYTES = 88
HIT_SYNC = 0x55AA
HIT_T5NS_MAX = 24999
HIT_FRAME_MAX = 7999

"""A hit as hits() gives it: struct fcm_hit_row of fcm_hits.h, which explains the fields."""
hit_row_dtype = np.dtype([
    ("tai_ns", "<i8"), ("charge", "<u4"), ("samples_at", "<u4"), ("block", "<u4"), ("frame", "<u2"), ("t5ns", "<u2"),
    ("tower", "u1"), ("floor", "u1"), ("module", "u1"), ("pmt", "u1"), ("samples", "u1"), ("flags", "u1"),
    ("reserved", "u1", (2,)),
])
"""Its flags."""
HIT_ZIP, HIT_FRAGMENT, HIT_FIFO_FULL = 0x1, 0x2, 0x4

"""All fields of a hit as the floor and the shore wrote them; `offset` is where its header is in the payload."""
hit_fields_dtype = np.dtype([
    ("offset", "<u4"), ("pmt", "u1"), ("efcm", "u1"), ("tower", "u1"), ("t5ns", "<u2"), ("frame", "<u2"),
    ("second", "<u4"), ("day_bcd", "<u2"), ("year_bcd", "u1"), ("samples", "u1"), ("fifo_full", "?"),
    ("charge", "<u4"), ("fragment", "?"), ("zip", "?"),
])


def raw_hits(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Rows:
    """The headers of the hits at `offsets` of `data` (bytes): hit_dtype[len(offsets)]."""
    # A view in which a header begins at every byte: a hit has any length.
    headers: Rows = np.ndarray((max(len(data) - HIT_HEADER_BYTES + 1, 0),), hit_dtype, data, 0, (1,))
    return headers[offsets]


def unpack_hits(raw: Rows, offsets: Any) -> Rows:
    """Fields of raw hit headers (hit_dtype) as hit_fields_dtype."""
    identity, time, shape = raw["identity"], raw["time"], raw["shape"]
    hits = np.empty(len(raw), hit_fields_dtype)
    hits["offset"] = offsets
    hits["pmt"] = identity & 0xF
    hits["efcm"] = identity >> 4 & 0x1F
    hits["tower"] = identity >> 9 & 0x7F
    hits["t5ns"] = time & 0xFFFF
    hits["frame"] = time >> 16 & 0x1FFF
    hits["second"] = time >> 29 & 0x1FFFF
    hits["day_bcd"] = time >> 46 & 0x3FF
    hits["year_bcd"] = time >> 56
    hits["samples"] = shape & 0x3F
    hits["fifo_full"] = shape >> 7 & 1
    hits["charge"] = shape >> 8 & 0x3FFFFF
    hits["fragment"] = shape >> 30 & 1
    hits["zip"] = shape >> 31
    return hits


def hit_lengths(shape: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Bytes of hits, header and samples, by the last word of their headers: i64."""
    return HIT_HEADER_BYTES + ((shape & 0x3F).astype(np.int64) << (1 - (shape >> 31).astype(np.int64)))


def hit_rows(raw: Rows, offsets: NDArray[np.int64]) -> Rows:
    """Raw hit headers (hit_dtype) at `offsets` of a payload as rows: hit_row_dtype. Tower, floor and module are what
    the hits themselves say; tai_ns and block are 0, for the caller to fill. ValueError: one of them is no hit."""
    identity, time, shape = raw["identity"], raw["time"], raw["shape"]
    rows = np.zeros(len(raw), hit_row_dtype)
    rows["charge"] = shape >> 8 & 0x3FFFFF
    rows["samples_at"] = offsets + HIT_HEADER_BYTES
    rows["frame"] = time >> 16 & 0x1FFF
    rows["t5ns"] = time & 0xFFFF
    rows["tower"] = identity >> 9 & 0x7F
    rows["floor"] = identity >> 4 & 0x1F
    rows["module"] = rows["pmt"] = identity & 0xF
    rows["samples"] = shape & 0x3F
    rows["flags"] = shape >> 31 | shape >> 29 & HIT_FRAGMENT | shape >> 5 & HIT_FIFO_FULL
    legal = ((identity >> 16 == HIT_SYNC) & (rows["t5ns"] <= HIT_T5NS_MAX) & (rows["frame"] <= HIT_FRAME_MAX) &
             (hit_lengths(shape) <= HIT_MAX_BYTES))
    if not legal.all():
        raise ValueError(f"no hit at byte {offsets[np.argmin(legal)]}")
    return rows


def hit_waveforms(hits: Rows, payloads: Sequence[Bytes] | Mapping[int, Bytes]
                  ) -> tuple[NDArray[np.uint16], NDArray[np.uint64]]:
    """The samples of rows, expanded to 16 bits where the floor sent bytes: (values u16, offsets u64[len(hits) + 1]); of
    row i they are values[offsets[i]:offsets[i + 1]]. `payloads`: payloads[b] is that of the rows whose `block` is b.
    ValueError: rows of another payload."""
    count = hits["samples"].astype(np.int64)
    offsets = np.zeros(len(hits) + 1, np.uint64)
    np.cumsum(count, out=offsets[1:])
    values = np.empty(int(offsets[-1]), np.uint16)
    zipped = hits["flags"] & HIT_ZIP != 0
    for block in np.unique(hits["block"]).tolist():
        data = np.frombuffer(payloads[block], np.uint8)
        for width in (1, 2):
            rows = np.flatnonzero((hits["block"] == block) & (zipped == (width == 1)))
            n = count[rows]
            inside = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
            at = np.repeat(hits["samples_at"][rows].astype(np.int64), n) + inside * width
            if len(at) and at.max() + width > len(data):
                raise ValueError("rows of another payload: their samples are outside of it")
            low = data[at].astype(np.uint16)
            values[np.repeat(offsets[rows].astype(np.int64), n) + inside] = \
                low if width == 1 else low | data[at + 1].astype(np.uint16) << 8
    return values, offsets


def _crc_tables() -> tuple[Any, Any, Any]:
    """The step over four zero bytes as tables of 16 bits, and the one over 64 as tables of 8."""
    byte = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        byte = byte >> 1 ^ np.where(byte & 1, np.uint32(0x82F63B78), np.uint32(0))
    values = np.arange(256, dtype=np.uint32)[None, :] << np.array([[0], [8], [16], [24]], np.uint32)
    over = byte[values & 255] ^ values >> 8  # over one byte
    two = [over]
    while len(two) < 7:
        two.append(_crc_over(two[-1], two[-1]))
    half = np.arange(65536, dtype=np.uint32)
    return _crc_over(two[2], half), _crc_over(two[2], half << 16), two[6]


def _crc_over(step: Any, crc: Any) -> Any:
    """The checksums `crc`, after the zero bytes that `step` is for."""
    return step[0][crc & 255] ^ step[1][crc >> 8 & 255] ^ step[2][crc >> 16 & 255] ^ step[3][crc >> 24]


_CRC_LANE = 64  # bytes
_CRC_LOW, _CRC_HIGH, _CRC_STEP = _crc_tables()
_isal: Any
try:
    _isal = ctypes.CDLL("libisal.so.2").crc32_iscsi
    _isal.argtypes, _isal.restype = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint), ctypes.c_uint
except (OSError, AttributeError):
    _isal = None


def crc32c(data: Bytes) -> int:
    """CRC-32C of bytes: by isa-l where it is installed (libisal2), else by numpy, some hundred times slower."""
    data = np.frombuffer(data, np.uint8)
    if _isal:
        return int(_isal(data.ctypes.data, len(data), 0xFFFFFFFF)) ^ 0xFFFFFFFF
    return crc32c_numpy(data)


def crc32c_numpy(data: NDArray[np.uint8]) -> int:
    """In lanes of 64 bytes, side by side, then joined in pairs."""
    lanes = 1
    while lanes * _CRC_LANE < max(len(data), 4):
        lanes *= 2
    # Zeros in front change nothing in a checksum that begins with 0; to begin with ones is to turn the
    # first four bytes.
    padded = np.zeros(lanes * _CRC_LANE, np.uint8)
    begin = len(padded) - len(data)
    padded[begin:] = data
    if len(data) < 4:  # too short for that
        short = 0xFFFFFFFF
        for byte in data.tolist():
            short = _crc_byte(short, byte)
        return short ^ 0xFFFFFFFF
    padded[begin:begin + 4] ^= 0xFF
    crc = np.zeros(lanes, np.uint32)
    for word in np.ascontiguousarray(padded.view("<u4").reshape(lanes, -1).T):
        crc = crc ^ word
        crc = _CRC_LOW[crc & 0xFFFF] ^ _CRC_HIGH[crc >> 16]
    step = _CRC_STEP
    while len(crc) > 1:
        crc = _crc_over(step, crc[0::2]) ^ crc[1::2]
        step = _crc_over(step, step)
    return int(crc[0]) ^ 0xFFFFFFFF


def _crc_byte(crc: int, byte: int) -> int:
    crc ^= byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


class OtherVersion(ValueError):
    """An undamaged data message of a version that this module does not read (see VERSIONS.md)."""


class Block:
    """A received block. ValueError when header and payload are not those of one, OtherVersion when they are of another
    version. Of a header that is longer than this module knows only the known part is read."""

    def __init__(self, header: Bytes, payload: Bytes) -> None:
        if len(header) < HEADER_BYTES:
            raise ValueError(f"header of {len(header)} bytes, not {HEADER_BYTES} or more")
        self.header = np.frombuffer(header, header_dtype, 1)[0]
        self.payload = memoryview(payload)
        h = self.header
        if h["magic"] != MAGIC or h["header_bytes"] != len(header):
            raise ValueError("not a data message")
        if h["version"] != VERSION:
            if crc32c(h.tobytes()[:-4]) != h["header_crc"]:
                raise ValueError("header CRC")
            raise OtherVersion(f"a data message of version {h['version']}, this module reads version {VERSION}")
        if h["payload_bytes"] != len(self.payload):
            raise ValueError(f"payload of {len(self.payload)} bytes, header says {h['payload_bytes']}")
        self.frames = int(h["frames"])
        self.channels = int(h["channels"])
        if (int(h["status_offset"]) + self.frames > len(self.payload) or self.channels > CHANNELS_MAX or
                (self.channels and int(h["index_offset"]) + 4 * self.channels * (self.frames + 1) >
                 len(self.payload)) or max(h["channel_offset"][:self.channels + 1]) > len(self.payload)):
            raise ValueError("offsets outside the payload")

    def verify(self, topic: Bytes | None = None) -> None:
        """Both checksums and every number of the header. ValueError says what is wrong."""
        h = self.header
        if crc32c(h.tobytes()[:-4]) != h["header_crc"]:
            raise ValueError("header CRC")
        if (h["stream"] >= len(STREAMS) or self.channels not in (0, CHANNELS[h["stream"]]) or
                not 1 <= self.frames <= FRAMES_MAX or int(h["frames_lost"]) + int(h["frames_bad"]) > self.frames or
                h["link"] >= LINKS or
                int(h["sequence"]) >> SEQUENCE_BITS != int(h["dma_epoch"]) & (1 << 64 - SEQUENCE_BITS) - 1):
            raise ValueError("header's numbers")
        if topic is not None and bytes(topic) != self.topic:
            raise ValueError("topic of another block")
        if crc32c(self.payload) != h["payload_crc"]:
            raise ValueError("payload CRC")
        index = self.index()
        if self.channels and ((index[:, 0] < h["channel_offset"][:self.channels]).any() or
                              (index[:, -1] > h["channel_offset"][1:self.channels + 1]).any()):
            raise ValueError("index outside its channel")

    __iter__ = None  # or a loop over a block would ask for fields 0, 1, ... of the header

    @property
    def topic(self) -> bytes:
        """As bytes: b"pmt.T01.F07"."""
        return b"%s.T%02d.F%02d" % (self.stream.encode(), self["tower"], self["floor"])

    def __getitem__(self, name: str) -> int:
        """A header field as a Python number."""
        return int(self.header[name])

    @property
    def stream(self) -> str:
        """"pmt", "hydrophone", "instrument"; "?": one that this version does not know."""
        return STREAMS[self["stream"]] if self["stream"] < len(STREAMS) else "?"

    @functools.cached_property
    def key(self) -> bytes:
        """Recognises a repeat, and is what a reserved consumer acknowledges the block with: 16 bytes."""
        ack = np.zeros(1, ack_dtype)
        for name in ("sequence", "stream", "link", "tower", "floor"):
            ack[name] = self.header[name]
        number = self["sequence"] & (1 << SEQUENCE_BITS) - 1
        ack["block_frames"] = self["first_frame"] // number & 0xFFFFFFFF if number else 0
        return ack.tobytes()

    def flags(self) -> list[str]:
        """Names of the flags that are set."""
        return [name for name, bit in FLAGS.items() if self["flags"] & bit]

    def status(self) -> NDArray[np.uint8]:
        """What became of each carrying frame: u8[frames], 0 = good, else an index of LOSSES."""
        return np.frombuffer(self.payload, np.uint8, self.frames, self["status_offset"])

    def index(self) -> NDArray[np.uint32]:
        """u32[channels, frames + 1]: byte offsets into the payload."""
        count = self.channels * (self.frames + 1)
        index = np.frombuffer(self.payload, "<u4", count, self["index_offset"]).reshape(
            self.channels, self.frames + 1)
        if count and (index.max() > len(self.payload) or (index[:, 1:] < index[:, :-1]).any()):
            raise ValueError("index outside the payload")
        return index

    def channel(self, channel: int) -> memoryview:
        """All bytes of a channel, without copying."""
        if not 0 <= channel < self.channels:
            raise IndexError(f"channel {channel} of {self.channels}")
        begin, end = self.header["channel_offset"][channel:channel + 2]
        return self.payload[begin:end]

    @functools.cached_property
    def _found(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Offsets of all hits in the order sent, and of each the place in index(): module * frames + carrying frame.
        Hits have any length, but frames can be walked side by side."""
        data = np.frombuffer(self.payload, np.uint8)
        index = self.index().astype(np.int64)
        at, end = index[:, :-1].ravel(), index[:, 1:].ravel()
        place = np.arange(len(at), dtype=np.min_scalar_type(len(at)))
        found = [(at[:0], place[:0])]
        while True:
            going = at < end
            at, end, place = at[going], end[going], place[going]
            if not len(at):
                break
            if (at + HIT_HEADER_BYTES > end).any():
                raise ValueError("a hit goes beyond its frame")
            found.append((at, place))
            at = at + HIT_HEADER_BYTES + ((data[at + 12] & 0x3F).astype(np.int64) << (1 - (data[at + 15] >> 7)))
            if (at > end).any():
                raise ValueError("a hit goes beyond its frame")
        offsets, places = (np.concatenate(x) for x in zip(*found))
        order = np.argsort(places, kind="stable")
        return offsets[order], places[order].astype(np.int64)

    def _hits_of(self, module: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(offsets, carrying frames, modules) of hits, in the order sent. ValueError: not a block of hits, or it is
        damaged; IndexError: no such module."""
        if self["stream"] != PMT:
            raise ValueError(f"a block of {self.stream} has no hits")
        if module is not None and not 0 <= module < CHANNELS[PMT]:
            raise IndexError(f"module {module}: 0 to {CHANNELS[PMT] - 1}")
        if not self.channels:  # a GAP
            return (np.zeros(0, np.int64),) * 3
        offsets, places = self._found
        if module is not None:
            here = slice(*np.searchsorted(places, (module * self.frames, (module + 1) * self.frames)))
            offsets, places = offsets[here], places[here]
        return offsets, places % self.frames, places // self.frames

    def hit_offsets(self, module: int | None = None) -> NDArray[np.int64]:
        """Where the hits of an optical module (None: of all) are in the payload, in the order sent: i64."""
        return self._hits_of(module)[0]

    def iterate_hits(self, module: int | None = None) -> Iterator[memoryview]:
        """Header and samples, as bytes, of each hit of an optical module (None: of all)."""
        for at in self.hit_offsets(module).tolist():
            shape = int.from_bytes(self.payload[at + 12:at + 16], "little")
            yield self.payload[at:at + HIT_HEADER_BYTES + ((shape & 0x3F) << (0 if shape >> 31 else 1))]

    def hit_fields(self, module: int | None = None) -> Rows:
        """The hits of an optical module (None: of all) with all fields as they were sent: hit_fields_dtype."""
        offsets = self.hit_offsets(module)
        return unpack_hits(raw_hits(np.frombuffer(self.payload, np.uint8), offsets), offsets)

    def hits(self, module: int | None = None, number: int = 0) -> Rows:
        """The hits of an optical module, 0..5, or of all (None), module by module in the order sent: hit_row_dtype.
        `number`: what their `block` says. ValueError: not a block of hits, or a hit that is none; IndexError: no such
        module."""
        offsets, carrier, modules = self._hits_of(module)
        rows = hit_rows(raw_hits(np.frombuffer(self.payload, np.uint8), offsets), offsets)
        rows["module"], rows["tower"], rows["floor"], rows["block"] = modules, self["tower"], self["floor"], number
        if self.has_time:
            # The carrying frame's time, less what the hit is older, plus its place in its frame.
            age = (self["first_frame"] % FRAMES_PER_SECOND + carrier - rows["frame"]) % FRAMES_PER_SECOND
            rows["tai_ns"] = (carrier - age) * FRAME_NS + rows["t5ns"].astype(np.int64) * 5
            rows["tai_ns"] += np.int64(self["tai_ns"])  # any number: it wraps
        else:
            rows["tai_ns"] = NO_TAI
        return rows

    def waveforms(self, hits: Rows) -> tuple[NDArray[np.uint16], NDArray[np.uint64]]:
        """The samples of rows of this block: hit_waveforms(). ValueError: rows of several blocks, or of another one."""
        numbers = np.unique(hits["block"]).tolist()
        if len(numbers) > 1:
            raise ValueError("rows of several blocks")
        return hit_waveforms(hits, dict.fromkeys(numbers, self.payload))

    def hit_samples(self, hit: Any) -> NDArray[Any]:
        """The samples of one row of hits(), as they are in the payload: u8 or u16."""
        dtype = np.dtype("u1" if hit["flags"] & HIT_ZIP else "<u2")
        return np.frombuffer(self.payload, dtype, int(hit["samples"]), int(hit["samples_at"]))

    @property
    def has_time(self) -> bool:
        """Whether tai_ns and slice_id are valid."""
        return not self["flags"] & FLAGS["no-time"] and self["tai_ns"] != NO_TAI

    def _sampled(self, hydrophone: int) -> tuple[int, NDArray[np.int64]]:
        """Where the samples of a hydrophone are in the payload, and the frames that they are of."""
        if self["stream"] != HYDROPHONE:
            raise ValueError(f"a block of {self.stream} has no samples")
        if not 0 <= hydrophone < CHANNELS[HYDROPHONE]:
            raise IndexError(f"hydrophone {hydrophone}: 0 to {CHANNELS[HYDROPHONE] - 1}")
        if not self.channels:  # a GAP
            return 0, np.zeros(0, np.int64)
        index = self.index()[hydrophone]
        size = np.diff(index)
        if ((size != 0) & (size != 4 * SAMPLES_PER_FRAME)).any():
            raise ValueError(f"a frame with other than {SAMPLES_PER_FRAME} samples")
        return int(index[0]), np.flatnonzero(size)

    def samples(self, hydrophone: int) -> NDArray[np.int32]:
        """A hydrophone's samples, i32, without copying: 24 of each frame that came with some. ValueError: not a block
        of samples, or damaged; IndexError: no such hydrophone, 0 or 1."""
        begin, frames = self._sampled(hydrophone)
        return np.frombuffer(self.payload, "<i4", SAMPLES_PER_FRAME * len(frames), begin)

    def sample_times(self, hydrophone: int) -> NDArray[np.int64]:
        """TAI ns since 1970 of each of samples(), rounded down: i64; NO_TAI without a label. A frame without samples
        is a hole. Errors as samples()."""
        frames = self._sampled(hydrophone)[1]
        if not self.has_time:
            return np.full(SAMPLES_PER_FRAME * len(frames), NO_TAI)
        return (frames[:, None] * FRAME_NS + SAMPLE_NS).ravel() + np.int64(self["tai_ns"])
