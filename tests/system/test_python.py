#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python package fcmdata: arrays by libfcmdata and by numpy alone, times, the feed in pieces, iteration,
recordings, its installation. test_pyconsumer.py has the rules of Monitor and Member."""
import contextlib
import datetime
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import test_pyconsumer  # noqa: E402
from station import free_base_port  # noqa: E402

import fcm_data  # noqa: E402  (test_pyconsumer has set the path)
import fcmdata  # noqa: E402
from fcmdata import native, times  # noqa: E402

CONSUMER = os.path.join(harness.ROOT, "daemon", "consumer")
HITS = fcm_data.hit_row_dtype.names
LEAP_TAI_NS = 1_483_228_836_000_000_000  # 2016-12-31 23:59:60
# Of the day, not of the data.
LIVE_FLAGS = fcm_data.FLAGS["resent"]


@contextlib.contextmanager
def by_numpy():
    """As where there is no library."""
    library, native.LIB = native.LIB, None
    try:
        yield
    finally:
        native.LIB = library


def the_library(t):
    """Python's, of the build under test. False: this build's is none for others."""
    if t.sanitized:
        t.check("an instrumented library is not for others", True)
        return False
    path = os.path.join(os.path.dirname(os.path.abspath(t.bin)), "lib", native.NAME)
    os.environ["FCMDATA_LIBRARY"] = path
    native.LIB, native.LIBRARY, native.ABSENT = native._load()
    return t.check("the library of this build", native.LIBRARY == path, native.ABSENT)


def sea(t, *args):
    """Messages of sea-blocks: [(header, payload)]."""
    data = subprocess.run([os.path.join(t.bin, "sea-blocks"), *map(str, args)], stdout=subprocess.PIPE,
                          check=True).stdout
    at, found = 0, []
    while at < len(data):
        header = data[at:at + fcm_data.HEADER_BYTES]
        end = at + len(header) + int(np.frombuffer(header, fcm_data.header_dtype)["payload_bytes"][0])
        found.append((header, data[at + len(header):end]))
        at = end
    return found


def stream_of(message):
    return message[0][fcm_data.header_dtype.fields["stream"][1]]


def says(error, call):
    """The error that a call raises, in words; None: it raises none."""
    try:
        call()
    except error as e:
        return str(e) or type(e).__name__
    return None


# ---- arrays

def rows_agree(t):
    """rows, order and samples by the library and by numpy, bit for bit, of full, dim and lossy seas"""
    if not the_library(t):
        return
    differ = hits = 0
    for seed, args in enumerate((("--mbps", 0), ("--mbps", 350), ("--mbps", 60, "--lose", 5))):
        messages = [m for m in sea(t, *args, "--blocks", 4, "--seed", seed + 1) if stream_of(m) == fcm_data.PMT]
        rows = []
        for header, payload in messages:
            ours, plain = fcmdata.Block(header, payload), fcm_data.Block(header, payload)
            ours.verify()
            rows.append(ours.hits())
            hits += len(rows[-1])
            differ += rows[-1].tobytes() != plain.hits().tobytes() or len(rows[-1]) != ours["items"]
            differ += [ours.hits(m, 7).tobytes() for m in range(6)] != [plain.hits(m, 7).tobytes() for m in range(6)]
            differ += (rows[-1]["tai_ns"].min(), rows[-1]["tai_ns"].max()) != (ours["first_item_tai_ns"],
                                                                              ours["last_item_tai_ns"])
            values, offsets = plain.waveforms(rows[-1])
            w = ours.waveforms(rows[-1])
            differ += not (np.array_equal(w.values, values) and np.array_equal(w.offsets, offsets))
            i = len(rows[-1]) // 2
            differ += w.of(i).tolist() != plain.hit_samples(rows[-1][i]).tolist()
        blocks = [fcmdata.Block(*m) for m in messages[:8]]
        merged = fcmdata.merge(blocks)
        with by_numpy():
            plain = fcmdata.merge(blocks)
            plain_waveforms = fcmdata.waveforms(merged[::3], blocks)
        differ += merged.tobytes() != plain.tobytes() or bool((np.diff(merged["tai_ns"]) < 0).any())
        differ += len(merged) != sum(map(len, rows[:8])) or set(merged["block"].tolist()) != set(range(8))
        differ += any(not np.array_equal(x, y) for x, y in zip(fcmdata.waveforms(merged[::3], blocks), plain_waveforms))
    t.equal(f"differences in {hits} hits", differ, 0)
    t.check("and they were many", hits > 200_000, hits)


def what_arrays_say(t):
    """the functions of arrays and blocks, and their errors, by the library and by numpy"""
    library = the_library(t)
    messages = sea(t, "--mbps", 60, "--blocks", 1, "--lose", 9)
    for how in (contextlib.nullcontext, by_numpy) if library else (by_numpy,):
        with how():
            _what_arrays_say(t, "numpy" if how is by_numpy else "library", messages)


def _what_arrays_say(t, what, messages):
    blocks = {b.stream: b for b in (fcmdata.Block(*m) for m in messages[:3])}
    pmt, sound, instrument = (blocks[s] for s in fcm_data.STREAMS)
    second = fcmdata.Block(*messages[3])
    hits = pmt.hits()
    out = np.zeros(len(hits) + 5, fcm_data.hit_row_dtype)
    t.check(f"{what}: out= is used", pmt.hits(out=out).base is out and np.array_equal(out[:len(hits)], hits))
    t.equal(f"{what}: columns", {k: v.tolist() for k, v in fcmdata.columns(hits[:3]).items()},
            {k: hits[k][:3].tolist() for k in HITS if k != "reserved"})
    merged = fcmdata.merge([pmt, second])
    t.check(f"{what}: a block in words", re.fullmatch(
        r"<Block pmt\.T\d\d\.F\d\d: 80 frames from 20\S+, \d+ items, partial.*>", repr(pmt)), repr(pmt))
    t.check(f"{what}: merge() takes an iterator", len(merged) > len(hits) and
            fcmdata.merge(b for b in (pmt, second)).tobytes() == merged.tobytes())
    kept = merged.copy()
    t.check(f"{what}: in_time_order leaves what it is given", np.array_equal(
        fcmdata.in_time_order(kept[::-1])["tai_ns"], merged["tai_ns"]) and np.array_equal(kept, merged))
    samples, at = sound.samples(1), sound.sample_times(1)
    there = int((sound.status() == 0).sum())
    t.equal(f"{what}: samples and their times", (samples.dtype, len(samples), len(at), int(at[0]) >= sound["tai_ns"]),
            (np.dtype("i4"), 24 * there, 24 * there, True))
    frames = (at - sound["tai_ns"]) // fcm_data.FRAME_NS
    t.equal(f"{what}: frames that were lost are holes", sorted(set(range(80)) - set(frames.tolist())),
            np.flatnonzero(sound.status()).tolist())
    t.check(f"{what}: the last sample is where the header has it, to 5 ns", 0 <= at[-1] - sound["last_item_tai_ns"] < 5,
            (at[-1], sound["last_item_tai_ns"]))
    wrong = {
        "hits of sound": (ValueError, sound.hits), "samples of hits": (ValueError, lambda: pmt.samples(0)),
        "merge of sound": (ValueError, lambda: fcmdata.merge([pmt, sound])),
        "no such module": (IndexError, lambda: pmt.hits(6)), "none below 0": (IndexError, lambda: pmt.hits(-1)),
        "no such hydrophone": (IndexError, lambda: sound.samples(2)),
        "no room": (ValueError, lambda: pmt.hits(out=out[:3])), "another out": (TypeError, lambda: pmt.hits(out=at)),
        "a sparse out": (TypeError, lambda: pmt.hits(out=out[::2])),
        "samples of two blocks": (ValueError, lambda: pmt.waveforms(merged)),
        "samples of another block": (ValueError, lambda: instrument.waveforms(hits)),
        "too few blocks": (ValueError, lambda: fcmdata.waveforms(merged, [pmt])),
        "rows that are none": (TypeError, lambda: fcmdata.in_time_order(at)),
        "a block in the place of blocks": (TypeError, lambda: fcmdata.merge(pmt)),
        "of another topic": (ValueError, lambda: pmt.verify(b"pmt.T01.F09")),
    }
    t.equal(f"{what}: errors", [k for k, (error, call) in wrong.items() if says(error, call) is None], [])
    t.equal(f"{what}: no hits of no blocks",
            (len(fcmdata.merge([])), len(fcmdata.waveforms(hits[:0], []).offsets)), (0, 1))
    gap = header_of(messages[0], channels=0, flags=fcm_data.FLAGS["gap"])
    gap = fcmdata.Block(gap, messages[0][1])
    t.equal(f"{what}: a GAP has no hits", (len(gap.hits()), len(gap.hits(3)), len(fcmdata.merge([gap]))), (0, 0, 0))
    dark = fcmdata.Block(header_of(messages[0], flags=fcm_data.FLAGS["no-time"]), messages[0][1])
    t.equal(f"{what}: without a label there is no time", set(dark.hits()["tai_ns"].tolist()), {fcmdata.NO_TAI})
    few = fcmdata.Block(header_of(messages[0], items=3), messages[0][1])
    t.check(f"{what}: a header that counts too few", np.array_equal(few.hits(), hits) and
            len(fcmdata.merge([few])) == len(hits))


def header_of(message, **fields):
    """The header with other fields, and its checksum."""
    header = np.frombuffer(message[0], fcm_data.header_dtype).copy()
    for name, value in fields.items():
        header[name] = value
    header["header_crc"] = fcm_data.crc32c(header.tobytes()[:-4])
    return header.tobytes()


def damaged_blocks(t):
    """damage anywhere: the library and numpy read the same rows, or both refuse; verify() sees all of it"""
    library = the_library(t)
    rng = random.Random(6)
    messages = [m for m in sea(t, "--mbps", 60, "--blocks", 1) if stream_of(m) == fcm_data.PMT]
    outcomes, unlike, unseen = {"read": 0, "refused": 0}, [], 0
    for n in range(1500):
        broken = [bytearray(part) for part in rng.choice(messages)]
        # Half of it where the numbers are: header, and the index behind the status.
        part, most = rng.choice(((broken[0], None), (broken[1], 80 + 6 * 81 * 4), (broken[1], None)))
        for _ in range(rng.choice((1, 1, 4))):
            part[rng.randrange(most or len(part))] ^= 1 << rng.randrange(8)
        broken = [bytes(x) for x in broken]
        ours = read_of(broken, fcmdata.Block)
        outcomes["refused" if ours == "refused" else "read"] += 1
        if library and ours != read_of(broken, fcm_data.Block):
            unlike.append((n, ours[:60], read_of(broken, fcm_data.Block)[:60]))
        unseen += says(ValueError, lambda: fcmdata.Block(*broken).verify()) is None
    t.equal("read alike", unlike, [])
    t.check("some are refused, some read", min(outcomes.values()) > 100, outcomes)
    t.equal("damage that verify() does not see", unseen, 0)


def read_of(message, kind):
    try:
        block = kind(*message)
        return repr((block.hits().tobytes(), [block.hits(m).tobytes() for m in range(6)]))
    except ValueError:
        return "refused"


def with_others(t):
    """pandas and awkward, where they are installed; else the error says what is missing"""
    block = fcmdata.Block(*sea(t, "--mbps", 60, "--blocks", 1)[0])
    hits = block.hits()
    try:
        import pandas
    except ImportError:
        t.check("without pandas", "pandas" in (says(ImportError, lambda: fcmdata.to_pandas(hits)) or ""))
    else:
        frame = fcmdata.to_pandas(hits, utc=True)
        t.check("pandas", isinstance(frame, pandas.DataFrame) and len(frame) == len(hits) and
                frame["charge"].tolist() == hits["charge"].tolist() and
                frame["utc"].to_numpy()[0] == fcmdata.datetime64_of(hits["tai_ns"])[0], frame.dtypes)
    w = block.waveforms(hits)
    try:
        import awkward
    except ImportError:
        t.check("without awkward", "awkward" in (says(ImportError, w.to_awkward) or ""))
    else:
        t.check("awkward", awkward.to_list(w.to_awkward()[:5]) == [w.of(i).tolist() for i in range(5)])


# ---- times

def utc(*args):
    return datetime.datetime(*args, tzinfo=datetime.timezone.utc)


def times_are_right(t):
    """TAI, UTC and slices: the ends of a year, a leap second, arrays and numbers, files of leap seconds"""
    second = times.SECOND_NS
    cases = [(utc(2026, 12, 31, 23, 59, 59), 37), (utc(2027, 1, 1), 37), (utc(2017, 1, 1), 37),
             (utc(2016, 12, 31, 23, 59, 59), 36), (utc(2015, 7, 1), 36), (utc(2015, 6, 30, 23, 59, 59), 35),
             (utc(1999, 1, 1), 32), (utc(1972, 1, 1), 10)]
    for when, offset in cases:
        tai = fcmdata.tai_ns(when)
        t.equal(f"{when:%F %T}: TAI - UTC", tai - int(when.timestamp()) * second, offset * second)
        t.equal(f"{when:%F %T}: and back", (fcmdata.tai_to_utc(tai), str(fcmdata.datetime64_of(tai))[:19]),
                (int(when.timestamp()) * second, f"{when:%FT%T}"))
        t.equal(f"{when:%F %T}: as datetime64", fcmdata.tai_ns(np.datetime64(f"{when:%FT%T}")), tai)
    around = LEAP_TAI_NS + np.array([-1, 0, second - 1, second])
    t.equal("in the leap second", fcmdata.in_leap_second(around).tolist(), [False, True, True, False])
    t.equal("it has the numbers of the next second", (fcmdata.tai_to_utc(around) - 1_483_228_800 * second).tolist(),
            [-1, 0, second - 1, 0])
    t.equal("and its slices", np.diff(fcmdata.slice_of(around)).tolist(), [1, 4, -4])
    t.equal("back, they are of the next", (fcmdata.utc_to_tai(fcmdata.tai_to_utc(around)) - around).tolist(),
            [0, second, second, 0])
    t.equal("slice 0", str(fcmdata.datetime64_of(fcmdata.tai_of_slice(0)))[:19], "2000-01-01T00:00:00")
    numbers = fcmdata.slice_of(fcmdata.tai_ns(utc(2026, 12, 31, 23, 59, 59))) + np.arange(12)
    begins = fcmdata.tai_of_slice(numbers)
    t.equal("slices over a year's end", (np.unique(np.diff(begins)).tolist(), fcmdata.slice_of(begins).tolist(),
                                         fcmdata.slice_of(begins - 1).tolist()),
            ([times.SLICE_NS], numbers.tolist(), (numbers - 1).tolist()))
    t.equal("no time", (fcmdata.tai_to_utc(fcmdata.NO_TAI), fcmdata.utc_to_tai(fcmdata.NO_TAI),
                        bool(np.isnat(fcmdata.datetime64_of(fcmdata.NO_TAI))), fcmdata.slice_of(fcmdata.NO_TAI),
                        fcmdata.in_leap_second(fcmdata.NO_TAI)), (fcmdata.NO_TAI, fcmdata.NO_TAI, True, -1, False))
    t.equal("numbers in, numbers out",
            [type(f(0)) for f in (fcmdata.tai_to_utc, fcmdata.in_leap_second, fcmdata.slice_of)], [int, bool, int])
    table = np.arange(6).reshape(2, 3) * 10**17
    t.equal("shapes", fcmdata.tai_to_utc(table).shape, (2, 3))
    t.equal("a time of another zone", fcmdata.tai_ns(datetime.datetime.fromisoformat("2026-11-27T21:15:00+01:00")),
            fcmdata.tai_ns(utc(2026, 11, 27, 20, 15)))
    for bad, error in ((datetime.datetime(2026, 1, 1), ValueError), (np.datetime64("NaT"), ValueError),
                       ("2026-01-01", TypeError), (1.5, TypeError)):
        t.check(f"{bad!r} is refused", says(error, lambda: fcmdata.tai_ns(bad)))
    header, payload = sea(t, "--mbps", 60, "--blocks", 1)[0]
    block = fcmdata.Block(header, payload)
    t.equal("a block's slice", fcmdata.slice_of(block["tai_ns"] - block["cable_delay_ns"]), block["slice_id"])
    leap_files(t)


def leap_files(t):
    path = os.path.join(t.base, "leaps")
    ntp = 2_208_988_800

    def read(text):
        with open(path, "w") as f:
            f.write(text)
        table = times.read_leap_seconds(path)
        return table.utc_s.tolist(), table.offset_s.tolist()
    t.equal("leap-seconds.list", read(f"#@ 4023129600\n{ntp + 63072000} 10 # 1 Jan\n{ntp + 78796800}\t11 # 1 Jul\n"),
            ([63072000, 78796800], [10, 11]))
    t.equal("leapseconds", read("# x\nLeap\t1972\tJun\t30\t23:59:60\t+\tS\nLeap\t1972\tDec\t31\t23:59:60\t-\tS\n"
                                "#expires 1\n"), ([63072000, 78796800, 94694400], [10, 11, 10]))
    t.check("another file", says(ValueError, lambda: read("hello\n")))
    for place in filter(os.path.exists, times.PLACES):
        table = times.read_leap_seconds(place)
        ours = times.built_in()
        n = len(ours.utc_s)
        t.check(f"{place} begins as the built-in table", np.array_equal(table.utc_s[:n], ours.utc_s) and
                np.array_equal(table.offset_s[:n], ours.offset_s))
    places, times.PLACES = times.PLACES, ()
    times.leap_seconds.cache_clear()
    t.equal("37 s without a file", fcmdata.tai_ns(utc(2026, 1, 1)) // times.SECOND_NS - 1_767_225_600, 37)
    times.PLACES = places
    times.leap_seconds.cache_clear()


# ---- the feed

def serve(pieces):
    """A port at which the pieces are sent to the first that connects, each by itself."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        connection, _ = listener.accept()
        with connection, listener:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(OSError):
                for piece in pieces:
                    connection.sendall(piece)
    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


