# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon for fcmctl's tests: answers control messages from a list of canned ones, on a Unix socket, with
faults on demand. Every request is held against the schema, and so is every canned answer.

A canned answer: {"op", "args"?: what the request's args must contain, "scene"?: only in this scene,
"progress"?: [...], and "result" or "error"}. The first that fits answers.
"""
import json
import os
import socket
import threading
import time

from test_schema import Schema


class FakeDaemon:
    def __init__(self, directory, answers, monitor=""):
        self.path = os.path.join(directory, "control.sock")
        self.schema = Schema()
        with open(answers) as f:
            self.answers = json.loads(f.read().replace("@MONITOR@", monitor).replace("@DIR@", directory))
        self.scene = None
        # What goes wrong: None, or "silent" (no answer at all), "silent-after-progress", "close",
        # "close-after-progress", "garbage", "crumbs" (a byte at a time), "strangers" (answers to others
        # first), "huge" (an answer of some MiB).
        self.fault = None
        self.requests, self.complaints = [], []
        self.listener = None

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener.bind(self.path)
        self.listener.listen(16)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()
        return self

    def stop(self, leave_socket=True):
        """As a daemon that was killed: the socket's name stays, nobody listens."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        if not leave_socket:
            os.unlink(self.path)

    def _accept(self, listener):
        while True:
            try:
                s, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(s,), daemon=True).start()

    def _serve(self, s):
        try:
            with s, s.makefile("rb") as f:
                for line in f:
                    if not self._answer(s, json.loads(line)):
                        return
        except OSError:
            pass  # the client went away

    def _fitting(self, request):
        args = request.get("args", {})
        for a in self.answers:
            if a["op"] == request["op"] and a.get("scene") in (None, self.scene) and \
                    all(args.get(k) == v for k, v in a.get("args", {}).items()):
                return a
        return {"error": {"code": "internal", "message": f"no canned answer to {request['op']}"}}

    def _answer(self, s, request):
        self.complaints += [f"{request.get('op')}: {e}" for e in self.schema.request(request)]
        self.requests.append(request)
        fault, canned, head = self.fault, self._fitting(request), {"v": 2, "id": request["id"]}

        def send(message, check=True):
            if check:
                self.complaints += [f"canned {request['op']}: {e}"
                                    for e in self.schema.answer(request["op"], message)]
            line = (json.dumps(message) + "\n").encode()
            if fault == "crumbs":
                for n in range(0, len(line), 997):
                    s.sendall(line[n:n + 997])
                    time.sleep(0.0005)
            else:
                s.sendall(line)

        if fault == "silent" or (fault == "silent-commands" and request["op"] in ("param.set", "param.action")):
            time.sleep(30)
        if fault == "close":
            return False
        if fault == "garbage":
            s.sendall(b"{\"v\":1,\"id\":\"1\",\"ok\":tru\n")
            return True
        if fault == "strangers":
            send({"v": 2, "id": "77", "progress": {"text": "of somebody else"}}, check=False)
            send({"v": 2, "id": "77", "ok": False, "error": {"code": "failed", "message": "not yours"}})
        for p in canned.get("progress", []):
            send(dict(head, progress=p))
        if fault == "silent-after-progress":
            time.sleep(30)
        if fault == "close-after-progress" and canned.get("progress"):
            return False
        if fault == "huge" and "commands" in canned.get("result", {}):
            canned = dict(canned, result={"commands": canned["result"]["commands"] * 8000})
            send(dict(head, ok=True, result=canned["result"]), check=False)
        elif "error" in canned:
            send(dict(head, ok=False, error=canned["error"]))
        else:
            send(dict(head, ok=True, result=canned["result"]))
        return True
