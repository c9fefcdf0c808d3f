#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcmctl against a daemon of canned answers: transcripts (what is typed, what is shown, the exit code) and
what goes wrong on the way. Needs no board, no daemon, no emulator.

    test_fcmctl.py [--bin build/bin] [--update] [CASE...]

--update writes what was seen into the transcripts; read the difference before keeping it. The last line is
`N passed, N failed`.
"""
import argparse
import csv
import glob
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import transcript  # noqa: E402
from fake_daemon import FakeDaemon  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
TRANSCRIPTS = os.path.join(HERE, "fcmctl_transcripts")


class Bench:
    def __init__(self, args, directory):
        self.fcmctl = os.path.join(os.path.abspath(args.bin), "fcmctl")
        self.dir, self.update, self.passed, self.failed = directory, args.update, 0, 0
        self.monitor = "tcp://127.0.0.1:" + str(free_port())
        self.daemon = FakeDaemon(directory, os.path.join(TRANSCRIPTS, "answers.json"), self.monitor)
        # A zone far from UTC and a colourless terminal: neither may matter.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("FCM_")}
        self.env.update(FCM_DIR=directory, TZ="America/New_York", TERM="dumb", LC_ALL="C.UTF-8")

    def check(self, what, good, detail=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"  FAILED  {what}: {detail}", flush=True)
        return good

    def equal(self, what, got, wanted):
        return self.check(what, got == wanted, f"got {got!r}, wanted {wanted!r}")

    def run(self, *args, env=None, timeout=20):
        r = subprocess.run(["fcmctl", *args], executable=self.fcmctl, capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout,
                           cwd=os.path.join(TRANSCRIPTS, "files"), env=dict(self.env, **(env or {})), check=False)
        # Where errors are broken depends on paths, which are masked later; test widths has them as they are.
        err = r.stderr.decode() if env and "COLUMNS" in env else re.sub("\n( {8}| {11})(?! |-> )", " ", r.stderr.decode())
        return r.returncode, r.stdout.decode(), err

    def start(self, *args):
        return subprocess.Popen(["fcmctl", *args], executable=self.fcmctl, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.env)

    def requested(self, op, count=1, seconds=5):
        """Wait until the daemon has got `count` requests of this kind."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [r for r in self.daemon.requests if r["op"] == op]
            if len(found) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError(f"{op} was not asked for")


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# --- transcripts ---

def masked(text, bench):
    text = text.replace(bench.fcmctl, "fcmctl").replace(bench.dir, "DIR")
    text = re.sub(r"fcmctl-\d+-[0-9a-f]{16}", "CLIENT", text)
    text = re.sub(r"\d{8}T\d{6}-[0-9a-f]{8}", "JOB", text)
    text = re.sub(r"(?<=\s)in [^()]* \(job", "in SPAN (job", text)
    text = re.sub(r"(missing  \S+ \S+ to )\S+ \S+ \([^)]*\)", r"\1TIME (SPAN)", text)
    text = re.sub(r"has no rows for .* of this time", "has no rows for SPAN of this time", text)
    return re.sub(r"not running since \d{4}-\d\d-\d\d [\d:]+ UTC \([^)]*\)", "not running since TIME (SPAN)", text)


def transcripts(bench):
    """what is typed, what is shown: of answers that a real daemon cannot be made to give (test_transcripts.py has the rest)"""
    def scene(name):
        bench.daemon.scene = None if name == "well" else name

    def daemon(state):
        bench.daemon.start() if state == "on" else bench.daemon.stop()
    make_database(os.path.join(bench.dir, "station.db"))
    for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, "*.txt"))):
        transcript.play(bench, path, bench.run, lambda text: masked(text, bench), {"scene": scene, "daemon": daemon})
        scene("well")


def storm(status):
    """Sixty incidents with long names and texts, all modules off, and everything else as long as it can be."""
    def worse(n, i):
        text = "a text that is far too long for a line" + ", and goes on" * 40
        return dict(i, number=n, object=f"tower1.floor3.fcm.temperature{n}", text=text, action=text + "; " + COMMAND,
                    cost=dict(frames=10 ** 12, dropped=10 ** 12, hits=10 ** 12, dark_s=1e9))
    result = dict(status["result"])
    result["name"] = "a shore station with a name of so many letters that no line has room for it"[:63]
    result["run"] = dict(number=2 ** 31, note=("a note " * 30)[:159], since=1795183923.25)
    result["recording"] = dict(result["recording"], name="n" * 63, bytes=9e13, let_go_frames=10 ** 5, lasts_s=1e6)
    result["clock"] = dict(result["clock"], source="emulator", uncertainty_ns=10 ** 12, gpsd=dict(
        result["clock"]["gpsd"], age_s=86400 * 400), pps=dict(number=2 ** 31, age_s=86400 * 400), reason="because " * 20)
    result["commands"] = dict(open=10 ** 6, unknown=10 ** 6)
    result["links"] = [dict(link, state="aligning", tower=99, floor=99, lost_last_minute=480000) for link in result["links"]]
    result["phases"] = [dict(p, difference_ps=-123456.7) for p in result["phases"]]
    result["groups"] = [dict(g, group=f"{g['group']:x<31}", offered=10 ** 11, acknowledged=10 ** 11, in_flight=10 ** 6, waiting=10 ** 6,
                             dropped={k: dict(blocks=10 ** 10, frames=10 ** 12) for k in g["dropped"]})
                        for g in result["groups"] * 4]
    worst = result["incidents"]["list"][0]
    result["incidents"] = dict(result["incidents"], headline="wrong " * 60, list=[worst] + [worse(n, worst) for n in range(2, 61)])
    result["modules"] = dict(result["modules"], on=0, off=[f"tower1.floor{f}.om{m}" for f in (1, 2, 3, 4) for m in range(6)])
    return dict(status, scene="storm", result=result)


COMMAND = "fcmctl set floor1.om0.hv 1450 --reason 'so many words that no line has room for all of them'"


def rows_of(lines, columns=80):
    """Of a screen."""
    return sum(max(1, -(-len(x) // columns)) for x in lines)


def screen(bench, words, what, wide_ones=1):
    """Lines of fcmctl on a terminal of 80 x 24, which they fit."""
    _, out = on_terminal(bench, words, rows=24, columns=80)
    lines = re.sub("\033\\[[0-9;]*m", "", out).replace("\r", "").splitlines()
    wide = [x for x in lines if len(x) > 80]
    bench.check(f"{what}: in 80 columns, but for a command or a path on its own line",
                len(wide) <= wide_ones and all(re.match(r" +(-> )?(\S*fcm\S* -|\S+$)", x) for x in wide), wide)
    bench.check(f"{what}: in 24 rows", rows_of(lines) <= (23 if "top" in words else 24), (rows_of(lines), out))
    return lines


def widths(bench):
    """without a terminal nothing is wider than 100 columns but a command; status and top fit 80 x 24"""
    # Times and paths are masked there; JSON and errors, which have commands to paste, go on as long as they are.
    for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, "*.txt"))):
        wide = [x for x in open(path).read().splitlines() if len(x) > 100 and not x.startswith(("2| ", "{", "$ ", "# ")) and "Z," not in x]
        bench.check(f"{os.path.basename(path)} in 100 columns", not wide, wide)
    d = bench.daemon.start()
    make_recordings(os.path.join(bench.dir, "recordings"))
    out = bench.run("record", "list")[1]
    bench.check("record list in 100 columns", max(map(len, out.splitlines())) <= 100 and "blackbox-20261120T151116Z" in out and
                ">= 8624" in out and "No space left on device" in out, out)
    bench.check("a note drives no terminal", "noise ?[31m" in re.sub(r"\s+", " ", out) and "\033" not in out, out)
    d.answers.insert(0, storm(next(a for a in d.answers if a["op"] == "status" and a.get("scene") == "red")))
    d.answers.insert(0, dict(op="incident.list", scene="storm", result=d.answers[0]["result"]["incidents"]))
    far = os.path.join(bench.dir, "d" * 60)
    os.symlink(bench.dir, far)
    for scene in (None, "red", "storm"):
        d.scene = scene
        for words in (["status"], ["top", "--once"], ["--dir", far, "status"], ["--dir", far, "top", "--once"]):
            what = f"{scene}: {words[-1] if 'status' in words else 'top'}{' --dir' * ('--dir' in words)}"
            lines = screen(bench, words, what)
            text = "\n".join(lines)
            bench.check(f"{what} has the links and the groups", "\nlink " in text and "\ngroup " in text, text)
            for hint in (x.split("-> ")[1] for x in lines if "-> " in x):
                bench.check(f"{what}: what to do is whole: {hint}", not hint.endswith("..."), text)
            if scene:
                show = [x for x in lines if re.search(r"-> \S+ (--dir \S+ )?incident show \d+$", x)]
                bench.check(f"{what}: the worst is there, and what to do", any("   1 red " in x for x in lines) and "-> " in text, text)
                bench.check(f"{what}: an incident has its name", all(re.search(r"\d\d:\d\d:\d\d [a-z]", x) for x in lines
                                                                   if re.match(r" +\d+ red ", x)), text)
                bench.check(f"{what}: --dir is in every command", "--dir" not in words or
                            all(f"fcmctl --dir {far} " in x for x in lines if re.search(r"fcmctl [a-z-]", x)), text)
                bench.check(f"{what}: a command that fits no line is there once",
                            "--dir" not in words or [x.split("-> ")[1].split(far)[1] for x in show] == [" incident show 1"], text)
            if scene == "storm":
                bench.check(f"{what}: how many more", any(re.match(r" +\d+ more: (\S+fcmctl )?incident list$", x) for x in lines), text)
                bench.check(f"{what}: the recording's losses", any(x.startswith("recording ! n") and x.endswith(" cells let go")
                                                                  for x in lines), text)
    for words, count in ((["status", "--verbose"], 59), (["incident", "show", "2"], 1)):
        code, out, _ = bench.run(*words)
        bench.check(f"{words[0]} in 100 columns", max(map(len, out.splitlines())) <= 100,
                    [x for x in out.splitlines() if len(x) > 100][:5])
        bench.check(f"{words[0]}: no command is broken", out.count(COMMAND) >= count, out[:3000])
    code, out, _ = bench.run("status", "--verbose")
    bench.check("status -v has all", out.count("Incident ") == 60 and "tower1.floor4.om5" in out and ("a note " * 30)[:60] in out,
                (out.count("Incident "), out[:300]))
    del d.answers[:2]
    d.scene = None
    bench.daemon.stop()
    for columns in (80, 100):
        err = bench.run("set", "floor3.om2.hv", "1450", env={"COLUMNS": str(columns)})[2]
        commands = [x for x in err.splitlines() if "fcm-server --" in x or "fcmctl " in x]
        bench.check(f"errors in {columns} columns, commands apart",
                    err.count("\n") > 2 and all(len(x) <= columns or x in commands for x in err.splitlines()), err)
    err = bench.run("history", "floor3.om2.nothing", env={"COLUMNS": "60"})[2]
    bench.check("an error goes on below its text", re.search(r"\n {8,11}[a-z]", err), err)


