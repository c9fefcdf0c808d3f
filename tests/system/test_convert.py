#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-convert: recordings of a real station to every kind of output, compared value by value (converted.py) with what
is in the recording's blocks; back again, byte by byte; killed, on a full disk, damaged, refused; its memory."""
import hashlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import wave

import h5py
import numpy as np
import pandas
import tables

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import converted  # noqa: E402
import harness  # noqa: E402
from converted import fcm_data, sha  # noqa: E402

DONE, MISSING, USAGE, REFUSED, FAILED, STOPPED = range(6)
LAYOUT = os.path.join(harness.ROOT, "daemon", "convert", "LAYOUT.md")
MEMORY_KB = 500 * 1000


class Converter:
    """fcm-convert, and where its outputs go."""

    def __init__(self, t):
        self.memory_kb = 10 * MEMORY_KB if t.sanitized else MEMORY_KB
        self.program, self.blocks = (os.path.join(t.bin, name) for name in ("fcm-convert", "recording-blocks"))
        self.base = t.base

    def path(self, name):
        return os.path.join(self.base, name)

    def start(self, *args, **kwargs):
        return subprocess.Popen([self.program, *args], stderr=subprocess.PIPE, text=True, **kwargs)

    def run(self, *args, **kwargs):
        """(exit status, stderr, peak of its memory in kB)"""
        peak = 0
        with tempfile.TemporaryFile("w+") as err:
            child = subprocess.Popen([self.program, *args], stderr=err, **kwargs)
            while child.poll() is None:  # rusage would have what Python was before exec
                peak = max(peak, high_water_kb(child.pid))
                time.sleep(0.01)
            err.seek(0)
            return child.returncode, err.read(), peak


def high_water_kb(pid):
    """VmHWM, which does not fall; 0: it has just ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            found = re.search(r"VmHWM:\s+(\d+) kB", f.read())
    except OSError:
        found = None
    return int(found[1]) if found else 0


def fewest_cells(st):
    return min(sum(link["cells"].values()) for link in st.status()["links"])


def record(t, seconds, load="full", links="0,1,2,3", name="night", during=None):
    """A station's recording: its directory. `during`: called with the station while it is being made."""
    st = t.station(load=load, truth=False, depth_ms=4000)
    st.start()
    st.wait_ready(60)
    with_time = fewest_cells(st) + 24000  # a recording begins with what is in the ring, from before the clock was locked
    st.wait_for("what is in the ring has a time", lambda: fewest_cells(st) > with_time, 60)
    st.ask("record", "start", "--links", links, "--name", name)
    if during:
        during(st)
    st.wait_for("enough of it", lambda: st.status()["recording"]["frames"] > seconds * 8000 * len(links.split(",")),
                60 + 10 * seconds)
    st.ask("record", "stop")
    t.equal("the daemon ends with 0", st.stop(), 0)
    return st.path(f"recordings/{name}")


def tree(directory):
    """{name: hash} of a directory's files."""
    found = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as f:
            found[name] = hashlib.file_digest(f, "sha256").hexdigest()
    return found


# -- what must be in an output, as far as `get` has it

def compare(t, what, expected, get):
    """`get(table or array)`: an array; hits and tables have fields."""
    hits = get("hits")
    wrong = [name for name in converted.HIT_FIELDS
             if sha(hits[name].astype(expected.hits[name].dtype)) != sha(expected.hits[name])]
    t.equal(f"{what}: every hit is there, field by field ({len(expected.waveforms)} samples)", wrong, [])
    t.equal(f"{what}: every sample of every hit", sha(get("waveforms")), sha(expected.waveforms))
    compare_tables(t, what, expected, get)


def compare_tables(t, what, expected, get):
    blocks, missing = get("blocks"), get("missing")
    fields = [n for n in fcm_data.header_dtype.names if n in blocks.dtype.names]
    wrong = [n for n in fields if not np.array_equal(blocks[n], [h[n] for h, _ in expected.headers])]
    t.check(f"{what}: the headers of {len(blocks)} blocks", not wrong and len(fields) > 24 and
            len(blocks) == len(expected.headers), (wrong, fields, len(blocks), len(expected.headers)))
    got = sorted((r["stream"], r["link"], r["first_frame"], r["frames"], reason_of(r), r["tai_ns"]) for r in missing)
    t.equal(f"{what}: what is missing, each with its reason", got, sorted(expected.missing))
    groups = get("group_info")
    t.equal(f"{what}: groups", [(g["first_block"], g["blocks"], g["hits"]) for g in groups], expected.groups)
    telemetry = get("telemetry")
    fields = "tai_ns", "frame", "block", "link", "tower", "floor"
    t.equal(f"{what}: telemetry", (sha_of_rows(telemetry[n] for n in fields), sha(telemetry["bytes"])),
            (sha_of_rows(zip(*(r[:6] for r in expected.telemetry))),
             sha(np.frombuffer(b"".join(r[6] for r in expected.telemetry), np.uint8))))
    serial, data = get("serial"), get("serial_bytes").tobytes()
    t.equal(f"{what}: the serial tunnel", [
        (r["tai_ns"], r["frame"], r["channel"], r["length"], r["sequence"], data[r["at"]:r["at"] + r["length"]])
        for r in serial], expected.serial)
    compare_sounds(t, what, expected, get)