def in_pieces(data, sizes):
    at = 0
    while at < len(data):
        size = next(sizes)
        yield data[at:at + size]
        at += size


def feed_in_pieces(t):
    """hits over TCP in single bytes and pieces of any size are those of the blocks; bytes that are no hit, a cut hit"""
    rng = random.Random(8)
    blocks = [fcmdata.Block(*m) for m in sea(t, "--mbps", 350, "--blocks", 2) if stream_of(m) == fcm_data.PMT]
    wanted = np.concatenate([b.hits() for b in blocks])
    delay = blocks[0]["cable_delay_ns"]
    data = b"".join(bytes(b.payload[b["data_offset"]:]) for b in blocks)
    short = len(blocks[0].payload) - blocks[0]["data_offset"]
    odd = (1, 15, 16, 17, 90, 4000, 100_000)
    for what, text, n, sizes in (("single bytes", data[:20_000], None, iter(lambda: 1, 0)),
                                 ("odd pieces", data, None, iter(lambda: rng.choice(odd), 0)),
                                 ("one piece", data[:short], len(blocks[0].hits()), iter(lambda: 1 << 30, 0))):
        rows, samples, cut = [], [], 0
        with fcmdata.Feed("127.0.0.1", serve(in_pieces(text, sizes)), timeout=20, cable_delay_ns=delay) as feed:
            for i, piece in enumerate(feed):
                rows.append(piece.hits(i))
                samples.append(piece.waveforms(rows[-1]).values)
                t.check("a piece's length", len(piece) == len(rows[-1])) if not i else None
            cut = feed.cut_bytes
            t.equal(f"{what}: ended, all counted", (feed.ended, feed.bytes_received, feed.hits_received),
                    (True, len(text), sum(map(len, rows))))
        rows = np.concatenate(rows)
        n = n or len(rows)
        t.equal(f"{what}: whole hits and the rest", len(rows), n)
        unlike = [k for k in HITS if k not in ("samples_at", "block") and not np.array_equal(rows[k], wanted[k][:n])]
        t.equal(f"{what}: fields of {n} hits that differ from the blocks'", unlike, [])
        t.check(f"{what}: samples", np.array_equal(np.concatenate(samples), np.concatenate(
            [b.waveforms(b.hits()).values for b in blocks])[:sum(map(len, samples))]))
        t.equal(f"{what}: bytes of a cut hit", cut, len(text) - sum_of_bytes(rows))
    for what, text in (("not on a border", data[7:2000]), ("a hole", data[:5000] + data[5003:6000]),
                       ("no hits", b"HTTP/1.1 400 Bad Request\r\n\r\n")):
        with fcmdata.Feed("127.0.0.1", serve([text]), timeout=20) as feed:
            t.check(f"{what}: ValueError", says(ValueError, lambda: [p.hits() for p in feed]))
    with fcmdata.Feed("127.0.0.1", serve(iter(lambda: time.sleep(30) or b"", b"x")), timeout=0.2) as feed:
        t.equal("nothing comes: the iteration ends, the feed has not", (list(feed), feed.ended), ([], False))
    t.check("nobody listens", says(OSError, lambda: fcmdata.Feed("127.0.0.1", free_base_port(), timeout=5)))
    stamps(t, blocks[0])