def recordings(bench):
    """record list: what it adds to the daemon's answer, and who may not read the files"""
    place = os.path.join(bench.dir, "recordings")
    make_recordings(place)
    bench.daemon.start()
    for daemon in ("there", "away"):
        if daemon == "away":
            bench.daemon.stop()
        code, out, err = bench.run("--json", "record", "list")
        found = json.loads(out) if code == 0 else {}
        bench.equal(f"daemon {daemon}: the schema's shape", bench.daemon.schema.result("record.list", found), [])
        bench.equal(f"daemon {daemon}: every recording", [r["name"][:9] for r in found.get("recordings", [err])],
                    ["night", "blackbox-", "full", "from-else"])
    bench.daemon.start()
    os.chmod(bench.dir, 0o755)
    os.chmod(bench.daemon.path, 0o666)
    os.chmod(place, 0o750)
    # Somebody else: who is root can be anybody, else the owner shuts himself out.
    if os.geteuid() == 0:
        other = {"user": 65534, "group": 65534, "extra_groups": []}
    else:
        other = {}
        os.chmod(place, 0)

    def refused():
        r = subprocess.run([bench.fcmctl, "record", "list"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           timeout=20, env=bench.env, check=False, **other)
        return r.stderr if r.returncode == 1 and "Permission denied" in r.stderr else r
    if os.geteuid() == 0:
        os.chown(place, -1, 0)
        err = refused()
        bench.check("nobody is advised to join root's group", f"{place} is root's: run the command with sudo" in err and
                    "usermod" not in err, err)
        os.chown(place, -1, 100)
    err = refused()
    os.chmod(place, 0o750)
    bench.check("who may not read them is told who may", f"{place} is for members of group" in err, err)
    bench.daemon.stop()


# --- the files of a daemon that may be away ---

def make_recordings(path):
    def make(name, age, sizes, **passport):
        os.makedirs(os.path.join(path, name))
        for n, size in enumerate(sizes):
            with open(os.path.join(path, name, f"link2-{n:05}.fcmr"), "wb") as f:
                f.truncate(size)
        if passport:
            with open(os.path.join(path, name, "recording.json"), "w") as f:
                json.dump(passport, f)
        os.utime(os.path.join(path, name), (1795187523 - age,) * 2)

    make("night", 0, [942857142] * 13 + [942857154], kind="recording", note="noise \033[31mon floor 3", who="anna",
         links=[0, 2], begun=1795180000, until=1795190000, ended=None, alarm="", alarm_text="")
    make("blackbox-20261120T151116Z-link2-link-dark", 1, [3200048], kind="black-box", note="", who="the daemon",
         links=[2], begun=1795187475, until=None, ended=1795187477, why="alarm", trouble="", alarm="link-dark",
         alarm_text="no light", let_go_frames=0, let_go_at_least=False)
    make("full", 2, [8000000000] * 40, kind="recording", note="", who="bert", links=[0, 1, 2, 3], begun=1795170000,
         until=None, ended=1795171000, why="the disk", trouble="No space left on device", alarm="", alarm_text="",
         let_go_frames=8624, let_go_at_least=True)
    make("from-elsewhere", 3, [400, 500])


def make_database(path):
    t = 1795187523_250000000
    with sqlite3.connect(path) as db:
        migrations = sorted(glob.glob(os.path.join(ROOT, "schemas", "sql", "*.sql")))
        for sql in migrations:
            db.executescript(open(sql).read())
        db.execute(f"PRAGMA user_version={len(migrations)}")
        db.executemany("INSERT INTO station VALUES (?,?)",
                       [("board", "0"), ("version", "0.1.0"), ("last_alive", str(t))])
        db.execute("INSERT INTO command VALUES (17,'c1',?,'anna',1000,4711,'local','gain matching',2,1,3,"
                   "'tower1.floor3.om2.hv','set',1400.0,1450.0,'V',101,3,'DONE','reads 1449.8 V',1,?)",
                   (t - 60_000000000, t - 58_000000000))
        # Still open when the daemon went away; a switch has words.
        db.execute("INSERT INTO command VALUES (18,'c2',?,'anna',1000,4712,'local',NULL,2,1,3,"
                   "'tower1.floor3.om2.power','set',0.0,1.0,'',102,3,'SENT','sent, attempt 1',1,NULL)",
                   (t - 1_000000000,))
        # A job of three lines, of which one is open.
        for n, row in enumerate([("1.0.1", "DONE", "reads 12.0 mV", 1, t - 59_000000000),
                                 ("2.0.1!6", "REFUSED", "beyond the soft limits", 0, t - 59_000000000),
                                 ("3.0.1", "SENT", "sent, attempt 1", 1, None)]):
            line, state, detail, attempts, ended = row
            db.execute("INSERT INTO command VALUES (?,?,?,'anna',1000,4711,'local','gains.batch',2,1,3,"
                       f"'tower1.floor3.om{n}.threshold','set',10.0,12.0,'mV',?,3,?,?,?,?)",
                       (5 + n, "20261120T151103-3fa29c01." + line, t - 60_000000000, 90 + n, state, detail, attempts,
                        ended))
        db.executemany("INSERT INTO transition VALUES (18,?,?,?,?,?)",
                       [(2, t - 900000000, "SENT", 64391345, "sent, attempt 1")])
        db.executemany("INSERT INTO station VALUES (?,?)",
                       [("unit.fcm.uptime", "s"), ("unit.om.power", ""), ("unit.link.rate", "frames/s"),
                        ("words.om.power", "off on"), ("words.link.state", "off silent dark aligning up")])
        db.execute("INSERT INTO sample VALUES ('link2.rate',?,7999.5,NULL)", (t - 47_000000000,))
        db.executemany("INSERT INTO sample VALUES ('link2.state',?,?,NULL)",
                       [(t - 60_000000000, 4), (t - 47_000000000, 2)])
        db.executemany("INSERT INTO transition VALUES (17,?,?,?,?,?)",
                       [(2, t - 59_900000000, "SENT", 63912345, "attempt 1"),
                        (3, t - 58_000000000, "DONE", None, "reads 1449.8 V")])
        db.executemany("INSERT INTO sample VALUES ('tower1.floor3.om2.hv',?,?,?)",
                       [(t - 60_000000000, 1400.1, 1400.0), (t - 57_000000000, 1449.8, 1450.0)])
        db.execute("INSERT INTO sample_sum VALUES ('tower1.floor3.om1.hv',1785542403250000000,3600,1785545995500000000,"
                   "9,1399.75,1398.5,1401.25,1400.0)")
        db.execute("INSERT INTO phase_event VALUES (2,?,'SLIP',2,2500.4,8713.2,22.0,5,'','')", (t - 90_000000000,))
        db.execute("INSERT INTO phase_row VALUES (2,?,6213.4,21.5,-60.2,70.1,10,6,7012,3)", (t - 2_000000000,))
        db.execute("INSERT INTO run VALUES (12,'physics','anna',?,4242482000,NULL,NULL)", (t - 3600_000000000,))
        db.execute("INSERT INTO clock_event VALUES (?,'locked','gpsd',50,1,'three labels agree')",
                   (t - 7990_000000000,))
        db.execute("INSERT INTO event(time,severity,code,object,text,action) VALUES (?,'red','link-dark',"
                   "'link2','no light','check the fibre')", (t - 47_000000000,))
        db.execute("INSERT INTO ledger_link VALUES (1,1,1,7990,1,2,8000,7987,0,0,0,13,0,0,0,0,1,?,NULL)", (t,))
        db.execute("INSERT INTO ledger_stream VALUES (1,1,1,'pmt','trigger',7990,7987,7907,0,80,0,0,0,0,1,?)", (t,))
        db.execute("INSERT INTO loss VALUES (1,0,'crc',1,1,2,'','',1,63920017,13,?,?,0,NULL)",
                   (t + 6_500000000, t - 30_500000000))
        # Two losses far from each other, of which the first has no label.
        db.executemany("INSERT INTO loss VALUES (1,0,'alignment',1,1,2,'','',1,?,?,?,?,0,NULL)",
                       [(63920040, 3, None, t - 30_400000000),
                        (63920440, 4, t + 6_650000000, t - 30_350000000)])
        # One loss in two rows (the daemon was restarted in it), and one of another reason right behind.
        db.executemany("INSERT INTO loss VALUES (1,1,?,1,1,2,'pmt','trigger',1,?,?,NULL,?,?,NULL)",
                       [("slow", 63920080, 80, t - 30_000000000, 1),
                        ("slow", 63920160, 160, t - 29_980000000, 0),
                        ("no-member", 63920320, 80, t - 29_970000000, 0)])


def away_at_worst(bench, db):
    """The screen without a daemon, with as much as can be known, in a directory with a long name."""
    far = os.path.join(bench.dir, "d" * 60)
    os.mkdir(far)
    shutil.copy(db, far)
    t = 1795187520_000000000
    with sqlite3.connect(os.path.join(far, "station.db")) as base:
        base.execute("UPDATE run SET number = 2147483647, note = ?", [("a note " * 30)[:159]])
        base.execute("INSERT INTO station VALUES ('words.clock.state','no-time acquiring locked holdover fault')")
        base.executemany("INSERT INTO sample VALUES (?,?,3,NULL)", [(f"link{n}.state", t) for n in range(4)] + [("clock.state", t)])
        base.executemany("INSERT INTO loss VALUES (1,1,'no-member',?,1,2,'pmt',?,1,63930000,400000,NULL,?,0,NULL)",
                         [(n % 4, f"a-group-with-a-name-so-long-{n:03}", t) for n in range(40)])
    for beside in (False, True):
        for words in (["--dir", far, "status"], ["--dir", far, "top", "--once"]):
            lines = screen(bench, words, f"away: {words[2]}", 3)
            bench.check("away: it has the states, and the losses as far as there is room",
                        all(f"link{n}.state aligning" in " ".join(lines) for n in range(4)) and "no-member of link" in " ".join(lines) and
                        any(re.search(r" \(\d of 44\):$", x) for x in lines), lines)
            bench.check("away: what to do is whole", not beside or
                        any(x.strip() == f"fcm-server --board 0 --config {far}/board.conf" for x in lines), lines)
        for name in ("board.sock", "board.conf"):
            open(os.path.join(far, name), "w").close()
    shutil.rmtree(far)


def away(bench):
    """no daemon: status says so, the database answers read-only, nothing else pretends"""
    db = os.path.join(bench.dir, "station.db")
    if os.path.exists(db):
        os.unlink(db)
    for leave in (True, False):
        bench.daemon.start()
        bench.daemon.stop(leave)
        code, out, _ = bench.run("status")
        bench.equal("status exits 3", code, 3)
        bench.check("and says what to do", "start the station (make run)" in out and "is not running" in out, out)
    beside = [os.path.join(bench.dir, name) for name in ("board.sock", "board.conf")]
    for path in beside:
        open(path, "w").close()
    code, out, _ = bench.run("status")
    bench.check("of a make run that goes on it names what starts its daemon", code == 3 and "goes on without it" in out
                and "fcm-server --board 0 --config" in out and "start the station" not in out, out)
    for path in beside:
        os.unlink(path)
    code, out, _ = bench.run("status", "--json")
    bench.check("status --json says away", code == 3 and json.loads(out)["incidents"]["list"][0]["code"] == "daemon-away", out)
    bench.equal("in its shape, with nothing known", (bench.daemon.schema.away(json.loads(out)),
                                                     json.loads(out)["known"]), ([], None))
    for words in ("set floor3.om2.hv 1450", "set floor3.om*.hv 1450", "action floor3.fcm.reset --yes", "run start",
                  "record start", "link reset 2", "command cancel 17"):
        code, out, err = bench.run("--json", *words.split())
        bench.check(f"{words} exits 3: nothing was sent", code == 3 and "fcmctl: nothing was sent: fcm-server" in err and
                    json.loads(out)["error"]["code"] == "daemon-away", f"{code} {err}")
    bench.check("of a question that is not said", "nothing was sent" not in bench.run("link", "list")[2])
    code, _, err = bench.run("command", "list")
    bench.check("without a database, command list exits 3 and says both", code == 3 and "there is no such file" in
                err, err)
    make_database(db)
    before = (os.stat(db).st_mtime_ns, open(db, "rb").read(), sorted(os.listdir(bench.dir)))
    for words in ("command list", "command show 17", "job list", "history floor3.om2.hv", "ledger show --since 30d",
                  "phase history 2", "clock history", "run show", "event list",
                  "get floor3 --at 2026-11-20T15:12", "diff --at 2026-11-20T15:11:04"):
        code, out, err = bench.run(*words.split())
        # Of the time since then the ledger has nothing.
        done = 1 if words.startswith("ledger") else 0
        bench.check(f"{words} from the database", code == done and "the daemon is not running since 2026-11-20 15:12:03 UTC"
                    in err, f"exit {code}: {err}{out}")
        code, out, err = bench.run("--json", *words.split())
        op = {"history": "param.history", "get": "param.at", "diff": "param.diff"}.get(words.split()[0], ".".join(words.split()[:2]))
        errors = bench.daemon.schema.result(op, json.loads(out)) if code == done else [err]
        bench.check(f"{words} --json is the daemon's shape", not errors, errors[:3])
    with sqlite3.connect(db) as base:
        base.execute("UPDATE ledger_link SET tai_ns = 1795187490125000000")
        base.execute("UPDATE loss SET until = 63920041 WHERE code = 'crc'")
        base.execute("INSERT INTO station VALUES ('tai_utc_s','37')")
    code, out, _ = bench.run("ledger", "show", "--since", "30d", "--rows")
    bench.check("--rows says when each second began, of links and of groups",
                out.count("2026-11-20 15:10:53.125") == 2, out)
    bench.check("a joined loss ends with its last frame", re.search(r" crc .* 63920017 +63920040 +13 ", out), out)
    before = (os.stat(db).st_mtime_ns, open(db, "rb").read(), sorted(os.listdir(bench.dir)))
    bench.equal("a command that is not there exits 2", bench.run("command", "show", "99")[0], 2)
    bench.equal("a parameter never seen exits 2", bench.run("history", "floor9.om0.hv")[0], 2)
    code, out, _ = bench.run("status")
    bench.check("status says since when", code == 3 and "since 2026-11-20 15:12:03 UTC" in out, out)
    known = out.split("Last known, at 2026-11-20 15:12:03 UTC\n")[-1].splitlines()
    bench.equal("and what was known then", known,
                ["run       12 since 2026-11-20 14:12:03 UTC  physics", "state     link2.state dark",
                 "commands  2 left open: fcmctl command list --state open",
                 "lost      in the 10 minutes before, frames:",
                 "          240 slow of link 1 for group trigger, 80 no-member of link 1 for group",
                 "          trigger, 13 crc of link 1, 7 alignment of link 1"])
    bench.equal("top --once shows the same", [re.sub(r"\([^)]*\)", "", x) for x in bench.run("top", "--once")[1:]],
                [re.sub(r"\([^)]*\)", "", out), ""])
    for words in ("status", "top --once"):
        code, out, _ = bench.run("--json", *words.split())
        found = json.loads(out)
        bench.equal(f"{words} --json: in its shape", (code, bench.daemon.schema.away(found), found["known"]["open"],
                                                      found["known"]["run"]["number"], len(found["known"]["hops"])),
                    (3, [], 2, 12, 4))
    bench.equal("the database is untouched", (os.stat(db).st_mtime_ns, open(db, "rb").read(),
                                              sorted(os.listdir(bench.dir))), before)
    away_at_worst(bench, db)
    open(db, "w").write("not a database")
    code, _, err = bench.run("command", "list")
    bench.check("a damaged database is said", code == 3 and "station.db" in err, err)
    os.unlink(db)


# --- a shift of some days ago ---

SHIFT_BEGIN, SHIFT_END = 1793520000, 1793548800  # 2026-11-01, 08:00 to 16:00 UTC
SHIFT = ["report", "--since", "2026-11-01T08:00", "--to", "2026-11-01T16:00"]


def fill_shift(path, at, rows):
    """A row of each list every 0.1 s from `at` on, so many."""
    times = [(n, int((at + 0.1 * n) * 1e9)) for n in range(rows)]
    with sqlite3.connect(path) as db:
        first = db.execute("SELECT max(id) FROM command").fetchone()[0] + 1
        db.executemany("INSERT INTO command VALUES (?,NULL,?,'later',1000,1,'local','',2,1,3,'tower1.floor3.om2.hv','set',1,2,"
                       "'V',1,3,'DONE','',1,?)", [(first + n, t, t) for n, t in times])
        db.executemany("INSERT INTO clock_event VALUES (?,'locked','gpsd',50,1,'later')", [(t,) for _, t in times])
        db.executemany("INSERT INTO phase_event VALUES (2,?,'PASS',0,1,1,1,1,'','later')", [(t,) for _, t in times])
        db.executemany("INSERT INTO event(time,severity,code,object,text,action) VALUES (?,'info','remark','later','later','')",
                       [(t,) for _, t in times for _ in range(4)])


def old_shift(bench):
    """the report of a shift that was over long ago: what came later takes nothing of it, and open is what was open then"""
    db = os.path.join(bench.dir, "station.db")
    make_database(db)
    ns = 1000000000
    begin, end = SHIFT_BEGIN * ns, SHIFT_END * ns

    def incident(number, obj, since, until, who=""):
        return (number, "link-dark", obj, 1, "no light", "", since, until, "", 1, 80, 0, 0, 0, None, who, "local", "", 0)

    def command(number, time_ns, state, ended):
        return (number, f"s{number}", time_ns, "anna", 1000, 1, "local", "in the shift", 2, 1, 3, "tower1.floor3.om2.hv", "set", 1400,
                1450, "V", 1, 3, state, "", 1, ended)
    with sqlite3.connect(db) as base:
        base.execute("DELETE FROM event")
        base.execute("UPDATE run SET number = 90")
        base.executemany("INSERT INTO run VALUES (?,?,'anna',?,1,?,2)",
                         [(5, "before", begin - 3600 * ns, begin - 60 * ns), (6, "cosmics", begin + 60 * ns, end + 60 * ns),
                          (7, "after", end + 70 * ns, end + 80 * ns)] +
                         [(10 + n, "later", end + (100 + n) * ns, end + (101 + n) * ns) for n in range(40)])
        base.executemany("INSERT INTO event(time,severity,code,object,text,action) VALUES (?,'info',?,?,?,'')", [
            (begin + 100 * ns, "remark", "floor3", "anna: a storm"), (begin + 200 * ns, "summary", "shift", "anna: a quiet day"),
            (begin + 750 * ns, "remark", "link2", "bert: a <diver> is there [incident 2]"), (begin + 751 * ns, "remark", "link2", "x [incident 22]"),
            (begin + 300 * ns, "incident-acknowledged", "link1/link-dark", "acknowledged by anna (local): known"),
            (begin + 310 * ns, "incident-paused", "link2/link-dark", "paused until 2026-11-01 09:00:00 UTC by anna (local): diver")])
        base.execute("INSERT INTO phase_event VALUES (2,?,'SLIP',2,2500.4,8713.2,22.0,5,'','in the shift')", (begin + 400 * ns,))
        base.executemany("INSERT INTO phase_row VALUES (2,?,6213.4,21.5,-60.2,70.1,10,6,7012,3)",
                         [(begin + n * ns,) for n in range(28800)])
        base.execute("INSERT INTO clock_event VALUES (?,'holdover','gpsd',60,1,'gpsd silent')", (begin + 500 * ns,))
        base.executemany("INSERT INTO incident VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", [
            incident(1, "link1", begin - 60 * ns, begin + 600 * ns, "anna"), incident(2, "link2", begin + 700 * ns, end + 3600 * ns),
            incident(3, "link3", begin + 800 * ns, None), incident(4, "link0", end + 10 * ns, None)])
        base.execute("DELETE FROM command WHERE id <> 18")
        base.execute("UPDATE command SET time = ?", (begin - 3600 * ns,))  # open since before
        base.executemany("INSERT INTO command VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", [
            command(31, begin + 10 * ns, "DONE", begin + 11 * ns), command(32, begin + 20 * ns, "FAILED", begin + 21 * ns),
            command(33, end - 1 * ns, "FAILED", end + 2 * ns)])
    fill_shift(db, SHIFT_END + 100, 1600)

    def report(*options):
        code, out, err = bench.run(*SHIFT, *options)
        bench.check(f"report {' '.join(options)}", code == 0 and "not running" in err, (code, err))
        return out
    r = json.loads(report("--json"))
    bench.equal("its summary and remarks", (r["summary"], [e["object"] for e in r["remarks"]]), ("anna: a quiet day", ["floor3", "shift", "link2", "link2"]))
    bench.equal("its commands", sorted(c["command"] for c in r["commands"]), [31, 32, 33])
    bench.equal("its verdicts", [e["reason"] for e in r["phases"][2]["events"]], ["in the shift"])
    bench.equal("its clock", [e["reason"] for e in r["clock"]], ["gpsd silent"])
    bench.equal("its runs", [x["number"] for x in r["runs"]], [6])
    bench.equal("who acknowledged and paused", [e["object"] for e in r["handled"]], ["link1/link-dark", "link2/link-dark"])
    bench.equal("its incidents", [i["number"] for i in r["incidents"]], [1, 2, 3])
    bench.equal("open at its end", ([i["number"] for i in r["open"]["incidents"]], sorted(c["command"] for c in r["open"]["commands"])),
                ([2, 3], [18, 33]))
    bench.equal("what was written about each", [i["written"] for i in r["incidents"]], [[], ["bert: a <diver> is there [incident 2]"], []])
    bench.equal("and counted so", [r["sums"][k] for k in ("incidents", "active", "commands", "failed", "open")], [3, 2, 3, 1, 2])
    times = [p["time"] for p in r["phases"][2]["rows"]]
    bench.check("the phase of all of it, by minute", len(times) == 480 and times[0] < SHIFT_BEGIN + 60 and times[-1] > SHIFT_END - 60,
                (len(times), times[:1], times[-1:]))
    bench.equal("no list was cut", r["cut"], [])
    out = report()
    bench.check("the same as text", "  anna: a quiet day" in out and "only the newest" not in out and "1 of them not done" in out and
                "2 active at the end" in out, out)
    shown = out.split("Open at the end\n")[1].split("\n\n")[0]
    bench.check("with the ends that came later", re.search(r" 2 +red .* 2026-11-01 17:00:00 ", shown) and
                re.search(r" 2026-11-01 16:00:02 +FAILED", shown) and " active " in shown and re.search(r" open +SENT", shown), shown)
    page = report("--html")
    heads = page.split("<h2>")
    bench.check("the same as a page", "only the newest" not in page and "a quiet day" in page and
                re.search(r"link2/link-dark.*\n.*link3/link-dark", heads[1]) and "acknowledged by anna" in page and
                "<td>bert: a &lt;diver&gt; is there [incident 2]\n" in heads[1], heads[1])
    code, out, _ = bench.run("incident", "show", "2")
    bench.check("incident show has it, too", code == 0 and re.search(r"^remarks +2026-11-01 08:12:30  bert: a <diver> is there", out, re.M) and
                "incident 22" not in out, (code, out))
    bench.equal("for programs", [e["text"] for e in json.loads(bench.run("--json", "incident", "show", "2")[1])["remarks"]],
                ["bert: a <diver> is there [incident 2]"])
    points = [float(y) for y in re.findall(r"<circle cx=\S+ cy=\"([-.0-9]+)\"", page)]
    bench.check("the phase is in its picture", len(points) == 480 and all(0 <= y <= 120 for y in points), points[:3])
    fill_shift(db, SHIFT_BEGIN + 1000, 1600)
    wanted = [f"only the newest {n} {what}: a report of a shorter time has all" for n, what in
              ((1000, "commands"), (1000, "changes of the clock"), (1500, "verdicts on a phase"), (5000, "events"))]
    r, out, page = json.loads(report("--json")), report(), report("--html")
    bench.equal("a list that was cut is named", [c["text"] for c in r["cut"]], wanted)
    bench.equal("what is left has its length", (len(r["commands"]), len(r["clock"]), len(r["phases"][2]["events"])), (1000, 1000, 1500))
    bench.check("the newest are left", r["commands"][-1]["who"] == "later" and r["phases"][2]["events"][0]["reason"] == "later", "")
    bench.check("in the text and on the page, too", all(x in out and x in page for x in wanted), out[:1500])
    for words in ("command list", "event list", "clock history", "phase history 2", "run show"):
        code, out, err = bench.run("--json", *words.split(), "--since", "2026-11-01T15:59:58", "--to", "2026-11-01T16:00")
        found = next(rows for key, rows in json.loads(out).items() if key in ("commands", "events", "runs"))
        bench.equal(f"{words} --to", (code, len(found)), (0, 1 if words in ("command list", "run show") else 0))
        code, _, err = bench.run(*words.split(), "--since", "1h", "--to", "2h")
        bench.check(f"{words}: from later to earlier", code == 2 and "--to is not after --since" in err, err)


# --- a daemon that misbehaves ---

def faults(bench):
    """silence, garbage, broken connections, crumbs, strangers, huge answers"""
    d = bench.daemon.start()
    d.fault = "silent"
    begun = time.monotonic()
    code, _, err = bench.run("link", "list", "--timeout", "0.5")
    bench.check("silence ends in a time-out", code == 3 and "no message from the daemon" in err, err)
    bench.check("and in time", time.monotonic() - begun < 3)
    for fault in ("close", "garbage"):
        d.fault = fault
        code, _, err = bench.run("status")
        bench.check(f"{fault} is said", code == 3 and "fcmctl: status: " in err, err)
        code, _, err = bench.run("set", "floor3.om2.hv", "1450")
        bench.check(f"{fault} in a set: outcome unknown, how to find out", code == 3 and "its outcome is unknown" in err and
                    "command list" in err and "--client-id fcmctl-" in err and "nothing was sent" not in err, err)
    for fault in ("crumbs", "strangers"):
        d.fault = fault
        code, out, err = bench.run("status")
        bench.check(f"{fault} do not matter", code == 0 and "WELL" in out, err)
    d.fault = "huge"
    code, out, err = bench.run("command", "list", "--limit", "16000", "--json")
    bench.check("an answer of some MiB", code == 0 and len(json.loads(out)["commands"]) == 16000, err)
    d.fault = "close-after-progress"
    code, _, err = bench.run("set", "floor3.om2.hv", "1450")
    bench.check("daemon killed while we wait: the command is named", code == 3 and "command show 17" in err, err)
    code, out, _ = bench.run("set", "floor3.om2.hv", "1450", "--json")
    bench.check("the same for programs", code == 3 and json.loads(out)["error"]["code"] == "unknown", out)
    code, _, err = bench.run("batch", "gains.batch")
    bench.check("of a batch: nobody goes on with it now", code == 3 and "the daemon closed the connection" in err and
                "settled by the daemon when it is back" in err and "continue in the daemon" not in err, err)
    d.fault = None
    d.stop()


def interrupt(bench):
    """Ctrl-C leaves the command running and says so"""
    d = bench.daemon.start()
    d.fault = "silent-after-progress"
    d.requests.clear()
    p = bench.start("set", "floor3.om2.hv", "1450")
    bench.requested("param.set")
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=5)
    bench.equal("exit 3", p.returncode, 3)
    bench.check("it says that it goes on and how to look", b"command 17 continues in the daemon" in err and b"command show 17" in err,
                err)
    d.fault = "silent"
    d.requests.clear()
    p = bench.start("phase", "soak", "2")
    bench.requested("phase.soak")
    time.sleep(0.2)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=5)
    bench.check("a soak ends with us and says so", p.returncode == 3 and b"ended early" in err, err)
    d.requests.clear()
    p = bench.start("status")
    bench.requested("status")
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=5)
    bench.equal("a question is just ended", p.returncode, -signal.SIGINT)
    d.fault = None
    d.stop()


