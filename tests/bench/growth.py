# SPDX-License-Identifier: GPL-2.0-or-later
"""What else of a station may grow or drift over hours: its database, table by table, and the rates of its hits.

What the daemon deletes or rolls up again has a rule in daemon/store/keep.c or archive.c, with an age in [store].
A table without one may only grow with what happens, never with time."""
import contextlib
import math
import os
import sqlite3
import statistics

KEPT = {"ledger_link": "ledger_seconds_days", "ledger_stream": "ledger_seconds_days", "dark": "ledger_seconds_days",
        "ledger_link_sum": "ledger_minutes_days", "ledger_stream_sum": "ledger_minutes_days", "loss": "losses_days",
        "phase_row": "phase_days", "sample": "samples_full_days", "sample_sum": "samples_days",
        "command": "journal_days", "transition": "journal_days", "event": "journal_days"}
STATED = {"ledger_seconds_days": 150, "phase_days": 20}  # MB a day: fcm-server.conf(5), four links and two groups
MORE = 1.2
ROUND_KB = 20  # pages that a table and its indices may just have started
UNKEPT_KB, UNKEPT_KB_HOUR = 128, 32  # the same of all tables; what happens on a busy host
WAL_BYTES = 16 << 20  # journal_size_limit of daemon/store/file.c, and one commit
COMMIT_BYTES = 4 << 20
BLOCK_S = 20  # of hits: much longer than the light of the sea remembers (driver/emu/floor/sea.c)
SIGMAS = 5


def database(path):
    return contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30))


def tables(path):
    """{table: (bytes with its indices, rows)}, as a reader sees it: with what is only in the WAL yet."""
    with database(path) as db:
        size = dict(db.execute("SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_master m ON m.name = s.name"
                               " GROUP BY m.tbl_name"))
        return {t: (n, db.execute(f'SELECT count(*) FROM "{t}"').fetchone()[0]) for t, n in size.items()}


def size(path):
    """Bytes of the database with what is in the WAL, and of the WAL's file."""
    with database(path) as db:
        pages, page = (db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
    wal = path + "-wal"
    return pages * page, os.path.getsize(wal) if os.path.exists(wal) else 0


def verdict(good):
    return "ok" if good else "GROWS"


def judge_tables(before, after, hours):
    """Print each table that grew, by the rule that deletes its rows; True when none does so against its rule."""
    good, by_rule = True, {}
    for table, (n, rows) in sorted(after.items()):
        was, had = before.get(table, (0, 0))
        rule = KEPT.get(table)
        by_rule[rule] = by_rule.get(rule, 0) + n - was
        if rows != had or n != was:
            print(f"# {table}: {(rows - had) / hours:+.0f} rows/h, {(n - was) / hours / 1e3:+.0f} kB/h, "
                  f"{'by ' + rule if rule else 'kept for ever'}")
    for rule, grown in sorted(by_rule.items(), key=lambda r: r[0] or ""):
        if rule is None:
            limit = UNKEPT_KB + UNKEPT_KB_HOUR * hours
            fine = grown / 1e3 <= limit
            print(f"bench-memory disk, kept for ever: grown {grown / 1e3:.0f} kB, allowed {limit:.0f} kB: "
                  f"{verdict(fine)}")
        else:
            day, stated = grown / hours * 24 / 1e6, STATED.get(rule)
            fine = stated is None or grown / 1e3 <= stated * MORE * 1e3 / 24 * hours + ROUND_KB
            print(f"bench-memory disk, {rule}: {grown / hours / 1e6:.2f} MB/h, {day:.0f} MB a day" +
                  (f", the manual says {stated}: {verdict(fine)}" if stated else ""))
        good = good and fine
    return good


def judge_disk(sizes, before, after):
    """`sizes`: [(s, bytes of the database, of the WAL)]. True when both grow as they may."""
    (begin, first, _), (end, last, _) = sizes[0], sizes[-1]
    hours = (end - begin) / 3600
    middle = next(row for row in sizes if row[0] >= (begin + end) / 2)
    rate = [(middle[1] - first) / (middle[0] - begin), (last - middle[1]) / (end - middle[0])]
    steady = rate[1] <= MORE * rate[0] + (UNKEPT_KB * 1e3) / (end - middle[0])
    wal = max(row[2] for row in sizes)
    print(f"bench-memory disk: {first / 1e6:.1f} MB to {last / 1e6:.1f} MB, {(last - first) / hours / 1e6:.2f} MB/h "
          f"(first half {rate[0] * 3600 / 1e6:.2f}, second {rate[1] * 3600 / 1e6:.2f}): {verdict(steady)}")
    small = wal <= WAL_BYTES + COMMIT_BYTES
    print(f"bench-memory disk, WAL: at most {wal / 1e6:.1f} MB, allowed {(WAL_BYTES + COMMIT_BYTES) / 1e6:.1f} MB: "
          f"{verdict(small)}")
    return judge_tables(before, after, hours) and steady and small


def judge_rates(what, samples):
    """`samples`: [(s, events a second)]. True when the last third differs from the first by what the blocks scatter, at
    most: the counts themselves, and what the sea does to them."""
    blocks = {}
    for at, hz in samples:
        blocks.setdefault(int(at // BLOCK_S), []).append(hz)
    means = [statistics.fmean(b) for b in blocks.values() if len(b) >= BLOCK_S // 2]
    n = len(means) // 3
    if n < 3:
        print(f"# {what}: too short a time to judge a drift")
        return True
    first, last = means[:n], means[-n:]
    scatter = math.sqrt((statistics.variance(first) + statistics.variance(last)) / n)
    counting = math.sqrt((statistics.fmean(first) + statistics.fmean(last)) / (n * BLOCK_S))
    sigma = max(scatter, counting)
    apart = statistics.fmean(last) - statistics.fmean(first)
    good = abs(apart) <= SIGMAS * sigma
    print(f"bench-memory {what}: first third {statistics.fmean(first):.0f} Hz, last {statistics.fmean(last):.0f} Hz, "
          f"{apart:+.0f} Hz apart, sigma {sigma:.0f} Hz (of the counts alone {counting:.0f}): {abs(apart) / sigma:.1f} "
          f"sigma, allowed {SIGMAS}: {'ok' if good else 'DRIFTS'}", flush=True)
    return good
