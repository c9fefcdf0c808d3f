#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A crowd at a control socket, for test_control_attack.py: control_crowd.py SOCKET KIND CONNECTIONS. Whoever is cut off
comes again at once. Runs until it is killed.

idle   says nothing          half   says half a message     watch  incident.watch, and waits for news
ask    asks without end, and reads all answers               knock  connects and goes, as fast as it can
"""
import json
import selectors
import socket
import sys
import time


def line(op, **args):
    return (json.dumps({"v": 2, "id": 1, "op": op, "args": args}) + "\n").encode()


SAYS = {
    "idle": b"",
    "half": b'{"v":2,"id":1,',
    "watch": line("incident.watch"),
    "ask": (line("status") + line("param.get", names=["*"]) + line("ledger.show", since=1) + line("event.list")) * 20,
}


def knock(path):
    while True:
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(path)
            except OSError:
                pass


def come(path, kind, selector):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        s.setblocking(False)
        s.send(SAYS[kind])
    except OSError:
        s.close()
        return
    selector.register(s, selectors.EVENT_READ | (selectors.EVENT_WRITE if kind == "ask" else 0))


def stay(s, kind, mask):
    """False: it was cut off."""
    try:
        if mask & selectors.EVENT_READ and not s.recv(1 << 20):
            return False
        if mask & selectors.EVENT_WRITE:
            s.send(SAYS[kind])
    except BlockingIOError:
        pass
    except OSError:
        return False
    return True


def main(path, kind, count):
    if kind == "knock":
        knock(path)
    selector = selectors.DefaultSelector()
    while True:
        for _ in range(count - len(selector.get_map())):
            come(path, kind, selector)
        for key, mask in selector.select(0.05):
            if not stay(key.fileobj, kind, mask):
                selector.unregister(key.fileobj)
                key.fileobj.close()
        if kind == "ask":
            time.sleep(0.001)  # the daemon is to be kept busy, not this machine


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
