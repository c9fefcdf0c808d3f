#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the time and of a link's phase: each ends in the right counter, state and message; nobody else loses."""
import calendar
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import BEGIN, scenario, sees  # noqa: E402


def gps_lost_and_back(t):
    """a silent receiver: holdover, uncertainty grows, data flow; its return locks in the same time epoch.
    Meanwhile the board stops measuring a phase: said, and no value of it is shown until it is back. And the table of
    leap seconds is removed: said, and what it announced is known still"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "gps silent"), (0, "link 2 phase-stop"),
                                                   (18, "link 2 phase-go"), (20, "gps ok")))
    st.start()
    st.wait_ready()
    epoch = st.status()["clock"]["time_epoch"]
    sees(t, st, "clock-holdover", "clock", 30)
    first = st.status()["clock"]["uncertainty_ns"]
    table = st.path("leap-seconds.list")
    with open(table, "a") as f:
        f.write(f"{calendar.timegm((time.gmtime().tm_year + 2, 1, 1, 0, 0, 0)) + 2208988800} 38\n")
    st.daemon.signal(signal.SIGHUP)
    st.wait_for("a leap second announced", lambda: st.status()["clock"]["leap"]["announced"], 10)
    os.unlink(table)
    st.daemon.signal(signal.SIGHUP)
    sees(t, st, "leap-table-missing", "clock")
    t.check("the leap second is still announced", st.status()["clock"]["leap"]["announced"], st.status()["clock"])
    sees(t, st, "phase-silent", "link2")
    silent = [p for p in st.status()["phases"] if p["link"] == 2 and p["age_s"] > 3]
    t.check("a phase that is not measured has no value",
            all(p["locked"] and p["mean_ps"] is None for p in silent), silent)
    time.sleep(3)
    later = st.status()["clock"]["uncertainty_ns"]
    t.check("uncertainty grows", later > first, (first, later))
    st.wait_for("locked again", lambda: st.status()["clock"]["state"] == "locked", 40)
    t.equal("same time epoch", st.status()["clock"]["time_epoch"], epoch)
    st.wait_for("the phase is measured again", lambda: st.status()["phases"][2]["mean_ps"] is not None and
                not [r for r in st.seen() if r["code"] == "phase-silent"])
    t.account(st)


def gpsd_jumps(t):
    """gpsd jumps by 2 s and keeps to it: said by how much, given in to, told for long; losses have the data's time"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "gps jump 2"), (22, "link 1 crc 5")), truth=False)
    st.start()
    st.wait_ready()
    epoch = st.status()["clock"]["time_epoch"]
    t.check("no relabelling is told before", st.status()["clock"]["relabelled"] is None)
    sees(t, st, "clock-fault", "clock", 30)
    reason = st.status()["clock"]["reason"]
    t.check("the fault says by how much", "it is 2 s ahead of the time in use" in reason, reason)
    sees(t, st, "clock-relabelled", f"time epoch {epoch + 1}", 60)
    st.wait_for("locked again", lambda: st.status()["clock"]["state"] == "locked", 10)
    status = st.status()
    clock = status["clock"]
    told = "time relabelled by +2.000 s at 20"
    t.equal("by 2 s, a new time epoch", (clock["relabelled"]["by_s"], clock["relabelled"]["time_epoch"],
                                         clock["time_epoch"]), (2, epoch + 1, epoch + 1))
    t.check("the warning stays beside a locked clock", [r for r in harness.observations(status) if told in r["text"]],
            harness.observations(status))
    # An emulator that is late by a second still leaves the most of the 2 s.
    t.check("the system clock is 2 s behind", -2.5 < clock["system_offset_s"] < -0.5, clock)
    time.sleep(2)  # rows are written in groups
    events = st.ask("event", "list")["events"]
    t.check("an event says it", [e for e in events if told in e["text"] and e["action"] and
                                 f"time epoch {epoch} -> {epoch + 1}" in e["text"]], events)
    history = st.ask("clock", "history")["events"]
    t.check("the clock's history says it", [e for e in history if told in e["reason"]], history)
    sees(t, st, "link-loss", "link1")
    time.sleep(2)  # the same
    st.daemon.kill9()
    st.start_daemon()
    st.wait_ready()
    status = st.status()
    t.check("a restarted daemon warns on", [r for r in harness.observations(status) if r["code"] == "clock-relabelled" and
                                            told in r["text"]], harness.observations(status))
    t.check("with the time of the relabelling", abs(status["clock"]["relabelled"].pop("time") -
                                                    clock["relabelled"].pop("time")) < 0.1 and
            status["clock"]["relabelled"] == clock["relabelled"], (status["clock"], clock))
    time.sleep(1)
    history = st.ask("clock", "history")["events"]
    t.equal("which is in the history once", sum(told in e["reason"] for e in history), 1)
    st.stop()
    losses = [x for x in st.ledger()["losses"] if x["link"] == 1 and x["code"] == "crc"]
    t.check("a loss begins at its label's time", losses and all(abs(x["begun"] + 37 - x["tai"]) < 1e-3 and
                                                                0.2 < x["begun"] - x["time"] < 2.5 for x in losses),
            losses)


def gpsd_killed(t):
    """gpsd itself dies and is started again"""
    st = t.station()
    st.confirm = None  # as a user has it
    st.start()
    st.wait_ready()
    st.gpsd.kill9()
    sees(t, st, "clock-holdover", "clock", 30)
    t.check("gpsd not connected", not st.status()["clock"]["gpsd"]["connected"])
    st.start_gpsd()
    st.wait_for("locked again", lambda: st.status()["clock"]["state"] == "locked", 40)
    t.account(st)