def requests(bench):
    """what is asked: client ids, times, limits"""
    d = bench.daemon.start()
    d.requests.clear()
    for _ in range(2):
        bench.run("set", "floor3.om2.hv", "1450", "--reason", "gain; 'matching'")
    a, b = (r["args"] for r in d.requests)
    bench.check("every set has its own client id", a["client_id"] != b["client_id"] and len(a["client_id"]) < 64, a)
    bench.equal("value as typed, with its reason", (a["value"], a["reason"], a["wait"]),
                ("1450", "gain; 'matching'", True))
    bench.run("set", "floor3.om2.hv", "-5", "--client-id", "mine", "--no-wait")
    bench.check("a repeat by hand", d.requests[-1]["args"]["client_id"] == "mine" and
                d.requests[-1]["args"]["value"] == "-5", d.requests[-1])
    bench.run("history", "floor3.om2.hv", "--since", "2026-11-01T02:00", "--limit", "500")
    bench.equal("since is UTC", (d.requests[-1]["args"]["since"], d.requests[-1]["args"]["limit"]),
                (1793498400.0, 500))
    bench.run("ledger", "show", "--since", "1h", "--link", "link2")
    bench.check("an hour ago", abs(d.requests[-1]["args"]["since"] - (time.time() - 3600)) < 5 and
                d.requests[-1]["args"]["link"] == 2, d.requests[-1])
    bench.run("ledger", "show", "--since", "1h", "--to", "10m", "--by", "minute")
    a = d.requests[-1]["args"]
    bench.check("since and to, by minute", abs(a["until"] - a["since"] - 3000) < 1 and a["by_s"] == 60, a)
    n = len(d.requests)
    for words in ("--since 10m --to 1h", "--by week", "--to 2999-01-01"):
        code, _, err = bench.run("ledger", "show", *words.split())
        bench.check(f"{words} is a usage error, with a hint", code == 2 and "->" in err, f"{code} {err}")
    bench.equal("none of them asks", len(d.requests), n)
    bench.equal("every request fits the schema", d.complaints, [])
    d.stop()