def sum_of_bytes(rows):
    return int(16 * len(rows) + (rows["samples"].astype(int) << (1 - (rows["flags"] & 1))).sum())


def stamps(t, block):
    """A day's number and the end of a year in the stamps."""
    hit = bytearray(next(block.iterate_hits(0)))

    def stamped(year, day, second):
        word = int.from_bytes(hit[4:12], "little") & 0x1FFFFFFF | second << 29 | day << 46 | year << 56
        hit[4:12] = word.to_bytes(8, "little")
        return bytes(hit)
    text = stamped(0x26, 0x364, 86399) + stamped(0x27, 0x000, 0) + stamped(0x16, 0x365, 86399) + stamped(0x17, 0, 0)
    for origin in (0, 1):
        with fcmdata.Feed("127.0.0.1", serve([text]), timeout=20, day_origin=origin) as feed:
            rows = np.concatenate([p.hits() for p in feed])
        inside = int(rows["frame"][0]) * 125000 + int(rows["t5ns"][0]) * 5
        days = fcmdata.datetime64_of(rows["tai_ns"] - inside).astype("datetime64[s]") + np.timedelta64(origin, "D")
        t.equal(f"day {origin} is 1 January", [str(d) for d in days],
                ["2026-12-31T23:59:59", "2027-01-01T00:00:00", "2016-12-31T23:59:59", "2017-01-01T00:00:00"])
    with fcmdata.Feed("127.0.0.1", serve([stamped(0x26, 0x3AB, 0)]), timeout=20) as feed:
        t.check("a day that is none", "day" in (says(ValueError, lambda: [p.hits() for p in feed]) or ""))


