#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many commands as one job: batches, plans, roll-back, snapshots, against a real station. The emulator's list of
what every floor has executed is the truth that nothing is executed twice.

    test_plan.py [--bin build/bin] [CASE...]      FCM_BATCH=10000 makes the batch under data load that long
"""
import collections
import json
import os
import signal
import subprocess
import time

import harness
from command_book import Book
from faults import scenario


def write(st, name, text):
    with open(st.path(name), "w") as f:
        f.write(text)
    return st.path(name)


def value(st, name):
    return st.ask("get", name)["parameters"][0]


def judged(bench, st):
    """The journal and the FCMs tell the same; nothing was executed twice."""
    book = Book(st)
    book.wait_settled()
    bench.equal("the journal is what the FCMs have executed, each once", book.faults(), [])


def commands(st, job):
    found, after = [], ""
    while True:
        answer = st.request("job.show", job=job, after=after)
        if answer.get("error", {}).get("detail") == "too-much":  # a busy machine: the daemon does not wait for its disk
            time.sleep(0.2)
            continue
        result = answer["result"]
        found += result["commands"]
        if not result["more"]:
            return found
        after = result["commands"][-1]["client_id"]


def job_of(text):
    return next(w.rstrip(":)") for line in text.splitlines() for a, w in zip(line.split(), line.split()[1:])
                if a.endswith("job") or a == "(job")


def dark_sea(bench, **kwargs):
    """A station that is up, with next to no data: slow control is looked at."""
    st = bench.station(truth=False, emulator_args=["--rate", "2000"], **kwargs)
    st.start(consumers=False)
    st.wait_ready(60)
    return st


def dry_run(bench):
    """what a command would do, and nothing is journaled or sent"""
    st = dark_sea(bench)
    before = st.ask("command", "list")["commands"]
    now = value(st, "floor2.om1.threshold")["setpoint"]
    code, out, err = st.ctl("set", "floor2.om1.threshold", "17", "--dry-run")
    bench.check("a set says from where to where", code == 0 and "would set tower1.floor2.om1.threshold from" in out and
                "to 17 mV" in out, (code, out, err))
    code, out, err = st.ctl("set", "floor2.om1.hv", "1900", "--dry-run")
    bench.check("a limit is told as by the set itself", code == 1 and "soft limits" in err, (code, out, err))
    bench.equal("and passed with --force", st.ctl("set", "floor2.om1.hv", "1900", "--force", "--dry-run")[0], 0)
    code, out, err = st.ctl("action", "floor2.om1.power_cycle", "--dry-run")
    bench.check("what is dangerous is said to be", code == 0 and "needs --yes" in out, (code, out, err))
    code, out, err = st.ctl("set", "floor*.om*.threshold", "17", "--dry-run")
    bench.check("a pattern is as many", code == 0 and "24 of 24 would be done" in out, (code, out, err))
    code, out, err = st.ctl("ramp", "floor2.om1.hv", "1410", "--rate", "7", "--dry-run")
    bench.check("a ramp says what becomes of the rate", code == 0 and "floor2.om1.ramp to 7.0 V/s, where it stays" in out,
                (code, out, err))
    bench.check("and not of one that it has already", "before that" not in st.ctl(
        "ramp", "floor2.om1.hv", "1410", "--rate", f"{value(st, 'floor2.om1.ramp')['setpoint']:.0f}", "--dry-run")[1])
    code, out, err = st.ctl("ramp", "floor2.om1.hv", "1410", "--rate", "5000", "--dry-run")
    bench.check("a rate that would be refused is", code == 1 and "floor2.om1.ramp" in err, (code, out, err))
    every_write(bench, st)
    bench.equal("nothing is in the journal", st.ask("command", "list")["commands"], before)
    bench.equal("nothing was set", value(st, "floor2.om1.threshold")["setpoint"], now)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def every_write(bench, st):
    """What would be done is said of whatever can be done, by the checks of doing it."""
    st.wait_for("a mean phase of link 1", lambda: st.ctl("phase", "accept", "1", "--reason", "x", "--dry-run")[0] == 0)
    aligns = st.ask("link", "show", "1")["registers"]["aligns"]
    for words, says in [("link reset 1", "would reset link 1"), ("link align 1", "would align link 1"),
                        ("phase accept 1 --reason x", "as the reference of link 1"),
                        ("phase soak 1 --trials 3", "would reset link 1 3 times"),
                        ("run start physics", "would begin run 1"), ("record start --links 0", "would record links 0"),
                        ("snapshot save all", "parameters as snapshot all"),
                        ("incident pause link1/link-dark --for 1h --reason x", "would pause link1/link-dark"),
                        ("safe", "would take the high voltage of 24 modules down"),
                        ("safe floor2", "high voltage of 6 modules"), ("safe floor2.om1", "of 1 module down")]:
        code, out, err = st.ctl(*words.split(), "--dry-run")
        bench.check(f"{words}: {says}", code == 0 and says in out, (code, out, err))
    rows = st.ask("safe", "floor2", "--dry-run")["rows"]
    bench.equal("safe says it of each module", [(r["module"], r["off"], r["refused"]) for r in rows],
                [(f"tower1.floor2.om{m}", False, False) for m in range(6)])
    for words, says in [("safe floor9", "has a high voltage"), ("safe floor2", "switches off 6 modules of floor2")]:
        code, out, err = st.ctl(*words.split())
        bench.check(f"{words} without --yes: {says}", code in (1, 2) and says in err, (code, out, err))
    for words, says in [("run stop", "no run is under way"), ("record stop", "no recording is going on"),
                        ("command cancel 999999", "no open command"), ("snapshot remove all", "no snapshot all"),
                        ("incident ack link1/link-dark", "no incident"), ("safe floor9", "has a high voltage"),
                        ("record start --links 0 --name ../x", "cannot have that name")]:
        code, out, err = st.ctl(*words.split(), "--dry-run")
        bench.check(f"{words} would not be taken: {says}", code in (1, 2) and says in err, (code, out, err))
    bench.equal("no event of any of it, no reset", (
        [e for e in st.ask("event", "list", "-n", "1000")["events"] if e["code"] in (
            "reset", "align", "run", "record", "snapshot", "safe")],
        st.ask("link", "show", "1")["registers"]["aligns"]), ([], aligns))
    bench.equal("no run, no recording, no snapshot, no alarm", (
        st.ask("run", "show")["runs"], st.ask("record", "list")["recordings"], st.ask("snapshot", "list")["snapshots"],
        [p["name"] for p in st.ask("incident", "list")["pauses"]]), ([], [], [], []))


def batch(bench):
    """a batch: lines side by side, order of one parameter, failures with their line, nothing twice"""
    st = dark_sea(bench)
    lines = [f"set floor{i % 4 + 1}.om{i // 4 % 6}.threshold {10 + i // 10}" for i in range(400)]
    lines[100] = "set floor1.om0.hv 2500"
    lines += ["wait", "action 'floor3.om*.reset'"]
    resets = [value(st, f"floor3.om{m}.resets")["value"] or 0 for m in range(6)]
    path = write(st, "b.txt", "\n".join(lines) + "\n")
    not_confirmed(bench, st, ["batch", path, "--reason", "test"])
    not_confirmed(bench, st, ["set", "floor*.om*.hv", "1800"])
    not_confirmed(bench, st, ["ramp", "floor1.om*.hv", "1450", "--rate", "12.5"])
    code, out, err = st.ctl("batch", path, "--reason", "test", "--yes")
    bench.check("all but one are done", code == 1 and "405 of 406 done, 1 refused or failed" in out, (code, out, err))
    bench.check("the failed line is told with its number and why", f"{path}:101: set tower1.floor1.om0.hv 2500" in err
                and "hardware's range" in err, err)
    bench.equal("the last of a parameter's lines counts", value(st, "floor4.om3.threshold")["value"], 49)
    found = commands(st, job_of(err))
    bench.equal("each is in the journal under its line", len({c["client_id"] for c in found}), 406)
    shown = st.ask("job", "show", job_of(err))
    bench.equal("the job tells what its rows became", (shown["states"], [r["line"] for r in shown["rows"]]),
                ({"DONE": 405, "REFUSED": 1}, list(range(1, 401)) + [402] * 6))
    bench.equal("and is in the list", [(j["job"], j["commands"], j["states"]) for j in st.ask("job", "list")["jobs"]],
                [(job_of(err), 406, shown["states"])])
    judged(bench, st)
    code, out, err = st.ctl("batch", path, "--job", job_of(err))
    bench.check("a job that goes on does nothing again", "405 done before" in out and code == 1, (code, out, err))
    bench.equal("one reset each", [c["state"] for c in commands(st, job_of(err)) if c["op"] == "action"], ["DONE"] * 6)
    st.wait_for("the counters of resets", lambda: [value(st, f"floor3.om{m}.resets")["value"] for m in range(6)] ==
                [n + 1 for n in resets], 90, 1)
    faults(bench, st)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def not_confirmed(bench, st, words):
    """Many careful ones without a terminal: shown, refused with the words to type, nothing is sent."""
    before = st.ask("command", "list")["commands"]
    code, out, err = st.ctl(*words)
    bench.check(f"{words[0]}: refused, shown, with the words to type", code == 1 and "tower1.floor1.om0." in err and
                "parameters at once; nothing was sent" in err and "repeat it with --yes: " in err and
                err.rstrip().endswith(" --yes"), (code, out, err))
    bench.equal(f"{words[0]}: nothing is sent", st.ask("command", "list")["commands"], before)


def newest(st):
    """The last command that was taken."""
    return next(c for c in st.ask("command", "list")["commands"] if c["state"] != "REFUSED")


def faults(bench, st):
    last = newest(st)
    for text, says in [("set floor1.om0.hv 1400\nset floor9.om0.hv 1\n", ":2: there is no parameter floor9.om0.hv"),
                       ("set floor1.om0.hv 1400\nhello\n", ":2: 'hello' is not a batch command"),
                       ("action floor1.om0.hv\n", ":1: 'floor1.om0.hv' is no action"),
                       ("set floor1.om0.power off\n", "1 of them are dangerous"), ("# nothing\n", "it is empty")]:
        code, _, err = st.ctl("batch", write(st, "bad.txt", text))
        bench.check(f"{text!r}: {says}", code in (1, 2) and says in err, (code, err))
    bench.equal("nothing of it was sent", newest(st), last)
    r = subprocess.run([st.program("fcmctl"), "--dir", st.dir, "--json", "batch", "-", "--yes"], text=True, capture_output=True,
                       input="set floor1.om0.threshold 12\nset floor1.om0.hv 2500\n", check=False, timeout=60)
    docs = sorted((json.loads(x) for x in r.stdout.splitlines()), key=lambda d: d["line"])
    bench.check("as JSON, from the standard input, a document a line", [d["ok"] for d in docs] == [True, False] and
                docs[0]["result"]["state"] == "DONE" and docs[1]["error"]["code"] == "refused", r.stdout)
    code, _, err = st.ctl("batch", write(st, "c.txt", "set floor1.om0.threshold 12\n"), "--job", "nobody")
    bench.check("a job that there never was", code == 2 and "the journal has no job nobody" in err, (code, err))


def interrupted(bench):
    """Ctrl-C, and a daemon that dies: the job says where it stands, goes on, and nothing is executed twice"""
    st = dark_sea(bench)
    text = "".join(f"action floor{i % 4 + 1}.om{i // 4 % 6}.reset\n" for i in range(3000))
    path = write(st, "b.txt", text)
    p = subprocess.Popen([st.program("fcmctl"), "--dir", st.dir, "batch", path, "-r", "so that", "--yes"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    st.wait_for("half of it", lambda: len(st.ask("command", "list", "--limit", "400")["commands"]) == 400)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    job = job_of(err)
    bench.check("Ctrl-C: exit 3, what goes on, what was not sent, how to go on", p.returncode == 3 and
                "interrupted" in err and "were not sent" in err and
                f"fcmctl --dir {st.dir} batch {path} --reason 'so that' --yes --job {job}" in err,
                (p.returncode, out, err))
    sent_by_then = len(commands(st, job))
    p = subprocess.Popen([st.program("fcmctl"), "--dir", st.dir, "batch", path, "--yes", "--job", job], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    st.wait_for("more of it", lambda: len(commands(st, job)) > max(1200, sent_by_then + 100))
    st.daemon.kill9()
    out, err = p.communicate(timeout=60)
    bench.check("a dead daemon: exit 3, how to go on", p.returncode == 3 and f"--job {job}" in err,
                (p.returncode, out, err))
    st.start_daemon()
    st.wait_ready(60)
    code, out, err = st.ctl("batch", path, "--yes", "--job", job, timeout=240)
    found = commands(st, job)
    states = collections.Counter(c["state"] for c in found)
    done = {c["client_id"].split(".")[1] for c in found if c["state"] == "DONE"}
    left = {c["client_id"].split(".")[1] for c in found if c["ended"] and c["state"] != "DONE"} - done
    bench.check("the rest is done; what may have been executed is not repeated", len(done) + len(left) == 3000 and
                code == (0 if not left else code) and len(left) <= 64, (code, states, out[-300:], err[-500:]))
    judged(bench, st)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def sent(st, job, row, name, value):
    """As an earlier run of a job has sent a row of it."""
    answer = st.request("param.set", name=name, value=value, client_id=f"{job}.{row}.0.1")
    return answer.get("result", {}).get("state") == "DONE"


def again(bench):
    """what an earlier run of a job has left: order on a parameter, another file, a roll-back that goes on"""
    st = dark_sea(bench)
    names = [f"tower1.floor{f}.om{m}.threshold" for f in (1, 2) for m in (0, 1)]
    st.wait_for("all set values", lambda: all(value(st, n)["setpoint"] == 10 for n in names))
    job = "20261122T000000-0000000a"
    path = write(st, "b.txt", f"set {names[0]} 20\nset {names[1]} 21\nset {names[0]} 22\nset {names[2]} 23\n")
    bench.check("the third line was done, the first was not sent", sent(st, job, 3, names[0], 22))
    code, out, err = st.ctl("batch", path, "--yes", "--job", job)
    bench.check("the first is told as overtaken", code == 0 and "2 of 4 done, 1 done before, 1 overtaken" in out and
                ":1: set" in err and "line 3" in err, (code, out, err))
    bench.equal("what stands later in the file is in force", [value(st, n)["setpoint"] for n in names], [22, 21, 23, 10])
    code, out, err = st.ctl("batch", write(st, "b.txt", open(path).read().replace(" 21", " 31")), "--job", job)
    bench.check("another file is no part of the job", code == 2 and ":2: job" in err and "nothing was sent" in err,
                (code, out, err))
    bench.equal("nothing of it was set", value(st, names[1])["setpoint"], 21)
    backwards(bench, st, names)
    interrupted_back(bench, st)
    judged(bench, st)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def backwards(bench, st, names):
    job = "20261122T000001-0000000b"
    path = write(st, "a.plan", "".join(f"{n} = {40 + i}\n" for i, n in enumerate(names)))
    for i, name in enumerate(names[:3]):
        bench.check("a row of the plan was done", sent(st, job, i + 1, name, 40 + i))
    bench.check("one of them was set back", sent(st, job + "-b", 3, names[2], 23))
    code, out, err = st.ctl("apply", path, "--yes", "--job", job)
    bench.check("it does not go forward any more", code == 2 and "was rolled back" in err and "--roll-back" in err,
                (code, out, err))
    code, out, err = st.ctl("apply", path, "--job", job, "--roll-back", "--dry-run")
    bench.check("what would be set back", code == 0 and f"would set back {names[0]} to 22" in out and
                names[2] not in out, (code, out, err))
    code, out, err = st.ctl("apply", path, "--yes", "--job", job, "--roll-back")
    bench.check("the roll-back goes on", code == 1 and "2 of 2 set back, 1 before" in out, (code, out, err))
    bench.equal("all is as before the job", [value(st, n)["setpoint"] for n in names], [22, 21, 23, 10])
    shown = st.ask("job", "show", job)
    bench.equal("the job tells both ways", (shown["states"], shown["back"]), ({"DONE": 3}, {"DONE": 3}))
    bench.check("once more: nothing is left", "0 of 0 set back, 3 before" in
                st.ctl("apply", path, "--yes", "--job", job, "--roll-back")[1])


def interrupted_back(bench, st):
    """Ctrl-C while a high voltage is being set back: what is told to be typed goes on with that."""
    name = "tower1.floor3.om4.hv"
    st.wait_for("its set value", lambda: value(st, "floor3.om4.hv")["setpoint"] == 1400)
    bench.equal("a slow ramp", st.ctl("set", "floor3.om4.ramp", "5")[0], 0)
    path = write(st, "i.plan", f"{name} = 1380\nfloor3.om5.hv = 2500\n")
    p = subprocess.Popen([st.program("fcmctl"), "--dir", st.dir, "apply", path, "--yes", "--keep-going", "--roll-back"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, COLUMNS="1000"))
    st.wait_for("the way back", lambda: [c for c in st.ask("command", "list")["commands"] if c["parameter"] == name and
                                         c["new"] == 1400 and c["state"] == "ACKED"])
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    hint = [line.split("fcmctl ", 1)[1] for line in err.splitlines() if "to continue: " in line]
    bench.check("exit 3, and how to go on", p.returncode == 3 and len(hint) == 1 and "--roll-back" in hint[0],
                (p.returncode, out, err))
    code, out, err = st.ctl(*hint[0].split(": fcmctl ")[-1].split(), timeout=120)
    bench.check("that goes on with the roll-back", code == 1 and "1 of 1 set back" in out, (code, out, err))
    bench.equal("by the command that was under way", [c["state"] for c in st.ask("command", "list")["commands"]
                                                      if c["parameter"] == name], ["DONE", "DONE"])
    bench.check("it is as it was", value(st, name)["setpoint"] == 1400 and abs(value(st, name)["value"] - 1400) < 10)


PLAN = """\
# gains of the shift
floor1.om0.hv = 1350 V
floor1.om*.threshold = 12      # all, but
floor1.om1.threshold = 14
floor2.om1.hv = 1420
floor2.om2.hv = 0
floor2.om2.power = off
"""


def plan(bench):
    """a plan tells what would change; apply does it in a safe order, once; get --plan is such a file"""
    st = dark_sea(bench)
    st.wait_for("all set values", lambda: all(p["setpoint"] is not None for p in st.ask("get", "floor*.om*.threshold",
                                                                                       "floor*.om*.hv")["parameters"]))
    before = write(st, "before.plan", st.ctl("get", "--plan", "floor1", "floor2")[1])
    path = write(st, "a.plan", PLAN)
    told = st.ask("plan", path)
    bench.equal("ten change", (told["changes"], told["unchanged"], told["impossible"]), (10, 0, 0))
    bench.equal("HV down first, then settings, HV up, power off", [r["step"] for r in told["rows"]],
                [10] * 2 + [30] * 6 + [40, 50])
    bench.check("now and then", [(r["now"], r["then"]) for r in told["rows"] if r["parameter"].endswith("om0.hv")] ==
                [(1400, 1350)], told["rows"])
    code, out, err = st.ctl("apply", path)
    bench.check("nobody to ask: it needs --yes", code == 1 and "nothing was sent" in err, (code, out, err))
    bench.equal("a dry run is the plan", st.ctl("apply", path, "--dry-run")[0], 0)
    bench.equal("nothing of all that is in the journal", st.ask("command", "list")["commands"], [])
    done = st.ask("apply", path, "--yes")
    rows = [r for r in done["rows"] if r["state"] == "done"]
    bench.check("all are done", done["done"] and len(rows) == 10, done)
    down = [r["result"]["ended"] for r in rows if r["result"]["new"] in (0, 1350) and "hv" in r["parameter"]]
    bench.check("each step begins when the one before has ended",
                max(down) <= min(r["result"]["time"] for r in rows if "threshold" in r["parameter"]) and
                max(r["result"]["ended"] for r in rows[:-1]) <= rows[-1]["result"]["time"], rows)
    st.wait_rest("floor1.om0.hv", "floor2.om1.hv")
    bench.check("done again: nothing changes", "0 to change, 10 unchanged" in st.ctl("apply", path, "--yes")[1])
    told = st.ask("plan", before)
    bench.check("what an interlock holds until the module is on is asked again",
                ("tower1.floor2.om2.hv", "later") in [(r["parameter"], r["fate"]) for r in told["rows"]], told)
    code, out, err = st.ctl("apply", before, "--yes")
    bench.check("what get --plan has written brings it back", code == 0 and "10 of 10 done" in out, (code, out, err))
    st.wait_rest("floor1.om0.hv", "floor2.om1.hv", "floor2.om2.hv")
    code, out, err = st.ctl("plan", before)
    bench.check("all of it", "0 to change" in out, (code, out, err))
    impossible(bench, st)
    judged(bench, st)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def impossible(bench, st):
    path = write(st, "i.plan", "floor1.om0.threshold = 20\nfloor1.om0.hv = 2500\n")
    code, out, err = st.ctl("plan", path)
    bench.check("out of its range: exit 1, and why", code == 1 and "1 cannot be done" in out and "range" in out,
                (code, out, err))
    code, out, err = st.ctl("apply", path, "--yes")
    bench.check("nothing of it is sent", code == 1 and "nothing was sent" in err and
                value(st, "floor1.om0.threshold")["setpoint"] == 10, (code, out, err))
    code, out, err = st.ctl("apply", path, "--yes", "--keep-going")
    bench.check("but for --keep-going", code == 1 and "1 of 2 done, 1 refused" in out and
                value(st, "floor1.om0.threshold")["setpoint"] == 20, (code, out, err))
    for text, says in [("floor1.om0.hv = 1\nfloor1.om0.hv = 2\n", ":2: tower1.floor1.om0.hv is in line 1 already"),
                       ("floor1.om0.hv 3\n", ":1: 'floor1.om0.hv 3' is not NAME = VALUE"),
                       ("floor1.om0.rate = 3\n", ":1: 'floor1.om0.rate' cannot be set")]:
        code, _, err = st.ctl("plan", write(st, "bad.plan", text))
        bench.check(f"{text!r}: {says}", code == 2 and says in err, (code, err))


def snapshots(bench):
    """what is set is kept under a name, over a restart; held against now; restored in a safe order"""
    st = dark_sea(bench)
    st.wait_for("all set values", lambda: all(p["setpoint"] is not None for p in
                                              st.request("param.list")["result"]["parameters"] if p["access"] == "rw"))
    saved = st.ask("snapshot", "save", "all", "--note", "at nominal")
    bench.check("all that can be set", saved["parameters"] == 4 * (6 * 4 + 2 * 2 + 2) and saved["unknown"] == 0, saved)
    bench.equal("of some", st.ask("snapshot", "save", "some", "floor1.om*.hv")["parameters"], 6)
    code, _, err = st.ctl("snapshot", "save", "all")
    bench.check("a name is used once", code == 1 and "there is a snapshot all" in err, (code, err))
    bench.equal("nothing differs", st.ask("snapshot", "diff", "all")["rows"], [])
    st.ctl("batch", write(st, "b.txt", "set floor1.om0.hv 1390\nset floor2.om1.threshold 20\nwait\n"
                                       "set floor2.om1.power off\n"), "--yes")
    st.daemon.kill9()
    st.start_daemon()
    st.wait_ready(60)
    early(bench, st)
    st.wait_for("all set values", lambda: all(p["setpoint"] is not None for p in
                                              st.request("param.list")["result"]["parameters"] if p["access"] == "rw"))
    bench.equal("both are there after a crash", [s["name"] for s in st.ask("snapshot", "list")["snapshots"]],
                ["some", "all"])
    differ = {r["parameter"] for r in st.ask("snapshot", "diff", "all")["rows"]}
    bench.equal("what differs", differ, {"tower1.floor1.om0.hv", "tower1.floor2.om1.threshold", "tower1.floor2.om1.hv",
                                         "tower1.floor2.om1.power"})
    bench.equal("of some, only that", [r["parameter"] for r in st.ask("snapshot", "diff", "some")["rows"]],
                ["tower1.floor1.om0.hv"])
    code, out, err = st.ctl("snapshot", "restore", "all", "floor1.*.*", "--dry-run")
    bench.check("restored in part, tried dry", code == 0 and "1 to change, 29 unchanged" in out, (code, out, err))
    done = st.ask("snapshot", "restore", "all", "--yes", "--reason", "test")
    bench.equal("restored: the module on, then what it may have forgotten, then HV",
                [r["parameter"].split(".", 1)[1] for r in sorted(done["rows"], key=lambda r: r.get("result", {}).get(
                    "time", 0) if r.get("result") else 0) if r["state"] == "done"][0], "floor2.om1.power")
    bench.equal("nothing differs any more", st.ask("snapshot", "diff", "all")["rows"], [])
    during_run(bench, st)
    shown = write(st, "all.plan", st.ctl("snapshot", "show", "all")[1])
    bench.check("what show writes is a plan", "0 to change, 120 unchanged" in st.ctl("plan", shown)[1])
    bench.equal("removed", (st.ctl("snapshot", "remove", "some")[0], st.ctl("snapshot", "show", "some")[0]), (0, 2))
    st.wait_for("saved, saved and removed in the events", lambda: [
        e["object"] for e in st.ask("event", "list", "-n", "1000")["events"] if e["code"] == "snapshot"] ==
        ["snapshot some"] + ["snapshot early"] * 4 + ["snapshot some", "snapshot all"])
    judged(bench, st)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def early(bench, st):
    """Right after a start: what is not known yet is named, and is not in it."""
    st.wait_for("something is known", lambda: "result" in st.request("snapshot.save", name="early"))
    saved = st.request("snapshot.list")["result"]["snapshots"][0]
    st.ctl("snapshot", "remove", "early")
    again = st.request("snapshot.save", name="early")["result"]
    held = {v["parameter"] for v in st.ask("snapshot", "show", "early")["values"]}
    bench.check("what is not known is named, nothing else", len(again["missing"]) == again["unknown"] and
                len(held) + again["unknown"] == saved["parameters"] + saved["unknown"] and
                not held & set(again["missing"]), again)
    st.ctl("snapshot", "remove", "early")


def during_run(bench, st):
    """What changes nothing is no write: that a run forbids what is dangerous is nothing to it."""
    st.ctl("set", "floor1.om0.threshold", "11")
    bench.equal("a run begins", st.ctl("run", "start", "physics")[0], 0)
    code, out, err = st.ctl("snapshot", "restore", "all", "--dry-run")
    bench.check("in a run: 1 row changes", code == 0 and "1 to change, 119 unchanged" in out, (code, out, err))
    code, out, err = st.ctl("snapshot", "restore", "all", "--yes")
    bench.check("and is done", code == 0 and "1 of 1 done" in out, (code, out, err))
    bench.equal("the run ends", st.ctl("run", "stop")[0], 0)


@harness.long
def roll_back(bench):
    """a module trips in the middle of a job: what was changed is set back, in reverse order"""
    st = dark_sea(bench, scenario=scenario(bench, (33, "link 1 hv-trip 2")))
    st.ctl("set", "floor2.om2.ramp", "2")
    path = write(st, "a.plan", "floor2.om2.hv = 1600\nfloor1.om0.hv = 1350\nfloor1.om0.threshold = 12\n"
                 "floor3.om0.power = off\nfloor2.om3.hv = 1420\n")
    done = st.ask("apply", path, "--yes", "--roll-back", timeout=200)
    forth = {r["parameter"]: r["state"] for r in done["rows"] if not r["roll_back"]}
    back = [r["parameter"] for r in done["rows"] if r["roll_back"]]
    bench.equal("what tripped has failed, what came after it was not sent", forth,
                {"tower1.floor1.om0.hv": "done", "tower1.floor1.om0.threshold": "done", "tower1.floor2.om3.hv": "done",
                 "tower1.floor2.om2.hv": "failed", "tower1.floor3.om0.power": "not-sent"})
    bench.check("set back: HV down, then settings, then HV up", sorted(back[:2]) ==
                ["tower1.floor2.om2.hv", "tower1.floor2.om3.hv"] and
                back[2:] == ["tower1.floor1.om0.threshold", "tower1.floor1.om0.hv"], back)
    bench.equal("all as it was", [value(st, n)["setpoint"] for n in
                ("floor1.om0.hv", "floor1.om0.threshold", "floor2.om2.hv", "floor2.om3.hv", "floor3.om0.power")],
                [1400, 10, 1400, 1400, True])
    stopped(bench, st)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def stopped(bench, st):
    """A ramp that somebody stops on its way has had an effect."""
    before = [value(st, n)["setpoint"] for n in ("floor4.om0.hv", "floor4.om0.ramp")]
    path = write(st, "s.plan", "floor4.om0.ramp = 2\nfloor4.om0.hv = 1450\n")
    p = subprocess.Popen([st.program("fcmctl"), "--dir", st.dir, "apply", path, "--yes", "--roll-back"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    st.wait_for("the HV on its way", lambda: value(st, "floor4.om0.hv")["value"] > 1410, timeout=60)
    ramp = next(c for c in st.ask("command", "list", "--state", "open")["commands"] if c["parameter"].endswith("om0.hv"))
    code, out, err = st.ctl("plan", path)
    bench.check("meanwhile a plan names the command that sets it", code == 0 and
                f"command {ramp['command']} is still setting it" in out, (code, out, err))
    code, out, err = st.ctl("command", "cancel", str(ramp["command"]))
    # The roll-back, which sees the ramp's end at once, may take over from the stop before that is read back.
    bench.check("the ramp is stopped", code == 0 and "stopped on its way" in out or "took over" in err, (code, out, err))
    out, err = p.communicate(timeout=120)
    bench.equal("the ramp's end", st.ask("command", "show", str(ramp["command"]))["state"], "CANCELLED")
    bench.check("it is set back, too", p.returncode == 1 and "2 of 2 set back" in out, (p.returncode, out, err))
    bench.equal("all as it was before", [value(st, n)["setpoint"] for n in ("floor4.om0.hv", "floor4.om0.ramp")],
                before)


@harness.long
def under_load(bench):
    """a long batch under full data load, and no data is lost"""
    count = int(os.environ.get("FCM_BATCH", "600"))
    st = bench.station()
    st.start()
    st.wait_ready(60)
    path = write(st, "b.txt", "".join(f"set floor{i % 4 + 1}.om{i // 4 % 6}.threshold {20 + i // 24 % 50}\n"
                                      for i in range(count)))
    began = time.monotonic()
    code, out, err = st.ctl("batch", path, "--yes", timeout=3600)
    print(f"  {count} commands in {time.monotonic() - began:.1f} s: {out.strip()}")
    bench.check("all are done", code == 0 and f"{count} of {count} done" in out, (code, out, err[-2000:]))
    judged(bench, st)
    bench.account(st)


if __name__ == "__main__":
    harness.main([dry_run, batch, again, interrupted, plan, snapshots, roll_back, under_load])
