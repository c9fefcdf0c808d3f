#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make drill`: what is drawn, what is judged; and a drill whose trainee reads status and believes it."""
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
sys.path.insert(0, os.path.join(harness.ROOT, "tests", "drill"))
import causes  # noqa: E402


def drawn(t):
    """plans of many seeds: every cause comes, the emulator understands every line, nothing overlaps what needs peace"""
    seen = set()
    for seed in range(40):
        faults = causes.plan(random.Random(seed), 8, 45)
        seen |= {f.cause for f in faults}
        t.check(f"seed {seed}: long ones have no company", all(
            b.at > a.at + a.ends for a, b in zip(faults, faults[1:]) if a.ends >= 20), faults)
        t.check(f"seed {seed}: none comes twice", len({f.cause for f in faults}) == len(faults), faults)
    t.equal("every cause is drawn", seen, set(causes.OF))
    t.equal("the same seed is the same drill", *(causes.plan(random.Random(7), 8, 45) for _ in range(2)))


def judged(t):
    """right, wrong, missed: by cause, object and time"""
    dark = causes.Fault("fibre-dark", "link2", 10, [(0, "link 2 unplug 5")], 5)
    swap = causes.Fault("fibres-swapped", "link0", 50, [(0, "swap 0 3"), (25, "swap 0 3")], 26)
    trip = causes.Fault("hv-trip", "floor2", 90, [(0, "link 1 hv-trip 2")], 1)
    faults = [dark, swap, trip]

    def score(*answers):
        told, wrong = causes.judge(faults, [{"time": a, "cause": c, "object": o} for a, c, o in answers], 1000)
        return [bool(a) for _, a in told], len(wrong)
    t.equal("all right, a floor or its link, either of the swapped",
            score((1012, "fibre-dark", "link2"), (1060, "fibres-swapped", "link3"), (1100, "hv-trip", "link1")), ([True] * 3, 0))
    t.equal("a floor that is the link's", score((1012, "fibre-dark", "floor3")), ([True, False, False], 0))
    t.equal("before it was", score((1005, "fibre-dark", "link2")), ([False] * 3, 1))
    t.equal("of another object", score((1012, "fibre-dark", "link1")), ([False] * 3, 1))
    t.equal("twice", score((1012, "fibre-dark", "link2"), (1013, "fibre-dark", "link2")), ([True, False, False], 1))
    t.equal("nothing", score(), ([False] * 3, 0))
    t.equal("what comes with a fault is not wrong", score((1060, "fibre-dark", "link3")), ([False] * 3, 0))


def answers(t):
    """fcmctl drill: needs a drill, no daemon; takes only its words"""
    st = t.station()
    code, _, err = st.ctl("drill", "answer", "fibre-dark", "link2")
    t.check("no drill: refused, and how to begin one", code == 1 and "make drill" in err, (code, err))
    with open(st.path("drill.json"), "w") as f:
        json.dump({"causes": [{"cause": "fibre-dark", "of": "link", "about": "no light"}], "objects": ["link2"]}, f)
    code, out, _ = st.ctl("drill", "causes")
    t.check("its causes", code == 0 and "fibre-dark" in out and "no light" in out, out)
    t.equal("a cause that there is not", st.ctl("drill", "answer", "fibre", "link2")[0], 2)
    t.equal("an object that there is not", st.ctl("drill", "answer", "fibre-dark", "link7")[0], 2)
    t.equal("an answer", st.ask("drill", "answer", "fibre-dark", "link2")["cause"], "fibre-dark")
    t.equal("another", st.ctl("drill", "answer", "fibre-dark", "link2")[0], 0)
    with open(st.path("drill.answers")) as f:
        given = [json.loads(line) for line in f]
    t.check("both are kept, with their times", len(given) == 2 and abs(given[1]["time"] - time.time()) < 60, given)


def cause_of(incident):
    """What one who believes the station would answer; None: nothing."""
    if incident["code"] == "link-loss":
        return "board-overflow" if "board-fifo" in incident["text"] else "frames-damaged"
    return next((c.name for c in causes.CAUSES if incident["code"] in c.codes), None)


@harness.long
def whole(t):
    """who answers what status says is right each time, and never wrong"""
    place = os.path.join(t.base, "drill")
    with open(os.path.join(t.base, "log"), "w") as log, subprocess.Popen(
            [sys.executable, os.path.join(harness.ROOT, "tests", "drill", "drill.py"), "--bin", t.bin, "--dir", place,
             "--faults", "8", "--apart", "40"], stdout=log, stderr=log) as drill:
        st = t.station("none")  # its fcmctl is asked in the drill's directory
        st.dir, st.database = place, os.path.join(place, "station.db")
        answered, begun = set(), 0
        while drill.poll() is None:
            time.sleep(1)
            code, out, _ = st.ctl("--json", "status")
            with open(os.path.join(t.base, "log")) as f:
                begun = begun or ("The drill has begun" in f.read() and time.time())
            # What the start brings is no fault.
            for i in json.loads(out)["incidents"]["list"] if code in (0, 1) and begun else []:
                cause = cause_of(i)
                if cause and i["number"] not in answered and not i["own"] and i["since"] > begun:
                    answered.add(i["number"])
                    st.ctl("drill", "answer", cause, i["object"].removeprefix("tower1.").split(".")[0])
    with open(os.path.join(t.base, "log")) as f:
        said = f.read()
    with open(st.path("drill.score")) as f:
        score = json.load(f)
    t.equal("all faults are answered rightly, nothing wrongly", (score["right"], score["wrong"], score["missed"]),
            (score["faults"], 0, 0))
    if score["wrong"] or score["missed"]:
        print(said)
    t.check("the scenario is in no file", not os.path.exists(st.path("sealed")))


if __name__ == "__main__":
    harness.main([drawn, judged, answers, whole])