# --- terminals ---

def on_terminal(bench, words, keys="", until=None, env=None, rows=50, columns=150, seconds=8):
    """fcmctl on a terminal: (exit code, what came)."""
    import fcntl
    import termios
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execve(bench.fcmctl, [bench.fcmctl, *words], {**bench.env, "TERM": "xterm", **(env or {})})
    seen, end, sent, code = b"", time.monotonic() + seconds, False, None
    while time.monotonic() < end:
        if fd in select.select([fd], [], [], 0.05)[0]:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                piece = b""
            if not piece:
                break
            seen += piece
        if keys and not sent and (until is None or until.encode() in seen):
            os.write(fd, keys.encode())
            sent = True
    if time.monotonic() >= end:
        os.kill(pid, signal.SIGKILL)
        code = -1
    status = os.waitpid(pid, 0)[1]
    os.close(fd)
    return code if code is not None else os.waitstatus_to_exitcode(status), seen.decode(errors="replace")


def sent(d):
    """Requests that are neither a dry run nor answered with needs-yes."""
    return [r for r in d.requests if r["op"] in ("param.set", "param.action", "safe") and not r["args"].get("dry_run") and
            (r["args"].get("yes") or (r["op"] != "safe" and r["args"]["name"] != "floor3.fcm.reset"))]


