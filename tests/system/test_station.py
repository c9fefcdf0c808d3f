#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole way, from the floors to the consumers and back."""
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402


def all_links_equal_the_truth(t):
    """four links at design load for five seconds: nothing lost, every hash equal, all acknowledged"""
    st = t.station()
    st.confirm = None  # as a user has it
    st.start()
    st.wait_ready()
    st.wait_for("well", lambda: st.word() != "RED")
    before = st.status()
    time.sleep(5)
    after = st.status()
    for b, a in zip(before["links"], after["links"]):
        d = {k: a["cells"][k] - b["cells"][k] for k in a["cells"]}
        t.check(f"link {a['link']}: good frames and nothing else", d["good"] > 0 and sum(d.values()) == d["good"], d)
    t.equal("clock locked by gpsd", (after["clock"]["state"], after["clock"]["source"]), ("locked", "gpsd"))
    wrong = [r for r in harness.observations(after) if r["code"] != "machine-late"]  # a busy machine is not ours
    t.check("status is well", wrong == [] and (after["incidents"]["word"] == "WELL" or harness.observations(after)), after["incidents"])
    t.equal("all modules see something", (after["modules"]["count"], after["modules"]["on"]), (24, 24))
    t.check("fcmctl status exits 0", st.ctl("status")[0] == 0)
    ledger = t.account(st)
    for kind in ("links", "streams"):
        labelled = [r for r in ledger[kind] if r["tai"] is not None]
        t.check(f"the ledger's rows of {kind} have the label of their second", len(labelled) >= 4 * 4 and
                len({round(r["tai"] - r["second"], 2) for r in labelled}) == 1 and
                all(abs(r["begun"] - r["time"]) < 5 for r in labelled),
                [(r["second"], r["tai"], r["begun"], r["time"]) for r in ledger[kind]][:12])
    for name, s in st.summaries().items():
        t.check(f"{name}: blocks, no CRC error, no repeat, no gap", s["blocks"] > 0 and not s["crc_errors"] and
                not s["repeats"] and not s["repeats_unflagged"] and not s["gap_frames"], s)


def a_command_goes_down_and_is_answered(t):
    """set is done only when the read-back agrees; the journal shows who, when, old, new, every step"""
    st = t.station()
    st.start()
    st.wait_ready()
    code, out, err = st.ctl("set", "floor3.om2.hv", "1450", "--reason", "test")
    t.equal("fcmctl set exits 0", code, 0) or print(out, err)
    p = st.ask("get", "floor3.om2.hv")["parameters"][0]
    t.check("the read-back agrees", abs(p["value"] - 1450) <= 2 and p["setpoint"] == 1450, p)
    c = st.ask("command", "list")["commands"][0]
    shown = st.ask("command", "show", str(c["command"]))
    t.equal("states in order", [x["state"] for x in shown["transitions"]], ["QUEUED", "SENT", "ACKED", "DONE"])
    t.check("who, when, old, new, why", c["who"] and c["time"] and c["new"] == 1450 and c["old"] is not None and
            c["reason"] == "test", c)
    with sqlite3.connect(f"file:{st.path('station.db')}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT count(*) FROM command").fetchone()[0]
    t.check("sqlite3 opens the file while the daemon runs", rows >= 1)
    code, out, err = st.ctl("set", "floor3.om2.hv", "2500")
    t.check("a value out of range is refused with what to do", code in (1, 2) and "2500" in err, (code, err))
    code, out, err = st.ctl("set", "floor9.om2.hv", "1000")
    t.check("an unknown floor is a usage error", code == 2 and "floor9" in err, (code, err))
    t.account(st)


def daemon_away(t):
    """with the daemon killed, status exits 3 and says since when; the journal still answers"""
    st = t.station()
    st.start()
    st.wait_ready()
    st.ctl("set", "floor1.om0.threshold", "12")
    time.sleep(2)
    st.daemon.kill9()
    code, out, err = st.ctl("status")
    t.equal("status exits 3", code, 3)
    t.check("it says since when and what to do", "since 20" in out + err and "-> " in out + err, out + err)
    code, out, err = st.ctl("command", "list")
    t.check("command list answers from the file and says so on stderr", code == 0 and "threshold" in out and
            "daemon is not running" in err and f"this is from {st.path('station.db')}" in err, (code, out, err))


