# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands under load and their judge: operators that send sets and actions to a floor, the emulator's own record of
what its FCMs executed, the daemon's journal, and what each must say of the other.

    operators = [Operator(st, "a", floor, modules=range(6), seed=1)]     one thread each
    ...                                                                   the daemon is killed, floors fall mute
    book = Book(st)
    book.read(); book.faults()                                            [] when the journal tells the truth
"""
import collections
import configparser
import contextlib
import json
import os
import random
import socket
import sqlite3
import threading
import time

from station import StationError

HERE = os.path.dirname(os.path.abspath(__file__))
DICTIONARY = os.path.join(os.path.dirname(os.path.dirname(HERE)), "schemas", "parameters.conf")
NEVER_LEFT = ("not executed", "not sent", "nothing was sent", "not in effect: no answer came")
BY_VALUE = "forgotten the outcome and holds the value"
BOOTED = "the FCM has booted since"
HELD_BEFORE = "read-back unknown: the value was in effect at a restart of the daemon"
# An end that was lost with its daemon is found by the next one, which may not see the read-back in time.
NO_READ_BACK = (HELD_BEFORE, "took over: read-back unknown by then")
NOT_TAKEN = "(the journal has not taken this)"

Execution = collections.namedtuple("Execution", "time floor sequence op module reg value status")
Command = collections.namedtuple("Command", "id client_id floor parameter op new_value sequence state detail time ended")


def registers():
    """Of the optical modules' settings: (register, units of a register's step), by name."""
    ini = configparser.ConfigParser(interpolation=None, strict=False)
    ini.read(DICTIONARY)
    return {s[3:]: (int(ini[s]["register"]), float(ini[s].get("scale", "1"))) for s in ini.sections()
            if s.startswith("om.") and ini[s].get("access") == "rw" and "register" in ini[s]}


def end_of(answer):
    """The end in a client's answer: "DONE", with a note if the journal had not taken that, or the error's code."""
    if not answer["ok"]:
        return answer["error"]["code"]
    return "DONE, not taken" if NOT_TAKEN in (answer["result"].get("detail") or "") else "DONE"


class Operator(threading.Thread):
    """A client that sends one command after the other to its floor's modules and waits for the end of each. What it has
    not heard the end of, it sends again under the same client id, for as long as it takes."""

    def __init__(self, st, name, floor, modules, seed, actions=True):
        super().__init__(daemon=True)
        self.st, self.name, self.floor, self.modules = st, f"{name}{floor}", floor, list(modules)
        self.rng, self.actions, self.stop = random.Random(f"{seed} {self.name}"), actions, threading.Event()
        self.told = {}  # client id -> (number of the command, "DONE" or the error's code)
        self.asked = self.repeats = 0
        self.socket = self.lines = None

    def run(self):
        while not self.stop.is_set():
            self.asked += 1
            client_id = f"{self.name}-{self.asked}"
            answer = self.answer_to(client_id, *self.something())
            result = answer["result"] if answer["ok"] else answer["error"]
            self.told[client_id] = (result.get("command"), end_of(answer))
            if not answer["ok"]:
                time.sleep(0.05)  # the link is not locked yet: no need to ask a thousand times
        self.close()

    def something(self):
        """A value is not the one before it, so that what a register holds tells who wrote it."""
        om = f"floor{self.floor}.om{self.rng.choice(self.modules)}"
        what = self.rng.random()
        n = self.asked
        if what < 0.04:  # refused by the daemon: it gets a number when its row is on the disk
            return "param.set", {"name": f"{om}.threshold", "value": "100000"}
        if what < 0.1 and self.actions:
            return "param.action", {"name": f"{om}.{self.rng.choice(['reset', 'clear_trip'])}"}
        if what < 0.3:
            return "param.set", {"name": f"{om}.ramp", "value": f"{100 + n % 990 / 10:.1f}"}
        if what < 0.45:
            return "param.set", {"name": f"{om}.hv", "value": f"{1395 + n % 100 / 10:.1f}"}
        return "param.set", {"name": f"{om}.threshold", "value": str(5 + n % 190)}

    def answer_to(self, client_id, op, args):
        while True:
            answer = self.ask(op, {**args, "client_id": client_id, "wait": True})
            if answer["ok"] or answer["error"].get("detail") != "journal":
                return answer
            time.sleep(0.1)  # the daemon cannot look up an earlier command with this id now

    def ask(self, op, args):
        line = (json.dumps({"v": 2, "id": "1", "op": op, "args": args}) + "\n").encode()
        while True:
            try:
                self.connect()
                self.socket.sendall(line)
                while True:
                    answer = json.loads(self.lines.readline())  # nothing: a ValueError, too
                    if "ok" in answer:
                        return answer
            except (OSError, ValueError):
                self.close()
                self.repeats += 1
                time.sleep(0.02)

    def connect(self):
        if not self.socket:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(self.st.path("control.sock"))
            self.lines = self.socket.makefile("rb")

    def close(self):
        if self.socket:
            self.lines and self.lines.close()
            self.socket.close()
        self.socket = self.lines = None


LATE = 5000  # most commands that get numbers before one that was sent without the database is in it
FIRST_OWN_ID = 10**12  # while a daemon has never read its database


def why_not(answer):
    """Of a `safe` that was answered and is not DONE."""
    if not answer["ok"]:
        return answer["error"]["message"]
    return "; ".join(str(answer["result"].get(k)) for k in ("state", "text"))


class Safer(Operator):
    """Takes one module down and up again until it is stopped. No other client touches it: what `safe` says of it must
    hold until it is switched on again."""

    def __init__(self, st, floor, module, seed):
        super().__init__(st, "safe", floor, [module], seed)
        self.om, self.safes, self.lies, self.failures = f"floor{floor}.om{module}", 0, [], collections.Counter()

    def run(self):
        up = [("param.set", {"name": f"{self.om}.power", "value": "on", "yes": True}),
              ("param.set", {"name": f"{self.om}.hv", "value": "1200"})]
        while not self.stop.is_set():
            answer = self.ask("safe", {"pattern": self.om, "yes": True})
            if not answer["ok"] or answer["result"]["state"] != "DONE":
                self.failures[why_not(answer)] += 1
                time.sleep(0.05)
                continue
            self.safes += 1
            self.look()
            for op, args in up:
                self.asked += 1
                client_id = f"{self.name}-{self.asked}"
                answer = self.answer_to(client_id, op, args)
                result = answer["result"] if answer["ok"] else answer["error"]
                self.told[client_id] = (result.get("command"), end_of(answer))
        self.close()

    def look(self):
        begin = time.monotonic()
        while True:
            answer = self.ask("param.get", {"names": [f"{self.om}.hv", f"{self.om}.power"]})
            values = answer["result"]["parameters"]
            if all(p["quality"] == "good" and p["age_s"] < time.monotonic() - begin for p in values):
                break
            time.sleep(0.05)
        if any(abs(p["value"]) > 2 for p in values):
            self.lies.append(f"safe {self.safes} was DONE, and {[(p['name'], p['value']) for p in values]}")


class Book:
    """What the FCMs executed, by (floor, sequence), and what the journal has, by number; read on with every read()."""

    def __init__(self, st):
        self.st, self.registers = st, registers()
        self.executed = collections.defaultdict(list)  # decided ones, refusals too
        self.commands, self.by_word = {}, {}
        self.open_ids, self.repeated, self.unexplained = set(), set(), set()  # kept up to date as both are read
        self.at, self.low = 0, 0  # bytes read; below this number all have ended
        self.newest_id, self.own_ids = 0, set()  # of those with a database, and without
        self.newest = 0.0  # model time of the last execution

    def read(self):
        """The journal first: what it says has been executed must be in the record that is read after it."""
        self.read_journal()
        self.read_executed()

    def read_executed(self):
        with open(self.st.path("executed.log"), "rb") as f:
            f.seek(self.at)
            data = f.read()
        data = data[:data.rfind(b"\n") + 1]
        self.at += len(data)
        for line in data.decode().splitlines():
            if not line.startswith("#"):
                t, floor, sequence, op, module, reg, value, status = line.split()
                e = Execution(float(t), int(floor), int(sequence), op, int(module), int(reg), int(value), status)
                word = (e.floor, e.sequence)
                if word in self.executed:
                    self.repeated.add(word)
                if word not in self.by_word:
                    self.unexplained.add(word)
                self.executed[word].append(e)
                self.newest = e.time

    def sql(self, query, *args):
        with contextlib.closing(sqlite3.connect(f"file:{self.st.database}?mode=ro", uri=True, timeout=10)) as db:
            return db.execute(query, args).fetchall()

    def read_journal(self):
        for row in self.sql("SELECT id, client_id, floor, parameter, op, new_value, sequence, state, detail, time, ended"
                            " FROM command WHERE id > ? ORDER BY id", self.low):
            c = Command(*row)
            self.commands[c.id] = c
            (self.open_ids.discard if c.ended else self.open_ids.add)(c.id)
            if c.id >= FIRST_OWN_ID:
                self.own_ids.add(c.id)
            else:
                self.newest_id = max(self.newest_id, c.id)
            if c.sequence is not None:
                self.by_word[c.floor, c.sequence] = c
                self.unexplained.discard((c.floor, c.sequence))
        # Numbers of rows that were never written are missing; commands sent before they were journaled come later.
        self.low = max(self.low, min(self.open_ids, default=self.newest_id + 1) - 1 - LATE)

    def open(self):
        """Numbers of commands that have not ended."""
        return sorted(self.open_ids)

    def wait_settled(self, only=None, timeout=60):
        """Until all commands have ended, or `only` these numbers."""
        def settled():
            self.read_journal()
            return not self.open() if only is None else not only.intersection(self.open())
        self.st.wait_for("all commands settled", settled, timeout)
        self.read_executed()

    # -- what must be true
    def times(self, c):
        """How often the command's word was executed."""
        return sum(e.status == "ok" for e in self.executed.get((c.floor, c.sequence), ()))

    def twice(self):
        return sorted(self.repeated)

    def after(self, number):
        """Commands beyond a number."""
        return [self.commands[i] for i in (*range(number + 1, self.newest_id + 1), *self.own_ids) if i in self.commands]

    def fault(self, c, boots):
        """Why what the journal says of an ended command is not true; None: it is. `boots`: an FCM has booted meanwhile."""
        n, is_action = self.times(c), c.op == "action"
        if n > 1:
            return f"executed {n} times"
        never = any(text in (c.detail or "") for text in NEVER_LEFT)
        if c.state == "DONE":
            good = n == 1 or (BOOTED in c.detail if is_action and boots else BY_VALUE in c.detail and not is_action)
        elif c.state in ("REFUSED", "CANCELLED") or never:
            good = n == 0
        elif c.state == "FAILED":
            good = boots or (n == 1 and self.late(c)) or HELD_BEFORE in (c.detail or "")
        else:  # UNKNOWN: an action whose traces a boot has wiped
            good = c.state == "UNKNOWN" and is_action and boots
        return None if good else f"the journal says {c.state} ({c.detail}), executed {n} times"

    @staticmethod
    def late(c):
        """Executed, and its proof was not there within the settle time: of a floor that the host keeps from its work."""
        return c.state == "FAILED" and any(text in c.detail for text in ("read-back", "its counter stands at"))

    def value_fault(self, c):
        """Another module or value was written than the journal has."""
        name = c.parameter.split(".")
        for e in self.executed.get((c.floor, c.sequence), ()):
            if name[2].startswith("om") and e.module != int(name[2][2:]):
                return f"executed on module {e.module}"
            if c.op == "set" and e.status == "ok" and name[3] in self.registers:
                reg, scale = self.registers[name[3]]
                if e.reg != reg or round(c.new_value / scale) != e.value:
                    return f"register {e.reg} was set to {e.value}"
        return None

    def faults(self, after=0, boots=False):
        """Of ended commands beyond number `after`, and of executions: lines of text."""
        found = [f"floor {f} sequence {s}: executed {len(self.executed[f, s])} times" for f, s in self.twice()]
        for c in self.after(after):
            if c.ended:
                why = self.fault(c, boots) or self.value_fault(c)
                found += [f"command {c.id} {c.parameter} {c.new_value}: {why}"] if why else []
        # A word leaves after its row is on the disk, so whatever was executed is in the journal that is read now.
        if self.unexplained:
            self.read_journal()
        return found + [f"floor {f} sequence {s}: executed, and not in the journal" for f, s in sorted(self.unexplained)]

    def told_faults(self, operators):
        """Where the journal has another end than a client was told, or does not know what was asked. (A row of which the
        disk said that it was not written may be found later, beside that of the repeat: it was never sent.)"""
        by_client = collections.defaultdict(list)
        for c in self.commands.values():
            by_client[c.client_id].append(c)
        code = {"DONE": "DONE", "refused": "REFUSED", "failed": "FAILED"}
        given = collections.Counter(number for o in operators for number, _ in o.told.values() if number is not None)
        found = [f"number {number} was given to {n}" for number, n in given.items() if n > 1]
        for o in operators:
            for client_id, (number, told) in o.told.items():
                rows = by_client.get(client_id, [])
                if self.is_own_repeat(number, told, rows):
                    continue
                c = next((c for c in rows if c.id == number), rows[-1] if rows else None)
                found += [f"{client_id}: told {told} of command {number}, and {other} was executed"
                          for other in rows if other is not c and self.times(other)]
                if not c and told == "refused":  # by the daemon itself: its client id may be used again
                    row = self.commands.get(number)
                    if number is not None and (not row or row.client_id != f"{client_id}!{number}" or row.state != "REFUSED"):
                        found.append(f"{client_id}: told refused with number {number}, the journal has {row}")
                    continue
                if not c or c.id != number:
                    found.append(f"{client_id}: told {told} of command {number}, the journal has {c}")
                elif told == "DONE, not taken" and c.state != "DONE" and not any(
                        text in c.detail for text in NO_READ_BACK):
                    found.append(f"{client_id}: told {told}, the journal has {c.state} ({c.detail})")
                elif told in code and c.state != code[told]:
                    found.append(f"{client_id}: told {told}, the journal has {c.state} ({c.detail})")
        return found

    def is_own_repeat(self, number, told, rows):
        """A set that makes safer, sent by a daemon that had never read its journal: that has the client's id in an older
        row of the same set, which was asked for again. So it may have been executed before, with the same value."""
        c = self.commands.get(number)
        return (told.startswith("DONE") and c is not None and c.client_id is None and c.op == "set" and c.state == "DONE" and
                "sent before it was journaled" in c.detail and any(
                    (r.parameter, r.op, r.new_value) == (c.parameter, c.op, c.new_value) for r in rows))

    def last_set(self):
        """The last set of each parameter, in the order in which the FCMs executed them."""
        last = {}
        for c in self.commands.values():
            if c.op == "set" and self.times(c):
                at = self.executed[c.floor, c.sequence][0].time
                if last.get(c.parameter, (-1,))[0] < at:
                    last[c.parameter] = (at, c)
        return {name: c for name, (_, c) in last.items()}

    def register_faults(self, done=True):
        """Where the floor, asked anew, holds another value than that of the last set; `done`: or the journal calls it
        neither DONE nor late."""
        begin, wanted, found = time.monotonic(), self.last_set(), {}

        def read_anew():
            ps = self.st.request("param.get", names=sorted(wanted))["result"]["parameters"]
            found.update((p["name"], p) for p in ps)
            waited = time.monotonic() - begin
            return all(p["age_s"] is not None and p["age_s"] < waited for p in ps)
        if not wanted:
            raise StationError("nothing was set")
        self.st.wait_for("the floors read anew", read_anew, 60, 0.5)
        tolerance = {"hv": 5.0, "ramp": 0.05, "threshold": 0.5, "power": 0.5}
        return [f"{name}: {found[name]['value']}, last set {c.new_value}, {c.state}" for name, c in sorted(wanted.items())
                if abs(found[name]["value"] - c.new_value) > tolerance[name.split(".")[3]] or
                (done and c.state != "DONE" and not self.late(c))]