def compare_sounds(t, what, expected, get):
    pieces = get("pieces")
    for name, samples in expected.sounds.items():
        t.equal(f"{what}: every sample of {name}", sha(get(name)), sha(samples))
        mine = [p for p in pieces if f"T{p['tower']:02}F{p['floor']:02}H{p['hydrophone']}" == name]
        t.equal(f"{what}: the pieces of {name}",
                sorted((p["at"], p["samples"], p["first_frame"], p["tai_ns"]) for p in mine),
                sorted(expected.pieces(name)))


def reason_of(row):
    reason = row["reason"]
    return reason.decode() if isinstance(reason, bytes) else reason


def sha_of_rows(columns):
    return sha(np.array([np.asarray(c, np.int64) for c in columns]))


def of_h5(f):
    places = {"pieces": "hydrophones/pieces", "telemetry": "instrument/telemetry", "serial": "instrument/serial",
              "serial_bytes": "instrument/serial_bytes"}

    def get(name):
        if name == "hits":
            return {column: f["hits"][column][:] for column in f["hits"] if column != "_indices"}
        return f[f"hydrophones/{name}" if name.startswith("T0") else places.get(name, name)][:]
    return get


# -- the cases

def every_kind(t):
    """a recording at full load: HDF5 by h5py, PyTables, pandas; numpy both ways, WAV, FLAC, CSV; back to a recording"""
    c = Converter(t)
    live = {}
    rec = record(t, 1, during=lambda st: live.update(convert_live(c, st)))
    expected = converted.Expected(c.blocks, rec)
    hits = len(expected.hits["charge"])
    t.check("the load was full", t.sanitized or hits > 1500000, hits)
    code, err, rss = c.run("--cells", "--station", "test", rec, c.path("a.h5"))
    t.check("HDF5: done, in bounded memory", code in (DONE, MISSING) and rss < c.memory_kb, (code, err, rss))
    t.check("the summary says EMULATED", "EMULATED DATA" in err, err)
    with h5py.File(c.path("a.h5")) as f:
        t.equal("the status is 1 when frames are missing", code, MISSING if f.attrs["frames_missing"] else DONE)
        compare(t, "HDF5", expected, of_h5(f))
        check_layout(t, f)
        check_attributes(t, f, rec, expected)
        check_live(t, f, live)
    check_pytables(t, c.path("a.h5"))
    check_back(t, c, rec)
    check_numpy(t, c, rec, expected)
    check_sound(t, c, rec, expected)
    check_limits(t, c, rec, expected)


def convert_live(c, st):
    code, err, _ = c.run("--seconds", "0.6", st.monitor, c.path("live.h5"))
    with c.start("--streams", "instrument", st.monitor, c.path("signal.h5")) as child:
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
        ended = child.wait()
    return {"code": code, "err": err, "path": c.path("live.h5"), "signal": (ended, said)}


def check_live(t, recorded, live):
    """Blocks that came live are those of the recording."""
    t.check("live: done, or a monitor missed something and it was said", live["code"] == DONE or
            (live["code"] == MISSING and "missing" in live["err"]), live)
    with h5py.File(os.path.join(os.path.dirname(live["path"]), "signal.h5")) as f:
        t.check("live: SIGINT ends it in order", live["signal"][0] in (DONE, MISSING) and f.attrs["complete"] == 1 and
                len(f["instrument/telemetry"]) > 0, live["signal"])
    place = ("stream", "link", "dma_epoch", "sequence")
    with h5py.File(live["path"]) as f:
        t.check("live: complete, with hits", f.attrs["complete"] == 1 and len(f["hits/charge"]) > 0, dict(f.attrs))
        mine = {tuple(b[n] for n in place): (b["payload_crc"], b["items"], b["tai_ns"]) for b in f["blocks"][:]}
    theirs = {tuple(b[n] for n in place): (b["payload_crc"], b["items"], b["tai_ns"]) for b in recorded["blocks"][:]}
    both = [k for k in mine if k in theirs]
    # At its edges a recording lacks cells that came.
    differ = [k for k in both if mine[k] != theirs[k]]
    t.check("live: the same blocks as recorded", len(both) > 20 and len(differ) <= 24, (len(both), len(differ)))


def check_layout(t, f):
    """LAYOUT.md names every dataset, field and unit."""
    with open(LAYOUT) as text:
        layout = text.read()
    absent = []

    def look(name, item):
        if isinstance(item, h5py.Group) or name.startswith("cells/"):
            return
        names = item.dtype.names or [re.sub(r"T\d\dF\d\dH\d", "T01F07H0", name.split("/")[-1])]
        absent.extend(f"{name}: {n}" for n in names if not re.search(rf"[`/]{n}`", layout))
        if not {"description", "fields" if item.dtype.names else "units"} <= set(item.attrs):
            absent.append(f"{name}: no description")
        for line in item.attrs.get("fields", "").splitlines():
            if not re.match(r"\w+( \[[^]]+\])?: ", line):
                absent.append(f"{name}: {line}")
    f.visititems(look)
    absent += [name for name in f.attrs if f"`{name}`" not in layout]
    t.equal("LAYOUT.md has every dataset, field and attribute", absent, [])


