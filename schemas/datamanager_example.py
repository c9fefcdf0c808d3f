#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A client of FCM-Server's control over the network, as a Data Manager would write it (schemas/control.md).

    datamanager_example.py --endpoint tcp://shore:5750 --server-key network-0.key.pub --key datamanager.key
        prints whether the station is well, and why not
    ... --set floor1.om1.threshold 12 [--reason TEXT] [--client-id ID]
        sets a parameter, and waits until its read-back agrees

--key: the file that `fcmctl key make NAME ROLE` has written. --server-key: the file that `fcmctl key server`
has written for the daemon; it is how we know that we speak to the right one. Needs python3-zmq only.
Exit code 0: well, done; 1: red, refused; 2: not understood; 3: no answer.
"""
import argparse
import json
import sys
import time
import uuid

import zmq


class ControlError(Exception):
    """The daemon's "no": code, message, hint; detail tells programs why (role, rate, ...)."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.hint, self.detail = error["code"], error.get("hint", ""), error.get("detail")
        self.command = error.get("command")


class NoAnswer(Exception):
    """Nothing came: a wrong key or server key looks like this too, an unknown client gets no answer."""


def read_secret(path):
    with open(path) as f:
        for line in f:
            if line.startswith("secret "):
                return line.split()[1].encode()
    raise ValueError(f"{path}: no line 'secret KEY'")


class Control:
    """One connection. A request is one JSON object in one frame, so is every answer; answers carry the id. One that the
    daemon has refused (its key is not in the list) does not come back by itself: make a new one."""

    def __init__(self, endpoint, secret_key, server_key):
        self.context = zmq.Context.instance()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.sndtimeo = 1000
        self.socket.curve_secretkey = secret_key
        self.socket.curve_publickey = zmq.curve_public(secret_key)
        self.socket.curve_serverkey = server_key
        self.socket.connect(endpoint)

    def close(self):
        self.socket.close()

    def ask(self, op, timeout=5.0, progress=None, **args):
        """The result of `op`. `timeout`: without any word for so long. Raises ControlError, NoAnswer."""
        request = uuid.uuid4().hex
        try:
            self.socket.send(json.dumps({"v": 2, "id": request, "op": op, "args": args}).encode())
        except zmq.Again:
            raise NoAnswer(f"{op}: the daemon does not let us in") from None
        end = time.monotonic() + timeout
        while self.socket.poll(max(0, int((end - time.monotonic()) * 1000))):
            answer = json.loads(self.socket.recv())
            if answer["id"] not in (request, None):
                continue  # of a request that we have given up
            if "progress" in answer:
                end = time.monotonic() + timeout
                if progress:
                    progress(answer["progress"])
            elif answer["ok"]:
                return answer["result"]
            else:
                raise ControlError(answer["error"])
        raise NoAnswer(f"{op}: no word for {timeout:.0f} s")

    def set(self, name, value, reason, client_id=None, timeout=10.0, tries=3):
        """Set a parameter; the command at its end. It is repeated when no answer comes, and done once all the same:
        the daemon knows the client id, and answers a repeat with what became of the first."""
        client_id = client_id or f"datamanager-{uuid.uuid4()}"
        for left in range(tries, 0, -1):
            try:
                return self.ask("param.set", timeout, name=name, value=value, reason=reason, client_id=client_id)
            except NoAnswer:
                if left == 1:
                    raise
            except ControlError as e:
                if e.detail != "rate" or left == 1:
                    raise
                time.sleep(1)  # too many requests of this key a second: later
        raise AssertionError("not reached")


def say_status(control):
    status = control.ask("status")
    incidents = status["incidents"]
    print(f"{status['name']}: {incidents['word']}")
    for incident in incidents["list"]:
        if incident["state"] != "cleared":
            print(f"  {incident['number']} {incident['severity']}: {incident['object']}: {incident['text']}"
                  f"{'  -> ' + incident['action'] if incident['action'] else ''}")
    return 1 if incidents["word"] == "RED" else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--endpoint", required=True)
    p.add_argument("--key", required=True)
    p.add_argument("--server-key", required=True)
    p.add_argument("--set", nargs=2, metavar=("NAME", "VALUE"))
    p.add_argument("--reason", default="datamanager_example.py")
    p.add_argument("--client-id")
    p.add_argument("--timeout", type=float, default=10.0)
    args = p.parse_args()
    with open(args.server_key) as f:
        server_key = f.read().strip().encode()
    control = Control(args.endpoint, read_secret(args.key), server_key)
    try:
        if not args.set:
            return say_status(control)
        command = control.set(*args.set, args.reason, args.client_id, args.timeout)
        print(f"command {command['command']}: {command['state']}: {command['parameter']} {command['new']} "
              f"{command['unit']}")
        return 0
    except ControlError as e:
        print(f"{e.code}: {e}\n  -> {e.hint}", file=sys.stderr)
        return 1
    except NoAnswer as e:
        print(f"{e}: is the daemon there, is this key in its allow list, is that its key?", file=sys.stderr)
        return 3
    finally:
        control.close()


if __name__ == "__main__":
    sys.exit(main())
