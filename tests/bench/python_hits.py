# SPDX-License-Identifier: GPL-2.0-or-later
"""Hits a second from blocks to arrays in Python, on one core: Block.hits() of the package fcmdata by libfcmdata, beside
the same array made by numpy alone (schemas/fcm_data.py). Blocks of four floors with every slot full, by sea-blocks."""
import os
import statistics
import subprocess
import sys
import time

from lean import Unmeasured, spread

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HITS, OVER, MERGED, LIVE = "python_hits", "python_hits_over_numpy", "python_merged_hits", "python_checked_hits"
WAVEFORMS = "python_waveforms"
FIGURES = (HITS, OVER, MERGED, LIVE, WAVEFORMS)
GOALS = {HITS: "20/40", OVER: "-", MERGED: "-", LIVE: "-", WAVEFORMS: "-"}
BLOCKS = 20  # of 10 ms, each floor and stream: more than the core's caches hold
ROUNDS = 9


def blocks_of_a_full_sea(bin_dir):
    """Messages of stream pmt, in the order of time: [(header, payload)]."""
    import fcm_data
    done = subprocess.run([os.path.join(bin_dir, "sea-blocks"), "--mbps", "0", "--blocks", str(BLOCKS)],
                          stdout=subprocess.PIPE, check=False, timeout=60)
    if done.returncode != 0:
        raise Unmeasured(f"sea-blocks: exit {done.returncode}")
    data, at, found = done.stdout, 0, []
    while at < len(data):
        header = data[at:at + fcm_data.HEADER_BYTES]
        size = int(fcm_data.np.frombuffer(header, fcm_data.header_dtype)["payload_bytes"][0])
        at += len(header) + size
        if header[fcm_data.header_dtype.fields["stream"][1]] == fcm_data.PMT:
            found.append((header, data[at - size:at]))
    return found


def rate(work, messages):
    """Hits a second of this thread's processor time: `work` says how many hits it made of the messages."""
    begin = time.thread_time()
    hits = work(messages)
    return hits / (time.thread_time() - begin)


def by(kind):
    return lambda messages: sum(len(kind(*m).hits()) for m in messages)


def checked(kind):
    """As Monitor and Member do: both checksums and every offset before."""
    def work(messages):
        hits = 0
        for m in messages:
            block = kind(*m)
            block.verify()
            hits += len(block.hits())
        return hits
    return work


def merged(fcmdata, floors=4):
    """The same time of all floors in one array, in time order."""
    return lambda messages: sum(len(fcmdata.merge([fcmdata.Block(*m) for m in messages[i:i + floors]]))
                                for i in range(0, len(messages), floors))


def with_waveforms(fcmdata):
    """The samples of all hits of a block, 8 bits in Zip hits, as 16-bit values, beside the hits."""
    def work(messages):
        hits = 0
        for m in messages:
            block = fcmdata.Block(*m)
            rows = block.hits()
            block.waveforms(rows)
            hits += len(rows)
        return hits
    return work


def run(figures, bin_dir, wanted):
    library = os.path.join(os.path.dirname(os.path.abspath(bin_dir)), "lib", "libfcmdata.so.0")
    os.environ["FCMDATA_LIBRARY"] = library
    sys.path[:0] = [os.path.join(ROOT, "daemon", "consumer"), os.path.join(ROOT, "schemas")]
    import fcm_data
    import fcmdata
    if fcmdata.LIBRARY != library:
        raise Unmeasured(f"{library} is not in use: {fcmdata.native.ABSENT}")
    messages = blocks_of_a_full_sea(bin_dir)
    works = {HITS: by(fcmdata.Block), OVER: by(fcm_data.Block), MERGED: merged(fcmdata), LIVE: checked(fcmdata.Block),
             WAVEFORMS: with_waveforms(fcmdata)}
    rates = {name: [] for name in works if wanted(name) or name == HITS}
    for work in works.values():
        work(messages[:8])  # first use
    for _ in range(ROUNDS):
        for name in rates:
            rates[name].append(rate(works[name], messages))
    for name, values in rates.items():
        if name == OVER:
            figures.figure(name, statistics.median(a / b for a, b in zip(rates[HITS], values)), "ratio", GOALS[name])
        elif wanted(name):
            figures.figure(name, statistics.median(values) / 1e6, "Mhits/s", GOALS[name])
        print(f"# {name}: {'numpy alone, ' if name == OVER else ''}{spread([v / 1e6 for v in values], 1)} Mhits/s in "
              f"{len(values)} rounds of {len(messages)} blocks, one core")


def measure(figures, bin_dir, wanted):
    if not any(wanted(name) for name in FIGURES):
        return
    try:
        run(figures, bin_dir, wanted)
    except Exception as e:  # the other figures are wanted all the same
        figures.failure(HITS, f"{type(e).__name__}: {e}")
