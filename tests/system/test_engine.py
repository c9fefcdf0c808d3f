#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that must not be sent, and those that must come through: the engine's rules on a real station."""
import json
import os
import re
import socket
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import codes, events, scenario  # noqa: E402


def interlocks(t):
    """no HV without power, nothing dangerous in a run, each refusal journaled; what makes safer always goes"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    t.equal("HV down", st.ctl("set", "floor2.om3.hv", "0")[0], 0)
    t.equal("power off", st.ctl("set", "floor2.om3.power", "off", "--yes")[0], 0)
    code, _, err = st.ctl("set", "floor2.om3.hv", "1000")
    t.check("HV on a module without power is refused, and says what to do", code == 1 and
            "needs tower1.floor2.om3.power, which is off; nothing was sent" in err and
            "set tower1.floor2.om3.power on" in err, (code, err))
    st.wait_for("the refusal in the journal", lambda: [c["state"] for c in st.ask(
        "command", "list", "--limit", "1")["commands"] if c["parameter"].endswith("om3.hv")] == ["REFUSED"], 10)
    code, _, err = st.ctl("set", "floor2.om3.hv", "1000", "--force")
    t.check("with --force it is the FCM that refuses", code == 1 and "refused by the FCM" in err, (code, err))
    t.equal("a run", st.ctl("run", "start")[0], 0)
    for words in (["set", "floor2.om3.power", "on"], ["action", "floor2.om1.power_cycle"]):
        code, _, err = st.ctl(*words, "--yes")
        t.check(f"{words[1]}: dangerous in a run is refused", code == 1 and "is dangerous, and run 1 is under way" in err
                and "--force" in err, (code, err))
    t.equal("power off in a run", st.ctl("set", "floor2.om4.power", "off", "--yes")[0], 0)
    t.equal("dangerous in a run with --force", st.ctl("set", "floor2.om4.power", "on", "--yes", "--force")[0], 0)
    t.equal("the run's end", st.ctl("run", "stop")[0], 0)
    t.equal("power on after it", st.ctl("set", "floor2.om3.power", "on", "--yes")[0], 0)
    t.equal("HV", st.ctl("set", "floor2.om3.hv", "1000")[0], 0)


def fill(st, wanted):
    """As many commands as are taken, of floor 1, which is mute: they stay. How many were taken."""
    taken = refused = 0
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(120)
        s.connect(st.path("control.sock"))
        with s.makefile() as f:
            for begin in range(0, wanted, 200):
                lines = [json.dumps({"v": 2, "id": str(n), "op": "param.set", "args": {
                    "name": f"floor1.om{n % 6}.threshold", "value": 10 + n % 50, "wait": False}})
                    for n in range(begin, min(begin + 200, wanted))]
                s.sendall(("\n".join(lines) + "\n").encode())
                for _ in lines:
                    answer = json.loads(f.readline())
                    taken, refused = taken + answer["ok"], refused + (not answer["ok"])
                if refused:
                    break
    return taken, refused


def safe_while_full(t):
    """the queue is full and a floor mute: HV goes down and the modules off all the same, and what is not known is said"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 0 mute")))
    st.start(consumers=False)
    st.wait_ready()
    st.wait_for("floor 1 mute", lambda: any(c == "floor-mute" for c, _ in codes(st)), 40)
    code, out, err = st.ctl("set", "floor1.om0.ramp", "100", "--dry-run")
    t.check("a dry run says that it does not answer", code == 0 and "the floor has not answered for" in out, (code, out, err))
    would = [st.request("param.set", name=f"floor{n}.om0.ramp", value=100, dry_run=True)["result"] for n in (1, 2)]
    t.check("in JSON since when, and how old the value is", would[0]["mute_s"] > 5 and would[0]["quality"] != "good" and
            would[1]["mute_s"] is None and would[1]["quality"] == "good" and would[1]["age_s"] is not None, would)
    taken, refused = fill(st, 4400)
    t.check("the queue is full", taken == 4096 and refused > 0, (taken, refused))
    code, _, err = st.ctl("set", "floor2.om0.threshold", "12")
    t.check("what is ordinary is refused", code == 1 and "4096 commands are open already" in err, (code, err))
    code, _, err = st.ctl("safe", "floor2")
    t.check("it asks", code == 1 and "--yes" in err, (code, err))
    t.equal("a client that goes away", client_leaves(st), None)
    code, out, err = st.ctl("safe", "floor[234]", "--yes", "--reason", "test", timeout=120)
    t.check("the floors that answer are down and off", code == 0 and "18 of 18 modules off" in out, (code, out, err))
    for p in st.ask("get", "floor[234].om*.power", "floor[234].om*.hv")["parameters"]:
        t.check(f"{p['name']} is 0", abs(p["value"]) <= 2, p)
    rows = st.ask("command", "list", "--limit", "100")["commands"]
    number = re.search(r"\(safe (\d+)\)", out).group(1)
    ours = [c for c in rows if c["reason"] == f"safe {number}: test"]
    t.check("each command is in the journal, sent once", len(ours) == 36 and all(
        c["attempts"] == 1 and (c["state"] == "DONE" or c["parameter"] == "tower1.floor3.om0.hv")  # it was off already
        for c in ours), [(c["parameter"], c["state"]) for c in ours])
    t.check("the one whose client went away is done, too", all(c["state"] == "DONE" for c in rows
                                                               if (c["reason"] or "").endswith("gone")), rows)
    code, out, err = st.ctl("safe", "--yes", timeout=120)
    t.check("of the mute floor it is not known", code == 3 and "18 of 24 modules off, 6 still unknown" in out and
            out.count("UNKNOWN") == 6, (code, out, err))
    t.equal("events of it", sorted({e["severity"] for e in events(st, "safe")}), ["info", "warning"])