# ---- iteration

def iteration_acknowledges(t):
    """a block is acknowledged when the next one is asked for, not when the loop dies; a timeout ends the loop only"""
    context = zmq.Context()
    daemon = test_pyconsumer.FakeDaemon(context)
    with fcmdata.Member(f"tcp://127.0.0.1:{daemon.port}", "t-1", "trigger", credit=4, timeout=0.3) as data:
        t.equal("HELLO", daemon.hears(data)[0], b"HELLO")
        daemon.say(b"WELCOME", b"{}")
        for n in range(3):
            daemon.block(n)
        keys = []
        with contextlib.suppress(ZeroDivisionError):
            for block in data:
                keys.append(block.key)
                if len(keys) == 3:
                    raise ZeroDivisionError
        data.flush()
        t.equal("all but the one in which the loop died", acknowledged(daemon, data, 2), keys[:2])
        t.equal("asked for more: it, too; then nothing comes, and the loop ends",
                (list(data), acknowledged(daemon, data, 1)), ([], keys[2:]))
        daemon.block(3)
        t.equal("and may go on", [b["sequence"] & 0xff for b in data], [3])
        acknowledged(daemon, data, 1)
        data.auto_ack = False
        daemon.block(4)
        daemon.block(5)
        last = [b.key for b in data]
        data.ack(last[0])
        data.ack(last[0])
        data.flush()
        t.equal("without auto_ack: what ack() names", acknowledged(daemon, data, 1), last[:1])
    t.equal("closed twice", data.close(), None)
    publisher = context.socket(zmq.PUB)
    publisher.linger = 0
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    with fcmdata.Monitor(f"tcp://127.0.0.1:{port}", topics="pmt.", timeout=0.2) as data:
        end = time.monotonic() + 10
        got = []
        while not got and time.monotonic() < end:
            publisher.send_multipart(test_pyconsumer.message(7))
            got = [b["sequence"] & 0xff for b in data]
        t.check("a monitor's loop ends when nothing comes", set(got) == {7}, got)
    publisher.close()
    daemon.router.close()
    t.check("a stream that does not exist is named, also of a station", "'hits': one of pmt, " in (says(
        ValueError, lambda: next(fcmdata.blocks_of(f"tcp://127.0.0.1:{port}", streams="hits", timeout=1))) or ""))
    context.term()


