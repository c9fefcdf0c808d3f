# SPDX-License-Identifier: GPL-2.0-or-later
"""Run changes and their judge: a client that begins and ends runs, and what journal, blocks and status must say of each
other. The blocks' run numbers are as consumers recorded them (`fcm-consumer --runs`).

    book = RunBook(st)
    book.start_consumers()
    book.reach(True); book.reach(False)      a run is begun, ended; whatever happens to the daemon meanwhile
    st.stop(); book.faults()                 [] when all agree
"""
import collections
import contextlib
import sqlite3
import time

from station import StationError

ANSWER_S = 8  # the daemon's own limit, RUN_ANSWER_NS
CONSUMERS = {"trigger-1": "trigger", "acoustic-1": "acoustic"}

Answer = collections.namedtuple("Answer", "op ok run slice message seconds")
Row = collections.namedtuple("Row", "number begun ended begun_slice ended_slice")


class RunBook:
    def __init__(self, st):
        self.st, self.answers, self.unanswered, self.complaints = st, [], 0, []

    # -- the client
    def start_consumers(self):
        for name, group in CONSUMERS.items():
            self.st.start_consumer(name, group, "--runs", self.st.path(f"{name}.runs"))

    def ask(self, start, lives=lambda: True):
        """The answer, or None: the connection broke, which is only allowed when the daemon ended (`lives`)."""
        op, begin = "run.start" if start else "run.stop", time.monotonic()
        try:
            a = self.st.request(op, timeout=60)
        except (OSError, ValueError, StationError) as e:
            self.unanswered += 1
            if lives():
                self.complaints.append(f"{op}: no answer: {e!r}")
            return None
        what = a["result"] if a["ok"] else a["error"]
        answer = Answer(op, a["ok"], what.get("run"), what.get("from_slice", what.get("to_slice")), what.get("message"),
                        time.monotonic() - begin)
        self.answers.append(answer)
        if not a["ok"] and not (what["message"] and what["hint"]):
            self.complaints.append(f"{op}: an error without text or hint: {what}")
        return answer

    def number(self):
        """The run that the status shows, 0: none; None: the daemon does not answer."""
        try:
            return self.st.request("status", timeout=60)["result"]["run"]["number"]
        except (OSError, ValueError, StationError):
            return None

    def reach(self, started, patience_s=120):
        """Repeats the request until the status shows the result."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            number = self.number()
            if number is not None and bool(number) == started:
                return
            if number is not None:
                self.ask(started, lives=lambda: False)
            time.sleep(0.05)
        self.complaints.append(f"no run could be {'begun' if started else 'ended'} within {patience_s} s:"
                               f" {self.answers[-3:]}")

    # -- the judge
    def rows(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.st.database}?mode=ro", uri=True)) as db:
            loose = {int(o.split()[1]) for o, in db.execute(
                "SELECT object FROM event WHERE code = 'run' AND text LIKE 'began at an unknown slice%'")}
            return [Row(*r) for r in db.execute(
                "SELECT number, begun, ended, coalesce(begun_slice, 0), coalesce(ended_slice, 0) FROM run ORDER BY number")], loose

    def carried(self):
        """By slice: the runs that its blocks carry, with the consumers that saw them."""
        slices = collections.defaultdict(lambda: collections.defaultdict(set))
        for name in CONSUMERS:
            path = self.st.path(f"{name}.runs")
            with open(path) as f:
                for line in f:
                    link, stream, _, _, number, run = map(int, line.split())
                    if number:
                        slices[number][run].add(f"{name} link {link} stream {stream}")
        return slices

    def faults(self):
        """The contradictions, as texts."""
        rows, loose = self.rows()
        slices = self.carried()
        found = list(self.complaints)
        for number, runs in sorted(slices.items()):
            if len(runs) > 1:
                found.append(f"slice {number} carries runs " + "; ".join(
                    f"{run} ({', '.join(sorted(who)[:2])})" for run, who in sorted(runs.items())))
        for row in rows:
            found += row_faults(row, slices, row.number in loose)
        known = {r.number for r in rows}
        found += [f"slice {n} carries run {run}, which is not in the journal"
                  for n, runs in slices.items() for run in runs if run and run not in known]
        found += [f"run {a.number} was open when run {b.number} began" for a, b in zip(rows, rows[1:])
                  if a.ended is None or a.ended > b.begun]
        return found + list(self.answer_faults({r.number: r for r in rows}))

    def answer_faults(self, rows):
        """What was answered is in the journal."""
        for a in self.answers:
            row = rows.get(a.run)
            if a.ok and not row:
                yield f"{a}: that run is not in the journal"
            elif a.ok and a.op == "run.start" and a.slice not in (None, row.begun_slice):
                yield f"{a}: the journal has {row}"
            elif a.ok and a.op == "run.stop" and (row.ended is None or a.slice not in (None, row.ended_slice)):
                yield f"{a}: the journal has {row}"


def row_faults(row, slices, loose):
    """A run's slices are those of the journal. `loose`: it began without a border."""
    mine = [n for n, runs in slices.items() if row.number in runs]
    end = row.ended_slice or (max(mine, default=0) if row.ended else max(slices, default=0) + 1)
    found = []
    if row.begun_slice and not loose and mine and min(mine) < row.begun_slice:
        found.append(f"run {row.number}: slice {min(mine)} carries it, the journal has it from {row.begun_slice} on")
    if row.ended_slice and mine and max(mine) >= row.ended_slice:
        found.append(f"run {row.number}: slice {max(mine)} carries it, the journal has it until {row.ended_slice}")
    others = [n for n, runs in slices.items() if row.begun_slice and row.begun_slice <= n < end and set(runs) != {row.number}]
    if others:
        found.append(f"run {row.number} ({row.begun_slice} to {end}): slice {min(others)} carries {set(slices[min(others)])}")
    return found
