# SPDX-License-Identifier: GPL-2.0-or-later
"""What a consumer that stands still (SIGSTOP) costs: the daemon's memory over what its group may hold, and what the
others lose: nothing."""
import shutil
import signal
import tempfile
import time

from lean import STREAMS, LeanStation, Unmeasured
from proc import memory_kb
from station import LINKS

RSS, LOSSES = "stalled_rss_over_hwm", "stalled_losses_of_healthy"
GOALS = {RSS: "1.2/1.0", LOSSES: "0/0"}
STALL_S = 12  # past the 3 s after which it counts as dead, until its group's share is used up
BEFORE_S = 3
DEPTH_MS, HOLD_FRACTION, BLOCK_MS = 2000, 0.5, 10
CONFIG = ["[group stalled]", f"streams = {STREAMS}", f"hold_fraction = {HOLD_FRACTION}"]


def anonymous_bytes(st):
    """The daemon's own memory: without the rings, which are shared and never change."""
    return memory_kb(st.daemon.pid)["RssAnon"] * 1024


def highest(st, seconds):
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        most = max(most, anonymous_bytes(st))
        time.sleep(0.1)
    return most


def stall(figures, st):
    st.run_daemon(BLOCK_MS, more=CONFIG, others=[("stalled-1", "stalled")])
    rate = st.window(BEFORE_S)
    before, lost, missing = highest(st, 1), st.dropped("bench"), st.cut()["missing"]
    st.consumers["stalled-1"].signal(signal.SIGSTOP)
    during = highest(st, STALL_S)
    healthy, named = st.cut(), st.dropped("stalled")
    st.consumers["stalled-1"].signal(signal.SIGCONT)
    if named == 0:
        raise Unmeasured("the stalled group lost nothing: its share was not used up")
    time.sleep(1)
    lost = st.dropped("bench") - lost + healthy["frames_lost"] + max(0, st.cut()["missing"] - missing)
    budget = LINKS * DEPTH_MS * HOLD_FRACTION * rate["total_bytes"] / (rate["blocks"][0] * BLOCK_MS)
    figures.figure(RSS, (during - before) / budget, "ratio", GOALS[RSS])
    print(f"# {RSS}: grown by {(during - before) / 1e6:.0f} MB in {STALL_S} s, from {before / 1e6:.0f} MB (rings not "
          f"counted); the group may hold {HOLD_FRACTION:g} of a ring of {DEPTH_MS} ms, {budget / 1e6:.0f} MB of blocks at "
          f"design load; {named} of its frames were dropped by name")
    figures.figure(LOSSES, lost, "frames", GOALS[LOSSES])
    st.end_daemon()


def measure(figures, bin_dir, wanted):
    if not any(map(wanted, GOALS)):
        return
    directory = tempfile.mkdtemp(prefix="fcm-bench-")
    try:
        with LeanStation(bin_dir, directory, "design") as st:
            st.start_board()
            stall(figures, st)
    except Exception as e:  # the other figures are wanted all the same
        figures.failure(RSS, f"{type(e).__name__}: {e}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