def client_leaves(st):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(st.path("control.sock"))
        s.sendall(b'{"v":2,"id":"1","op":"safe","args":{"pattern":"floor3.om0","yes":true,"reason":"gone"}}\n')
        s.recv(1)  # it is under way


def asked_again(t):
    """a mute floor: who asks again for a command of which nobody can tell yet is told that at once; so are many"""
    st = t.station(load="quiet", scenario=scenario(t, (6, "link 0 mute")))
    st.start(consumers=False)
    st.wait_ready()
    st.wait_for("floor 1 mute", lambda: any(c == "floor-mute" for c, _ in codes(st)), 60)
    command = ["set", "--client-id", "again", "floor1.om0.threshold", "15"]
    code, _, err = st.ctl(*command, timeout=60)
    t.check("it is not known", code == 3 and "does not answer" in err, (code, err))
    for way in ([], ["--no-wait"]):
        begun = time.monotonic()
        code, out, err = st.ctl(*command, *way, timeout=150)
        t.check(f"asked again {' '.join(way)}: the same, at once", code == 3 and "does not answer" in err and
                time.monotonic() - begun < 5, (code, out, err, time.monotonic() - begun))
    begun = time.monotonic()
    code, out, err = st.ctl("set", "floor1.om[1-4].threshold", "16", "--yes", timeout=600)
    t.check("many: each is told when it is known", code == 3 and "4 with unknown outcome" in out and
            time.monotonic() - begun < 30, (code, out, err, time.monotonic() - begun))


