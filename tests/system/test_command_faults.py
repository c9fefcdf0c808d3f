#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A floor whose replies are lost, doubled, reordered, refused, that falls mute or boots, under a load of commands: each of
them ends in a true state, and no command of another floor waits for it."""
import collections
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from command_book import Book, Operator  # noqa: E402

# What befalls floor 1 for ON_S each, with a rest behind it, over and over. Model time, as in the record.
FAULTS = {
    "a fifth of the replies lost": (["lose-replies 20%"], ["lose-replies 0"]),
    "replies doubled": (["duplicate-replies 1000000"], ["duplicate-replies 0"]),
    "replies reordered": (["reorder-replies 1000000"], ["reorder-replies 0"]),
    "refusals": (["refuse 1000000"], ["refuse 0"]),
    "a mute floor": (["mute"], ["unmute"]),
    "a boot": (["fcm-boot"], []),
    "all at once": (["lose-replies 20%", "duplicate-replies 50", "reorder-replies 50", "refuse 5", "fcm-boot"],
                    ["lose-replies 0", "duplicate-replies 0", "reorder-replies 0", "refuse 0"]),
}
FIRST_S, ON_S, REST_S, ROUNDS = 8, 3, 2, 20
PERIOD_S = len(FAULTS) * (ON_S + REST_S)
ENOUGH = 20  # commands, to compare how long they took
WAITED = 5  # times as long: who waits for floor 1 waits for its time-outs, of reply_timeout_ms (500) each


def scenario():
    lines = []
    for n, (begin, end) in enumerate(FAULTS.values()):
        at = FIRST_S + n * (ON_S + REST_S)
        lines += [f"at {at} every {PERIOD_S} times {ROUNDS} link 0 {a}" for a in begin]
        lines += [f"at {at + ON_S} every {PERIOD_S} times {ROUNDS} link 0 {a}" for a in end]
    return "\n".join(lines) + "\n"


def fault_at(t):
    """What befell floor 1 at a model time; None: nothing; "": what a fault has left may still be felt."""
    n, into = divmod((t - FIRST_S) % PERIOD_S, ON_S + REST_S)
    if t < FIRST_S or into >= ON_S + REST_S / 2:
        return None
    return list(FAULTS)[int(n)] if into < ON_S else ""


def times_by_fault(book):
    """Seconds from journaled to DONE of thresholds set on other floors: {fault or None: [..]}."""
    took = collections.defaultdict(list)
    for c in book.commands.values():
        if c.floor != 1 and c.state == "DONE" and c.parameter.endswith(".threshold"):
            took[fault_at(book.executed[c.floor, c.sequence][0].time)].append((c.ended - c.time) / 1e9)
    return took


def ninetieth(values):
    return statistics.quantiles(values, n=10)[-1]


def faults_of_one_floor(t):
    """every fault of slow control in turn on one floor under load: true ends there, no waiting elsewhere"""
    st = t.station(load="quiet", truth=False, scenario=t.scenario(scenario()))
    st.start(consumers=False)
    st.wait_ready()
    book = Book(st)
    operators = [Operator(st, "a", f, range(6), 5) for f in (1, 2, 3, 4)] + [Operator(st, "b", 1, range(6), 6)]
    for o in operators:
        o.start()
    st.wait_for("the first command executed", lambda: book.read_executed() or book.newest > 0)
    begin = book.newest

    def covered():
        book.read()
        took = times_by_fault(book)
        return book.newest > begin + PERIOD_S and all(len(took[f]) >= ENOUGH for f in [None, *FAULTS])
    st.wait_for("every fault under load", covered, 3 * PERIOD_S, 1)
    for o in operators:
        o.stop.set()
    # Floor 1 may be mute just now: it is not for ever.
    book.wait_settled(timeout=60)
    for o in operators:
        o.join(60)
    book.wait_settled()
    judge(t, book, operators)
    t.equal("the floors hold what was set last", book.register_faults(done=False), [])
    compare_times(t, times_by_fault(book))
    t.equal("the daemon ends with 0", st.stop(), 0)


def judge(t, book, operators):
    t.equal("no client waits for ever", [o.name for o in operators if o.is_alive()], [])
    t.equal("nothing is left open", book.open(), [])
    t.equal("nothing was executed twice", book.twice(), [])
    t.equal("each end in the journal is true, all that was executed is in it", book.faults(boots=True), [])
    t.equal("each client was told what the journal has", book.told_faults(operators), [])
    states = collections.Counter((c.floor == 1, c.state) for c in book.commands.values()
                                 if not (c.state == "REFUSED" and "!" in c.client_id))  # by the daemon: asked to be
    t.equal("commands to the other floors are all DONE", {s for one, s in states if not one}, {"DONE"})
    went = {r[0] for r in book.sql("SELECT command FROM transition WHERE state = 'UNKNOWN'")}
    seen = {fault_at(book.executed[c.floor, c.sequence][0].time) for c in book.commands.values()
            if c.id in went and (c.floor, c.sequence) in book.executed}
    t.check("lost replies were asked for", "a fifth of the replies lost" in seen, seen)
    t.check("refusals were told", states[True, "REFUSED"] > 0, states)
    t.check("the floor has booted", len(book.sql("SELECT DISTINCT boot FROM command WHERE floor = 1")) > 1)
    print(f"  {len(book.commands)} commands, to floor 1 { {s: n for (one, s), n in states.items() if one} }")


def compare_times(t, took):
    """Commands of the other floors, while floor 1 had a fault and while it had none: in turns, on the same station. A disk
    that is slow for a moment is not floor 1."""
    quiet = took[None]
    for fault in FAULTS:
        t.check(f"{fault}: no command of another floor waits for it",
                statistics.median(took[fault]) < WAITED * statistics.median(quiet) and
                ninetieth(took[fault]) < WAITED * ninetieth(quiet),
                [(len(x), statistics.median(x), ninetieth(x)) for x in (took[fault], quiet)])
    print(f"  of other floors in ms, median and 90 %: quiet {statistics.median(quiet) * 1e3:.0f} {ninetieth(quiet) * 1e3:.0f}, " +
          ", ".join(f"{f} {statistics.median(took[f]) * 1e3:.0f} {ninetieth(took[f]) * 1e3:.0f}" for f in FAULTS))


if __name__ == "__main__":
    harness.main([faults_of_one_floor])