def careful_ones(bench, d, path):
    """A write to more than one careful parameter shows what would change and asks once; a write to one does not."""
    for words in (["set", "floor*.om*.hv", "1800"], ["ramp", "floor*.om*.hv", "1800"], ["batch", path + "two.batch"]):
        d.requests.clear()
        code, out = on_terminal(bench, words, keys="yes\n", until="type yes")
        bench.check(f"{words[0]}: it shows what would change, and asks once", code == 0 and out.count("type yes") == 1 and
                    "would set tower1.floor3.om2.hv from 1400.0 V" in out and "refused now: tower1.floor4.om0.hv" in out and
                    "2 of 2 done" in out, (code, out))
        first = [r["args"].get("dry_run", False) for r in d.requests if r["op"] == "param.set"]
        bench.check(f"{words[0]}: all was asked for before the first was sent", first[:2] == [True, True] and
                    True not in first[2:] and len({r["args"]["name"] for r in sent(d)}) == 2, first)
        bench.check(f"{words[0]}: the yes is not for what is dangerous", not [r for r in sent(d) if r["args"].get("yes")], d.requests)
        d.requests.clear()
        code, out, err = bench.run(*words, "--yes")
        bench.check(f"{words[0]}: with --yes it asks nothing", code == 0 and not [
            r for r in d.requests if r["args"].get("dry_run")], (code, out, err, d.requests))
    for words in (["set", "floor3.om2.hv", "1450"], ["batch", path + "gains.batch"], ["set", "floor*.om*.hv", "1800", "--dry-run"]):
        code, out = on_terminal(bench, words)
        bench.check(f"{words}: that is one, or none: it does not ask", "type yes" not in out and code != -1, (code, out))


