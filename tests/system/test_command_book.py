#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of commands itself: whatever is not true between the journal and what the FCMs executed, it sees."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from command_book import BY_VALUE, Book, Operator  # noqa: E402

THRESHOLD, RESET = "tower1.floor1.om0.threshold", "tower1.floor1.om0.reset"
SET = (1, "a1-1", THRESHOLD, "set", 15, 7, "DONE", "read-back 15 mV", 2)
WRITE = "1.0 1 7 write 0 4 15 ok"


def row(**other):
    """SET with other columns."""
    names = ("id", "client_id", "parameter", "op", "new_value", "sequence", "state", "detail", "ended")
    return tuple(other.get(n, v) for n, v in zip(names, SET))


def book(t, name, rows, executed):
    st = t.station(name)
    with sqlite3.connect(st.path("station.db")) as db:
        with open(os.path.join(harness.ROOT, "schemas", "sql", "0001_initial.sql")) as f:
            db.executescript(f.read())
        db.executemany("INSERT INTO command(id, client_id, parameter, op, new_value, sequence, state, detail, ended, time,"
                       " who, floor) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 'anna', 1)", rows)
    with open(st.path("executed.log"), "w") as f:
        f.write("# time_s floor sequence op module reg value status\n" + "".join(line + "\n" for line in executed))
    b = Book(st)
    b.read()
    return b


def sees(t):
    """each kind of untruth is a fault, and what is true is none"""
    good = book(t, "good", [SET, row(id=2, client_id=None, sequence=8, state="REFUSED", detail="refused by the FCM"),
                            row(id=3, client_id=None, sequence=9, state="FAILED", detail="not executed: the daemon"),
                            row(id=4, client_id=None, sequence=10, state="FAILED", detail="read-back 3 mV, wanted 15 mV"),
                            row(id=5, client_id=None, sequence=11, detail=f"the FCM had {BY_VALUE}; read-back 15 mV")],
                [WRITE, "1.1 1 8 write 0 4 15 refused", "1.2 1 10 write 0 4 15 ok"])
    t.equal("what is true is no fault", good.faults(), [])
    for n, (what, rows, executed) in enumerate((
            ("executed twice", [SET], [WRITE, WRITE]),
            ("DONE, not executed", [SET], []),
            ("DONE by a value, an action", [row(op="action", parameter=RESET, detail=f"the FCM had {BY_VALUE}")], []),
            ("executed, not in the journal", [], [WRITE]),
            ("REFUSED, executed", [row(state="REFUSED")], [WRITE]),
            ("CANCELLED, executed", [row(state="CANCELLED")], [WRITE]),
            ("FAILED as not executed, executed", [row(state="FAILED", detail="not executed: the daemon")], [WRITE]),
            ("FAILED for no reason, executed", [row(state="FAILED", detail="")], [WRITE]),
            ("another value", [SET], ["1.0 1 7 write 0 4 16 ok"]),
            ("another register", [SET], ["1.0 1 7 write 0 5 15 ok"]),
            ("another module", [SET], ["1.0 1 7 write 1 4 15 ok"]),
            ("UNKNOWN for ever, without a boot", [row(op="action", parameter=RESET, state="UNKNOWN", detail="")], []))):
        t.check(what, book(t, f"bad{n}", rows, executed).faults())
    still = book(t, "open", [row(state="SENT", ended=None)], [])
    t.equal("what is open is no fault, and open", (still.faults(), still.open()), ([], [1]))
    told = Operator(still.st, "a", 1, range(6), 1)
    for what, answer in (("another end", (1, "refused")), ("another number", (5, "DONE"))):
        told.told = {"a1-1": answer}
        t.check(f"a client was told {what}", good.told_faults([told]))
    told.told = {"a1-1": (1, "DONE")}
    t.equal("a client was told the truth", good.told_faults([told]), [])
    emergency = {"id": 2, "client_id": None, "sequence": 8, "detail": "read-back 15 mV; sent before it was journaled"}
    for what, changes, fault in (("of a set that its daemon could not know", {}, False), ("of another value", {"new_value": 16.0}, True),
                                 ("of a daemon that knew it", {"detail": "read-back 15 mV"}, True)):
        again = book(t, f"again {what}", [SET, row(**{**emergency, **changes})], [WRITE])
        told.told = {"a1-1": (2, "DONE")}
        t.equal(f"a repeat {what}", bool(again.told_faults([told])), fault)


if __name__ == "__main__":
    harness.main([sees])
