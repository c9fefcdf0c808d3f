#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 of the daemon and of consumers, under data and in the middle of commands."""
import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "soak")]
import consumer_record  # noqa: E402
import crash  # noqa: E402
import harness  # noqa: E402
from unit_manager import Manager  # noqa: E402


def daemon_killed_under_data(t):
    """kill -9 and start at once, three times: no frame lost, repeats only with their flag, one row a second"""
    st = t.station(depth_ms=8000)
    st.start()
    st.wait_ready()
    releases = []
    for _ in range(3):
        time.sleep(1.3)
        st.daemon.kill9()
        st.start_daemon()
        st.wait_for("rings taken over on every link", lambda: all(l["taken_over"] for l in st.status()["links"]))
        first = []
        st.wait_for("the first released buffer",
                    lambda: first.append(st.status()["capture"]["first_release_s"]) or first[-1] is not None)
        releases.append(first[-1])
    st.wait_ready()
    time.sleep(1)
    ledger = t.account(st)
    if not t.sanitized:
        t.check("each time a buffer was released before half of a ring was full, less the machine's own lag",
                max(releases) - st.lag_s() < st.depth_ms / 2000, (releases, st.lag_s()))
    lost = [x for x in ledger["losses"] if x["kind"] == "group"] + harness.after_beginning(ledger)
    t.equal("no frame lost", lost, [])
    for name, s in st.summaries().items():
        t.equal(f"{name}: no block twice but those flagged", s["repeats_unflagged"], 0)
        t.equal(f"{name}: libfcmdata calls nothing lost", s["gap_lost"], 0)
    with sqlite3.connect(f"file:{st.path('station.db')}?mode=ro", uri=True) as db:
        cut = db.execute("SELECT link, second, restarts, cells, partial FROM ledger_link WHERE restarts > 0").fetchall()
        keys = db.execute("SELECT count(*), count(DISTINCT link || ':' || second) FROM ledger_link").fetchone()
    t.check("the seconds cut by a restart are in the ledger", len(cut) >= 3, cut)
    t.check("each is one row of 8000 frames", keys[0] == keys[1] and
            all(c[3] == 8000 for c in cut if not c[4]), (keys, cut))


def daemon_killed_with_other_block_lengths(t):
    """kill -9 and start with other block lengths: no hit counted twice, no repeat without its flag"""
    # A sea and a ring that leave a busy machine time; losses are not the subject here.
    st = t.station(emulator_args=["--rate", "2000"], depth_ms=4000)
    st.start()
    st.wait_ready()
    for frames in (16, 80, 320, 16, 80):
        time.sleep(1.3)
        st.daemon.kill9()
        st.start_daemon("--set", f"data.block_frames={frames}")
        st.wait_for("rings taken over on every link", lambda: all(l["taken_over"] for l in st.status()["links"]))
    st.wait_ready()
    time.sleep(1)
    t.account(st, named=[(link, "ring-full") for link in range(4)])
    for name, s in st.summaries().items():
        t.equal(f"{name}: no block is partly a repeat, none a repeat without the flag",
                (s["partly_repeated"], s["repeats_unflagged"]), (0, 0))
        records = consumer_record.read(st.path(f"{name}.rec"))
        counted = consumer_record.counted(records)
        t.check(f"{name}: no frame's data counted twice", len(counted) == len(np.unique(counted)) > 0,
                (len(counted), len(np.unique(counted))))
        lengths = consumer_record.block_lengths(records)
        t.check(f"{name}: blocks of all three lengths", {16, 80, 320} <= lengths, sorted(lengths))


def daemon_away_beyond_the_ring(t):
    """kept away longer than the ring holds: exactly the frames that did not fit are named"""
    st = t.station(depth_ms=1000)
    st.start()
    st.wait_ready()
    time.sleep(1)
    st.daemon.kill9()
    time.sleep(2)
    st.start_daemon()
    st.wait_ready()
    time.sleep(1)
    ledger = t.account(st, named=[(l, "ring-full") for l in range(4)])
    for link in range(4):
        n = sum(x["frames"] for x in ledger["losses"] if x["code"] == "ring-full" and x["link"] == link)
        t.check(f"link {link}: ring-full losses are named", n > 0, n)