def check_attributes(t, f, rec, expected):
    a = f.attrs
    t.check("attributes: what it is and where it is from", a["format"] == "fcm-hdf5" and a["format_number"] == 1 and
            a["source"] == rec and a["station"] == "test" and a["complete"] == 1 and a["tai_utc"] == 37 and
            a["emulated"] == 1 and a["WARNING"].startswith("EMULATED") and "--cells" in a["command"] and
            json.loads(a["recording_json"])["name"] == "night", dict(a))
    times = [h["tai_ns"] for h, _ in expected.headers]
    t.equal("attributes: the first time", a["first_tai_ns"], min(times))
    index = f["hits/_indices"][:]
    t.equal("_indices are those of the groups", (index["index"].tolist(), index["n_items"].tolist()),
            (f["group_info"]["first_hit"].tolist(), f["group_info"]["hits"].tolist()))
    g = max(f["group_info"][:], key=lambda x: x["hits"])  # of a slice that no floor lacks
    s = slice(int(g["first_hit"]), int(g["first_hit"] + g["hits"]))
    frame = pandas.DataFrame({n: f["hits"][n][s] for n in ("tai_ns", "floor", "charge")})
    t.check("pandas: hits of a group, in order of time", frame.tai_ns.is_monotonic_increasing and
            len(frame) == g["hits"] and set(frame.floor) == {1, 2, 3, 4}, frame.describe())
    t.equal("pandas: what is missing", list(pandas.DataFrame(f["missing"][:]).columns)[:3],
            ["tai_ns", "first_frame", "frames"])


def check_pytables(t, path):
    """What km3pipe reads with."""
    with tables.open_file(path) as f:
        kinds = {n._v_pathname: type(n).__name__ for n in f.walk_nodes("/", "Leaf")}
        wanted = {"/hits/_indices": "Table", "/group_info": "Table", "/missing": "Table", "/blocks": "Table",
                  "/hits/tai_ns": "EArray", "/waveforms": "EArray", "/waveforms_indices": "Table"}
        t.equal("PyTables: tables are tables, columns arrays", {k: kinds.get(k) for k in wanted}, wanted)
        first = f.root.group_info.read_where("group_id == 2")[0]
        index = f.root.hits._f_get_child("_indices")
        t.equal("PyTables: asks for a group", int(first["first_hit"]), int(index[2]["index"]))


def check_back(t, c, rec):
    code, err, _ = c.run(c.path("a.h5"), c.path("back"))
    t.equal("back to a recording", code, DONE)
    t.equal("every file of it is the same, byte by byte", tree(c.path("back")), tree(rec))
    t.equal("so are its blocks, by their hash", converted.hash_of_blocks(c.blocks, c.path("back")),
            converted.hash_of_blocks(c.blocks, rec))
    code, err, _ = c.run(c.path("a.h5"), c.path("back"))
    t.check("not over one that is there", code == REFUSED and "is there already" in err, (code, err))
    shutil.rmtree(c.path("back"))


def check_numpy(t, c, rec, expected):
    for name in ("a.npy", "a.npz"):
        code, err, rss = c.run("--quiet", rec, c.path(name))
        t.check(f"{name}: done", code in (DONE, MISSING) and rss < c.memory_kb, (code, err, rss))
    compare(t, "numpy, a directory", expected, lambda name: np.load(c.path(f"a.npy/{name}.npy"), mmap_mode="r"))
    with np.load(c.path("a.npz")) as z:
        compare(t, "npz", expected, lambda name: z[name])
    with open(c.path("a.npy/about.json")) as f:
        about = json.load(f)
    t.check("numpy: about.json", about["complete"] == 1 and about["hits"] == len(expected.hits["charge"]) and
            about["WARNING"].startswith("EMULATED"), about)
    t.equal("npz: nothing else is left", [n for n in os.listdir(c.base) if n.startswith("a.npz.")], [])
    shutil.rmtree(c.path("a.npy"))
    os.unlink(c.path("a.npz"))


def check_sound(t, c, rec, expected):
    for kind in ("wav", "flac"):
        code, err, _ = c.run(rec, c.path(f"a.{kind}"))
        filled = sum(len(expected.filled(name)) - len(samples) for name, samples in expected.sounds.items())
        lengths = [len(expected.filled(name)) for name in expected.sounds]
        t.check(f"{kind}: done, and files, length and what is missing are said", code in (DONE, MISSING) and
                f"{len(lengths)} files named " in err and f"H0.{kind} and so on, " in err and
                f"{max(lengths) / 192000:.3f} s each at most; {filled} of {sum(lengths)} samples missing" in err and
                "hits" not in err, (code, err))
        for name in expected.sounds:
            path = c.path(f"a-{name}.{kind}")
            t.equal(f"{kind}: every sample of {name}", sha(sound_of(path)), sha(expected.filled(name)))
            t.check(f"{kind}: when {name} begins", str(expected.pieces(name)[0][3]) in tags_of(path),
                    tags_of(path)[:300])
    code, err, _ = c.run("--links", "1", rec, c.path("one.wav"))
    t.equal("two hydrophones of a floor are two files", sorted(n for n in os.listdir(c.base) if n.endswith(".wav")
                                                                and n.startswith("one")),
            ["one-T01F02H0.wav", "one-T01F02H1.wav"])
    pieces = pandas.read_csv(c.path("a.wav.pieces.csv"))
    t.equal("wav: its pieces, as a table", len(pieces), sum(len(expected.pieces(name)) for name in expected.sounds))


