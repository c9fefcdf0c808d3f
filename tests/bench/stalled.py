# SPDX-License-Identifier: GPL-2.0-or-later
"""What a consumer that stands still (SIGSTOP) costs: the daemon's memory over the budget of its group, and what the
others lose: nothing."""
import shutil
import signal
import tempfile
import time

from lean import STREAMS, LeanStation, Unmeasured
from proc import memory_kb

RSS, LOSSES = "stalled_rss_over_hwm", "stalled_losses_of_healthy"
GOALS = {RSS: "1.2/1.0", LOSSES: "0/0"}
BEFORE_S, STALL_S = 2, 12  # past the 3 s after which it counts as dead, until its group's share is used up
BUDGET_MB = 96  # less than half of the rings' depth at design load, 150 MB: it is the memory that bounds
CONFIG = ["[group stalled]", f"streams = {STREAMS}", f"budget_mb = {BUDGET_MB}"]


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
    st.run_daemon(more=CONFIG, others=[("stalled-1", "stalled")])
    st.window(BEFORE_S)  # sound until now
    before, lost, missing = highest(st, 1), st.dropped("bench"), st.cut()["missing"]
    st.consumers["stalled-1"].signal(signal.SIGSTOP)
    during = highest(st, STALL_S)
    healthy, named = st.cut(), st.dropped("stalled")
    st.consumers["stalled-1"].signal(signal.SIGCONT)
    if named == 0:
        raise Unmeasured("the stalled group lost nothing: its share was not used up")
    time.sleep(1)
    lost = st.dropped("bench") - lost + healthy["frames_lost"] + max(0, st.cut()["missing"] - missing)
    budget = BUDGET_MB << 20
    figures.figure(RSS, (during - before) / budget, "ratio", GOALS[RSS])
    print(f"# {RSS}: grown by {(during - before) / 1e6:.0f} MB in {STALL_S} s, from {before / 1e6:.0f} MB (rings not "
          f"counted); budget_mb {BUDGET_MB}; {named} of the group's frames were dropped by name")
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