def daemon_away_beyond_the_linger_time(t):
    """kept away until the driver has given the rings up: what was in flight is charged as shutdown, and named"""
    st = t.station(emulator_args=["--linger-ms", "200"])
    st.start()
    st.wait_ready()
    st.consumers["trigger-1"].signal(signal.SIGSTOP)
    with sqlite3.connect(f"file:{st.path('station.db')}?mode=ro", uri=True) as db:
        st.wait_for("rows that tell what is in flight", lambda: db.execute(
            "SELECT count(DISTINCT link) FROM ledger_stream WHERE grp = 'trigger' AND in_flight > 0").fetchone() == (4,))
    st.daemon.kill9()
    st.consumers["trigger-1"].signal(signal.SIGCONT)
    time.sleep(0.5)
    st.start_daemon()
    st.wait_ready()
    t.check("the rings are new", not any(l["taken_over"] for l in st.status()["links"]), st.status()["links"])
    t.equal("the daemon ends with 0", st.stop(), 0)
    ledger = st.ledger()
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    t.equal("every loss in the ledger has its name and frames, no more and no fewer", *harness.names_and_sums(ledger))
    with sqlite3.connect(f"file:{st.path('station.db')}?mode=ro", uri=True) as db:
        left = db.execute("SELECT link, dma_epoch, second FROM ledger_stream s WHERE NOT closed AND EXISTS"
                          " (SELECT 1 FROM dma d WHERE d.link = s.link AND d.begun > (SELECT begun FROM dma e WHERE"
                          " e.session = s.session AND e.link = s.link AND e.dma_epoch = s.dma_epoch))").fetchall()
    t.equal("nothing of the former epoch is in flight", left, [])
    for link in range(4):
        n = sum(x["frames"] for x in ledger["losses"] if x["code"] == "shutdown" and x["link"] == link)
        t.check(f"link {link}: frames lost with the daemon are named", n > 0, n)


def consumer_killed(t):
    """what a killed member had not acknowledged goes to the other member of its group"""
    st = t.station()
    st.start()
    st.start_consumer("trigger-2", "trigger")
    st.wait_ready()
    st.wait_for("both members", lambda: len([m for m in st.ask("consumer", "list")["members"]
                                             if m["group"] == "trigger"]) == 2)
    time.sleep(1.5)
    st.consumers["trigger-1"].kill9()
    time.sleep(3)
    st.wait_for("an event that names it", lambda: [e for e in st.ask("event", "list")["events"] if (
        e["code"], e["severity"], e["object"]) == ("consumer-member", "info", "group trigger") and
        e["text"].startswith("member trigger-1 is gone: ")])
    ledger = t.account(st)
    t.equal("nothing dropped", [x for x in ledger["losses"] if x["kind"] == "group"], [])


def all_consumers_killed(t):
    """with no member left the group's policy drops by name, floor and frame range; the others lose nothing"""
    st = t.station(depth_ms=4000)
    st.start()
    st.wait_ready()
    time.sleep(1)
    st.consumers["trigger-1"].kill9()
    st.wait_for("the group has no consumer", lambda: any(r["code"] == "consumer-none" for r in st.seen()))
    t.equal("status is red", st.word(), "RED")
    def dropped():
        group = next(g for g in st.ask("consumer", "list")["groups"] if g["group"] == "trigger")
        return group["dropped"]["no-member"]["frames"]
    st.wait_for("frames of all links are dropped", lambda: dropped() > 8000)
    ledger = t.account(st)
    drops = [x for x in ledger["losses"] if x["kind"] == "group"]
    t.check("drops are named no-member, for group trigger only, with floor and range", drops and
            {x["group"] for x in drops} == {"trigger"} and {x["floor"] for x in drops} == {1, 2, 3, 4} and
            all(x["frames"] > 0 for x in drops), drops[:3])


def threads_frozen(t):
    """one thread that all data pass stops, the others live: the watchdog is not fed, status says which; it goes on"""
    limit_s = 5
    st = t.station(load="quiet", depth_ms=16000)
    st.start_around()
    manager = Manager(st)
    try:
        manager.start(WATCHDOG_USEC=str(limit_s * 1000000))
        st.wait_ready()
        for name in ("capture", "publisher"):
            with subprocess.Popen([sys.executable, os.path.join(HERE, "freeze.py"), str(st.daemon.pid), name],
                                  stdout=subprocess.PIPE, text=True) as freezer:
                try:
                    t.check(f"{name} stops", freezer.stdout.readline().startswith("frozen"))
                    st.wait_for("status says so", lambda name=name: any(
                        r["code"] == f"{name}-stuck" and r["object"] == name for r in st.seen()))
                    time.sleep(limit_s / 2)
                    fed = len(manager.feeds)
                    time.sleep(2)
                    t.equal(f"{name}: the watchdog gets nothing", len(manager.feeds), fed)
                    t.equal(f"{name}: status is red", st.word(), "RED")
                finally:
                    freezer.kill()
            st.wait_for(f"{name} goes on", lambda name=name: not any(r["code"] == f"{name}-stuck" for r in st.seen()))
            st.wait_for("the watchdog is fed", lambda fed=fed: len(manager.feeds) > fed)
        t.account(st)
    finally:
        manager.close()


@harness.long
def daemon_killed_in_commands(t):
    """kill -9 in the middle of commands, at random and at named points: none executed twice, none lost, none left open"""
    crash.campaign(t, 6 if t.sanitized else 12, 7)


if __name__ == "__main__":
    harness.main([daemon_killed_under_data, daemon_killed_with_other_block_lengths, daemon_away_beyond_the_ring,
                  daemon_away_beyond_the_linger_time, consumer_killed, all_consumers_killed, threads_frozen, daemon_killed_in_commands])