def sound_of(path):
    if path.endswith(".flac"):
        raw = subprocess.run(["flac", "-dcs", "--force-raw-format", "--endian=little", "--sign=signed", path],
                             capture_output=True, check=True).stdout
    else:
        with wave.open(path) as f:
            assert (f.getnchannels(), f.getsampwidth(), f.getframerate()) == (1, 3, 192000), f.getparams()
            raw = f.readframes(f.getnframes())
    low = np.frombuffer(raw, np.uint8).reshape(-1, 3).astype(np.int32)
    value = low[:, 0] | low[:, 1] << 8 | low[:, 2] << 16
    return (value << 8 >> 8).astype("<i4")


def tags_of(path):
    with open(path, "rb") as f:
        head = f.read(65536)
        f.seek(-min(os.path.getsize(path), 65536), os.SEEK_END)
        return (head + f.read()).decode("latin-1").replace("\0", "")


def check_limits(t, c, rec, expected):
    """Part of a recording, as CSV: lines are what the columns are."""
    begin = min(h["tai_ns"] for h, _ in expected.headers if h["link"] in (0, 2))
    code, err, _ = c.run("--from", "+0.3", "--until", "+0.4", "--links", "0,2", rec, c.path("part.csv"))
    t.check("CSV of a tenth of a second: done", code == DONE, (code, err))
    got = pandas.read_csv(c.path("part.csv"))
    t.check("CSV: times and floors are those that were asked for", len(got) > 1000 and set(got.floor) == {1, 3} and
            (got.tai_ns > begin + 250e6).all() and (got.tai_ns < begin + 450e6).all(), got.describe())
    first, last = begin + 330e6, begin + 370e6  # links begin and end with blocks of their own
    inside = np.isin(expected.hits["floor"], (1, 3))
    inside &= (expected.hits["tai_ns"] > first) & (expected.hits["tai_ns"] < last)
    mine = got[(got.tai_ns > first) & (got.tai_ns < last)]
    # A module's hits of one ns are of one frame: their order is that of the floors, whatever else was read.
    for name in ("tai_ns", "charge", "tower", "floor", "module", "samples", "flags", "pmt", "frame", "t5ns"):
        t.equal(f"CSV: {name}", sha(mine[name].to_numpy(np.int64)), sha(expected.hits[name][inside].astype(np.int64)))
    values = np.array(" ".join(mine.waveform.fillna("").astype(str)).split(), "<u2")
    at, n = expected.hits["waveform_at"][inside].astype(np.int64), expected.hits["samples"][inside].astype(np.int64)
    offsets = np.cumsum(np.concatenate([[0], n]))
    index = np.repeat(at - offsets[:-1], n) + np.arange(offsets[-1])
    t.equal("CSV: every sample", sha(values), sha(expected.waveforms[index]))
    code, err, _ = c.run("--streams", "hydrophone", "--until", "+0.1", rec, c.path("sound.csv"))
    t.check("CSV: hydrophones when they are asked for", code in (DONE, MISSING) and
            len(pandas.read_csv(c.path("sound.hydrophones.csv")).samples.iloc[0].split()) == 24, (code, err))


def refusals(t):
    """what is refused is said, with what to do; nothing is written over"""
    c = Converter(t)
    rec = record(t, 0.5, load="quiet")
    code, err, _ = c.run("--streams", "instrument", rec, c.path("a.h5"))
    t.check("done", code in (DONE, MISSING), (code, err))
    with open(c.path("a.h5"), "rb") as f:
        before = f.read()

    def refused(what, *args, code=REFUSED, words=()):
        got, err, _ = c.run(*args)
        t.check(what, got == code and all(w in err for w in words), (got, err))
    refused("an output that is there", rec, c.path("a.h5"), words=("--force",))
    with open(c.path("a.h5"), "rb") as f:
        t.check("it is as it was", f.read() == before)
    refused("going on with what is complete", "--resume", rec, c.path("a.h5"), words=("nothing to go on with",))
    refused("back without cells", c.path("a.h5"), c.path("back"), words=("--cells",))
    t.check("no directory is left", not os.path.exists(c.path("back")))
    refused("HDF5 to HDF5", c.path("a.h5"), c.path("b.h5"), words=("recording",))
    refused("a recording to a recording", rec, c.path("copy"), words=(".h5",))
    refused("nothing there", c.path("none"), c.path("b.h5"), words=("No such file",))
    refused("no recording", c.base, c.path("b.h5"), words=("no segment",))
    refused("neither nor", t.stations[0].path("recordings/night/recording.json"), c.path("b.h5"), words=("neither",))
    refused("cells into numpy", "--cells", rec, c.path("b.npz"), words=("HDF5",))
    refused("cells of live data", "--cells", "tcp://127.0.0.1:1", c.path("b.h5"), words=("record",))
    refused("going on with live data", "--resume", "tcp://127.0.0.1:1", c.path("b.h5"), words=("live",))
    refused("sound without a hydrophone", "--streams", "pmt", rec, c.path("b.wav"), words=("streams",))
    refused("an unknown kind", "--to", "xml", rec, c.path("b"), code=USAGE, words=("h5",))
    refused("no output", rec, code=USAGE, words=("--help",))
    refused("a time that is none", "--from", "noon", rec, c.path("b.h5"), code=USAGE, words=("--from", "UTC"))
    t.equal("none of these has left a file", sorted(n for n in os.listdir(c.base) if n.startswith("b")), [])
    refused("a place that is not there", rec, c.path("none/b.h5"), words=("No such file", "none/b.h5"))
    code, err, _ = c.run("--seconds", "3.5", "tcp://127.0.0.1:1", c.path("nobody.h5"))
    t.check("a daemon that is not there is missed after a while", "no daemon answers there; still trying" in err,
            (code, err))
    progress(t, c, rec)
    runs(t, c, rec)
    damaged(t, c, rec)


