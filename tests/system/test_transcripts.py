#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What an operator types and reads: transcripts from a real daemon on the emulated station. Times, counters and
measured values are masked; what is set, the states, the words and the exit codes are not.

    test_transcripts.py [--bin build/bin] [--update] [CASE...]

--update writes what was seen into transcripts/CASE/; read the difference before keeping it.
"""
import getpass
import glob
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults  # noqa: E402
import harness  # noqa: E402
import transcript  # noqa: E402
from station import Process  # noqa: E402

TRANSCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transcripts")

DATE = r"\d{4}-\d\d-\d\d"
SPAN = r"\d+(?:\.\d+)? (?:ns|us|ms|s|min|h|d)(?: \d+ (?:s|min|h))?"
# In this order.
MASKS = (
    (r"fcmctl-\d+-[0-9a-f]{16}", "CLIENT"),
    (r"\d{8}T\d{6}-[0-9a-f]{8}", "JOB"),
    (r"\d{8}T\d{6}Z[a-z]?", "STAMP"),  # a letter: the second backup of a second
    (r"(?<=before-restore-)\d+", "N"),
    (r"(?m)((?:^last numbers:|far above) .* incident )\d+", r"\1N"),
    (r"(?m)^fcmctl: link \d \w+: .* were missed here \(a monitor .*\n?", ""),  # by a slow machine
    # Hits, and a histogram's lines: however many, and whatever they count.
    (r"(?m)( om\d) charge +\d+ samples +\d+.*$", r"\1 charge N samples N ..."),
    (r"(?m)^ *(?:below )?[\d.]+(?: and above)?  \d+  \d+\.\d\d *(?:  [\u2588-\u258f]+)?\n", ""),
    (r"(?m)^ +(from\b.*  bar)$", r"\1"),
    (r"(?m)^(median|least|greatest)  [\d.]+", r"\1  N.N"),
    (r"(?m)^(\w+: )\d+ (hits|blocks)(?= of a module,|,)", r"\1N \2"),
    (r"(?m)^slope  .*", "slope ..."),  # too few samples, or no line
    (r"(?m)^Incident \d+", "Incident N"),
    (r"\(explains \d+ more\)", "(explains N more)"),
    (r"(?m)^  \d+  cleared  .*\n?|^  \d+  \w+  \w+  .*/(?:machine-late|disk-hangs|link-silent): .*\n?", ""),
    # Incidents: what the start brought is over soon; where a text is cut depends on its numbers.
    (r"(?m)^ +\d+ cleared  ?\d\d:\d\d:\d\d .*\n", ""),
    (r"(?m)^ +\d+ (red|warning|seen|paused) +\d\d:\d\d:\d\d ([^:\n]*):.*", r"  N \1 TIME \2: ..."),
    (r"(?m)^ {6}-> .*\n", ""),  # what to do is there while there is room
    (r"(?m)^ +\d+ more: fcmctl incident list\n", ""),  # cleared ones of the start, if there were any
    (r"(?<=incident show )\d+(?=$|\n)|(?m:(?<=acknowledged )\d+(?= \w+/)|(?<=paused  )\d+(?= \w+/))", "N"),
    (r"(?m)^  +\d+  (red|warning|seen|paused|cleared)  ", r"  N  \1  "),
    (r"\d+(?:\.\d+)?(?= module-s\b)", "N"),
    (r"(?m)^(clock .*|  fcm-server for .* \(no answer on)\n  +(?=\S)", r"\1 "),  # where it is broken
    (rf"{DATE}[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?|(?<= at )\d\d:\d\d:\d\d\b", "TIME"),
    (r"(?m)^TIME  TIME  .*/link-dark: .*\n(?:(?:  ->|    ) .*\n?)*", ""),  # a link that became light just when another one went dark
    (DATE, "DATE"),
    (r"127\.0\.0\.1:\d+", "HOST:PORT"),
    (r"(?<=version )\d+\.\d+\.\d+|(?<=fcm-server )\d+\.\d+\.\d+", "VERSION"),
    (rf"\b{SPAN}\b", "SPAN"),
    (r"(?m)\(command \d+\)$", "(command N)"),
    # What is lost before all links are aligned, and whether the clock is late, depends on who began first.
    (r"(?m)^(.*  )?(\S*/)?(link-down|alignment|clock-acquiring|clock-no-time|machine-late)  .*\n?(?:(?:  ->|    ) .*\n?)*", ""),
    (r"(?m)^TIME  \S+  \S+/(stale|floor-mute|daemon-start|clock-\S+)  .*\n?(?:(?:  ->|    ) .*\n?)*", ""),
    (r"(?m)^(\w+_(?:c|percent|v|a|deg))  -?[\d.]+$", r"\1  N.N"),
    (r"(?m)^(link0  \d+  good) .*", r"\1 ..."),
    (r"(?m)^TIME  no-time  none .*\n?|^TIME  locked  floors  .*\n?", ""),
    (r"(?m)^(TIME  acquiring .*)(?:\nTIME  acquiring .*)+", r"\1"),
    # An emulator, or a disk, that a busy machine held up.
    (r"(?m)^TIME  (?:began|over) +\d+ disk/disk-hangs.*\n(?: {9,}.*\n)*", ""),
    (r"(?m)^TIME  holdover  gpsd .*; the board sees no PPS\nTIME  locked  gpsd .*\n", ""),
    (r"(?m)^-- the newest 60: .*\n?", ""),
    (r'(?m)^\{"v": 2, "change": "...", "time": "..."(, "incident": "...")?\}\n?', ""),  # signs of life; what comes meanwhile
    (r"(?m)^blackbox-.*\n?", ""),
    (r"(?m)(?<= )[!-~]{40}$|^[!-~]{40}$", "KEY"),
    (r"\b\d+ +(\d+ link-down, )?\d+ alignment", "LOST"),
    (r"(?m)^( +)\d+ (link-down|alignment) of(?:.*\n?)*?(?=^\S|\Z)", r"\1LOST\n"),
    (r"\d+ frames, [\d.]+ MB; \d+ cells without data, \d+ let go", "N frames, N MB; N cells without data, N let go"),
    # Of doctor: what is of this machine.
    (r"(?m)^(?:pass|warn|n/a)  (?:kernel log|huge pages|system clock|sync)  .*\n(?: {9,}.*\n)*", ""),
    (r"(?m)^\d+ pass, \d+ warn, (?=\d+ fail$)", "N pass, N warn, "),
    (r"(?m)\d+ (?=satellites$|MiB: no damage)", "N "),
    (r"[\u2800-\u28ff]+", "PLOT"),
    (r'("(?:time|ended|until|since|begun|begun_slice|ended_slice|age_s|uptime_s|pid|uid|sequence)": )[0-9.]+', r"\1N"),
    (r"(?<![\w.])[-+]?\d+\.\d+(?: [kMG](?!\w))?", "N.N"),
    (r"(?m)^(N\.N,N\.N,N\.N)(?:\n\1)+$", r"\1"),  # measurements of an instrument that were under way
    (r"(?<![\w.])\d{5,}(?![\w.])", "N"),
    (r"\d+(?=/1000\b| of 1000 buffers| rows queued| samples| bytes,)", "N"),
    (r"\d+(?= link-down\b| no-member\b| hits\b)", "N"),
    (r"(?<=rate  )\d+(?=  Hz)|(?m:(?<=^good  )\d+$)|(?<=\(no-member\): instrument of tower1.floor)\d", "N"),
    (r"(?m)^(stopped on its way: .* -> )\d+(?= V )", r"\1N.N"),
    (r"(?<=no-member  \d  tower1\.floor\d  )\d+", "N"),  # the first frame of a link that was aligned
    (r"(?<=labels are being compared).*", "..."),
    (r"(?<=pid )\d+|(?<=uid )\d+|(?<=sequence )\d+|(?<=number )\d+(?=, SPAN ago)", "N"),
    # A busy machine is not the station's fault.
    (r"(?m)^(  )?warning  (?:machine|\S+(?:/|  )stale).*\n(?: {9,}.*\n|  \d.*\n)*", ""),
    (r"the FCM has booted since \(15, now 16\)", "its counter stands at 16"),  # whichever was read first
    (r"(?m)^WELL  0 red, \d+ warnings?$", "WELL"),
    (r"(?<= red, )\d+ warnings?", "N warnings"),
    ("; sent before it was journaled", ""),
    (r'(?m)(^TIME  SENT  )-(?=  )|("state": "SENT", "frame": )null', r"\1\2N"),  # its answer came before the board's event
    (r"(?m)^fcmctl: .*: reading DIR/station.db instead\n?", ""),
    (r"(?m)^((?:STAMP  recording|TDEV|MTIE|\S*\.current)\b).*", r"\1 ..."),
    (r"(?m)^(STAMP|TIME)  (?:up|dark|aligning|silent|unknown)  -\n(?=\1  (?:up|dark|aligning|silent|unknown)  -$)", ""),  # of the start
    (r"(?<=\.hv  )\d+(?=  1450  UNKNOWN)", "N.N"),
    (r"(?<=relabellings, )\d+(?= labels rejected)", "N"),
    (r"(?m)^TIME,\d,,(?:up|dark|aligning|silent|unknown),,,,,\n(?=TIME,\d,,)", ""),
    (r"(?<=  V  )\d+(?=  SPAN  good  .*\n *stops command)", "N.N"),  # where a ramp was stopped
    (r"(?<=^value  )\d+(?= -> )|(?<=\nvalue  )\d+(?= -> )|(?<=hv  )\d+(?=  V)|(?<=hv )\d+(?= -> )|(?<=read-back )\d+(?= V)", "N.N"),
    (r"(?m)^(frames/s|phase_ps|cells|drop_down|status|round trip|its round trip)\b.*", r"\1 ..."),
    (r"(?m)^ *\d+ ps  .*\n?", ""),  # a histogram's lines
)
# The rows below a header with one of these count what flows: behind the name every number is masked.
COUNTING = re.compile(r"offered|in flight|frames/s|hits/s|blocks/s|bytes/s|credit|connections|cells|first frame|first begun|mean ps|set to$")


UNORDERED = (re.compile(" DONE in SPAN: "), re.compile("^(acoustic|trigger)-1  "),
             re.compile(r"^(TIME\*?  )?no-member  "), re.compile("^JOB  .* apply (same|two).plan$"))  # of one second
# Asked twice, the station is the same: their lines are held against the width, too.
READING = {"status", "top", "get", "diff", "history", "plan"}
READING_VERBS = {"list", "show", "history", "diff"}
# Answers of one figure or state a key: only their keys are compared.
FIGURES = 2000


def shape(line):
    """JSON by its keys where it is what was measured, as it is where it is what was done."""
    try:
        found = json.loads(line)
    except ValueError:
        return line
    done = {"error", "command", "parameter", "dry_run", "jobs", "job", "safe", "a", "observations", "rows", "begun", "path"}
    measured = {"reference", "before", "cost", "made"}  # histories
    if not isinstance(found, dict) or (done & set(found) and not measured & set(found) and len(line) < FIGURES):
        return line
    return json.dumps({k: v if k == "v" else "..." for k, v in found.items()})


class Stage:
    """A station and what a transcript may do to it: [wait WHAT], [rest NAME], [sleep SECONDS], [daemon killed|started],
    [begin incident watch]: it runs until the same is typed, which ends it and shows what it said.
    LASTJOB, LASTCOMMAND and LASTSTAMP in what is typed are what was shown last; DIR is the station's directory,
    \\e the escape character."""

    def __init__(self, bench, st):
        self.bench, self.st, self.last, self.running = bench, st, {}, {}
        self.acts = {"wait": self.wait, "rest": st.wait_rest, "sleep": lambda seconds: time.sleep(float(seconds)), "daemon": self.daemon,
                     "begin": self.begin}

    def begin(self, *args):
        self.running[args] = subprocess.Popen(["fcmctl", *args], executable=self.st.program("fcmctl"), stdin=subprocess.DEVNULL, text=True,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env())
        select.select([self.running[args].stdout], [], [], 30)

    def wait(self, what, *args):
        def read(pattern):
            return all(p["access"] == "action" or p["quality"] == "good" and (p["access"] != "rw" or p["setpoint"] is not None)
                       for p in self.st.ask("get", pattern)["parameters"])

        conditions = {"read": read, "reason": lambda code: code in {c for c, _ in faults.codes(self.st)},
                      "gone": lambda code: code not in {c for c, _ in faults.codes(self.st)},
                      "event": lambda text: any(text in e["text"] for e in self.st.ask("event", "list", "-n", "1")["events"]),
                      "well": lambda: self.st.word() != "RED",
                      "stale": lambda name: self.st.ask("get", name)["parameters"][0]["quality"] != "good",
                      "settled": lambda: not self.st.ask("command", "list", "--state", "open")["commands"]}
        self.st.wait_for(" ".join((what, *args)), lambda: conditions[what](*args), 60)

    def daemon(self, what):
        if what == "killed":
            self.st.daemon.kill9()
        else:
            self.st.start_daemon()
            self.st.wait_ready()

    def env(self, columns="1000"):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FCM_") and k != "COLUMNS"}
        # A zone far from UTC and a colourless terminal: neither may matter. Lines as long as they are: where they are
        # broken depends on what is masked.
        env.update(FCM_DIR=self.st.dir, TZ="America/New_York", TERM="dumb", LC_ALL="C.UTF-8")
        return {**env, "COLUMNS": columns} if columns else env

    def run(self, *args):
        for name, value in (*self.last.items(), ("DIR", self.st.dir)):
            args = tuple(a.replace(name, value).replace("\\e", "\033") for a in args)
        if args in self.running:
            process = self.running.pop(args)
            time.sleep(2)  # its last news are on their way
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=10)
            return process.returncode, out, err

        def ran(env):
            return subprocess.run(["fcmctl", *args], executable=self.st.program("fcmctl"), capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=60, check=False, env=env,
                                  cwd=os.path.join(TRANSCRIPTS, "files"))
        r = ran(self.env())
        self.bench.check(f"{' '.join(args)}: no colours without a terminal", "\033" not in r.stdout + r.stderr, r.stdout)
        if set(args[:1]) & READING or set(args[1:2]) & READING_VERBS or "--dry-run" in args:
            # JSON, errors and scripts, which have commands to paste, go on as long as they are.
            wide = [x for x in ran(self.env(None)).stdout.splitlines() if len(x) > 100 and not x.startswith("{")]
            self.bench.check(f"{' '.join(args)} in 100 columns", not wide, wide)
        if "--no-wait" in args:
            self.last["LASTCOMMAND"] = r.stdout.strip()
        return r.returncode, r.stdout, r.stderr

    def masked(self, text):
        text = text.replace(self.st.program("fcmctl"), "fcmctl").replace(self.st.dir, "DIR")
        for name, pattern in (("LASTJOB", MASKS[1][0]), ("LASTSTAMP", MASKS[2][0])):
            self.last[name] = (re.findall(pattern, text) or [self.last.get(name, name)])[-1]
        # Help and scripts are of fcmctl alone.
        if text.startswith(("usage: ", "#compdef", "_fcmctl() ")):
            return text
        text = "\n".join(shape(line) if line.startswith("{") else line for line in text.splitlines())
        text = text.replace(getpass.getuser(), "anna")
        text = re.sub(r"(?<=\S) {2,}|(?m:^) +(?=\d)", "  ", text)  # the widths of columns follow what is masked
        for pattern, mask in MASKS:
            text = re.sub(pattern, mask, text)
        lines, counting = [], False
        for line in map(str.rstrip, text.splitlines()):
            counting = bool(line) and (counting or bool(COUNTING.search(line)))
            line = re.sub(r"(?<=  )(\d+\b|N\.N)", "N", line) if counting else line
            # However many rows of what was measured.
            if not (counting and lines and line == lines[-1]):
                lines.append(line)
        # Commands of a pattern end, and consumers join, in any order.
        for n in range(1, len(lines)):
            while n and any(all(p.search(line) for line in lines[n - 1:n + 1]) for p in UNORDERED) and lines[n - 1] > lines[n]:
                lines[n - 1:n + 1] = lines[n], lines[n - 1]
                n -= 1
        return "\n".join(lines)

    def play(self, folder):
        for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, folder, "*.txt"))):
            transcript.play(self.bench, path, self.run, self.masked, self.acts)


def well(t):
    """a station that is well: looking, setting, many at once, safe"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    st.wait_for("its start is an event", lambda: any(e["code"] == "daemon-start" and e["text"].endswith(
        "began; rings restarted: links 0, 1, 2, 3") for e in faults.events(st)))
    st.wait_for("a second of link 2's phase",
                lambda: st.request("phase.history", link=2)["result"]["rows"])
    with open(st.path("notify.conf"), "w") as f:
        f.write("[receiver shift]\nprogram = /bin/true\n")
    with open(st.path("drill.json"), "w") as f:
        json.dump({"causes": [{"cause": "fibre-dark", "of": "link", "about": "the fibre gave no light"}], "objects": ["link2"]}, f)
    st.extras.append(Process("fcm-notify", [st.program("fcm-notify"), "--dir", st.dir], st.path("notify.log")))
    Stage(t, st).play("well")


