#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-notify on a real station: what is told, to whom, and what becomes of receivers that fail, hang or are away."""
import http.server
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import scenario  # noqa: E402
import station as station_module  # noqa: E402
from station import Process  # noqa: E402


class Notify:
    """fcm-notify beside a station, with these receivers: {name: lines}."""

    def __init__(self, st, receivers, prefix=()):
        self.st, self.prefix = st, list(prefix)
        with open(st.path("notify.conf"), "w") as f:
            for name, lines in receivers.items():
                f.write("\n".join([f"[receiver {name}]", *lines]) + "\n")
        self.start()

    def start(self):
        before = station_module.UNPRIVILEGED
        station_module.UNPRIVILEGED = [] if self.prefix else before  # a mount namespace needs the right to mount
        self.process = Process("fcm-notify", [*self.prefix, self.st.program("fcm-notify"), "--dir", self.st.dir],
                               self.st.path("notify.log"))
        station_module.UNPRIVILEGED = before
        self.st.extras.append(self.process)

    def reports(self, failing=""):
        """It has reported, and this fails."""
        self.st.wait_for(f"a report, failing: {failing or 'nothing'}", lambda: (
            lambda s: s["age_s"] is not None and s["age_s"] < 5 and
            (failing in s["failing"] if failing else not s["failing"]))(self.st.ask("notify", "show")), 60)


def program(st, name, text):
    path = st.path(name)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text + "\n")
    os.chmod(path, 0o755)
    return path


def collector(st, name):
    """A program that writes what it is given into a file: (its path, the file's text so far)."""
    out = st.path(name + ".told")

    def told():
        try:
            with open(out) as f:
                return f.read()
        except OSError:
            return ""
    return program(st, name, f'{{ echo "== $FCM_LEVEL $FCM_SUBJECT"; cat; }} >> {out}'), told


class Hook(http.server.ThreadingHTTPServer):
    """A webhook: answers with `code`, keeps what was posted."""

    def __init__(self):
        self.code, self.got = 200, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.code == 200:
                    outer.got.append(json.loads(body))
                self.send_response(outer.code)
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/hook?secret=1"


def station(t, *events):
    st = t.station(load="quiet", scenario=scenario(t, *events) if events else None)
    st.start()
    st.wait_ready()
    return st


def told(t):
    """an incident begins and ends: told to those whom it concerns, once each, also while a receiver hangs; our own reset
    to nobody"""
    st = station(t, (40, "link 2 unplug 5"))  # behind what a start brings
    (shift, of_shift), (clock, of_clock), (late, of_late) = (collector(st, n) for n in ("shift", "clock", "late"))
    Notify(st, {"shift": [f"program = {shift}", "level = warning"], "clock": [f"program = {clock}", "objects = clock"],
                "hangs": ["program = " + program(st, "hangs", "exec sleep 1000")],
                "late": [f"program = {late}", "after_min = 1"]}).reports()
    st.wait_for("the end is told", lambda: "cleared link2/link-dark" in of_shift(), 60)
    text = of_shift()
    t.check("the begin was told, with what to do", re.search(r"red link2/link-dark: .*\n  incident \d+, since 20.*\n  -> ", text), text)
    t.check("the end, with its cost", re.search(r"cleared link2/link-dark.*\n  incident \d+, since .*, until .*cost: .*\d+ frames", text),
            text)
    t.equal("the begin once", len(re.findall(r"(?m)^red link2/link-dark", text)), 1)
    t.check("the subject names the station and the level", "== red [" in text, text)
    st.ask("link", "reset", "1")
    time.sleep(4)
    t.check("our own reset is told to nobody", "link1" not in of_shift(), of_shift())
    t.equal("another object's receiver is told nothing", of_clock(), "")
    t.equal("nor the one who is called late", of_late(), "")


def failing(t):
    """a receiver that refuses, and one that is not there: others are told, notices wait, over a kill -9; it is
    an incident; then it can be reached"""
    st = station(t, (40, "link 2 unplug 4"))
    hook = Hook()
    hook.code = 500
    good, of_good = collector(st, "good")
    notify = Notify(st, {"hook": [f"webhook = {hook.url}"], "good": [f"program = {good}"],
                         "none": [f"program = {st.path('nothing')}"]})
    st.wait_for("the good one is told", lambda: "link2/link-dark" in of_good(), 60)
    t.check("receivers that fail do not keep the others", True)
    notify.reports("hook: exit 22")
    notify.reports("none: cannot be started")
    st.wait_for("it is an incident", lambda: "notify-failing" in [o["code"] for o in st.seen()], 20)
    seen = next(o for o in st.seen() if o["code"] == "notify-failing")
    t.check("which names receiver and reason", "hook: exit 22" in seen["text"] and seen["action"], seen)
    code, _, err = st.ctl("notify", "test")
    t.check("a test fails, and says which", code == 1 and "hook" in err, (code, err))
    with open(f"/proc/{notify.process.pid}/cmdline") as f:
        t.check("the address of the hook is in no argument", "secret" not in f.read())
    notify.process.kill9()
    hook.code = 200
    notify.start()
    st.wait_for("what waited is delivered", lambda: any(
        n["code"] == "link-dark" for g in hook.got for n in g["notices"] if "code" in n), 60)
    t.check("what waited is delivered, by the next one", True)
    st.wait_for("the hook does not fail any more", lambda: "hook" not in st.ask("notify", "show")["failing"], 30)
    begun = [n for g in hook.got for n in g["notices"] if n["kind"] == "began" and n["code"] == "link-dark"]
    t.equal("once", len(begun), 1)
    t.check("as JSON with subject and text", all({"station", "level", "subject", "text", "dropped"} <= set(g) for g in hook.got),
            hook.got)
    st.wait_for("the good one is told its end", lambda: "cleared link2/link-dark" in of_good(), 60)
    t.check("the good one is told its end, once", len(re.findall("(?m)^red link2/link-dark", of_good())) == 1, of_good())
    t.equal("it ends in order", notify.process.end(), 0)


