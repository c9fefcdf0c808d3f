#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs begin and end under faults of board, links, daemon and disk: every request is answered; journal, blocks and
status agree."""
import os
import sqlite3
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "soak")]
import harness  # noqa: E402
import runs  # noqa: E402
from run_book import ANSWER_S, RunBook  # noqa: E402


def begun(t, **kwargs):
    st = t.station(load="quiet", truth=False, **kwargs)
    book = RunBook(st)
    st.start(consumers=False)
    book.start_consumers()
    st.wait_ready()
    return st, book


def judged(t, st, book):
    time.sleep(1)  # blocks of the last slice
    t.equal("the daemon ends with 0", st.stop(), 0)
    t.equal("journal, blocks and answers agree", book.faults(), [])


def codes(st):
    return {r["code"] for r in st.seen()}


def states(st):
    return [l["state"] for l in st.status()["links"]]


def begins_and_ends(t, book, what, sliced=True):
    start, stop = book.ask(True), book.ask(False)
    t.check(f"{what}: a run begins and ends", start and stop and start.ok and stop.ok and start.run == stop.run,
            (start, stop))
    t.check(f"{what}: {'at known slices' if sliced else 'without a known slice'}",
            bool(start.slice) == sliced and bool(stop.slice) == sliced, (start, stop))


def links_dark_and_board_away(t):
    """with one link dark, all links dark, the board gone, and the board without data: all answered"""
    st, book = begun(t, scenario=t.scenario(
        "from data\nat 9 link 2 unplug 7\nat 18 link 0 unplug 5\nat 18 link 1 unplug 5\nat 18 link 2 unplug 5\n"
        "at 18 link 3 unplug 5\nat 28 board-gone 6\nat 46 stall 14\n"))
    st.wait_for("a dark link", lambda: "dark" in states(st), 40)
    begins_and_ends(t, book, "one link dark")
    st.wait_for("all links dark", lambda: set(states(st)) == {"dark"}, 40)
    begins_and_ends(t, book, "all links dark")
    st.wait_for("board-gone", lambda: "board-gone" in codes(st), 40)
    begins_and_ends(t, book, "board gone", sliced=False)
    start = book.ask(True)
    t.check("board gone: another one begins", start.ok, start)
    st.wait_for("all links up", lambda: set(states(st)) == {"up"}, 40)
    t.equal("it continues when the board is back", book.number(), start.run)
    st.wait_for("its first slice", lambda: book.rows()[0][-1].begun_slice > 0, 40)
    t.check("it ends", book.ask(False).ok)
    st.wait_for("a board without data", lambda: "board-stalled" in codes(st), 60)
    late = book.ask(True)
    t.check("no data: answered within the limit, with what will come", late and not late.ok and late.seconds < 2 * ANSWER_S
            and "no data come" in late.message, late)
    for start in (True, False):
        t.check("no data: the next request is refused: it is beginning", "is beginning" in book.ask(start).message)
    st.wait_for("the run", book.number, 40)
    t.check("it can be ended then", book.ask(False).ok)
    judged(t, st, book)


def killed_on_the_way(t):
    """kill -9 between a change's row and its border: the run continues with its row, the end comes; nothing is lost"""
    st, book = begun(t)

    def kill_when(start, condition):
        asking = threading.Thread(target=book.ask, args=(start, lambda: False))
        asking.start()
        st.wait_for("its row", lambda: condition(book.rows()[0]), 10, 0.005)
        st.daemon.kill9()
        asking.join()
        st.start_daemon()
        st.wait_for("the change", lambda: bool(book.number()) == start, 20)
    kill_when(True, lambda rows: len(rows) == 1)
    again = book.ask(True)
    t.check("asked again: it is under way", not again.ok and "run 1 is" in again.message, again)
    st.wait_for("its slice", lambda: book.rows()[0][0].begun_slice > 0)
    kill_when(False, lambda rows: rows[0].ended_slice > 0)
    again = book.ask(False)
    t.check("asked again: none is under way", not again.ok and "no run" in again.message, again)
    st.wait_for("its end in the journal", lambda: book.rows()[0][0].ended)
    row = book.rows()[0][0]
    t.check("the journal has both slices", row.ended and 0 < row.begun_slice < row.ended_slice, row)
    book.reach(True)
    st.daemon.kill9()
    st.start_daemon()
    first, second = [], []
    both = [threading.Thread(target=lambda to=to: to.append(book.ask(False))) for to in (first, second)]
    for b in both:
        b.start()
    for b in both:
        b.join()
    t.check("two that end a run: one does, the other is refused", sorted(a.ok for a in first + second) == [False, True] and all(
        a.ok or "ending" in a.message or "no run" in a.message for a in first + second), (first, second))
    judged(t, st, book)


def ended_while_the_database_is_held(t):
    """a run that ended while the database was locked does not resume with the next daemon"""
    st, book = begun(t)
    book.reach(True)
    held = sqlite3.connect(st.path("station.db"), isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    stop = book.ask(False)
    t.check("it is answered", stop.ok and stop.slice, stop)
    st.daemon.kill9()
    held.execute("ROLLBACK")
    held.close()
    st.start_daemon()
    st.wait_for("its end in the journal", lambda: book.rows()[0][0].ended, 20)
    t.equal("at the slice of the answer", book.rows()[0][0].ended_slice, stop.slice)
    t.equal("no run is under way", book.number(), 0)
    judged(t, st, book)


@harness.long
def changes_among_all_troubles(t):
    """twenty changes of `make runs`: faults of board, links, daemon and database"""
    runs.campaign(t, 8 if t.sanitized else 20, 5)


if __name__ == "__main__":
    harness.main([links_dark_and_board_away, killed_on_the_way, ended_while_the_database_is_held,
                  changes_among_all_troubles])
