#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What an operator types and reads: transcripts from a real daemon on the emulated station. Times, counters and
measured values are masked; what is set, the states, the words and the exit codes are not.

    test_transcripts.py [--bin build/bin] [--update] [CASE...]

--update writes what was seen into transcripts/CASE/; read the difference before keeping it.
"""
import getpass
import glob
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults  # noqa: E402
import harness  # noqa: E402
import transcript  # noqa: E402

TRANSCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transcripts")

DATE = r"\d{4}-\d\d-\d\d"
SPAN = r"\d+(?:\.\d+)? (?:ns|us|ms|s|min|h|d)(?: \d+ (?:s|min|h))?"
# In this order.
MASKS = (
    (r"fcmctl-\d+-[0-9a-f]{16}", "CLIENT"),
    (r"\d{8}T\d{6}-[0-9a-f]{8}", "JOB"),
    (r"\d{8}T\d{6}Z", "STAMP"),
    (rf"{DATE}[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?", "TIME"),
    (DATE, "DATE"),
    (r"127\.0\.0\.1:\d+", "HOST:PORT"),
    (r"(?<=version )\d+\.\d+\.\d+|(?<=fcm-server )\d+\.\d+\.\d+", "VERSION"),
    (rf"\b{SPAN}\b", "SPAN"),
    (r"(?m)\(command \d+\)$", "(command N)"),
    # What is lost before all links are aligned, and whether the clock is late, depends on who began first.
    (r"(?m)^(.*  )?(\S*/)?(link-down|alignment|clock-acquiring|machine-late)  .*\n?", ""),
    (r"\b\d+ +(\d+ link-down, )?\d+ alignment", "LOST"),
    (r"(?m)^( +)\d+ (link-down|alignment) of(?:.*\n?)*?(?=^\S|\Z)", r"\1LOST\n"),
    (r"\d+ frames, [\d.]+ MB; \d+ cells without data, \d+ let go", "N frames, N MB; N cells without data, N let go"),
    (r"[\u2800-\u28ff]+", "PLOT"),
    (r'("(?:time|ended|until|since|begun|begun_slice|ended_slice|age_s|uptime_s|pid|uid|sequence)": )[0-9.]+', r"\1N"),
    (r"(?<![\w.])[-+]?\d+\.\d+(?: [kM](?!\w))?", "N.N"),
    (r"(?<![\w.])\d{5,}(?![\w.])", "N"),
    (r"\d+(?=/1000\b| of 1000 buffers| rows queued| samples| bytes,)", "N"),
    (r"\d+(?= link-down\b| no-member\b)", "N"),
    (r"(?<=labels are being compared; ).*", "..."),
    (r"(?<=pid )\d+|(?<=uid )\d+|(?<=sequence )\d+|(?<=number )\d+(?=, SPAN ago)", "N"),
    # A busy machine is not the station's fault.
    (r"(?m)^(  )?warning  machine.*\n(?: {9,}.*\n)*", ""),
    (r"(?m)^WELL  0 red, 1 warning$", "WELL"),
    (r"(?<= red, )\d+ warnings?", "N warnings"),
    ("; sent before it was journaled", ""),
    (r"(?m)^2\| fcmctl: .*: reading DIR/station.db instead\n?", ""),
    (r"(?m)^((?:STAMP  recording|TDEV|MTIE|\S*\.current)\b).*", r"\1 ..."),
    (r"(?<=hv  )\d+(?=  V)|(?<=hv )\d+(?= -> )|(?<=read-back )\d+(?= V)", "N.N"),
    (r"(?m)^(frames/s|phase_ps|cells|drop_down|status|round trip|its round trip)\b.*", r"\1 ..."),
    (r"(?m)^ *\d+ ps  .*\n?", ""),  # a histogram's lines
)
# The rows below a header with one of these count what flows: behind the name every number is masked.
COUNTING = re.compile(r"offered|in flight|frames/s|hits/s|blocks/s|bytes/s|credit|connections|cells|first frame|first begun|mean ps|set to$")


class Stage:
    """A station and what a transcript may do to it: [wait WHAT], [sleep SECONDS], [daemon killed|started].
    LASTJOB in what is typed is the job that was shown last."""

    def __init__(self, bench, st):
        self.bench, self.st, self.job = bench, st, ""
        self.acts = {"wait": self.wait, "sleep": lambda seconds: time.sleep(float(seconds)), "daemon": self.daemon}

    def wait(self, what, *args):
        def read(pattern):
            return all(p["quality"] == "good" and (p["access"] != "rw" or p["setpoint"] is not None)
                       for p in self.st.ask("get", pattern)["parameters"])

        conditions = {"read": read, "reason": lambda code: code in {c for c, _ in faults.codes(self.st)},
                      "well": lambda: self.st.status()["state"] == "well",
                      "settled": lambda: not self.st.ask("command", "list", "--state", "open")["commands"]}
        self.st.wait_for(" ".join((what, *args)), lambda: conditions[what](*args), 60)

    def daemon(self, what):
        if what == "killed":
            self.st.daemon.kill9()
        else:
            self.st.start_daemon()
            self.st.wait_ready()

    def run(self, *args):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FCM_")}
        # A zone far from UTC and a colourless terminal: neither may matter. Lines as long as they are: where they are
        # broken depends on what is masked.
        env.update(FCM_DIR=self.st.dir, TZ="America/New_York", TERM="dumb", LC_ALL="C.UTF-8", COLUMNS="1000")
        r = subprocess.run([self.st.program("fcmctl"), *(a.replace("LASTJOB", self.job) for a in args)], capture_output=True,
                           text=True, stdin=subprocess.DEVNULL, timeout=60, check=False, env=env,
                           cwd=os.path.join(TRANSCRIPTS, "files"))
        return r.returncode, r.stdout, r.stderr

    def masked(self, text):
        text = text.replace(self.st.program("fcmctl"), "fcmctl").replace(self.st.dir, "DIR")
        self.job = (re.findall(MASKS[1][0], text) or [self.job])[-1]
        text = re.sub(r"(?<=\S) {2,}", "  ", text)  # the widths of columns follow what is masked
        for pattern, mask in MASKS:
            text = re.sub(pattern, mask, text)
        lines, counting = [], False
        for line in map(str.rstrip, text.splitlines()):
            counting = bool(line) and (counting or bool(COUNTING.search(line)))
            line = re.sub(r"(?<=  )(\d+\b|N\.N)", "N", line) if counting else line
            # However many rows of what was measured.
            if not (counting and lines and line == lines[-1]):
                lines.append(line)
        # Commands of a pattern end in any order.
        for n in range(1, len(lines)):
            while n and all(" DONE in SPAN: " in line for line in lines[n - 1:n + 1]) and lines[n - 1] > lines[n]:
                lines[n - 1:n + 1] = lines[n], lines[n - 1]
                n -= 1
        return "\n".join(lines).replace(getpass.getuser(), "anna")

    def play(self, folder):
        for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, folder, "*.txt"))):
            transcript.play(self.bench, path, self.run, self.masked, self.acts)


def well(t):
    """a station that is well: looking, setting, many at once, safe"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
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


if __name__ == "__main__":
    harness.main([well, troubled])
