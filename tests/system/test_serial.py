#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The serial tunnel: a floor's instruments through a real daemon, board and floor."""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from test_schema import Schema, conversation  # noqa: E402


def start(st, *words, **kwargs):
    return subprocess.Popen([st.program("fcmctl"), "--dir", st.dir, "serial", *words], stderr=subprocess.PIPE,
                            stdout=subprocess.PIPE, **kwargs)


def on_terminal(st, typed, *words):
    """Output to a terminal, input from a pipe: (exit code, what the terminal was sent)."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([st.program("fcmctl"), "--dir", st.dir, "serial", *words], stdin=subprocess.PIPE, stdout=theirs,
                          stderr=subprocess.DEVNULL) as p:
        os.close(theirs)
        p.stdin.write(typed)
        p.stdin.close()
        seen = b""
        try:
            while piece := os.read(ours, 1000):
                seen += piece
        except OSError:
            pass  # closed at the other end
    os.close(ours)
    return p.returncode, seen


def opened(st, count):
    st.wait_for("it is open", lambda: len([e for e in st.ask("event", "list", "--limit", "200")["events"]
                                           if e["code"] == "serial-opened"]) >= count)


def instruments(t):
    """bytes go down and come back, a CTD speaks, one client at a time, opening and closing are events"""
    st = t.station(emulator_args=["--rate", "2000"])
    st.start(consumers=False)
    st.wait_ready()
    text = b"hello\x1dq\x00\xff" + bytes(range(100))
    p = start(st, "floor3", "loop", "--for", "4s", "--raw", stdin=subprocess.PIPE)
    out, err = p.communicate(text, timeout=30)
    t.equal("the plug sends back every byte", (p.returncode, out), (0, text)) or print(err)
    drives = b"one\r\n\ttwo\x1b]0;owned\x07\x9b2J\rthree\xc2\x9b\xe2\x80\xae\x7f\0\n"
    shown = b"one\n\ttwo?]0;owned??2J?three???????\n"
    p = start(st, "floor3", "loop", "--for", "4s", stdin=subprocess.PIPE)
    out, err = p.communicate(drives, timeout=30)
    t.equal("without --raw what would drive a terminal is shown as ?", (p.returncode, out), (0, shown)) or print(err)
    code, out = on_terminal(st, drives, "floor3", "loop", "--for", "4s")
    t.equal("also on a terminal that it has not made raw", (code, out.replace(b"\r\n", b"\n")), (0, shown))
    p = start(st, "3", "ctd", "--for", "4s", "--raw", stdin=subprocess.DEVNULL)
    out, err = p.communicate(timeout=30)
    t.check("the CTD's lines, and nothing else", p.returncode == 0 and
            re.search(rb"(\r\n|^)[0-9.]+,[0-9.]+,[0-9.]+\r\n", out) and b"hello" not in out, (out, err))

    t.check("who has answered is not called silent", b"nothing has come" not in err, err)
    code, out, err = st.ctl("serial", "floor3", "7", "--for", "2s")
    t.check("a channel where nobody is says so", code == 0 and "nothing has come from channel 7" in err, (code, err))

    first = start(st, "floor3", "ctd", "--for", "600s", stdin=subprocess.DEVNULL)
    opened(st, 6)
    code, out, err = st.ctl("serial", "floor3", "1")
    t.check("a second one is told who holds it", code == 1 and "floor3 serial 1 is held by" in err, err)
    t.equal("another channel, another floor is free",
            [st.ctl("serial", *w, "--for", "1s")[0] for w in (("floor3", "loop"), ("floor4", "ctd"))], [0, 0])
    first.kill()
    first.wait()
    st.wait_for("it is free again", lambda: st.ctl("serial", "floor3", "ctd", "--for", "1s")[0] == 0)
    for words in (("floor9", "ctd"), ("floor3", "radar"), ("floor3", "256"), ("link3", "ctd")):
        t.equal(f"{' '.join(words)}: not understood", st.ctl("serial", *words)[0], 2)
    schema = Schema()
    for args in ({"session": "0", "data": "00"}, {"session": 5, "data": 7}, {}):
        answers = list(conversation(st.path("control.sock"), "serial.write", args))
        t.check(f"serial.write {args} is refused", not answers[-1]["ok"] and not schema.answer("serial.write",
                                                                                              answers[-1]), answers)

    pid, fd = pty.fork()
    if pid == 0:
        os.execv(st.program("fcmctl"), ["fcmctl", "--dir", st.dir, "serial", "floor2", "loop"])
    seen = b""
    end = time.monotonic() + 30
    while b"ends it" not in seen and time.monotonic() < end:
        seen += os.read(fd, 1000) if select.select([fd], [], [], 0.1)[0] else b""
    time.sleep(0.2)  # the terminal is raw right behind these words
    os.write(fd, b"abc\x03")
    while b"abc\x03" not in seen and time.monotonic() < end:
        seen += os.read(fd, 1000) if select.select([fd], [], [], 0.1)[0] else b""
    t.check("a terminal is raw: Ctrl-C goes to the instrument", b"abc\x03" in seen, seen)
    os.write(fd, b"\x1dq")
    t.equal("Ctrl-] q ends it", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
    os.close(fd)

    last = start(st, "floor1", "ctd", "--for", "600s", stdin=subprocess.DEVNULL)
    opened(st, 11)
    st.wait_for("the others are closed", lambda: [e["code"] for e in st.ask("event", "list", "--limit", "200")["events"]
                                                 ].count("serial-closed") >= 10)
    events = [e for e in st.ask("event", "list", "--limit", "200")["events"] if e["code"] == "serial-closed"]
    t.check("events say who and how many bytes went down", any(f"{len(text)} bytes went down" in e["text"] and
                                                               e["object"] == "floor3 serial 0" for e in events), events)
    t.equal("the daemon ends with 0", st.stop(), 0)
    t.equal("and its client with 3", last.wait(30), 3)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    harness.main([instruments])
