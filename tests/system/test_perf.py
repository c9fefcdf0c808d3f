#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nanet3-perf on the emulator's socket."""
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from emulator import Emulator  # noqa: E402

MODES = ["interrupt", "polling"]


def perf(t, *args, timeout=120):
    return subprocess.run([os.path.join(t.bin, "nanet3-perf"), *args], capture_output=True, text=True, check=False,
                          timeout=timeout)


def figures(t, emulator, *args):
    """JSON results; a failed check and None when there are none."""
    done = perf(t, args[0], emulator.where, "--json", *args[1:])
    if not t.check(f"{' '.join(args)} ends well", done.returncode == 0, done.stdout + done.stderr):
        return None
    return json.loads(done.stdout)


def latency(t):
    """both modes, every size, all that was asked for; percentiles in order; the histogram has every put"""
    with Emulator(t.bin, t.base) as emulator:
        r = figures(t, emulator, "latency", "--sizes", "16..4k", "--count", "100")
        rows = r["latency"]
        t.equal("sizes and modes", [(x["size_bytes"], x["mode"]) for x in rows],
                [(16 << i, m) for i in range(9) for m in MODES])
        t.check("counts", all(x["count"] == 100 for x in rows), rows)
        t.check("min <= p50 <= p99 <= max",
                all(0 < x["min_us"] <= x["p50_us"] <= x["p99_us"] <= x["max_us"] for x in rows), rows)
        t.equal("puts in the histogram", sum(x["count"] for x in r["histogram"]), 1800)
        t.equal("the board", r["board"]["name"], "nanet3-0")
        text = perf(t, "latency", emulator.where, "--size", "64", "--count", "50").stdout
        t.check("text has a histogram of the one size", text.count("#") >= 50, text)


def bandwidth(t):
    """grows with the packet size; one mode alone; CSV says the same as JSON's columns"""
    with Emulator(t.bin, t.base) as emulator:
        rows = figures(t, emulator, "bandwidth", "--sizes", "64..256k", "--count", "100")["bandwidth"]
        t.equal("rows", len(rows), 13 * 2)
        by_size = {x["size_bytes"]: x["MB_per_s"] for x in rows if x["mode"] == "polling"}
        t.check("64 kB packets carry ten times what 64 bytes do", by_size[65536] > 10 * by_size[64], by_size)
        t.check("least <= median <= most",
                all(x["min_MB_per_s"] <= x["MB_per_s"] <= x["max_MB_per_s"] for x in rows), rows)
        done = perf(t, "bandwidth", emulator.where, "--size", "1k", "--mode", "polling", "--csv", "--count", "100")
        row, = csv.DictReader(io.StringIO(done.stdout))
        t.equal("CSV", (row["size_bytes"], row["mode"], set(row)), ("1024", "polling", set(rows[0])))
        done = perf(t, "bandwidth", emulator.where, "--size", "16M", "--count", "10")
        t.check("a packet that never fits is said so", done.returncode == 1 and "use smaller sizes" in done.stderr,
                done.stderr)


def receive(t):
    """data of a link in both modes; a link that has an owner is left alone"""
    with Emulator(t.bin, t.base) as emulator:
        rows = figures(t, emulator, "receive", "--count", "100", "--link", "2")["receive"]
        t.equal("modes", [(x["mode"], x["count"], x["size_bytes"]) for x in rows], [(m, 100, 160000) for m in MODES])
        t.check("the soonest is the zero", min(x["min_us"] for x in rows) == 0, rows)
        argv = [os.path.join(t.bin, "nanet3-perf"), "receive", emulator.where, "--link", "1", "--count", "100000"]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as owner:
            time.sleep(0.5)
            for what in ("owned", "lingering"):
                done = perf(t, "receive", emulator.where, "--link", "1", "--count", "20")
                t.check(f"a link that is {what}", done.returncode == 1 and "choose another with --link" in done.stderr,
                        done.stderr)
                owner.kill()
                owner.wait()
    with Emulator(t.bin, t.base, "--speed", "max") as emulator:
        done = perf(t, "receive", emulator.where)
        t.check("without pace there is nothing to measure", done.returncode == 1 and "real time" in done.stderr,
                done.stderr)


def translation(t):
    """the board's counters bear the three cases out, and a walk takes longer than a hit"""
    with Emulator(t.bin, t.base) as emulator:
        rows = figures(t, emulator, "translation", "--count", "50")["translation"]
        t.equal("cases", [(x["case"], x["mode"]) for x in rows],
                [(c, m) for c in ("hit", "walk", "miss") for m in MODES])
        for x in rows:
            t.check(f"{x['case']}, {x['mode']}: counters", x[{"hit": "hits", "walk": "walks", "miss": "misses"}[
                x["case"]]] >= 0.9, x)
        least = {(x["case"], x["mode"]): x["min_ns"] for x in rows}
        t.check("walk over hit", all(least["walk", m] > least["hit", m] + 500 for m in MODES), least)


