# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of nanet3-perf: puts over the loop-back port and data of a link, waiting asleep and polling in turn in one
run; medians of several runs. Here on a bare emulator's socket; guest.py has the same figures from a guest."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
from emulator import Emulator  # noqa: E402

RUNS = 3
INTERRUPT, POLLING = {"mode": "interrupt"}, {"mode": "polling"}


def median_of(runs, column, **wanted):
    """Median over the runs of one row's column."""
    rows = [next(r for r in run if all(r[k] == v for k, v in wanted.items())) for run in runs]
    return statistics.median(r[column] for r in rows)


def ratio(runs, column, over, under):
    return statistics.median(median_of([run], column, **over) / median_of([run], column, **under) for run in runs)


def curve(name, runs, column, unit):
    """The whole of it in a line: interrupt/polling for each size."""
    sizes = dict.fromkeys(row["size_bytes"] for row in runs[0])
    points = (f"{size} " + "/".join(f"{median_of(runs, column, size_bytes=size, **m):.0f}"
                                    for m in (INTERRUPT, POLLING)) for size in sizes)
    print(f"# {name}: {column}, interrupt/polling, {unit}: {', '.join(points)}")


# A figure's function is given results: `measured(command, option, ...)` is a list of runs, each a list of rows.

def latency(figures, measured, prefix=""):
    runs = measured("latency", "--sizes", "16..4k", "--count", "500")
    name = f"{prefix}put_latency"
    asleep, polling = ({"size_bytes": 64, **m} for m in (INTERRUPT, POLLING))
    for p in ("p50", "p99"):
        figures.figure(f"{name}_interrupt_{p}", median_of(runs, f"{p}_us", **asleep), "us")
        figures.figure(f"{name}_polling_{p}", median_of(runs, f"{p}_us", **polling), "us")
    figures.figure(f"{name}_interrupt_over_polling", ratio(runs, "p50_us", asleep, polling), "ratio")
    figures.figure(f"{name}_p99_interrupt_over_polling", ratio(runs, "p99_us", asleep, polling), "ratio")
    figures.figure(f"{name}_4096_over_16", ratio(runs, "p50_us", {**asleep, "size_bytes": 4096},
                                                 {**asleep, "size_bytes": 16}), "ratio")
    for column in ("min_us", "p50_us", "p99_us"):
        curve(name, runs, column, "bytes us")


def bandwidth(figures, measured, prefix=""):
    runs = measured("bandwidth", "--sizes", "64..256k", "--count", "500")
    name = f"{prefix}put_bandwidth"
    for size in (64, 4096, 65536, 262144):
        figures.figure(f"{name}_{size}", median_of(runs, "MB_per_s", size_bytes=size, **INTERRUPT), "MB/s")
    asleep, polling = ({"size_bytes": 4096, **m} for m in (INTERRUPT, POLLING))
    figures.figure(f"{name}_polling_over_interrupt", ratio(runs, "MB_per_s", polling, asleep), "ratio")
    for column in ("MB_per_s", "max_MB_per_s"):
        curve(name, runs, column, "bytes MB/s")


def walk(figures, measured, prefix=""):
    """Of the least: what the host needs comes on top of the board's times, and varies."""
    runs = measured("translation", "--count", "100")
    name = f"{prefix}put_walk"
    hit, page_walk, miss = (median_of(runs, "min_ns", case=c, **INTERRUPT) for c in ("hit", "walk", "miss"))
    figures.figure(f"{name}_minus_hit", (page_walk - hit) / 1000, "us")
    print(f"# {name}: least of a batch: hit {hit:.0f} ns a put, walk {page_walk:.0f}, miss {miss:.0f}")


def receive(figures, measured, prefix=""):
    runs = measured("receive", "--count", "500")
    name = f"{prefix}receive"
    figures.figure(f"{name}_interrupt_over_polling", ratio(runs, "p10_us", INTERRUPT, POLLING), "ratio")
    for m in (INTERRUPT, POLLING):
        print(f"# {name}: {m['mode']}: later than the soonest by p10 {median_of(runs, 'p10_us', **m):.1f} us, "
              f"p50 {median_of(runs, 'p50_us', **m):.1f} us, p99 {median_of(runs, 'p99_us', **m):.1f} us")


FIGURES = {"put_latency": latency, "put_bandwidth": bandwidth, "put_walk": walk, "receive": receive}


def perf(bin_dir, where, command, *args):
    done = subprocess.run([os.path.join(bin_dir, "nanet3-perf"), command, where, "--json", *args],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"nanet3-perf {command} {' '.join(args)}: {done.stderr.strip()}")
    return json.loads(done.stdout)[command]


def measure(figures, bin_dir, wanted):
    """The figures whose name `wanted` likes."""
    directory = tempfile.mkdtemp(prefix="fcm-bench-")
    try:
        with Emulator(bin_dir, directory) as emulator:
            for name, function in FIGURES.items():
                if wanted(name):
                    function(figures, lambda *args: [perf(bin_dir, emulator.where, *args) for _ in range(RUNS)])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