def terminals(bench):
    """colour, questions, the full screen"""
    d = bench.daemon.start()
    code, out = on_terminal(bench, ["status"])
    bench.check("colour on a terminal", code == 0 and "\033[32mWELL  \033[0m" in out, out)
    code, out = on_terminal(bench, ["status"], env={"NO_COLOR": "1"})
    bench.check("none with NO_COLOR", code == 0 and "\033" not in out, out)
    code, out = on_terminal(bench, ["set", "floor3.om2.hv", "1450"])
    bench.check("progress on a terminal", code == 0 and "ACKED  reads 1421.3 V" in out, out)
    d.requests.clear()
    code, out = on_terminal(bench, ["action", "floor3.fcm.reset"], keys="yes\n", until="type yes")
    bench.check("a dangerous action asks, and goes on with yes", code == 0 and "DONE" in out, out)
    ids = {r["args"]["client_id"] for r in d.requests}
    bench.check("under one client id", len(ids) == 1 and len(d.requests) == 2, d.requests)
    code, out = on_terminal(bench, ["action", "floor3.fcm.reset"], keys="no\n", until="type yes")
    bench.check("and ends with anything else", code == 1 and "--yes" in out and "nothing was sent" in out, out)
    path = os.path.join(TRANSCRIPTS, "files", "")
    asking = (["action", "floor3.fcm.reset"], ["set", "floor3.om[01].p*", "on"], ["safe"],
              ["set", "floor*.om*.hv", "1800"], ["ramp", "floor*.om*.hv", "1800", "--rate", "12.5"],
              ["action", "floor3.*.clear_trip"], ["batch", path + "two.batch"],
              ["batch", path + "dangerous.batch"], ["apply", path + "gains.plan"])
    for words in asking:
        for no in ("y", "Y", "YES", "yes!", "yes yes", "yesyesyesyesyesyes", "no", ""):
            d.requests.clear()
            code, out = on_terminal(bench, words, keys=no + "\n", until="type yes")
            bench.check(f"{words[0]}: '{no}' is not the word", code == 1 and "nothing was sent" in out and "--yes" in out and
                        not sent(d), (code, out, d.requests))
    careful_ones(bench, d, path)
    for words in asking:
        d.requests.clear()
        code, out = on_terminal(bench, words, keys="\x03", until="type yes")
        bench.check(f"{words[0]}: Ctrl-C is a no, and says so", code == 1 and "nothing was sent" in out and not sent(d),
                    (code, out, d.requests))
    d.requests.clear()
    code, out = on_terminal(bench, ["set", "floor3.om[01].p*", "on"], keys="yes\n", until="type yes")
    bench.check("many dangerous ones ask once, with the list", code == 0 and "om0.power: power" in out and
                "om1.power: power" in out and out.count("type yes") == 1 and "2 of 2 done" in out, out)
    ids = {r["args"]["client_id"] for r in sent(d)}
    bench.equal("each under its own id", (len(ids), [r["args"]["wait"] for r in sent(d)]), (2, [True, True]))
    d.requests.clear()
    d.fault = "silent-commands"
    code, out, err = bench.run("set", "floor*.om*.hv", "1800", "--yes", "--timeout", "0.5")
    bench.check("all sent before one has ended", code == 3 and "no message from the daemon for 0.5 s" in err and
                "2 under way continue in the daemon" in err, (code, out, err, d.requests))
    d.fault = None
    bench.equal("without terminal it needs --yes", bench.run("action", "floor3.fcm.reset")[0], 1)
    bench.equal("with it, it goes", bench.run("action", "floor3.fcm.reset", "--yes")[0], 0)

    code, out = on_terminal(bench, ["top", "--interval", "0.2"], keys="q", until="quit")
    bench.check("top is a full screen; q ends it", code == 0 and "nothing is wrong" in out and "\033[?1049h" in out, out)
    d.scene = "red"
    code, out = on_terminal(bench, ["top", "--interval", "0.2"], keys="\x03", until="link-dark")
    bench.check("Ctrl-C ends it, too", code == 0 and "\033[?1049l" in out, out)
    d.scene = None
    code, out = on_terminal(bench, ["top", "--interval", "0.2"], keys="jjkq", until="quit", rows=5, columns=20)
    bench.check("a tiny terminal is no crash", code == 0, out)
    code, out = on_terminal(bench, ["top", "--interval", "0.2"], keys="q", until="quit",
                            env={"NO_COLOR": "1"})
    bench.check("no colours in top with NO_COLOR", code == 0 and "\033[32m" not in out, out)
    code, out = on_terminal(bench, ["history", "floor3.om2.hv", "--since", "2026-11-20T15:05"], rows=24, columns=100)
    plain = re.sub("\033\\[[0-9;]*m", "", out)
    bench.check("history on a terminal is a plot, as wide as that", code == 0 and "least " in plain and
                any(0x2800 < ord(c) < 0x2900 for c in plain) and max(len(x) for x in plain.splitlines()) == 100, out)
    code, out = on_terminal(bench, ["history", "floor3.om2.hv"], env={"LC_ALL": "C"})
    bench.check("in ASCII where the locale knows no more", code == 0 and "*" in out and out.isascii(), out)
    code, out = on_terminal(bench, ["history", "floor3.om2.hv", "--rows"])
    bench.check("with --rows the table", code == 0 and "time (UTC)" in out and "least" not in out, out)
    code, out = on_terminal(bench, ["top"], env={"TERM": "no-such-terminal"})
    bench.check("an unknown terminal is said", code == 1 and "unknown terminal type" in out, out)

    code, out, _ = bench.run("top", "--count", "2", "--interval", "0.1")
    bench.check("without terminal: one after the other", code == 0 and out.count("nothing is wrong") == 2, out)
    code, out, _ = bench.run("top", "--count", "2", "--interval", "0.1", "--json")
    bench.equal("and for programs", [json.loads(x)["incidents"]["word"] for x in out.splitlines()], ["WELL", "WELL"])
    d.scene = "red"
    bench.equal("top --once exits as status does", bench.run("top", "--once")[0], 1)
    d.scene = None
    d.stop()
    bench.equal("top --once without daemon exits 3", bench.run("top", "--once")[0], 3)
    code, out = on_terminal(bench, ["top", "--interval", "0.2"], keys="q", until="is not running")
    bench.check("top waits for a daemon that is away", code == 0 and "RED" in out, out)


# --- data tail ---

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def block(link, first_frame, flags=0x200, hits=1):
    """A pmt block of 80 frames with `hits` times the hit of the field's test vector, on module 3."""
    hit = bytes.fromhex("730 2aa55 3930d711 1e965c15 18dc0580".replace(" ", "")) + bytes(range(24))
    frames, channels = 80, 6
    index_at, data_at = 80, 80 + channels * (frames + 1) * 4
    offsets = [data_at] * 4 + [data_at + len(hit) * hits] * 3
    index = b"".join(struct.pack(f"<{frames + 1}I", offsets[c], *[offsets[c + 1]] * frames) for c in range(channels))
    payload = bytes(index_at) + index + hit * hits
    utc = 1795187523.25
    header = struct.pack("<IHHBBBBBBBBIIIIIIIIQQqQqqIIIIII7II96xI", 0x424d4346, 1, 256, 0, 0, link, channels, 1,
                         link + 1, 1, 2, flags, 12, 1, 1, 50, frames, 0, 0, (1 << 40) | first_frame // frames,
                         first_frame, int((utc + 37) * 1000) * 10 ** 6, int((utc - 946684800) * 1000) // 200, 0, 0, 0, hits,
                         len(payload), 0, index_at, data_at, *offsets, 0, crc32c(payload))
    return [b"pmt.T01.F%02d" % (link + 1), header + struct.pack("<I", crc32c(header)), payload]


def tail(bench):
    """data tail: blocks from a monitor's socket"""
    import zmq
    d = bench.daemon.start()
    context = zmq.Context()
    pub = context.socket(zmq.XPUB)
    pub.bind(bench.monitor)

    def subscribed():
        assert pub.poll(5000), "nobody subscribed"
        return pub.recv()

    p = bench.start("data", "tail", "--count", "3")
    bench.equal("it subscribes to its stream only", subscribed(), b"\x01pmt.")
    damaged = block(0, 80)
    damaged[2] = damaged[2][:-1] + b"\xff"
    for message in (block(0, 0), damaged, [b"pmt.T01.F01", b"short"], block(0, 160, hits=2),
                    block(1, 0, flags=0x209)):
        pub.send_multipart(message)
    out, err = (x.decode() for x in p.communicate(timeout=5))
    bench.equal("exit 0 after --count", p.returncode, 0)
    wanted = ["2026-11-20 15:12:03.250 link0 T01.F01 pmt run 12 frames 0+80 1 hits emulated | om3 56.570936725 "
              "charge 1500",
              "2026-11-20 15:12:03.250 link0 T01.F01 pmt run 12 frames 160+80 2 hits emulated | om3 56.570936725 "
              "charge 1500 | om3 56.570936725 charge 1500",
              "2026-11-20 15:12:03.250 link1 T01.F02 pmt run 12 frames 0+80 1 hits resent partial emulated | om3 "
              "56.570936725 charge 1500"]
    bench.equal("one line a block, as wide as it is", out.replace("\n" + 23 * " " + " |", " |").splitlines(), wanted)
    bench.check("without a terminal 100 columns", max(map(len, out.splitlines())) <= 100 and out.count("\n |") == 0, out)
    bench.check("what was missed is its own", "frames 80 to 159 were missed here" in err and "payload is damaged" in
                err, err)

    p = bench.start("data", "tail", "--count", "1", "--floor", "2", "--tower", "1", "--json", "--items", "0")
    seen = [subscribed() for _ in range(2)]  # the one before unsubscribes
    bench.check("narrowed down at the source", b"\x01pmt.T01.F02" in seen, seen)
    pub.send_multipart(block(0, 0))
    pub.send_multipart(block(1, 80))
    out, err = p.communicate(timeout=5)
    found = json.loads(out)
    bench.equal("for programs", (found["v"], found["link"], found["first_frame"], found["items"], found["flags"],
                                 found["first_items"]), (2, 1, 80, 1, ["emulated"], []))
    code, _, err = bench.run("data", "tail", "--timeout", "0.5")
    bench.check("--timeout ends a silence", code == 1 and "no block from" in err, err)
    for words in ("--stream video", "--module 2", "--hits --items 2", "--hits --stream instrument", "--hits --module 6"):
        bench.equal(f"usage: data tail {words}", bench.run("data", "tail", *words.split())[0], 2)
    p = bench.start("data", "tail")
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=5)
    bench.equal("Ctrl-C is the usual end", p.returncode, 0)
    pub.close(0)
    context.term()
    d.stop()