def troubled(t):
    """link 2 without light, a group without consumer, gpsd that fell silent"""
    st = t.station(load="quiet", scenario=faults.scenario(t, (0, "link 2 unplug"), (0, "gps silent")))
    st.start_emulator()
    st.start_gpsd()
    st.write_config()
    st.start_consumer("trigger-1", "trigger")
    st.start_daemon()
    st.wait_ready()
    Stage(t, st).play("troubled")


def hurt(t):
    """a module of floor 1 that tripped, links 1 and 2 that slip at their next lock, floor 2 refuses, floor 4 is mute"""
    st = t.station(load="quiet", scenario=faults.scenario(
        t, (0, "link 0 hv-trip 2"), (0, "link 1 slip-on-align 2"), (0, "link 2 slip-on-align 1"),
        (10, "link 1 refuse 1000000"), (10, "link 3 mute")))
    st.start()
    st.wait_ready()
    Stage(t, st).play("hurt")


def every_command(t):
    """each command of the help has a transcript, and one of its JSON, which says its version"""
    fcmctl = t.station().program("fcmctl")
    text = subprocess.run([fcmctl, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?= |$)", text.split("Options:")[0], re.M)
    shown, for_programs, words = set(), set(), []
    for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, "*", "*.txt"))):
        with open(path) as f:
            for line in f:
                if line.startswith("$ fcmctl"):
                    words, objects = shlex.split(line)[2:], []
                elif line.startswith("{"):
                    objects.append(line)
                elif re.fullmatch(r"\[exit -?\d+\]", line.rstrip()) and line[6] in "013" and "--help" not in words:
                    t.check(f"{words}: its JSON has a version", all(x.startswith('{"v": 2, ') for x in objects), objects)
                    verbs = [w for w in words if not w.startswith("-")]
                    ran = {c for c in commands if verbs[:len(c.split())] == c.split()}
                    shown |= set() if "--json" in words else ran
                    for_programs |= ran if objects and not objects[0].startswith('{"v": 2, "error"') else set()
    t.equal("each command has a transcript", sorted(set(commands) - shown), [])
    t.equal("and one of its JSON", sorted(set(commands) - for_programs), ["serial"])


if __name__ == "__main__":
    harness.main([well, troubled, hurt, every_command])