class Newcomer:
    """What a new user gets wrong: said with what to do, and no file is left."""

    def __init__(self, t):
        self.t, self.c = t, Converter(t)

    def refused(self, what, *args, code=REFUSED, words=(), out="none.h5"):
        got, err, _ = self.c.run(*args, self.c.path(out))
        self.t.check(what, got == code and all(w in err for w in words), (got, err))
        left = [n for n in os.listdir(self.c.base) if n.startswith("none")]
        self.t.equal(f"{what}: no file is left", left, [])


def newcomer(t):
    """no daemon, a wrong port, no data of these times, a recording that grows: said, with what to do"""
    n = Newcomer(t)
    rec = record(t, 1, load="quiet", during=lambda st: newcomer_live(n, st))
    nothing_there(n, rec)
    addresses(n, rec)
    written_twice(n, rec)


def newcomer_live(n, st):
    n.refused("the port of consumers", "--seconds", "1", st.reserved, words=("nothing came from", "5730"))


    growing(n, st, st.path("recordings/night"))


def growing(n, st, rec):
    code, err, _ = n.c.run("--streams", "pmt", "--links", "0", rec, n.c.path("growing.h5"))
    n.t.check("a recording that grows: status 1, and up to when it is converted", code == MISSING and
              re.search(r"is still being recorded: it is converted up to 20.*T.*Z; .*record stop", err), (code, err))
    n.refused("cells of a recording that grows", "--cells", rec, words=("is still being recorded", "record stop"))


def killed(t):
    """a recording whose daemon was killed is converted, with a warning; its cells, too"""
    n = Newcomer(t)
    st = t.station(load="quiet", truth=False, depth_ms=4000)
    st.start()
    st.wait_ready(60)
    st.ask("record", "start", "--links", "0", "--name", "cut")
    st.wait_for("some of it", lambda: st.status()["recording"]["frames"] > 8000, 60)
    live = n.c.start("--links", "0", "--streams", "pmt", st.monitor, n.c.path("live.h5"))
    st.wait_for("a live conversion", lambda: os.path.exists(n.c.path("live.h5")), 60)
    time.sleep(1)
    st.daemon.kill9()
    died = time.monotonic()
    rec, before = st.path("recordings/cut"), tree(st.path("recordings/cut"))
    code, err, _ = n.c.run("--cells", rec, n.c.path("cut.h5"))
    t.check("killed: converted, with a warning", code in (DONE, MISSING) and
            "has no end yet: it is still being recorded, or its daemon was killed" in err, (code, err))
    t.equal("killed: back", n.c.run(n.c.path("cut.h5"), n.c.path("again"))[0], DONE)
    t.equal("killed: every file is the same", tree(n.c.path("again")), before)
    with h5py.File(n.c.path("cut.h5")) as f:
        text = f.attrs["recording_json"]
        t.check("recording_json has no blanks at its end", text == text.rstrip() and json.loads(text)["ended"] is None,
                len(text))
    time.sleep(max(0, died + 12 - time.monotonic()))
    live.send_signal(signal.SIGINT)
    said = live.communicate()[1]
    t.check("live: a silence is said, once", said.count("nothing has come for 5 s; still waiting") == 1 and
            live.returncode in (DONE, MISSING), (live.returncode, said))