def looks(bench):
    """data tail --hits, data plot: from a monitor's socket, to the digit"""
    import zmq
    d = bench.daemon.start()
    context = zmq.Context()
    pub = context.socket(zmq.XPUB)
    pub.bind(bench.monitor)

    def run(*args, blocks=(), env=None):
        p = subprocess.Popen(["fcmctl", "data", *args], executable=bench.fcmctl, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(bench.env, **(env or {})))
        assert pub.poll(5000), "nobody subscribed"
        while pub.recv()[:1] != b"\x01":  # the one before unsubscribes
            assert pub.poll(5000), "nobody subscribed"
        for message in blocks:
            pub.send_multipart(message)
        out, err = (x.decode() for x in p.communicate(timeout=10))
        return p.returncode, out, re.sub(r"\n {8}", " ", err)

    # Born 3433 frames before the block: as old as its FrameCounter says.
    line = "2026-11-20T15:12:02.{} link0 T01.F01 om3 charge    1500 samples 24 zip"
    code, out, err = run("tail", "--hits", "--count", "3", blocks=[block(0, 0, hits=2), block(0, 160), block(1, 0)])
    bench.equal("a line a hit", (code, out.splitlines()), (0, [
        line.format(ns) for ns in ("820936725", "820936725", "800936725")]))
    bench.check("what was missed is said", "frames 80 to 159 were missed here" in err, err)
    code, out, _ = run("tail", "--hits", "--module", "om3", "--link", "1", "--count", "1", "--json",
                       blocks=[block(0, 0), block(1, 0)])
    bench.equal("and for programs", json.loads(out), {
        "v": 2, "link": 1, "tower": 1, "floor": 2, "om": 3, "utc": "2026-11-20T15:12:02.820936725",
        "tai_ns": 1795187559820936725, "pmt": 3, "frame": 4567, "t5ns": 12345, "charge": 1500, "samples": 24, "zip": True,
        "fragment": False, "fifo_full": False})
    code, _, err = run("tail", "--hits", "--module", "2", "--timeout", "0.5", blocks=[block(0, n) for n in (0, 80)])
    bench.check("blocks without a wanted hit are silence", code == 1 and "no hit from" in err, (code, err))

    lost = block(0, 0, hits=3), block(0, 160, hits=2)
    code, out, err = run("plot", "--for", "1s", blocks=lost)
    bench.equal("a histogram", (code, out.splitlines()), (0, [
        "charge: 5 hits, floor 1, 10 ms", "from  hits       %  bar", "1500     5  100.00  " + 40 * "█",
        "mean              1500.0", "median            1500", "least             1500", "greatest          1500",
        "missed            80 frames here: a monitor is best effort; no loss of the station"]))
    bench.check("what was missed is said, too", "frames 80 to 159 were missed here" in err, err)
    out = run("plot", "--for", "1s", blocks=lost, env={"LC_ALL": "C"})[1]
    bench.check("without UTF-8", f"1500     5  100.00  {40 * '#'}\n" in out, out)
    out = run("plot", "rate", "--for", "1s", "--module", "3", "--csv", blocks=lost)[1]
    bench.equal("as CSV", out, "from_kHz,blocks,%\n0.2,1,50.00\n0.3,1,50.00\n")
    out = run("plot", "time", "--for", "1s", "--over", "3", "--json", blocks=lost)[1]
    found = json.loads(out)
    # Samples are 0 to 23: 19 are 3 or more above 1.5, the last pulse of a module has no end yet, nor has one before a gap.
    bench.equal("time over threshold, for programs", {k: found[k] for k in (
        "quantity", "unit", "over", "module", "hits", "entries", "bin", "bins", "below", "above", "mean", "median", "least",
        "greatest")}, {"quantity": "time-over-threshold", "unit": "ns", "over": 3, "module": None, "hits": 5, "entries": 3,
                       "bin": 5, "bins": [[95, 3]], "below": 0, "above": 0, "mean": 95.0, "median": 95, "least": 95,
                       "greatest": 95})
    bench.equal("where the data are", found["links"], [{
        "link": 0, "tower": 1, "floor": 1, "first_frame": 0, "end_frame": 240, "frames": 160, "lost": 0, "missed": 80,
        "hits": 5}])
    code, _, err = run("plot", "--for", "1s")
    bench.check("no block is no histogram", code == 1 and "no block from" in err, (code, err))
    code, out, _ = run("plot", "--for", "1s", "--module", "0", blocks=[block(1, 0)])
    bench.equal("a module without hits", (code, out), (0, "charge: 0 hits, floor 2 om0, 10 ms\nno values\n"))
    for words in ("video", "charge --over 3", "charge rate", "--for 0", "time --over 0"):
        bench.equal(f"usage: data plot {words}", bench.run("data", "plot", *words.split())[0], 2)
    pub.close(0)
    context.term()
    d.stop()


# --- for those who do not see colours, and for programs ---

COLOURED = ["status", "top --once", "incident list", "incident list --since 8h", "incident show 42", "event list", "link list",
            "link show 2", "phase show", "phase history 2", "clock show", "clock history", "command list", "command show 17",
            "consumer list", "ledger show", "ledger dark", "run show", "get", "report --to 2026-11-20T15:12:04"]


def colours(bench):
    """colour is never alone: without it the same words are there"""
    d = bench.daemon.start()
    seen = 0
    for d.scene in (None, "red"):
        for words in COLOURED:
            coloured, plain = (on_terminal(bench, words.split(), env=env)[1] for env in (None, {"NO_COLOR": "1"}))
            pieces = re.findall("\033\\[[0-9;]+m(.*?)\033\\[0?m", coloured, re.S)
            seen += len(pieces)
            bench.equal(f"{words} without its colours", re.sub("\033\\[[0-9;]*m", "", coloured), plain)
            bench.check(f"{words}: what is coloured is a word", all(re.search(r"[\w!]", p) for p in pieces), pieces)
    bench.check("there were colours", seen > 100, seen)
    d.scene = None
    d.stop()


# Commands that print tables, as they are typed; and those that print none, or that other cases and tests look at.
TABLES = ["status", "top --once", "incident list", "incident list --since 8h", "event list", "report --to 2026-11-20T15:12:04",
          "link list", "phase history 2", "phase soak 2 --trials 2", "clock history", "get", "get --at 2026-11-20T15:12",
          "safe floor3 --dry-run", "diff --at 2026-11-20T15:11", "history floor3.om2.hv", "plan gains.plan", "job list",
          "job show gains-1", "snapshot list", "snapshot diff nominal", "command list", "command show 17", "consumer list",
          "ledger show", "ledger show --rows", "ledger dark", "run show", "record list", "key list KEYS", "drill causes",
          "notify show", "data plot"]
NO_TABLES = ["incident show", "incident ack", "incident pause", "incident resume", "incident watch", "log", "doctor", "link show",
             "link reset", "link align", "phase show", "phase accept", "clock show", "set", "ramp", "action", "apply", "batch",
             "snapshot save", "snapshot show", "snapshot restore", "snapshot remove", "command cancel", "run start", "run stop",
             "record start", "record stop", "record dump", "data tail", "serial", "completion", "key make", "key server",
             "drill answer", "notify test", "backup", "restore"]
ELSEWHERE = ["key list", "drill causes", "notify show", "data plot"]  # they need more than canned answers


def tables(bench):
    """every table as CSV: each column has a name of its own that -o takes, each row has all of them"""
    bench.daemon.start()
    make_database(os.path.join(bench.dir, "station.db"))
    make_recordings(os.path.join(bench.dir, "recordings"))
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?= |$)", bench.run("--help")[1].split("Options:")[0], re.M)

    def is_of(line, command):
        return (line + " ").startswith(command + " ")
    bench.equal("no command is left out", [c for c in commands if c not in NO_TABLES and not any(is_of(x, c) for x in TABLES)], [])
    for bench.daemon.scene in (None, "red"):
        for line in TABLES:
            if any(is_of(line, c) for c in ELSEWHERE):
                continue
            code, out, err = bench.run(*line.split(), "--csv")
            found = [list(csv.reader(io.StringIO(part))) for part in out.split("\n\n") if part]
            heads = [table[0] for table in found]
            names = list(dict.fromkeys(name for head in heads for name in head))
            bench.check(f"{line} --csv", code in (0, 1) and found and all(len(row) == len(t[0]) for t in found for row in t),
                        (code, out, err))
            bench.check(f"{line}: names", all(len(set(h)) == len(h) and all(n and not re.search("[, ]", n) for n in h) for h in heads),
                        heads)
            _, out, err = bench.run(*line.split(), "--csv", "-o", "nothing")
            there = re.search("there are (.*)", err)
            bench.check(f"{line}: -o has the same", there and ",".join(names).startswith(there.group(1)), (err, names))
            if there and there.group(1) == ",".join(names):  # else there are too many to be listed
                for name in names:
                    code, out, err = bench.run(*line.split(), "--csv", "-o", name)
                    got = [list(csv.reader(io.StringIO(part))) for part in out.split("\n\n") if part]
                    wanted = [[[row[t[0].index(name)]] for row in t] for t in found if name in t[0]]
                    bench.equal(f"{line} --csv -o {name}", got, wanted)
    bench.daemon.scene = None
    bench.daemon.stop()