def tested(t):
    """fcmctl notify: without fcm-notify, a test of all, what is shown; an fcm-notify that is gone is an incident"""
    st = station(t)
    t.check("without fcm-notify: refused", st.ctl("notify", "test")[0] == 1)
    code, out, _ = st.ctl("notify", "show")
    t.check("and shown as such", code == 0 and "has not reported" in out, out)
    hook = Hook()
    shift, of_shift = collector(st, "shift")
    notify = Notify(st, {"shift": [f"program = {shift}"], "chat": [f"webhook = {hook.url}"]})
    notify.reports()
    code, out, err = st.ctl("notify", "test")
    t.check("a test reaches all", code == 0 and "shift, chat" in out, (code, out, err))
    t.check("really", "a test of the notices" in of_shift() and hook.got and hook.got[0]["level"] == "test", (of_shift(), hook.got))
    t.equal("what would be done", st.ask("notify", "test", "--dry-run")["dry_run"], True)
    st.daemon.kill9()
    st.start_daemon()
    notify.reports()
    t.check("it reports to the next daemon", True)
    t.equal("a test again", st.ctl("notify", "test")[0], 0)
    t.equal("nobody was told twice", len(re.findall("a test of the notices", of_shift())), 4)


@harness.long
def away(t):
    """a daemon that does not answer for a minute is told, and its return; an fcm-notify that is gone is an incident"""
    st = station(t)
    shift, of_shift = collector(st, "shift")
    notify = Notify(st, {"shift": [f"program = {shift}"]})
    notify.reports()
    st.daemon.end()
    st.wait_for("the daemon is missed", lambda: "red daemon/daemon-away" in of_shift(), 120)
    t.check("what to do is said", re.search(r"daemon-away: .*\n.*\n  -> \S", of_shift()), of_shift())
    st.start_daemon()
    st.wait_for("its return is told", lambda: "cleared daemon/daemon-away" in of_shift(), 60)
    t.check("its return is told", True)
    notify.reports()
    notify.process.kill9()
    st.wait_for("fcm-notify is missed", lambda: any(
        o["code"] == "notify-failing" and "has not reported" in o["text"] for o in st.seen()), 120)
    t.check("an fcm-notify that is gone is an incident", True)


def mailed(t):
    """a mail, by what stands in the place of sendmail"""
    if os.geteuid() != 0:
        t.check("not root: left out", True)
        return
    st = station(t)
    fake = program(st, "sendmail", f"printf '%s ' \"$@\" > {st.path('mail.args')}; cat > {st.path('mail.tmp')}; "
                   f"mv {st.path('mail.tmp')} {st.path('mail')}")
    # In a mount namespace of its own: /usr/sbin has nothing but it.
    inside = f'mount -t tmpfs none /usr/sbin && cp {fake} /usr/sbin/sendmail && exec "$@"'
    Notify(st, {"expert": ["mail = expert@example.org"]}, ["unshare", "--mount", "sh", "-c", inside, "sh"]).reports()
    code, out, err = st.ctl("notify", "test")
    t.check("it is delivered", code == 0, (code, out, err))
    with open(st.path("mail")) as f:
        mail = f.read()
    head, _, body = mail.partition("\n\n")
    t.check("to whom, about what", "To: expert@example.org\n" in head and re.search(r"(?m)^Subject: \[.*a test of the notices$", head), head)
    t.check("with a body", "a test of the notices" in body, body)
    with open(st.path("mail.args")) as f:
        t.equal("sendmail reads the recipients, and no dot ends it", f.read().split(), ["-i", "-t"])


def configured(t):
    """a wrong configuration is refused before anything is told"""
    st = t.station()
    with open(st.path("notify.conf"), "w") as f:
        f.write("[receiver a]\nprogram = bell\n")
    p = Process("fcm-notify", [st.program("fcm-notify"), "--dir", st.dir], st.path("notify.log"))
    t.equal("exit 78", p.popen.wait(20), 78)
    t.check("with file and line", "notify.conf, line 2: not the whole path" in p.tail(), p.tail())


if __name__ == "__main__":
    harness.main([told, failing, tested, away, mailed, configured])