def nothing_there(n, rec):
    n.refused("a daemon that is not there", "--seconds", "0.5", "tcp://127.0.0.1:1",
              words=("nothing came from tcp://127.0.0.1:1 in 0.5 s", "no daemon answers there", "5730 + board number"))
    n.refused("a host that is unknown", "--seconds", "0.5", "tcp://no-such-host.invalid:5730",
              words=("no-such-host.invalid: unknown host",))
    with open(n.c.path("kept.h5"), "w") as f:
        f.write("precious")
    n.refused("nothing comes", "--force", "--seconds", "0.5", "tcp://127.0.0.1:1", out="kept.h5")
    with open(n.c.path("kept.h5"), "rb") as f:
        n.t.equal("nothing came: what was there is kept", f.read(20), b"precious")
    n.refused("a time after the end", "--from", "+40", rec, words=("no data from 20", "the recording has 20", " to 20"))
    n.refused("a time before the beginning", "--from", "2001-01-01T00:00", "--until", "2001-01-01T00:01", rec,
              words=("no data between 2001-01-01T00:00:00.000Z and 2001-01-01T00:01:00.000Z", "the recording has 20"))
    n.refused("an end before the beginning", "--from", "+2", "--until", "+1", "/nothing/there", code=USAGE,
              words=("--until is before --from",))


def stamps(directory):
    """{path: (length, time)} of all files in it."""
    paths = [os.path.join(place, name) for place, _, names in os.walk(directory) for name in names]
    return {path: (os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in paths}


def written_twice(n, rec):
    """The second time nothing is written, whatever of it is there."""
    t, c = n.t, n.c
    for name, args, first in (("s.wav", (), "s-T01F01H0.wav"), ("s.flac", (), "s-T01F01H0.flac"),
                              ("s.csv", (), "s.csv"), ("i.csv", ("--streams", "instrument"), "i.blocks.csv"),
                              ("s.npy", (), "s.npy"), ("s.npz", (), "s.npz"), ("s.h5", (), "s.h5")):
        args = *args, "--until", "+0.2"
        code, err, _ = c.run(*args, rec, c.path(name))
        t.check(f"{name}: done", code in (DONE, MISSING), (code, err))
        before = stamps(c.base)
        code, err, _ = c.run(*args, rec, c.path(name))
        t.check(f"{name}, once more: refused", code == REFUSED and "resume" not in err and
                f"/{first}: is there already; --force writes over it" in err, (code, err))
        t.check(f"{name}, once more: nothing is written", stamps(c.base) == before, sorted(os.listdir(c.base)))
        code, err, _ = c.run("--force", *args, rec, c.path(name))
        t.check(f"{name}: with leave", code in (DONE, MISSING), (code, err))
    os.unlink(c.path("s-T01F01H0.wav"))
    n.t.check("a part of it is there", c.run(rec, c.path("s.wav"))[1].count("/s-T01F01H1.wav: is there already") == 1)
    cells_twice(n, rec)


def cells_twice(n, rec):
    n.c.run("--cells", rec, n.c.path("cells.h5"))
    os.mkdir(n.c.path("place"))
    code, err, _ = n.c.run(n.c.path("cells.h5"), n.c.path("place"))
    n.t.check("back into a directory that is there: refused, with what to do", code == REFUSED and
              "is there already; name a new directory, for example " in err and "/place/NAME" in err, (code, err))
    n.t.equal("it is empty still", os.listdir(n.c.path("place")), [])


def addresses(n, rec):
    for typed in ("127.0.0.1:5730", "tcp:/127.0.0.1:5730", "http://127.0.0.1:5730"):
        n.refused(f"{typed}: no address", typed, words=("No such file", "; did you mean tcp://127.0.0.1:5730?"))
    n.refused("an address without a port", "tcp://127.0.0.1",
              words=("has no port; monitors have 5730 + board number: tcp://127.0.0.1:5730",))
    n.refused("a recording's name", os.path.basename(rec), words=("a recording is a folder", "recordings/night"))
    n.refused("seconds of a recording", "--seconds", "2", rec,
              words=("--seconds is for live data; use --until +2",))


def progress(t, c, rec):
    """On a terminal there is a line of progress; without one, or quiet, there is none."""
    for args, wanted in (([], True), (["--quiet"], False)):
        ours, theirs = pty.openpty()
        child = subprocess.Popen([c.program, "--force", *args, rec, c.path("p.csv")], stderr=theirs)
        os.close(theirs)
        text = b""
        while True:
            try:
                text += os.read(ours, 4096)
            except OSError:  # it has ended
                break
        os.close(ours)
        child.wait()
        t.check(f"{' '.join(args) or 'a terminal'}: progress {'is shown' if wanted else 'is not'}",
                (b"MB/s" in text and b"\x1b[K" in text) == wanted, text)


def set_run(path, run):
    """The segment's header says another run."""
    with open(path, "r+b") as f:
        header = bytearray(f.read(128))
        header[40:44] = run.to_bytes(4, "little")
        header[124:128] = fcm_data.crc32c(bytes(header[:124])).to_bytes(4, "little")
        f.seek(0)
        f.write(header)


def runs(t, c, rec):
    mixed = c.path("mixed")
    shutil.copytree(rec, mixed)
    set_run(os.path.join(mixed, "link1-00000.fcmr"), 7)
    code, err, _ = c.run(mixed, c.path("m.h5"))
    t.check("two runs are not mixed silently", code == REFUSED and "0, 7" in err and "--run" in err and
            not os.path.exists(c.path("m.h5")), (code, err))
    code, err, _ = c.run("--run", "5", mixed, c.path("m.h5"))
    t.check("a run that is not in it", code == REFUSED and "0, 7" in err, (code, err))
    for args, links in ((["--run", "7"], {1}), (["--run", "0"], {0, 2, 3}), (["--all-runs"], {0, 1, 2, 3})):
        code, err, _ = c.run("--force", *args, mixed, c.path("m.h5"))
        with h5py.File(c.path("m.h5")) as f:
            t.equal(f"{' '.join(args)}: its blocks only", set(f["blocks"]["link"]), links)
            t.equal(f"{' '.join(args)}: said so", f.attrs["several_runs"], int(len(links) == 4))
    shutil.rmtree(mixed)


def damaged(t, c, rec):
    hurt = c.path("hurt")
    shutil.copytree(rec, hurt)
    path = os.path.join(hurt, "link2-00000.fcmr")
    with open(path, "r+b") as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)[0] ^ 0xFF
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte]))
    code, err, _ = c.run("--streams", "pmt", hurt, c.path("d.h5"))
    t.check("a damaged segment: converted, status 1, and said where", code == MISSING and "link2-00000.fcmr" in err and
            "damaged at byte" in err, (code, err))
    with h5py.File(c.path("d.h5")) as f:
        blocks = f["blocks"][:]
        frames = {link: int(blocks["frames"][blocks["link"] == link].sum()) for link in range(4)}
        t.check("what is before the damage is there, the other links whole", f.attrs["segments_damaged"] == 1 and
                0 < frames[2] < 0.8 * frames[1], frames)
    set_run(os.path.join(hurt, "link3-00000.fcmr"), 0)
    with open(os.path.join(hurt, "link3-00000.fcmr"), "r+b") as f:
        f.write(b"\0\0\0\0")
    code, err, _ = c.run("--force", "--streams", "pmt", hurt, c.path("d.h5"))
    t.check("a segment whose header is damaged, too", code == MISSING and "link3-00000.fcmr" in err, (code, err))
    shutil.rmtree(hurt)