# --- every command of the help ---

def helps(bench):
    """help and manual page know every command and option"""
    code, out, _ = bench.run("--help")
    bench.equal("help exits 0", code, 0)
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?= |$)", out.split("Options:")[0], re.M)
    bench.check("there are commands", len(commands) > 20, commands)
    manual = open(os.path.join(ROOT, "slowctl", "fcmctl.1")).read()
    plain = re.sub(r"\\&|\\-", lambda m: "-" if m.group(0) == "\\-" else "", manual)
    for command in commands:
        code, text, err = bench.run(*command.split(), "--help")
        bench.check(f"{command} --help", code == 0 and "usage: fcmctl " + command in text, err)
        bench.check(f"{command} --help in 100 columns", max(map(len, text.splitlines())) <= 100, text)
        bench.check(f"{command} is in the manual", re.search(rf"^\.It (?:Xo )?Ic {command}\b", plain, re.M), "")
        for option in re.findall(r"--([a-z-]+)", text.split("Options:")[-1].split("\nand those")[0]):
            bench.check(f"--{option} of {command} is in the manual", f"Fl Fl {option}" in plain or
                        f"-{option}" in plain, "")
    reasons = bench.daemon.schema.whole["$defs"]["code"]["enum"]
    for reason in reasons:
        bench.check(f"{reason} is in the manual", re.search(rf"^\.It Sy {reason}$", plain, re.M), "")
    bench.equal("no command at all is a usage error", bench.run()[0], 2)
    bench.check("--version", bench.run("--version")[1].startswith("fcmctl "))


# --- completion, as the shells ask for it ---

def completion(bench):
    """bash and zsh complete by our scripts: from the tables, and from the daemon; silent when it is away"""
    def script(shell):
        path = os.path.join(bench.dir, "completion." + shell)
        code, out, err = bench.run("completion", shell)
        bench.check(f"the script of {shell}", code == 0 and "__complete" in out and not err, err)
        with open(path, "w") as f:
            f.write(out)
        return path

    def asked(shell, program, words):
        env = dict(bench.env, PATH=os.path.dirname(bench.fcmctl) + ":" + os.environ["PATH"])
        r = subprocess.run([shell, *(["--norc"] if shell == "bash" else ["-f"]), "-c", program, shell, *words],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20, env=env, check=False)
        bench.equal(f"{shell} {words}: nothing on stderr", r.stderr, "")
        return sorted(r.stdout.split())
    bash, zsh = script("bash"), script("zsh")
    in_bash = f'. {bash}; COMP_WORDS=(fcmctl "$@"); COMP_CWORD=$#; _fcmctl; printf "%s\\n" "${{COMPREPLY[@]}}"'
    # Outside of its line editor zsh has no compadd: ours prints what it is given.
    in_zsh = ('compdef() { : }; _files() { : }; compadd() { print -l -- "${(@P)argv[-1]}" }; '
              f'. {zsh}; words=(fcmctl "$@"); CURRENT=${{#words}}; _fcmctl; true')
    cases = [
        (["l"], ["ledger", "link", "log"]), (["link", ""], ["align", "list", "reset", "show"]),
        (["link", "reset", ""], ["0", "1", "2", "3"]), (["command", "list", "--st"], ["--state"]),
        (["command", "list", "--state", "D"], ["DONE"]), (["command", "list", "--state", "=", "D"], ["DONE"]),
        (["status", "--si"], []), (["--js"], ["--json"]), (["--json", "run", "st"], ["start", "stop"]),
        (["completion", ""], ["bash", "zsh"]), (["no", "such", ""], []), (["get", "--at", "yest"], ["yesterday"]),
        # From here on by the daemon.
        (["get", "fl"], ["floor3.", "floor4."]), (["get", "floor3."], ["floor3.fcm.", "floor3.om2."]),
        (["get", "clock", "floor3.om2.h"], ["floor3.om2.hv"]), (["get", "tower1.fl"], ["tower1.floor3.", "tower1.floor4."]),
        (["set", "floor3."], ["floor3.om2."]), (["action", "floor3."], ["floor3.fcm."]),
        (["set", "floor3.om2.power", "o"], ["off", "on"]), (["history", "cl"], ["clock."]),
        (["command", "show", ""], ["17", "18"]), (["job", "show", "20261119"], ["20261119T091000-77aa22bb"]),
        (["apply", "x.plan", "--job", "20261119"], ["20261119T091000-77aa22bb"]), (["command", "list", "--floor", ""], ["1", "2", "3", "4"]),
        (["ramp", "floor3.om2."], ["floor3.om2.hv"]), (["safe", "fl"], ["floor3", "floor4"]),
        (["safe", "floor4."], ["floor4.om0"]), (["snapshot", "restore", ""], ["low", "nominal"]),
        (["snapshot", "diff", "low", "n"], ["nominal"]), (["snapshot", "save", ""], []),
        (["data", "plot", ""], ["charge", "rate", "samples", "time-over-threshold"]),
        (["data", "tail", "--hits", "--module", ""], ["0", "1", "2", "3", "4", "5"]),
        (["key", "make", "anna", ""], ["expert", "operator", "reader"]), (["serial", "floor3", ""], ["ctd", "loop"]),
        (["get", "$(touch x)"], []), (["get", "'"], []),
    ]
    bench.daemon.start()
    for words, wanted in cases:
        bench.equal(f"bash: fcmctl {' '.join(words)}<Tab>", asked("bash", in_bash, words), wanted)
        bench.equal(f"zsh: fcmctl {' '.join(words)}<Tab>", asked("zsh", in_zsh, words), wanted)
    bench.daemon.scene = "eve"
    for words, wanted in ((["snapshot", "restore", ""], ["good-1"]), (["job", "show", ""], ["20261120T151103-3fa29c01"]),
                          (["get", ""], ["clock."]), (["get", "clock."], ["clock.state"])):
        bench.equal(f"bash: {' '.join(words)}: no name that the shell would interpret", asked("bash", in_bash, words), wanted)
        bench.equal(f"zsh: {' '.join(words)}: no name that the shell would interpret", asked("zsh", in_zsh, words), wanted)
    bench.daemon.scene = None
    r = subprocess.run(["zsh", "-n", zsh], capture_output=True, check=False)
    bench.equal("zsh -n", (r.returncode, r.stderr), (0, b""))
    bench.daemon.fault = "silent"
    begun = time.monotonic()
    bench.equal("a daemon that says nothing", asked("bash", in_bash, ["get", "fl"]), [])
    bench.check("is not waited for", time.monotonic() - begun < 5, time.monotonic() - begun)
    bench.daemon.fault = None
    bench.daemon.stop()
    bench.equal("nor one that is away", asked("bash", in_bash, ["get", "fl"]), [])
    bench.equal("the tables are there", asked("bash", in_bash, ["li"]), ["link"])
    bench.equal("an unknown shell", bench.run("completion", "fish")[0], 2)


CASES = [completion, helps, transcripts, widths, recordings, requests, faults, interrupt, terminals, tail, looks, away,
         old_shift, colours, tables]


def main():
    # Whoever was started in the background of a shell ignores SIGINT, and its children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    p = argparse.ArgumentParser()
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--tests", help="not used")
    p.add_argument("--sanitized", action="store_true", help="not used")
    p.add_argument("--update", action="store_true")
    p.add_argument("case", nargs="*")
    args = p.parse_args()
    passed = failed = 0
    for case in CASES:
        if args.case and case.__name__ not in args.case:
            continue
        print(f"== test_fcmctl: {case.__name__}: {case.__doc__}", flush=True)
        directory = tempfile.mkdtemp(prefix="fcm-")  # short: a socket's path has at most 107 bytes
        bench = Bench(args, directory)
        try:
            if case is transcripts:
                bench.daemon.start()
            case(bench)
        except Exception as e:  # a case that raises has failed, the others go on
            bench.failed += 1
            print(f"  FAILED  {type(e).__name__}: {e}")
        bench.check("requests and canned answers fit the schema", not bench.daemon.complaints,
                    bench.daemon.complaints[:5])
        shutil.rmtree(directory, ignore_errors=True)
        passed, failed = passed + bench.passed, failed + bench.failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