def waits_behind(t):
    """who waits behind a long ramp hears of it all the time, and what it is that it waits for"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    st.wait_for("what an HV needs is known", lambda: st.ctl("set", "floor2.om0.hv", "1450", "--dry-run")[0] == 0)
    t.equal("a slow one", st.ctl("set", "floor2.om0.ramp", "2")[0], 0)
    ramp = st.ctl("set", "floor2.om0.hv", "1450", "--no-wait")[1].strip()
    number = st.ctl("set", "floor2.om0.hv", "1460", "--no-wait", "--client-id", "behind")[1].strip()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(st.path("control.sock"))
        s.sendall(b'{"v":2,"id":"1","op":"param.set","args":{"name":"floor2.om0.hv","value":1460,"client_id":"behind"}}\n')
        with s.makefile() as f:
            words = [json.loads(f.readline())["progress"] for _ in range(2)]
    t.check("two words of it", {(w["command"], w["state"], w["text"]) for w in words} == {
        (int(number), "QUEUED", f"journaled; waits for command {ramp}")}, words)
    end_unwritten(t, st)
    code, out, err = st.ctl("set", "floor2.om0.hv", "1460", "--client-id", "behind", "--timeout", "15", timeout=120)
    t.check("it is waited for", code == 0 and "DONE" in out, (code, out, err))


def end_unwritten(t, st):
    """What waits is cancelled while the journal cannot be written and a word of it is due: that is not its end yet."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(st.path("control.sock"))
        s.sendall(b'{"v":2,"id":"set","op":"param.set","args":{"name":"floor2.om0.hv","value":1470}}\n')
        with s.makefile() as f:
            words = [json.loads(f.readline())["progress"]]
            time.sleep(4)
            other = sqlite3.connect(st.database, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            s.sendall(json.dumps({"v": 2, "id": "cancel", "op": "command.cancel",
                                  "args": {"command": words[0]["command"]}}).encode() + b"\n")
            end = None
            while not end:
                line = json.loads(f.readline())
                if line["id"] == "set" and "progress" in line:
                    words.append(line["progress"])
                elif line["id"] == "set":
                    end = line
            other.execute("ROLLBACK")
            other.close()
    t.check("its end is told though the journal has not taken it", not end["ok"] and
            "has not taken this" in end["error"]["message"], end)
    t.equal("no word of an end that is not in the journal", {w["state"] for w in words}, {"QUEUED"})


def safe_through_a_flap(t):
    """the link is down for seconds while the HV goes down: the power offs wait, say so, and are sent when it is up"""
    st = t.station(load="quiet", scenario=scenario(t, (30, "link 1 unplug 3")))
    st.start(consumers=False)
    st.wait_ready()
    t.equal("a slow rate", st.ctl("set", "floor2.om*.ramp", "25", "--yes")[0], 0)
    t.equal("safe starts", st.ctl("safe", "floor2", "--yes", "--no-wait")[0], 0)
    number = st.ask("command", "list")["commands"][0]["command"]
    code, _, err = st.ctl("command", "cancel", str(number))
    t.check("no part of it is cancelled", code == 1 and "is part of safe" in err, (code, err))
    st.wait_for("it has gone on", lambda: not st.ask("command", "list", "--state", "open")["commands"], 150, 1)
    rows = [c for c in st.ask("command", "list")["commands"] if (c["reason"] or "").startswith("safe ")]
    t.equal("all is done", {(c["parameter"].split(".")[-1], c["state"]) for c in rows}, {("hv", "DONE"), ("power", "DONE")})
    texts = [x["detail"] or "" for c in rows if c["parameter"].endswith("power")
             for x in st.ask("command", "show", str(c["command"]))["transitions"]]
    t.equal("each power off said that it waits", sum("not sent yet" in x for x in texts), 6)
    t.check("all modules are off", not any(p["value"] for p in st.ask("get", "floor2.om*.power")["parameters"]))


def safe_cut(t):
    """kill -9 in the middle: what was sent is settled, what was not is not sent, and status says so until it is done"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    code, _, err = st.ctl("safe", "floor2", "--yes", "--no-wait")
    t.equal("begun", code, 0) or print(err)
    st.wait_for("HV on its way", lambda: st.ask("get", "floor2.om0.hv")["parameters"][0]["value"] < 1300, 20)
    st.daemon.kill9()
    st.start_daemon()
    st.wait_for("the reason", lambda: ("safe-cut", "safe") in codes(st), 60)
    st.wait_for("all settled", lambda: not st.ask("command", "list", "--state", "open")["commands"], 60)
    power = st.ask("get", "floor2.om*.power")["parameters"]
    t.check("no module was switched off late", all(p["value"] for p in power), power)
    t.equal("the power offs were not sent", {c["state"] for c in st.ask("command", "list")["commands"]
                                            if c["parameter"].endswith("power")}, {"FAILED"})
    r = [r for r in st.seen() if r["code"] == "safe-cut"]
    t.check("it says what is left", len(r) == 1 and r[0]["severity"] == "red" and "6 of its commands" in r[0]["text"], r)
    st.daemon.kill9()
    st.start_daemon()
    st.wait_for("the reason after another restart", lambda: ("safe-cut", "safe") in codes(st), 30)
    again = [r for r in st.seen() if r["code"] == "safe-cut"]
    t.check("it still says what is left", "6 of its commands" in again[0]["text"], again)
    st.wait_ready()
    t.equal("and nobody can read that it was over", events(st, "safe-cut")[-1]["severity"], "red")
    code, out, err = st.ctl("safe", "floor2", "--yes")
    t.check("again, and done", code == 0 and "6 of 6 modules off" in out, (code, out, err))
    st.wait_for("well again", lambda: ("safe-cut", "safe") not in codes(st), 20)


def ramps(t):
    """a ramp at the rate asked for, with progress; stopped where it is; ended by a trip that it names"""
    st = t.station(load="quiet", scenario=scenario(t, (25, "link 2 hv-trip 1")))
    st.start(consumers=False)
    st.wait_ready()
    st.wait_for("what an HV needs is known", lambda: all(
        st.ask("get", f"floor{n}.om{m}.power")["parameters"][0]["value"] for n, m in ((1, 0), (3, 1))))
    code, out, err = st.ctl("ramp", "floor1.om0.hv", "1500", "--rate", "50")
    t.check("done", code == 0 and "-> 1500 V DONE" in out, (code, out, err))
    commands = st.ask("command", "list")["commands"]
    t.equal("the rate first, then the value", [(c["parameter"].split(".")[-1], c["new"], c["state"]) for c in commands[::-1]],
            [("ramp", 50, "DONE"), ("hv", 1500, "DONE")])
    code, out, err = st.ctl("ramp", "floor1.om0.hv", "100", "--rate", "12.5", "--dry-run")
    t.check("a rate has the tenths of its register", code == 0 and "ramp to 12.5 V/s" in out, (code, out, err))
    code, out, err = st.ctl("set", "floor1.om0.hv", "0x5aa", "--dry-run")
    t.check("a number is decimal", code == 2 and '"0x5aa" is no float value' in err, (code, out, err))
    took = commands[0]["ended"] - commands[0]["time"]
    t.check("not faster than that", took > 1.5, took)
    number = st.ctl("ramp", "floor1.om0.hv", "100", "--rate", "50", "--no-wait")[1].strip()
    texts = []

    def on_its_way():
        texts.append(st.ask("get", "floor1.om0.hv")["parameters"][0]["value"])
        return texts[-1] < 1450
    st.wait_for("it is on its way", on_its_way, 20)
    code, out, err = st.ctl("command", "cancel", number)
    held = st.ask("get", "floor1.om0.hv")["parameters"][0]
    t.check("stopped", code == 0 and "stopped on its way" in out and 150 < held["value"] < 1450 and
            abs(held["value"] - held["setpoint"]) <= 2, (code, out, err, held))
    c = st.ask("command", "show", number)
    t.check("the ramp is cancelled and says where", c["state"] == "CANCELLED" and "holds it at" in c["detail"], c)
    code, out, err = st.ctl("ramp", "floor1.om0.threshold", "12", "--rate", "5")
    t.check("what does not ramp", code == 2 and "does not ramp" in err, (code, err))
    st.ctl("set", "floor3.om1.ramp", "5")
    code, out, err = st.ctl("ramp", "floor3.om1.hv", "1000", timeout=200)
    t.check("a trip on the way ends it", code == 1 and "tower1.floor3.om1.trip is on" in err, (code, out, err))
    code, out, err = st.ctl("set", "floor3.om1.hv", "1450", "--dry-run")
    t.check("what the FCM would refuse is not promised", code == 1 and "tower1.floor3.om1.trip is on" in err and
            "action floor3.om1.clear_trip" in err, (code, out, err))
    t.equal("nor to those who force", st.ctl("set", "floor3.om1.hv", "1450", "--dry-run", "--force")[0], 1)
    plan = st.path("higher.plan")
    with open(plan, "w") as f:
        f.write("floor3.om1.hv = 1450\n")
    code, out, err = st.ctl("plan", plan)
    t.check("nor by a plan", code == 1 and "takes no higher value" in out + err, (code, out, err))
    t.equal("lower it is", st.ctl("set", "floor3.om1.hv", "900", "--dry-run")[0], 0)
    off(t, st, plan)
    t.equal("cleared", st.ctl("action", "floor3.om1.clear_trip")[0], 0)
    st.wait_for("higher again", lambda: st.ctl("set", "floor3.om1.hv", "1450", "--dry-run")[0] == 0)


def off(t, st, plan):
    """Of a module that is off no plan promises settings; of one that it switches on it does."""
    t.equal("off", st.ctl("set", "floor2.om4.power", "off", "--yes")[0], 0)
    code, out, err = st.ctl("set", "floor2.om4.ramp", "60", "--dry-run")
    t.check("its FCM takes no settings, and how it does", code == 1 and "takes no setting until it is on" in err and
            "set tower1.floor2.om4.power on" in err, (code, out, err))
    for lines, good in (("", False), ("floor2.om4.power = on\n", True)):
        with open(plan, "w") as f:
            f.write(lines + "floor2.om4.threshold = 12\n")
        code, out, err = st.ctl("plan", plan)
        t.check(f"a plan with {lines.strip() or 'no power'}", code == (0 if good else 1) and
                "takes no setting" in out + err, (code, out, err))
    code, out, err = st.ctl("apply", plan, "--yes")
    t.check("which is done", code == 0 and "2 of 2 done" in out, (code, out, err))


if __name__ == "__main__":
    harness.main([asked_again, waits_behind, interlocks, ramps, safe_while_full, safe_through_a_flap, safe_cut])
