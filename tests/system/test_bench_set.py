#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-set against a daemon that answers in pieces, at once, at length, wrongly, or not at all."""
import json
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from test_schema import Schema  # noqa: E402

NAME = "floor1.om0.threshold"
HEAD = b'{"v":2,"id":"b",'
PROGRESS = HEAD + b'"progress":{"command":17,"state":"SENT","text":"\\"ok\\":true"}}\n'
END = HEAD + b'"ok":true,"result":{"command":17,"detail":"progress"}}\n'
PAUSE_S = 0.03


class Daemon:
    """One client; to each of its requests `answer` is what is sent, piece by piece, a number being a pause in s. None in the
    place of a piece closes the connection."""

    def __init__(self, t, answer):
        self.path, self.answer, self.requests = os.path.join(t.base, "control.sock"), answer, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # nobody may have come
        self.thread.join()
        self.listener.close()
        os.unlink(self.path)

    def serve(self):
        try:
            s = self.listener.accept()[0]
            with s, s.makefile("rb") as f:
                for line in f:
                    self.requests.append(json.loads(line))
                    if not self.say(s):
                        return
        except OSError:
            pass  # the client has gone

    def say(self, s):
        for piece in self.answer:
            if piece is None:
                return False
            if isinstance(piece, bytes):
                s.sendall(piece)
            else:
                time.sleep(piece)
        return True


def bench_set(t, path, *args):
    done = subprocess.run([os.path.join(t.bin, "bench-set"), path, *map(str, args)], capture_output=True, text=True,
                          timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


def run(t, answer, count=4):
    with Daemon(t, answer) as d:
        return (*bench_set(t, d.path, NAME, 15.5, 16, count), d.requests)


def ends(t):
    """a set ends with its end, however that comes; requests are as the schema has them, the values in turn"""
    long = HEAD + b'"ok":true,"result":{"detail":"' + b"x" * 700000 + b'"}}\n'
    for what, answer in (("pieces", [END[i:i + 7] for i in range(0, len(END), 7)]), ("all in one", [3 * PROGRESS + END]),
                         ("an end behind half a progress", [PROGRESS[:20], 0.001, PROGRESS[20:] + END]),
                         ("a long line behind another", [PROGRESS + long])):
        code, out, err, requests = run(t, answer)
        if t.check(f"{what}: ends well", code == 0, err):
            t.equal(f"{what}: as many sets", json.loads(out)["set"]["n"], 4)
            t.equal(f"{what}: values", [r["args"]["value"] for r in requests], [15.5, 16, 15.5, 16])
        t.equal(f"{what}: requests", [e for r in requests for e in Schema().request(r)], [])


def time_of_it(t):
    """from request to the last byte of the end, and not to a progress; the pause before it does not count"""
    _, out, err, _ = run(t, [PROGRESS, PAUSE_S, END[:-1], PAUSE_S, END[-1:]], 10)
    t.check("both pauses are in it", json.loads(out)["set"]["p50"] >= 2e6 * PAUSE_S, out + err)
    best = min(json.loads(run(t, [END], 400)[1])["set"]["p50"] for _ in range(5))
    t.check("an end at once: less than the pauses, 2 ms in the middle", best < 1500, best)


def errors(t):
    """what is no good end is an error with its text: exit 1, no figure"""
    refused = HEAD + b'"ok":false,"error":{"code":"refused","message":"above the limit","hint":""}}\n'
    for what, answer, text in (
            ("refused", [PROGRESS, refused], "above the limit"), ("no JSON", [b"{\"v\":2,\n"], 'what was asked: {"v":2,'),
            ("neither progress nor end", [HEAD + b'"ok":1}\n'], '"ok":1'), ("no object", [b"[]\n"], "[]"),
            ("an empty line", [b"\n"], "what was asked"), ("closed", [None], "closed the connection"),
            ("closed within a line", [END[:-1], None], "closed the connection"),
            ("two ends", [END + END], '"ok":true'), ("a line without an end", [b"x" * (3 << 20)], "longer than 1 MiB"),
            ("silence", [PROGRESS, 12], "no word from the daemon for 10 s")):
        code, out, err, _ = run(t, answer)
        t.check(what, code == 1 and out == "" and err.startswith("bench-set: ") and text in err, f"{code}: {out}{err}")
    code, _, err = bench_set(t, os.path.join(t.base, "nobody"), NAME, 1, 2)
    t.check("nobody there", code == 1 and "No such file" in err, err)
    code, _, err = bench_set(t, "x" * 108, NAME, 1, 2)
    t.check("a path too long", code == 1 and "name too long" in err, err)


def arguments(t):
    """wrong ones: usage, exit 2"""
    for args in ([], [NAME], [NAME, 1], [NAME, 1, "on"], [NAME, "", 2], [NAME, "nan", 2], [NAME, 1, 2, 0], [NAME, 1, 2, -1],
                 [NAME, 1, 2, 1.5], [NAME, 1, 2, 10001], [NAME, 1, 2, "3x"], [NAME, 1, 2, 3, 4]):
        code, _, err = bench_set(t, "/nobody", *args)
        t.check(f"{args}", code == 2 and err.startswith("usage: bench-set "), f"{code}: {err}")


if __name__ == "__main__":
    harness.main([ends, time_of_it, errors, arguments])