OUTPUTS = (("a.h5", ["--cells"]), ("a.npz", []), ("a.npy", []), ("a.csv", []), ("a.flac", []))


def outputs(directory):
    """{name: hash} of all that a conversion has made; of HDF5 and about.json what must not depend on the time."""
    found = {}
    for place, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(place, name)
            key = os.path.relpath(path, directory)
            if name.endswith(".h5"):
                found[key] = content_of(path)
            elif name.endswith(".npz"):
                with np.load(path) as z:
                    found[key] = {n: sha(z[n]) for n in z.files if n.endswith("json") is False}
            elif name != "about.json":
                with open(path, "rb") as f:
                    found[key] = hashlib.sha256(f.read()).hexdigest()
    return found


def content_of(path):
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, d: found.update({name: sha(d[:])}) if isinstance(d, h5py.Dataset) else None)
        found["attributes"] = repr({k: v for k, v in f.attrs.items() if k not in ("created", "command")})
    return found


def interrupted(t):
    """kill -9, SIGINT and a full disk in the middle: --resume makes the same output as without"""
    c = Converter(t)
    rec = record(t, 1.5, load="design")
    for name, args in OUTPUTS:
        place = c.path(f"of-{name}")
        os.mkdir(place)
        whole, broken = os.path.join(place, "whole"), os.path.join(place, "broken")
        os.mkdir(whole)
        os.mkdir(broken)
        code, err, _ = c.run("--quiet", *args, rec, os.path.join(whole, name))
        t.check(f"{name}: without interruption", code in (DONE, MISSING), (code, err))
        wanted, output = outputs(whole), os.path.join(broken, name)
        args = ["--quiet", "--save-every", "0", *args, rec, output]
        kills = sum(kill(c, args, output, resume) for resume in (False, True, True))
        t.check(f"{name}: killed in the middle ({kills} times)", kills >= 1, kills)
        ended = by_signal(c, args)
        t.check(f"{name}: SIGINT ends it behind a slice", ended[0] in (STOPPED, DONE, MISSING), ended)
        if ended[0] == STOPPED and name.endswith(".h5"):
            with h5py.File(output) as f:
                t.check("it is readable then, and says that it is not complete", f.attrs["complete"] == 0 and
                        len(f["blocks"]) > 0, dict(f.attrs))
        if ended[0] == STOPPED:
            code, err, _ = c.run("--resume", *args)
            t.check(f"{name}: the rest", code in (DONE, MISSING), (code, err))
        got = outputs(broken)
        t.equal(f"{name}: the same as without, file by file",
                [k for k in {**got, **wanted} if got.get(k) != wanted.get(k)], [])
        shutil.rmtree(place)
    full_disk(t, c, rec)


def kill(c, args, output, resume):
    """kill -9 after something was saved: 1; 0: it was too quick."""
    with c.start(*(["--resume"] if resume else []), *args) as child:
        first = stamp(output)
        end = time.monotonic() + 30
        while child.poll() is None and stamp(output) == first and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(0.05)
        child.kill()
        child.wait()
    return int(child.returncode == -signal.SIGKILL)


def stamp(output):
    """Changes with each commit."""
    try:
        return os.stat(output + ".resume").st_ino
    except FileNotFoundError:
        return None


