#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command of fcmctl against somebody in the daemon's place who answers anything: garbage, without end, huge, deep,
of other types, with what a terminal obeys. It ends, in time and within its memory, with an exit code of its own, and what
it shows drives no terminal. Needs no board, no daemon, no emulator; how much more of it: tests/fuzz, `answer`."""
import concurrent.futures
import glob
import itertools
import json
import os
import re
import shlex
import socket
import subprocess
import threading

import harness

TRANSCRIPTS = os.path.join(harness.ROOT, "tests", "system", "fcmctl_transcripts")
REAL = os.path.join(harness.ROOT, "tests", "system", "transcripts")
HOSTILE = "\x1b]0;t\x07\x1b[2J\x9b2J%s%n\u202e\u2066\r\x7f"
# A terminal's controls; what sets the direction of text (slowctl/fcmctl/show/writer.c).
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MEMORY = 700 << 20  # address space: an answer may have 64 MiB, in text and read
TIMEOUT_S = 1  # of fcmctl, between two words of the daemon
# Longest that an ended process is waited for: more words than one, on a busy host.
LIMIT_S = 60
# They open no connection, or go on until they are ended (which is tried with them).
NO_ANSWER = ("key", "completion", "restore", "record dump", "data tail", "data plot")


def everywhere(value, instead):
    """The answer with each leaf replaced."""
    if isinstance(value, dict):
        return {k: everywhere(v, instead) for k, v in value.items()}
    if isinstance(value, list):
        return [everywhere(v, instead) for v in value]
    return instead


def nested(depth):
    return b'{"x":[' * depth + b"7" + b"]}" * depth


def line(message):
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def endless(s, piece):
    """256 MiB, if it is let: who takes all of it has no end of its own."""
    for _ in range(4096):
        s.sendall(piece * (65536 // len(piece)))
    raise Swallowed


class Swallowed(Exception):
    pass


class Hostile:
    """Answers to each request what `how` makes of the canned answer; `how` gets the socket, id and that answer."""

    def __init__(self, path, how):
        self.how = how
        with open(os.path.join(TRANSCRIPTS, "answers.json")) as f:
            self.canned = json.load(f)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)
        self.connections, self.swallowed = 0, False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.connections > 50:  # who comes back for ever gets nothing more
                s.close()
                continue
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        try:
            with s, s.makefile("rb") as f:
                for request in f:
                    request = json.loads(request)
                    found = [a for a in self.canned if a["op"] == request["op"] and "result" in a]
                    self.how(s, request["id"], found[0]["result"] if found else {})
        except Swallowed:
            self.swallowed = True
        except OSError:
            pass  # fcmctl has had enough

    def close(self):
        self.listener.close()


def answer(make):
    """An answer whose result is made from the canned one."""
    return lambda s, id, result: s.sendall(line({"v": 2, "id": id, "ok": True, "result": make(result)}))


def error(s, id, _):
    s.sendall(line({"v": 2, "id": id, "ok": False, "error": {"code": HOSTILE, "message": HOSTILE * 3, "hint": HOSTILE,
                                                            "detail": HOSTILE}}))


def long_progress(s, id, _):
    for n in range(20000):
        s.sendall(line({"v": 2, "id": id, "progress": {"state": HOSTILE, "text": HOSTILE, "id": n, "text2": "y" * 1000}}))
    s.shutdown(socket.SHUT_RDWR)


WAYS = {
    "garbage": lambda s, id, r: s.sendall(b"\xff\xfe\0garbage\n"),
    "no JSON without end": lambda s, id, r: endless(s, b"x"),
    "a string without end": lambda s, id, r: (s.sendall(b'{"v":2,"id":"%s","ok":true,"result":"' % id.encode()), endless(s, b"x")),
    "a list without end": lambda s, id, r: (s.sendall(b'{"v":2,"id":"%s","ok":true,"result":[' % id.encode()), endless(s, b"7,")),
    "empty lines": lambda s, id, r: s.sendall(b"\n" * 1000),
    "deep": lambda s, id, r: s.sendall(b'{"v":2,"id":"%s","ok":true,"result":' % id.encode() + nested(100000) + b"}\n"),
    "another's id": lambda s, id, r: s.sendall(line({"v": 2, "id": "9" * 400, "ok": True, "result": r}) * 50),
    "numbers for ids": lambda s, id, r: s.sendall(line({"v": 2, "id": 7, "ok": True, "result": r})),
    "neither well nor not": lambda s, id, r: s.sendall(line({"v": 2, "id": id, "ok": "perhaps", "result": r})),
    "an answer of nothing": answer(lambda r: {}),
    "a list for an object": answer(lambda r: [r]),
    "a text": answer(lambda r: HOSTILE),
    "null everywhere": answer(lambda r: everywhere(r, None)),
    "true everywhere": answer(lambda r: everywhere(r, True)),
    "large numbers": answer(lambda r: everywhere(r, 2**63 - 1)),
    "small numbers": answer(lambda r: everywhere(r, -(2**63))),
    "huge numbers": answer(lambda r: everywhere(r, 1e308)),
    "controls": answer(lambda r: everywhere(r, HOSTILE)),
    "long texts": answer(lambda r: everywhere(r, "y" * 5000)),
    "lists": answer(lambda r: everywhere(r, [{"a": HOSTILE}] * 3)),
    "objects": answer(lambda r: everywhere(r, {HOSTILE: {"x": []}})),
    "many": answer(lambda r: {k: v * 300 if isinstance(v, list) else v for k, v in r.items()} if isinstance(r, dict) else r),
    "an error": error,
    "much progress": long_progress,
    "the end": lambda s, id, r: s.shutdown(socket.SHUT_RDWR),
}


def commands(program):
    """Each command of the help, as a transcript types it."""
    helped = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout.split("Options:")[0]
    names = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?= |$)", helped, re.M)
    lines = []
    for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, "*.txt")) + glob.glob(os.path.join(REAL, "*", "*.txt"))):
        with open(path) as f:  # not what ends without a question to the daemon, nor what follows another
            lines += [shlex.split(typed)[2:] for typed, code in re.findall(r"(?ms)^(\$ fcmctl[^\n]*)$.*?^\[exit (\d+)\]$", f.read())
                      if code != "2" and not re.search("LAST[A-Z]|DIR", typed)]
    found = {}
    for name in names:
        for words in lines:
            if words[:len(name.split())] == name.split() and not {"--help", "--dry-run", "--watch"} & set(words):
                # The one that says most: it asks for most.
                found[name] = max(found.get(name, []), words, key=len)
    return names, {n: w for n, w in found.items() if n not in NO_ANSWER and n.split()[0] not in NO_ANSWER}


def one(typed, base, number, name, words, way):
    """What is wrong with it, "" if nothing."""
    timeout = LIMIT_S / 2 if "without end" in way else TIMEOUT_S  # its limit of bytes ends it, not the time
    directory = os.path.join(base, str(number))
    os.mkdir(directory)
    server = Hostile(os.path.join(directory, "control.sock"), WAYS[way])
    env = {k: v for k, v in os.environ.items() if not k.startswith("FCM_")}
    ends = name in ("incident watch", "top")
    try:
        p = subprocess.Popen([*typed, "--dir", directory, "--timeout", str(timeout), *words], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd=os.path.join(REAL, "files"), env={**env, "TERM": "dumb", "LC_ALL": "C.UTF-8"})
        try:
            out, err = p.communicate(timeout=3 if ends else LIMIT_S)
        except subprocess.TimeoutExpired:
            p.terminate()
            out, err = p.communicate(timeout=LIMIT_S)
            if not ends:
                return f"{name}, {way}: no end within {LIMIT_S} s"
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        return f"{name}, {way}: not even by SIGTERM"
    finally:
        server.close()
    text = (out + err).decode(errors="surrogateescape")
    if p.returncode not in (0, 1, 2, 3, -15):
        return f"{name}, {way}: exit {p.returncode}: {text[-300:]!r}"
    if server.swallowed:
        return f"{name}, {way}: it takes 256 MiB and does not end"
    wrong = OBEYED.search(text)
    if wrong and name != "serial":
        return f"{name}, {way}: {text[max(0, wrong.start() - 60):wrong.end() + 20]!r}"
    return ""


def hostile(t, as_json):
    program = os.path.join(os.path.abspath(t.bin), "fcmctl")
    # A sanitizer's shadow has no limit.
    limited = [program] if t.sanitized else ["prlimit", f"--as={MEMORY}", "--core=0", program]
    names, found = commands(program)
    t.check("there are commands", len(found) > 40, found)
    t.equal("none is left out", sorted(n for n in names if n not in found), sorted(
        n for n in names if n in NO_ANSWER or n.split()[0] in NO_ANSWER))
    base = os.path.join(t.base, "json" if as_json else "text")
    os.mkdir(base)
    numbers = itertools.count()
    for way in WAYS:
        # How much is taken is the client's matter, not the command's.
        some = {n: w for n, w in found.items() if "without end" not in way or n in ("status", "get", "set", "batch", "safe")}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            wrong = [w for w in pool.map(lambda x: one(limited, base, next(numbers), x[0], [*["--json"] * as_json, *x[1]], way),
                                         some.items()) if w]
        t.check(f"{way}: all {len(some)} commands end well", not wrong, wrong[:5])


def text(t):
    """what is shown to people"""
    hostile(t, False)


def for_programs(t):
    """the same with --json"""
    hostile(t, True)


if __name__ == "__main__":
    harness.main([text, for_programs])