def acknowledged(daemon, data, n, patience=5):
    """Keys in the next ACKs, until there are n."""
    keys, end = b"", time.monotonic() + patience
    while len(keys) < 16 * n and time.monotonic() < end:
        data.alive()
        if daemon.router.poll(20):
            _, verb, *body = daemon.router.recv_multipart()
            keys += body[0] if verb == b"ACK" else b""
    return [keys[i:i + 16] for i in range(0, len(keys), 16)]


# ---- recordings

def recording_is_what_was_sent(t):
    """blocks of a recording against those that a monitor got meanwhile, byte for byte; limits; following; the manual's
    example; without the library it says what is missing"""
    if not the_library(t):
        return
    st = t.station(emulator_args=["--rate", "20000"], truth=False, depth_ms=4000)
    st.start()
    st.wait_ready()
    live = {}
    with fcmdata.Monitor(st.monitor, queue=4000, timeout=20) as data:
        next(data)
        st.ask("record", "start", "--links", "0,2", "--name", "night")
        path = st.path("recordings/night")
        end = time.monotonic() + 1.5
        for block in data:
            live.setdefault(name_of(block), block)
            if time.monotonic() > end:
                break
        followed = follow_a_while(t, path)
        st.ask("record", "stop")
        end = time.monotonic() + 1
        for block in data:
            live.setdefault(name_of(block), block)
            if time.monotonic() > end:
                break
        t.equal("nothing came damaged", data.stats["damaged"], 0)
    with fcmdata.Recording(path) as recording:
        recorded = list(recording)
    t.equal("no troubles", recording.troubles, [])
    both = [b for b in recorded if name_of(b) in live]
    t.check("recorded blocks that a monitor had, too", len(both) > 3 * 2 * 50, (len(both), len(recorded), len(live)))
    # Only those of the first and last cells may differ: there the recording has a part of a block.
    unlike = [b for b in both if not alike(b, live[name_of(b)])]
    inside = [b for b in unlike if not edge(b, both)]
    t.equal("that differ, but for the edges", [(name_of(b), b.flags()) for b in inside], [])
    t.equal("links and streams", ({b["link"] for b in recorded}, {b.stream for b in recorded}),
            ({0, 2}, set(fcm_data.STREAMS)))
    t.check("nothing is missing between them", not any(b.gap_frames for b in recorded))
    t.check("following gave blocks while it was written", len(followed) > 50 and all(
        alike(b, live[name_of(b)]) for b in followed if name_of(b) in live and not edge(b, both)), len(followed))
    limits(t, path, recorded)
    seeks(t, path, recorded)
    edges(t, path, recorded)
    example(t, path)
    with by_numpy():
        t.check("without the library", "libfcmdata.so.0" in (says(ImportError, lambda: fcmdata.Recording(path)) or ""))
    damaged_recording(t, path, len(recorded))