def by_signal(c, args):
    with c.start("--resume", *args) as child:
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        err = child.stderr.read()
        return child.wait(), err


def full_disk(t, c, rec):
    """No file may grow beyond a limit: as on a full disk, writing fails in the middle, wherever that is."""
    for name, args, parts in (("f.h5", ["--cells", "--links", "0"], (0.05, 0.2, 0.4, 0.6, 0.8, 0.97)),
                              ("f.csv", ["--links", "0"], (0.5,))):
        whole, output = c.path(f"whole-{name}"), c.path(name)
        c.run("--quiet", *args, rec, whole)
        for part in parts:
            limit = int(part * os.path.getsize(whole))
            code, err, _ = c.run("--save-every", "0", *args, rec, output, preexec_fn=lambda limit=limit:
                                 resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
            t.check(f"{name}, room for {part:.0%}: it ends with what happened and what to do",
                    code == FAILED and "File too large" in err and "--resume" in err and name in err, (code, err))
            if name.endswith(".h5"):
                with h5py.File(output) as f:
                    t.check("what was saved can be read", f.attrs["complete"] == 0 and len(f["hits/charge"]) ==
                            f["group_info"]["hits"].sum() and len(f["blocks"]) == f["group_info"]["blocks"].sum(),
                            (dict(f.attrs), len(f["hits/charge"])))
            code, err, _ = c.run("--resume", *args, rec, output)
            t.check(f"{name}: goes on when there is room", code in (DONE, MISSING), (code, err))
            t.check(f"{name}: the same as without", same(output, whole))
            os.unlink(output)
            for table in tables_beside(c.base, name):
                os.unlink(c.path(table))
    small(t, c, rec)


def tables_beside(directory, name):
    return [n for n in os.listdir(directory) if n.startswith(name.split(".")[0] + ".") and n.endswith(".csv")]


def same(a, b):
    if a.endswith(".h5"):
        return content_of(a) == content_of(b)
    with open(a, "rb") as x, open(b, "rb") as y:
        return x.read() == y.read()


def small(t, c, rec):
    """Another input, or other options, cannot be gone on with."""
    output = c.path("other.h5")
    c.run("--save-every", "0", rec, output, preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (4 << 20, resource.RLIM_INFINITY)))
    code, err, _ = c.run("--resume", "--links", "0", rec, output)
    t.check("other options: refused", code == REFUSED and "same" in err, (code, err))
    code, err, _ = c.run(rec, output)
    t.check("beginning again without leave: refused", code == REFUSED and "--resume" in err, (code, err))
    code, err, _ = c.run("--force", "--links", "0", rec, output)
    t.check("with leave: begins again", code in (DONE, MISSING), (code, err))


def memory(t):
    """twice the recording, the same memory"""
    c = Converter(t)
    rec = record(t, 2)
    peaks = []
    for part in (["--until", "+1"], [], ["--cells"]):
        runs = [c.run("--force", *part, rec, c.path("a.h5")) for _ in range(2)]
        t.check(f"{' '.join(part) or 'all'}: done", all(code in (DONE, MISSING) for code, _, _ in runs), runs)
        peaks.append(min(rss for _, _, rss in runs))  # a busy machine only adds to it
    t.check("the peak does not grow with it", peaks[1] < 1.25 * peaks[0] + 16000 and peaks[2] < c.memory_kb, peaks)


@harness.long
def ten_seconds(t):
    """ten seconds at full load to HDF5 and back: blocks are equal by their hash"""
    c = Converter(t)
    rec = record(t, 10)
    code, err, rss = c.run("--cells", rec, c.path("a.h5"))
    print(f"  {err.strip()}; {rss} kB")
    t.check("done", code in (DONE, MISSING) and rss < c.memory_kb, (code, err, rss))
    before = converted.hash_of_blocks(c.blocks, rec)
    shutil.rmtree(rec)
    code, err, _ = c.run(c.path("a.h5"), c.path("back"))
    t.check("back", code == DONE, (code, err))
    t.equal("blocks are equal, by their hash", converted.hash_of_blocks(c.blocks, c.path("back")), before)


@harness.long
def an_hour(t):
    """an hour of four floors, simulated: the memory does not grow, and is below 500 MB"""
    path = os.path.join(t.base, "hour.h5")
    r = subprocess.run([os.path.join(t.bin, "convert-hour"), path], capture_output=True, text=True, check=False)
    peaks = [int(line) for line in r.stdout.split()]
    t.check("it ends", r.returncode == 0 and len(peaks) == 10, (r.returncode, r.stderr))
    t.check("the peak is bounded", peaks[-1] < MEMORY_KB and peaks[-1] < 1.3 * peaks[1] + 16000, peaks)
    with h5py.File(path) as f:
        t.equal("all is in the file", (len(f["group_info"]), len(f["blocks"]), len(f["hydrophones/T01F01H0"])),
                (18000, 18000 * 240, 3600 * 192000))
        t.equal("the last hit is where it belongs", int(f["hits/block"][-1]) // 240, 17999)


if __name__ == "__main__":
    harness.main([every_kind, refusals, newcomer, killed, interrupted, memory, ten_seconds, an_hour])