def life_in_the_events(t):
    """start and stop are events; what a killed daemon left open is closed by the next"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()

    def said(code):
        return [(e["severity"], e["text"]) for e in reversed(st.ask("event", "list", "--limit", "200")["events"])
                if e["code"] == code and e["object"] in ("daemon", "group trigger")]
    st.wait_for("an open alarm", lambda: said("consumer-none"), 20)
    st.daemon.kill9()
    st.start_daemon("--set", "data.tick_us=3000", "--set", "daemon.log_level=debug")
    st.wait_for("the second start, the alarm again", lambda: len(said("daemon-start")) == 2 and
                len(said("consumer-none")) == 3, 20)
    starts = [text for _, text in said("daemon-start")]
    t.check("the first began anew", "restarted: links 0, 1, 2, 3" in starts[0] and "crashed" not in starts[0], starts)
    t.check("the second took over from one that crashed", "taken over: links 0, 1, 2, 3" in starts[1] and
            "crashed" in starts[1], starts)
    t.equal("the alarm ended with its daemon and is told anew", [(s, x == "ended with the daemon")
                                                                for s, x in said("consumer-none")],
            [("red", False), ("info", True), ("red", False)])
    with open(st.path("board.conf"), "a") as f:
        f.write("[daemon]\nname = another\n")
    st.daemon.signal(signal.SIGHUP)
    st.wait_for("its new name", lambda: st.status()["name"] == "another", 20)
    with open(st.path("daemon.log"), errors="replace") as f:
        t.equal("what has changed is what the file says, and no --set", re.findall(r"\[\w+\] \w+ has changed.*", f.read()),
                ["[daemon] name has changed"])
    t.equal("the daemon ends with 0", st.stop(), 0)
    t.check("the stop is the last event", st.ask("event", "list", "--limit", "1")["events"][0]["code"] == "daemon-stop")


def runs_while_the_database_is_held(t):
    """a run ends though its row has to wait, and the row comes; none begins that is not in the journal"""
    st = t.station(load="quiet", gpsd=False)
    st.start(consumers=False)
    st.wait_ready()
    first = st.ask("run", "start", "first").get("run")
    other = sqlite3.connect(st.path("station.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    t.equal("it ends", st.ask("run", "stop").get("run"), first)
    t.equal("none begins", st.ask("run", "start", "second").get("error", {}).get("code"), "refused")
    other.execute("COMMIT")
    other.close()
    st.wait_for("the end in the journal", lambda: st.ask("run", "show")["runs"][0]["ended"] is not None)
    third = st.ask("run", "start", "third").get("run")
    t.equal("the number of the one that was refused is free", third, first + 1)
    t.equal("the runs in the journal", [(r["number"], r["note"]) for r in st.ask("run", "show")["runs"]],
            [(third, "third"), (first, "first")])
    t.equal("the daemon ends with 0", st.stop(), 0)


def options_that_nobody_means(t):
    """a board's number is not cut to 32 bits, a file's name not to what a buffer holds"""
    def told(*args):
        r = subprocess.run([os.path.join(t.bin, "fcm-server"), "--check-config", *args], capture_output=True, text=True,
                           timeout=60, check=False)
        return r.returncode, r.stderr
    for number in ("4294967296", "18446744073709551617", "-1", " 1", "1x", ""):
        code, err = told("--board", number)
        t.check(f"--board '{number}' is none", code == 2 and "a number 0..999" in err, (code, err))
    far = "/" + "/".join(["somewhere"] * 40) + ".conf"
    code, err = told("--config", far)
    t.check("a long name of a file is shown as it is", code == 78 and far in err, (code, err))


if __name__ == "__main__":
    harness.main([all_links_equal_the_truth, a_command_goes_down_and_is_answered, daemon_away, life_in_the_events,
                  runs_while_the_database_is_held, options_that_nobody_means])