def name_of(block):
    return block["link"], block["stream"], block["dma_epoch"], block["first_frame"], block.frames


def alike(a, b):
    same = all(np.array_equal(a.header[n], b.header[n]) for n in fcm_data.header_dtype.names
               if n not in ("flags", "header_crc"))
    return same and a["flags"] == b["flags"] & ~LIVE_FLAGS and bytes(a.payload) == bytes(b.payload)


def edge(block, blocks):
    """Of the first or last two blocks of its link."""
    firsts = sorted({b["first_frame"] for b in blocks if b["link"] == block["link"]})
    return block["first_frame"] in firsts[:2] + firsts[-2:]


def follow_a_while(t, path):
    got = []
    with fcmdata.Recording(path, follow=True, timeout=10, streams="pmt", links=[2]) as recording:
        end = time.monotonic() + 1
        for block in recording:
            got.append(block)
            if time.monotonic() > end:
                break
        t.equal("following: as asked", {(b["link"], b.stream) for b in got}, {(2, "pmt")})
    return got


def limits(t, path, recorded):
    timed = [b for b in recorded if b.has_time]
    first, last = min(b["tai_ns"] for b in timed), max(b["tai_ns"] for b in timed)
    start, end = first + (last - first) // 3 + 12_345, first + (last - first) // 2
    wanted = [name_of(b) for b in timed if b["tai_ns"] < end and b["tai_ns"] + b.frames * fcm_data.FRAME_NS > start]
    start, end = (x // 1000 * 1000 for x in (start, end))  # a datetime has microseconds
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    ways = {"TAI": int, "datetime64": fcmdata.datetime64_of,
            "datetime": lambda x: epoch + datetime.timedelta(microseconds=fcmdata.tai_to_utc(x) // 1000)}
    for what, way in ways.items():
        a, b = way(start), way(end)
        with fcmdata.Recording(path, start=a, end=b) as recording:
            found = [name_of(x) for x in recording]
        t.equal(f"start and end as {what}", found, wanted)
    with fcmdata.Recording(path, streams=["pmt", "instrument"], links=[0]) as recording:
        t.equal("streams and links", {(b["link"], b.stream) for b in recording}, {(0, "pmt"), (0, "instrument")})
    t.equal("another run", len(list(fcmdata.Recording(path, run=4711))), 0)
    with fcmdata.Recording(path, block_frames=160, streams="pmt") as recording:
        t.check("blocks of another length", {b.frames for b in recording} == {160})
    wrong = {"streams": ["light"], "links": [4], "run": 0, "block_frames": 7, "start": 2, "end": first // 10**9}
    t.equal("what makes no sense", [k for k, v in wrong.items() if says(
        ValueError, lambda: fcmdata.Recording(path, **{k: v})) is None], [])
    t.check("s in the place of ns: says what to give", "first + 2 * 10**9" in (says(
        ValueError, lambda: fcmdata.Recording(path, start=2)) or ""))
    t.check("nothing there", says(FileNotFoundError, lambda: fcmdata.Recording(path + "x")))
    t.check("no segments there", says(FileNotFoundError, lambda: fcmdata.Recording(t.base)))
    t.check("another file", says(ValueError, lambda: fcmdata.Recording(__file__)))


def seeks(t, path, recorded):
    """Wherever reading begins and ends, each block is that of the whole reading."""
    spans = [(b["tai_ns"], b["tai_ns"] + b.frames * fcm_data.FRAME_NS, b) for b in recorded if b.has_time]
    first, last = min(a for a, _, _ in spans), max(b for _, b, _ in spans)
    seconds = range(first // 10**9 * 10**9 + 10**9, last, 10**9)
    starts = [first, *(s + ms * 10**6 for s in seconds for ms in (0, 3, 456)), last - 1]
    unlike = []
    for start, length in ((s, length) for s in starts for length in (1, 25 * 10**6)):
        wanted = [b for begin, end, b in spans if begin < start + length and end > start]
        with fcmdata.Recording(path, start=start, end=start + length) as recording:
            found = list(recording)
        same = len(found) == len(wanted) and all(
            bytes(a.header) == bytes(b.header) and bytes(a.payload) == bytes(b.payload) for a, b in zip(found, wanted))
        unlike += [] if same else [(start, length, len(found), len(wanted))]
    t.check(f"a whole second is among {len(starts)} starts", len(starts) >= 5, (first, last))
    t.equal("starts from which the blocks are not those of the whole reading", unlike, [])


def edges(t, path, recorded):
    """Frames that the recording does not have at its ends are edges, the first and the last rows; others are losses."""
    rows = [(b, row) for b in recorded for row in b.missing()]
    t.equal("rows of missing() have each lost and bad frame", sum(int(r["frames"]) for _, r in rows),
            sum(b["frames_lost"] + b["frames_bad"] + b.gap_frames for b in recorded))
    t.check(f"{len(rows)} pieces are missing, all are edges", rows and all(
        r["edge"] and r["reason"] == "board-fifo" and edge(b, recorded) for b, r in rows),
        [(name_of(b), r) for b, r in rows][:20])
    t.check("each has its time", all(b["tai_ns"] <= r["tai_ns"] < b["tai_ns"] + b.frames * fcm_data.FRAME_NS
                                     for b, r in rows))
    with fcmdata.Recording(path) as data:
        # A host that was slow may record frames of before the clock was locked.
        begin, end = (f(b["tai_ns"] for b in recorded if b.has_time) for f in (min, max))
        t.check("first and last", abs(data.first - begin) < 23e6 and abs(data.last - end) < 23e6,
                (begin, data.first, end, data.last))
        t.check("start after end", says(ValueError, lambda: fcmdata.Recording(path, start=data.last, end=data.first)))
        t.equal("a range without data", list(fcmdata.Recording(path, start=data.last + 10**9)), [])
    bare = fcmdata.Block(recorded[0].header.tobytes(), recorded[0].payload)
    t.check("a block from bytes has no edges", len(bare.missing()) and not bare.missing()["edge"].any())


def example(t, path):
    """The examples of PYTHON.md, on this recording."""
    with open(os.path.join(CONSUMER, "PYTHON.md")) as f:
        texts = re.findall(r"```python\n(.*?)```", f.read(), re.S)
    for text, least, most in zip(texts, (3, 1), (9999, 1)):  # the second one: nothing but the range, as all are edges
        r = subprocess.run([sys.executable, "-c", text.replace("recordings/night", path)], capture_output=True,
                           text=True, env={**os.environ, "PYTHONPATH": f"{CONSUMER}:{harness.ROOT}/schemas"},
                           timeout=120, check=False)
        t.check(f"the example of PYTHON.md: {text.splitlines()[0]}", r.returncode == 0 and
                least <= len(r.stdout.splitlines()) <= most and not r.stderr,
                (r.returncode, r.stdout[-500:], r.stderr[-1500:]))
        t.check("it counts no edge as a loss", all(" 0 frames lost" in line or "lost" not in line
                                                   for line in r.stdout.splitlines()), r.stdout)
    t.equal("examples", len(texts), 2)


def damaged_recording(t, path, blocks):
    """A bit of a segment's middle: it is named, the other link is read to its end."""
    hurt = os.path.join(t.base, "hurt")
    shutil.copytree(path, hurt)
    segment = sorted(n for n in os.listdir(hurt) if n.startswith("link0"))[0]
    with open(os.path.join(hurt, segment), "r+b") as f:
        f.seek(os.path.getsize(f.name) // 2)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 1]))
    with fcmdata.Recording(hurt) as recording:
        found = [b["link"] for b in recording]
    t.check("the damaged segment is named", len(recording.troubles) == 1 and segment in recording.troubles[0],
            recording.troubles)
    t.check("the other link is whole", found.count(2) == blocks // 2 or found.count(0) < found.count(2) < blocks,
            (found.count(0), found.count(2), blocks))


# ---- installation

def installed_by_pip(t):
    """pip install ./daemon/consumer in a virtual environment without a network: it is imported, with the library"""
    venv, python = os.path.join(t.base, "venv"), os.path.join(t.base, "venv", "bin", "python3")
    r = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", venv], capture_output=True, text=True,
                       check=False)
    if not t.check("a virtual environment", r.returncode == 0, r.stdout + r.stderr):
        return
    library = os.path.join(os.path.dirname(os.path.abspath(t.bin)), "lib", native.NAME)
    alone = ["unshare", "-n"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        alone = []  # not allowed here; --no-index it is all the same
    for what, path in (("with the library", library), ("without", "")):
        if path and t.sanitized:
            continue
        r = subprocess.run([*alone, python, "-m", "pip", "install", "--no-index", "--force-reinstall", "--no-deps",
                            "--disable-pip-version-check", CONSUMER], capture_output=True, text=True, check=False,
                           env={**os.environ, "FCMDATA_LIBRARY": path, "HOME": t.base, "PIP_NO_CACHE_DIR": "1"})
        if not t.check(f"{what}: pip install", r.returncode == 0, r.stdout + r.stderr):
            continue
        text = ("import json, fcmdata, fcm_data; from fcmdata import Member, Monitor; "
                "print(json.dumps([fcmdata.__file__, fcm_data.__file__, fcmdata.LIBRARY, fcmdata.__version__]))")
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "FCMDATA_LIBRARY")}
        r = subprocess.run([python, "-c", text], capture_output=True, text=True, cwd=t.base, env=env, check=False)
        if not t.check(f"{what}: imported", r.returncode == 0, r.stderr):
            continue
        package, module, found, version = json.loads(r.stdout)
        t.check(f"{what}: from there", all(x.startswith(venv) for x in (package, module)), (package, module))
        t.check(f"{what}: its library", found == os.path.join(os.path.dirname(package), native.NAME) if path else
                not found or not found.startswith(venv), found)
        r = subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "show", "fcmdata"], capture_output=True,
                           text=True, check=False)
        t.check(f"{what}: its version", f"Version: {version}\n" in r.stdout, r.stdout)
    with open(os.path.join(harness.ROOT, "Makefile")) as f:
        t.equal("that of the tree", fcmdata.__version__, re.search(r"^VERSION *:= *(\S+)", f.read(), re.M)[1])


def documented(t):
    """each public name has its documentation, each function and method its types"""
    undocumented, untyped = [], []
    for name in fcmdata.__all__:
        thing = getattr(fcmdata, name)
        members = [(name, thing)] if callable(thing) else []
        if isinstance(thing, type):
            members += [(f"{name}.{k}", v) for k, v in vars(thing).items() if not k.startswith("_") and callable(v)]
        for where, what in members:
            if not getattr(what, "__doc__", None) and not inherited_doc(thing, where):
                undocumented.append(where)
            f = getattr(what, "__wrapped__", what)
            if type(f).__name__ == "function" and "return" not in f.__annotations__:
                untyped.append(where)
    t.equal("without documentation", undocumented, [])
    t.equal("without types", untyped, [])


def inherited_doc(kind, where):
    return isinstance(kind, type) and any(getattr(base.__dict__.get(where.partition(".")[2]), "__doc__", None)
                                          for base in kind.__mro__)


if __name__ == "__main__":
    harness.main([rows_agree, what_arrays_say, damaged_blocks, with_others, times_are_right, feed_in_pieces,
                  iteration_acknowledges, recording_is_what_was_sent, installed_by_pip, documented])