def selftest(t):
    """every pattern and shape, both modes, another seed"""
    with Emulator(t.bin, t.base) as emulator:
        r = figures(t, emulator, "selftest", "--seed", "77")
        row = r["selftest"][0]
        t.equal("nothing differs", (row["failed"], row["seed"], r["sound"]), (0, 77, True))
        t.check("many puts", row["puts"] > 1500 and row["bytes"] > 5e6, row)
        # Buffers are given back each time: the board has 64.
        codes = {perf(t, "selftest", emulator.where, "--count", "1").returncode for _ in range(40)}
        t.equal("again and again", codes, {0})


def corrupt(pid, address, length, stop):
    """Write into another process's memory until told to stop."""
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as f:
        while not stop.is_set():
            try:
                for offset in range(0, length, 61):
                    f.seek(address + offset)
                    f.write(b"\xa5")
            except OSError:  # it has ended
                return


def corruption_is_found(t):
    """somebody writes into the destination while the self-test runs: it says which byte of which put"""
    with Emulator(t.bin, t.base) as emulator:
        argv = [os.path.join(t.bin, "nanet3-perf"), "selftest", emulator.where, "--count", "200000"]
        stop = threading.Event()
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            try:
                where = re.fullmatch(r"selftest: (\d+) bytes from 0x\w+ to 0x(\w+)\n", child.stdout.readline())
                writer = threading.Thread(target=corrupt, args=(child.pid, int(where[2], 16), int(where[1]), stop))
                writer.start()
                out, err = child.communicate(timeout=60)
            finally:
                stop.set()
                child.kill()
            writer.join()
    t.equal("exit code", child.returncode, 1)
    lines = re.findall(r"nanet3-perf: selftest: put (\d+) \((?:walking ones|counter|random), (\d+) bytes, source "
                       r"offset \d+, destination offset (\d+)\): byte (-?\d+) of it(, outside)?, at destination offset "
                       r"(\d+), is 0xa5, should be 0x(\w\w), bits 0x\w\w; \d+ bytes differ", err)
    t.check("what and where", len(lines) == 10, err)
    t.check("offsets add up", all(int(d) + int(b) == int(o) and (not outside) == (0 <= int(b) < int(n))
                                  for _, n, d, b, outside, o, _ in lines), err)
    t.check("and so does the last line", "puts did not arrive as sent; the test ended there" in err, err)
    t.check("the table counts them", re.search(r"\s10\s+1\n$", out), out)


def drawn(t):
    """gnuplot draws each file"""
    if shutil.which("gnuplot") is None:
        print("  no gnuplot here: not drawn", flush=True)
    with Emulator(t.bin, t.base) as emulator:
        for command in ("latency", "bandwidth", "translation"):
            path = os.path.join(t.base, f"{command}.gp")
            done = perf(t, command, emulator.where, "--count", "20", "--gnuplot", path)
            t.check(f"{command} is written", done.returncode == 0 and os.path.getsize(path) > 500, done.stderr)
            if shutil.which("gnuplot"):
                done = subprocess.run(["gnuplot", path], capture_output=True, text=True, check=False, timeout=60)
                with open(f"{path}.svg") as f:
                    svg = f.read()
                t.check(f"{command} is drawn", done.returncode == 0 and not done.stderr, done.stderr)
                t.check(f"{command}: both curves", all(f">{m}, " in svg for m in MODES) and svg.endswith("</svg>\n\n"),
                        svg[-200:])


def what_to_do(t):
    """no board, a dead one, nonsense: what it is, what to do, the exit code"""
    done = perf(t, "latency", "unix:/nonexistent/socket")
    t.check("nobody there", done.returncode == 1 and "modprobe nanet3" in done.stderr, done.stderr)
    done = perf(t, "latency", "--board", "250")
    t.check("no device", done.returncode == 1 and "/dev/nanet3-250" in done.stderr, done.stderr)
    done = perf(t, "latency", "--sizes", "x")
    t.check("usage", done.returncode == 2 and "--help" in done.stderr, done.stderr)
    done = perf(t, "--help")
    t.check("help", done.returncode == 0 and "--gnuplot FILE" in done.stdout, done.stdout)
    for mode in MODES:
        with Emulator(t.bin, t.base) as emulator:
            argv = [os.path.join(t.bin, "nanet3-perf"), "latency", emulator.where, "--mode", mode, "--size", "8",
                    "--count", "10000000"]
            with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as child:
                time.sleep(0.5)
                os.kill(emulator.process.pid, signal.SIGKILL)
                begin = time.monotonic()
                err = child.communicate(timeout=30)[1]
            t.check(f"{mode}: the board dies", child.returncode == 1 and "the board is gone" in err and
                    time.monotonic() - begin < 5, err)


if __name__ == "__main__":
    harness.main([latency, bandwidth, receive, translation, selftest, corruption_is_found, drawn, what_to_do])
