#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The golden files of each format, by Python's struct and checksums of its own: `make golden` writes them again.

Of each format there are three: NAME as it is today, NAME-grown as a later version inside the same major number may make it
(schemas/VERSIONS.md: longer headers, reserved bytes in use, unknown flags, values, records and JSON members), NAME-next of
the next major number. Readers must read the first two and refuse the third. A difference in the first is a change of format.
"""
import json
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
FRAME_BYTES, T0 = 10000, 1_784_500_037_000_000_000  # TAI ns: 2026-07-19T22:26:40 UTC
NO_TIME_LEAP = (1 << 63) - 1


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x8BB7 if crc & 0x8000 else 0)) & 0xFFFF
    return crc


def write(name, data):
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(data)


def put(data, offset, kind, *values):
    struct.pack_into("<" + kind, data, offset, *values)


# ---- the data message (schemas/fcm_data.h): two frames of floor 7, three hits; its second frame is lost

def hit(pmt, t5ns, frame, second, charge, samples):
    """A stamped TriDAS hit of 19 July 2026: day 199 of the year, counted from 0."""
    return struct.pack("<IQI", pmt | 7 << 4 | 1 << 9 | 0x55AA << 16,
                       t5ns | frame << 16 | second << 29 | 0x199 << 46 | 0x26 << 56,
                       len(samples) | charge << 8 | 1 << 31) + samples


SECOND = T0 // 10**9 - 37
OF_DAY, EPOCH, LINK, FIRST, FRAMES = SECOND % 86400, 5, 2, 16000, 2
HITS = {0: [hit(0, 1000, 0, OF_DAY, 1500, bytes(range(8))), hit(0, 2000, 0, OF_DAY, 700, b"")],
        5: [hit(5, 24999, 0, OF_DAY, 4_000_000, bytes(range(24)))]}
INDEX, DATA = 4, 80  # status and index, each padded


def payload():
    data, index, offsets = b"", [], []
    for channel in range(6):
        offsets.append(DATA + len(data))
        index.append(DATA + len(data))
        data += b"".join(HITS.get(channel, []))
        index += [DATA + len(data)] * FRAMES
    head = bytes([0, 4, 0, 0]) + struct.pack(f"<{len(index)}I", *index)
    return head + bytes(DATA - len(head)) + data, offsets + [DATA + len(data)]


def block(version=1, grown=False):
    body, offsets = payload()
    h = bytearray(256)
    put(h, 0, "IHH", 0x424D4346, version, 288 if grown else 256)
    put(h, 8, "8B", 0, 3, LINK, 6, 1, 7, *((9, 9) if grown else (1, 2)))
    put(h, 16, "8I", 0x208 | (0x80000000 if grown else 0), 42, EPOCH, 9, 100, FRAMES, 0, 1)
    put(h, 48, "QQqQqq", EPOCH << 40 | FIRST // 2, FIRST, T0 + 490_000,
        (SECOND - 946_684_800) * 5, T0 + 490_000 + 5000, T0 + 490_000 + 24999 * 5)
    put(h, 96, "6I", 490_000, 3, len(body), 0, INDEX, DATA)
    put(h, 120, "8I", *offsets, 0)
    if grown:
        h[152:248] = b"\xa5" * 96
    put(h, 248, "I", crc32c(body))
    put(h, 252, "I", crc32c(h[:252]))
    return bytes(h) + (b"\x5a" * 32 if grown else b""), body


# ---- the words of consumers

HELLO = {"protocol": 1, "name": "trigger-1", "group": "trigger", "credit": 64}
WELCOME = {"protocol": 1, "board": 3, "group": "trigger", "streams": ["pmt"], "policy": "drop-oldest"}
REQUEST = {"v": 2, "id": "1", "op": "info", "args": {}}
MORE = {"capabilities": ["a-new-one"], "x": {"y": [None, 1.5]}}


def words(name, today, number, grown):
    for suffix, text in (("", today), ("-grown", {**today, **grown}), ("-next", {**today, number: today[number] + 1})):
        write(f"{name}{suffix}.json", json.dumps(text, separators=(",", ":")).encode())


# ---- the recording (schemas/fcm_record.h): label, one empty frame of floor 7 (tdm/frame.h), gap, cells let go, index

def tdm_frame():
    f = bytearray(FRAME_BYTES)
    f[0:4], f[4], f[5], f[6], f[7] = b"\xbc\xf6\x28\x01", 1, 7, 0, 0
    put(f, 8, "IQI", 1000, OF_DAY << 13 | 199 << 30 | 26 << 39 | 2 << 46, 900)
    put(f, 30, "H", crc16(f[4:30]))
    put(f, 9992, "I", crc32c(f[:9992]))
    f[9996:] = b"\xfd\x09\xd7\xfe"
    return bytes(f)


def record(kind, count, frames, data=b"", reason=0, grown=False):
    h = struct.pack("<IBBHQQQII", 0x524D4346, kind, reason, 0xA5A5 if grown else 0, count, frames, 123_456_789, len(data),
                    crc32c(data)) + struct.pack("<I", 0xA5A5A5A5 if grown else 0)
    return h + struct.pack("<I", crc32c(h)) + data


def segment(version=1, grown=False):
    h = bytearray(160 if grown else 128)
    put(h, 0, "IHH4BIIIQqIII", 0x534D4346, version, len(h), 3, LINK, 1, 7, EPOCH, 0, FRAME_BYTES, FIRST, SECOND * 10**9, 42,
        0x1234, 8)
    if grown:
        h[52:120], h[128:] = b"\xa5" * 68, b"\x5a" * 32
    put(h, 120, "I", 1 << 20)
    put(h, 124, "I", crc32c(h[:124]))
    out, index = bytes(h), []
    label = struct.pack("<IBBHIiQqq", 9, 1, 2, 0, 100, 37, FIRST, T0, NO_TIME_LEAP) + (b"\x5a" * 8 if grown else b"")
    out += record(4, FIRST, 0, label, grown=grown)
    if grown:
        out += record(99, FIRST, 0, b"of a kind to come")
    for args in ((1, FIRST, 1, tdm_frame()), (2, FIRST + 1, 79, b"", 77 if grown else 1), (3, FIRST + 80, 80)):
        index.append(len(out))
        out += record(*args, grown=grown)
    index.append(len(out))
    return out + record(5, FIRST, 160, struct.pack(f"<{len(index)}Q", *index), grown=grown)


# ---- the owner page (daemon/data/owner_page.c): groups that take streams 1 and 2, one closed row, one loss

def owner_page(version=4, grown=False):
    p = bytearray(4096)
    put(p, 0, "II4B", 0x4E574F46, version, 2, 1, 2, 0)
    put(p, 16, "I", EPOCH)
    put(p, 20, "I", crc32c(p[:20]))
    put(p, 40, "Q", 17600)  # sent
    links, streams, losses = 48, 48 + 6 * 28, 48 + 6 * 28 + 36 * 24
    row = struct.pack("<IH7H4B", 1, 8000, 7999, 0, 0, 0, 1, 0, 0, 1, 7, 0, 0)
    p[links:links + 28] = row + struct.pack("<I", crc32c(row))
    row = struct.pack("<IH6H2B", 1, 8000, 7900, 0, 100, 0, 0, 0, 0, 0)
    p[streams:streams + 24] = row + struct.pack("<I", crc32c(row))
    row = struct.pack("<IIII4B", 9000, 0, 1, 1, 0 << 4 | 4, 0, 1, 7)
    p[losses:losses + 24] = row + struct.pack("<I", crc32c(row))
    copies = losses + 18 * 24
    copies += -copies % 8
    account = bytearray(OWNER_ACCOUNT)
    put(account, 0, "QQI5B3B4xQIHH", 17604, 17600, 4, 1, 1, 7, 1, 1, *(b"\xa5" * 3 if grown else b"\0" * 3), 17603, 1600, 1599, 0)
    put(account, 48, "QQ5B2BB", 0, 0, 0, 0, 0, 1, 1, 0, 20, 0xA5 if grown else 0)  # no loss under way; a label, a run
    put(account, OWNER_LABEL, "QI4BIiQqq", 0, 9, 1, 2, 0, 0, 100, 37, 16000, T0, NO_TIME_LEAP)
    if grown:
        account[OWNER_LABEL + 15] = 0xA5
        account[OWNER_LABEL + 48:OWNER_LABEL + 64] = b"\xa5" * 16
    put(account, OWNER_RUN, "QII", 16000, 42, 0)
    put(account, OWNER_RUN + 4 * 16, "Q", 0b101)  # blocks beyond the cursor that a group has
    # Copy 0 is older: of zeros. The other is active.
    at = copies + OWNER_ACCOUNT + 8
    p[at:at + OWNER_ACCOUNT] = account
    put(p, at + OWNER_ACCOUNT, "I", crc32c(account))
    put(p, 32, "Q", 1)
    return bytes(p)


OWNER_LABEL = 80 + 4 * 24 + 24 * 20
OWNER_RUN = OWNER_LABEL + 4 * 64
OWNER_ACCOUNT = OWNER_RUN + 4 * 16 + 38 * 8


# ---- the emulator's truth (driver/emu/common/truth.h): two frames of floor 7, the second one damaged

def truth(version=2, grown=False):
    length = 160 if grown else 128
    out = struct.pack("<IIIIQq", 0x48545552, version, length, 4, 7, T0) + (b"\xa5" if grown else b"\0") * 96
    for n, fate in enumerate((0, 4)):
        record_ = struct.pack("<QQq4BHH6H4x6Q2Q16x", FIRST + n, FIRST + n, T0 + 490_000 + n * 125_000, LINK, 1, 7, fate,
                              (n | 0x8000) if grown else n, 0, 2, 0, 0, 0, 0, 1, *range(1, 7), 8, 9)
        if grown:
            record_ = record_[:44] + b"\xa5" * 4 + record_[48:112] + b"\xa5" * 16
        out += record_ + b"\x5a" * (length - 128)
    return out


def main():
    for suffix, header in (("", block()[0]), ("-grown", block(grown=True)[0]), ("-next", block(version=2)[0])):
        write(f"block{suffix}.header", header)
    write("block.payload", block()[1])
    words("hello", HELLO, "protocol", MORE)
    words("welcome", WELCOME, "protocol", {**MORE, "policy": "a-policy-to-come", "streams": ["pmt", "a-stream-to-come"]})
    words("request", REQUEST, "v", MORE)
    for name, make, today in (("segment.fcmr", segment, 1), ("owner.page", owner_page, 4), ("truth.bin", truth, 2)):
        stem, end = name.split(".")
        write(name, make())
        write(f"{stem}-grown.{end}", make(grown=True))
        write(f"{stem}-next.{end}", make(version=today + 1))


if __name__ == "__main__":
    main()