def soak_finds_the_slips(t):
    """20 trials of reset and align find exactly the injected bit slips"""
    slips = [3, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]
    text = "".join(f"at 0.1 link 2 slip-on-align {n}\n" for n in slips)
    st = t.station(load="quiet", scenario=t.scenario("from data\n" + text.replace("at 0.1", f"at {BEGIN - 2}")))
    st.start()
    st.wait_ready()
    time.sleep(BEGIN)
    answer = st.request("phase.soak", timeout=300, link=2, trials=20, interval_s=0.5, command="reset")
    t.check("the soak ends", answer["ok"], answer)
    found = [x["slip"] % 10 if x["verdict"] == "SLIP" else 0 for x in answer["result"]["trials"]]
    t.equal("exactly the injected slips", found, slips)
    t.equal("the rest passed", answer["result"]["passes"], slips.count(0))
    sees(t, st, "phase-slip", "link2") if slips[-1] else None
    t.account(st, named=[(2, c) for c in ("link-down", "alignment", "crc", "time-fault")])


def phase_steps(t):
    """steps of the phase without a new lock, at four moments of the second: shown as steps, with size and time"""
    steps = {0: 302, 1: -130, 2: 50, 3: 1250}  # the third is within the tolerance
    text = "".join(f"at {BEGIN + 0.3 * n:.1f} link {n} phase-step {ps}\n" for n, ps in steps.items())
    st = t.station(load="quiet", scenario=t.scenario("from data\n" + text))
    st.start()
    st.wait_ready()
    phases = []

    def all_found():
        phases[:] = st.status()["phases"]
        return all(p["last"]["step_ps"] for p in phases)
    st.wait_for("four steps", all_found, BEGIN + 15)
    t.equal("the verdicts", [p["last"]["verdict"] for p in phases], ["JUMP", "JUMP", "PASS", "SLIP"])
    t.check("their sizes", all(abs(p["last"]["step_ps"] - steps[p["link"]]) < 25 + abs(steps[p["link"]]) / 8
                               for p in phases), phases)
    after = [p["since"] - phases[0]["since"] for p in phases]
    t.check("their times", all(abs(s - 0.3 * n) < 0.35 for n, s in enumerate(after)), after)
    reasons = {r["object"]: r for r in st.seen() if r["code"].startswith("phase-")}
    t.equal("which are reasons", sorted(reasons), ["link0", "link1", "link3"])
    for p in phases:
        text = reasons.get(f"link{p['link']}", {}).get("text", "")
        told = re.search(r"stepped ([-+]\d+) ps at (\S+ \S+) UTC", text)
        t.check(f"link {p['link']}: shown as a step, with size and time", p["link"] == 2 or told and
                abs(int(told[1]) - p["last"]["step_ps"]) <= 1 and
                abs(calendar.timegm(time.strptime(told[2], "%Y-%m-%d %H:%M:%S")) + 0.5 - p["since"]) < 1, reasons)
    time.sleep(2)  # rows are written in groups
    rows = [st.ask("phase", "history", str(n))["events"][-1] for n in steps]
    t.check("in the history as well", all(row["reason"].startswith("stepped ") and abs(row["time"] - p["since"]) < 0.5
                                          for row, p in zip(rows, phases)), rows)
    t.equal("no drift", [p["drifts"] for p in phases], [0] * 4)
    t.account(st)


def drift_through_restart(t):
    """a drift before the daemon is killed, and a step: the next daemon calls neither by the other's name, in the same
    incidents; a reset comes back where the phase had drifted to, which is no jump"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 1 phase-drift 40"), (0, "link 3 phase-step 400"),
                                                   (14, "link 1 phase-drift 0")))
    st.start()
    st.wait_ready()

    def phases():
        return {i["object"]: (i["code"], i["number"]) for i in st.ask("incident", "list")["list"]
                if i["code"].startswith("phase-") and i["state"] == "active"}

    def moved():
        return st.status()["phases"][1]["difference_ps"] or 0
    st.wait_for("both", lambda: len(phases()) == 2, BEGIN + 30)
    st.wait_for("the end of the drift", lambda: moved() > 400 and abs(moved() - (time.sleep(3), moved())[1]) < 20, 60)
    before = phases()
    t.equal("which they are", {o: c for o, (c, _) in before.items()}, {"link1": "phase-drift", "link3": "phase-jump"})
    time.sleep(2)  # rows are written in groups
    st.daemon.kill9()
    st.launch_daemon()
    st.wait_ready()
    st.wait_for("all locks judged", lambda: all(p["last"]["verdict"] != "none" for p in st.status()["phases"]), 20)
    st.wait_for("both again", lambda: len(phases()) == 2, 20)
    t.equal("the same incidents", phases(), before)
    code, out, err = st.ctl("link", "reset", "1")
    t.check("a reset of it is no jump, nor well", code == 1 and "DRIFT, +" in out, (code, out, err))
    phase = st.status()["phases"][1]
    t.equal("verdict and counts", (phase["last"]["verdict"], phase["jumps"]), ("DRIFT", 0))
    t.equal("the same incident still", phases(), before)
    t.account(st, named=[(1, c) for c in ("link-down", "alignment", "crc", "time-fault")])


if __name__ == "__main__":
    harness.main([gps_lost_and_back, gpsd_jumps, gpsd_killed, phase_steps, soak_finds_the_slips, drift_through_restart])
