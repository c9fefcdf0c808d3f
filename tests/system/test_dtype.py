#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""schemas/fcm_data.py and daemon/consumer/fcmdata agree with the C structs; fcm_data.py reads what they say; programs
read the golden files."""
import ctypes
import importlib.util
import json
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

sys.path[:0] = [os.path.join(harness.ROOT, "schemas"), os.path.join(harness.ROOT, "daemon", "consumer")]
import fcm_data  # noqa: E402
from fcmdata import native  # noqa: E402

VECTOR = bytes.fromhex("7302aa553930d7111e965c1518dc0580")  # tdm/hit.h: the project's test vector


def layout_agrees(t):
    """every field of header and acknowledgement lies where C has it"""
    out = subprocess.run([os.path.join(t.bin, "data-layout")], capture_output=True, text=True, check=True)
    layout = json.loads(out.stdout)
    for name, dtype in (("header", fcm_data.header_dtype), ("ack", fcm_data.ack_dtype),
                        ("hit_row", fcm_data.hit_row_dtype)):
        ours = {field: [dtype.fields[field][1], dtype.fields[field][0].itemsize] for field in dtype.names}
        t.equal(f"{name}: size", dtype.itemsize, layout[name]["bytes"])
        t.equal(f"{name}: fields", ours, layout[name]["fields"])
    for name, kind in (("block", native.BlockStruct), ("recording_config", native.RecordingConfig)):
        ours = {f: [getattr(kind, f).offset, getattr(kind, f).size] for f, _ in kind._fields_}
        t.equal(f"{name}: size", ctypes.sizeof(kind), layout[name]["bytes"])
        t.equal(f"{name}: fields", ours, layout[name]["fields"])
    n = layout["numbers"]
    t.equal("flags", {f"flag {k}": v for k, v in fcm_data.FLAGS.items()},
            {k: v for k, v in n.items() if k.startswith("flag ")})
    t.equal("streams", list(fcm_data.STREAMS), layout["streams"])
    t.equal("numbers", (fcm_data.MAGIC, fcm_data.VERSION, fcm_data.CHANNELS_MAX, fcm_data.NO_UNCERTAINTY,
                        fcm_data.HIT_HEADER_BYTES, fcm_data.LINKS, fcm_data.FRAMES_MAX, fcm_data.SEQUENCE_BITS,
                        (1 << 64 - fcm_data.SEQUENCE_BITS) - 1, native.VERSION),
            (n["magic"], n["version"], n["channels_max"], n["no_uncertainty"], n["hit_header_bytes"], n["links"],
             n["slice_frames"], n["sequence_bits"], n["epoch_mask"], n["damage version"]))
    t.equal("numbers of hits", (fcm_data.HIT_MAX_BYTES, fcm_data.HIT_SYNC, fcm_data.HIT_T5NS_MAX,
                                fcm_data.HIT_FRAME_MAX, fcm_data.HIT_ZIP, fcm_data.HIT_FRAGMENT,
                                fcm_data.HIT_FIFO_FULL),
            (n["hit_max_bytes"], n["hit_sync"], n["hit_t5ns_max"], n["hit_frame_max"], n["hit zip"], n["hit fragment"],
             n["hit fifo-full"]))


def make_hit(rng):
    count, packed = rng.randrange(0, 37), rng.random() < 0.5
    shape = count | rng.randrange(1 << 22) << 8 | packed << 31
    return VECTOR[:12] + struct.pack("<I", shape) + rng.randbytes(count * (1 if packed else 2))


def make_block(rng, frames, channels):
    """Header, payload, and the hits per module that are in it."""
    hits = [[[make_hit(rng) for _ in range(rng.randrange(4))] for _ in range(frames)] for _ in range(channels)]
    status_bytes = (frames + 3) // 4 * 4
    data_offset = status_bytes + 4 * channels * (frames + 1)
    index, offsets, data = [], [], b""
    for channel in hits:
        offsets.append(data_offset + len(data))
        for frame in channel:
            index.append(data_offset + len(data))
            data += b"".join(frame)
        index.append(data_offset + len(data))
    offsets += [data_offset + len(data)] * (7 - channels)
    payload = bytes(status_bytes) + struct.pack(f"<{len(index)}I", *index) + data
    header = fcm_data.np.zeros(1, fcm_data.header_dtype)
    for name, value in {"magic": fcm_data.MAGIC, "version": 1, "header_bytes": 256, "channels": channels,
                        "frames": frames, "payload_bytes": len(payload), "index_offset": status_bytes,
                        "data_offset": data_offset, "channel_offset": offsets, "link": 2, "tower": 1,
                        "floor": 3, "sequence": 77, "first_frame": 77 * 80, "flags": 0x201}.items():
        header[name] = value
    return header.tobytes(), payload, [[h for frame in channel for h in frame] for channel in hits]


def hits_are_read(t):
    """hits of any length are found, in order, with their fields"""
    rng = random.Random(1)
    wrong = 0
    for _ in range(20):
        header, payload, wanted = make_block(rng, rng.choice((1, 8, 80)), 6)
        block = fcm_data.Block(header, payload)
        wrong += [[bytes(h) for h in block.iterate_hits(m)] for m in range(6)] != wanted
    t.equal("blocks whose hits are read wrong", wrong, 0)
    hit = fcm_data.unpack_hits(fcm_data.np.frombuffer(VECTOR, fcm_data.hit_dtype), [0])[0]
    wanted = {"pmt": 3, "efcm": 7, "tower": 1, "t5ns": 12345, "frame": 4567, "second": 45296, "day_bcd": 0x172,
              "year_bcd": 0x15, "samples": 24, "charge": 1500, "zip": True, "fragment": False,
              "fifo_full": False}
    t.equal("the test vector", {k: hit[k].item() for k in wanted}, wanted)
    t.equal("flags by name", block.flags(), ["resent", "emulated"])
    t.equal("the acknowledgement", block.key, struct.pack("<QBBBBI", 77, 0, 2, 1, 3, 80))
    row, fields = block.hits(0)[0], block.hit_fields(0)[0]
    begin = int(fields["offset"]) + 16
    t.equal("a hit's samples", block.hit_samples(row).tobytes(),
            payload[begin:begin + int(fields["samples"]) * (1 if fields["zip"] else 2)])
    wanted = {"samples_at": begin, "pmt": 3, "module": 0, "tower": 1, "floor": 3, "t5ns": 12345, "frame": 4567,
              "charge": int(fields["charge"])}
    t.equal("its row", {k: int(row[k]) for k in wanted}, wanted)


def damaged_blocks_are_refused(t):
    """no damage ends in anything but ValueError"""
    rng = random.Random(2)
    header, payload, _ = make_block(rng, 8, 6)
    for bad in ((header[:-1], payload), (b"x" + header[1:], payload), (header, payload[:-1])):
        t.check("refused", refuses(*bad))
    outcomes = set()
    for _ in range(3000):
        broken = bytearray(header), bytearray(payload)
        part = rng.choice(broken)
        part[rng.randrange(len(part))] = rng.randrange(256)
        try:
            block = fcm_data.Block(*map(bytes, broken))
            block.waveforms(block.hits())
            outcomes.add("read")
        except ValueError:
            outcomes.add("refused")
    t.equal("3000 random damages are read or refused", outcomes, {"read", "refused"})


def refuses(header, payload):
    try:
        fcm_data.Block(header, payload)
    except ValueError:
        return True
    return False


def golden(name):
    with open(of_golden(name), "rb") as f:
        return f.read()


def golden_blocks_are_read(t):
    """the golden block of today and a grown one are read, one of the next version is refused as such"""
    payload = golden("block.payload")
    for name, flags in (("block.header", 0x208), ("block-grown.header", 0x80000208)):
        block = fcm_data.Block(golden(name), payload)
        block.verify(b"pmt.T01.F07")
        t.equal(f"{name}: flags", (block["flags"], block.flags()), (flags, ["partial", "emulated"]))
        t.equal(f"{name}: charges", [block.hits(m)["charge"].tolist() for m in range(6)], [[1500, 700], [], [], [], [], [4000000]])
        hits = block.hits()
        t.equal(f"{name}: the first hit and the last", (hits["tai_ns"].min(), hits["tai_ns"].max()),
                (block["first_item_tai_ns"], block["last_item_tai_ns"]))
        t.equal(f"{name}: status", block.status().tolist(), [0, 4])
    damaged = bytearray(golden("block-next.header"))
    damaged[20] ^= 1
    for what, header, wanted in (("the next version", golden("block-next.header"), fcm_data.OtherVersion),
                                 ("a damaged one", bytes(damaged), ValueError),
                                 ("a grown one cut short", golden("block-grown.header")[:-1], ValueError)):
        try:
            fcm_data.Block(header, payload)
            t.check(f"{what} is refused", False)
        except ValueError as e:
            t.equal(f"{what} is refused", type(e), wanted)


def golden_recordings_are_read(t):
    """fcmctl shows the golden segment and a grown one; fcmctl, the emulator and the judges refuse the next version by name"""
    kinds = {"segment.fcmr": ["label", "data", "gap", "let-go", "index"],
             "segment-grown.fcmr": ["label", "?", "data", "gap", "let-go", "index"]}
    for name, wanted in kinds.items():
        code, out, err = said(t, "fcmctl", "--json", "record", "dump", of_golden(name))
        lines = [json.loads(x) for x in out.splitlines()]
        t.equal(f"{name}: records", [x["kind"] for x in lines if x["what"] == "record"], wanted)
        t.check(f"{name}: whole", code == 0 and lines[-1].get("end") == "whole", (code, lines[-1:], err))
    for program, *args in (("fcmctl", "record", "dump", of_golden("segment-next.fcmr")),
                           ("nanet3-emu", "--socket", os.path.join(t.base, "emu.sock"), "--play", of_golden("segment-next.fcmr")),
                           ("truth-compare", of_golden("truth-next.bin"), os.devnull),
                           ("record-check", of_golden("truth-next.bin"), of_golden("segment.fcmr"))):
        code, out, err = said(t, program, *args)
        t.check(f"{program}: refuses the next version", code != 0 and "another version" in err, (code, out, err))


def of_golden(name):
    return os.path.join(harness.ROOT, "tests", "data", "golden", name)


def said(t, program, *args):
    r = subprocess.run([os.path.join(t.bin, program), *args], capture_output=True, text=True, timeout=60, check=False)
    return r.returncode, r.stdout, r.stderr


def golden_files_are_those_of_make(t):
    """tests/data/golden holds what its make.py writes"""
    make = importlib.util.spec_from_file_location("make", os.path.join(harness.ROOT, "tests", "data", "golden", "make.py"))
    module = importlib.util.module_from_spec(make)
    make.loader.exec_module(module)
    module.HERE = t.base
    module.main()
    names = sorted(os.listdir(t.base))
    kept = sorted(n for n in os.listdir(os.path.join(harness.ROOT, "tests", "data", "golden")) if n not in ("make.py", "__pycache__", "database.sql"))
    t.equal("names", names, kept)
    for name in names:
        with open(os.path.join(t.base, name), "rb") as f:
            t.check(name, f.read() == golden(name))


if __name__ == "__main__":
    harness.main([layout_agrees, hits_are_read, damaged_blocks_are_refused, golden_blocks_are_read,
                  golden_recordings_are_read, golden_files_are_those_of_make])
