# SPDX-License-Identifier: BSD-2-Clause
"""The data message of FCM-Server for Python: numpy dtypes and a reader.

The layout is that of fcm_data.h and tdm/hit.h; a test holds this file against the C structs. Needs
numpy only; a message comes from pyzmq as [topic, header, payload]:

    block = Block(header, payload)
    for module in range(block.channels):
        hits = block.hits(module)            # structured array: t5ns, frame, second, charge, ...
"""
import ctypes
import functools

import numpy as np

MAGIC = 0x424D4346
VERSION = 1
HEADER_BYTES = 256
CHANNELS_MAX = 6
NO_UNCERTAINTY = 0xFFFFFFFF
NO_TAI = -(1 << 63)
FRAME_NS = 125000
FRAMES_PER_SECOND = 8000
SAMPLES_PER_FRAME = 24

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

"""A hit, its fields unpacked; `offset` is where its header is in the payload."""
hit_fields_dtype = np.dtype([
    ("offset", "<u4"), ("pmt", "u1"), ("efcm", "u1"), ("tower", "u1"), ("t5ns", "<u2"), ("frame", "<u2"),
    ("second", "<u4"), ("day_bcd", "<u2"), ("year_bcd", "u1"), ("samples", "u1"), ("fifo_full", "?"),
    ("charge", "<u4"), ("fragment", "?"), ("zip", "?"),
])


def unpack_hits(raw, offsets):
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


def _crc_tables():
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


def _crc_over(step, crc):
    """The checksums `crc`, after the zero bytes that `step` is for."""
    return step[0][crc & 255] ^ step[1][crc >> 8 & 255] ^ step[2][crc >> 16 & 255] ^ step[3][crc >> 24]


_CRC_LANE = 64  # bytes
_CRC_LOW, _CRC_HIGH, _CRC_STEP = _crc_tables()
try:
    _isal = ctypes.CDLL("libisal.so.2").crc32_iscsi
    _isal.argtypes, _isal.restype = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint), ctypes.c_uint
except (OSError, AttributeError):
    _isal = None


def crc32c(data):
    """CRC-32C of bytes: by isa-l where it is installed (libisal2), else by numpy, some hundred times slower."""
    data = np.frombuffer(data, np.uint8)
    if _isal:
        return _isal(data.ctypes.data, len(data), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return crc32c_numpy(data)


def crc32c_numpy(data):
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
        crc = 0xFFFFFFFF
        for byte in data.tolist():
            crc = int(_crc_byte(crc, byte))
        return crc ^ 0xFFFFFFFF
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


def _crc_byte(crc, byte):
    crc ^= byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


class OtherVersion(ValueError):
    """An undamaged data message of a version that this module does not read (see VERSIONS.md)."""


class Block:
    """A received block. ValueError when header and payload are not those of one, OtherVersion when they are of another
    version. Of a header that is longer than this module knows only the known part is read."""

    def __init__(self, header, payload):
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
        self._offsets = None
        if (h["status_offset"] + self.frames > len(self.payload) or self.channels > CHANNELS_MAX or
                (self.channels and int(h["index_offset"]) + 4 * self.channels * (self.frames + 1) >
                 len(self.payload)) or max(h["channel_offset"][:self.channels + 1]) > len(self.payload)):
            raise ValueError("offsets outside the payload")

    def verify(self, topic=None):
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

    @property
    def topic(self):
        """As bytes: b"pmt.T01.F07"."""
        return b"%s.T%02d.F%02d" % (self.stream.encode(), self["tower"], self["floor"])

    def __getitem__(self, name):
        """A header field as a Python number."""
        return self.header[name].item()

    @property
    def stream(self):
        return STREAMS[self["stream"]]

    @functools.cached_property
    def key(self):
        """Recognises a repeat, and is what a reserved consumer acknowledges the block with: 16 bytes."""
        ack = np.zeros(1, ack_dtype)
        for name in ("sequence", "stream", "link", "tower", "floor"):
            ack[name] = self.header[name]
        number = self["sequence"] & (1 << SEQUENCE_BITS) - 1
        ack["block_frames"] = self["first_frame"] // number & 0xFFFFFFFF if number else 0
        return ack.tobytes()

    def flags(self):
        """Names of the flags that are set."""
        return [name for name, bit in FLAGS.items() if self["flags"] & bit]

    def status(self):
        """What became of each carrying frame: u8[frames], 0 = good, else an index of LOSSES."""
        return np.frombuffer(self.payload, np.uint8, self.frames, self["status_offset"])

    def index(self):
        """u32[channels, frames + 1]: byte offsets into the payload."""
        count = self.channels * (self.frames + 1)
        index = np.frombuffer(self.payload, "<u4", count, self["index_offset"]).reshape(
            self.channels, self.frames + 1)
        if count and (index.max() > len(self.payload) or (index[:, 1:] < index[:, :-1]).any()):
            raise ValueError("index outside the payload")
        return index

    def channel(self, channel):
        """All bytes of a channel, without copying."""
        if not 0 <= channel < self.channels:
            raise IndexError(f"channel {channel} of {self.channels}")
        begin, end = self.header["channel_offset"][channel:channel + 2]
        return self.payload[begin:end]

    def hit_offsets(self, module):
        """Where the hits of an optical module are in the payload, in order."""
        if not self.channels:
            return np.zeros(0, np.int64)  # a GAP
        if self._offsets is None:
            self._offsets = self._walk()
        return self._offsets[module]

    def _walk(self):
        """All modules' hits at once: hits have any length, but frames can be walked side by side."""
        data = np.frombuffer(self.payload, np.uint8)
        index = self.index().astype(np.int64)
        at, end = index[:, :-1].ravel(), index[:, 1:].ravel()
        module = np.repeat(np.arange(self.channels), self.frames)
        found = [(at[:0], module[:0])]
        while True:
            if (at > end).any():
                raise ValueError("a hit goes beyond its frame")
            going = at < end
            at, end, module = at[going], end[going], module[going]
            if not len(at):
                break
            if (at + HIT_HEADER_BYTES > end).any():
                raise ValueError("a hit goes beyond its frame")
            found.append((at, module))
            at = at + HIT_HEADER_BYTES + ((data[at + 12] & 0x3F).astype(np.int64) <<
                                          (1 - (data[at + 15] >> 7)))
        offsets, modules = (np.concatenate(x) for x in zip(*found))
        return [np.sort(offsets[modules == m]) for m in range(self.channels)]

    def iterate_hits(self, module):
        """Header and samples, as bytes, of each hit of an optical module."""
        for at in self.hit_offsets(module).tolist():
            shape = int.from_bytes(self.payload[at + 12:at + 16], "little")
            yield self.payload[at:at + HIT_HEADER_BYTES + ((shape & 0x3F) << (0 if shape >> 31 else 1))]

    def hits(self, module):
        """The hits of an optical module as an array of hit_fields_dtype."""
        offsets = self.hit_offsets(module)
        raw = np.frombuffer(self.payload, np.uint8)[offsets[:, None] + np.arange(HIT_HEADER_BYTES)]
        return unpack_hits(np.ascontiguousarray(raw).view(hit_dtype).ravel(), offsets)

    def hit_samples(self, hit):
        """The samples of one row of hits()."""
        dtype = np.dtype("u1" if hit["zip"] else "<u2")
        return np.frombuffer(self.payload, dtype, int(hit["samples"]), int(hit["offset"]) + HIT_HEADER_BYTES)

    def samples(self, hydrophone):
        """A hydrophone's samples, i32: 24 for each frame that came with some (see index())."""
        return np.frombuffer(self.channel(hydrophone), "<i4")
