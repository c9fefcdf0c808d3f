#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcmctl backup and restore: a backup is whole or has no name, also after a kill and on a full disk; a spare PC that
is restored from one gives no number twice."""
import contextlib
import glob
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

WHOLE, PART = "fcm-backup-0-*", ".fcm-backup-0-*"
NO_TAI = (-2**63).to_bytes(8, "little", signed=True)


def backups(where, pattern=WHOLE):
    return sorted(glob.glob(os.path.join(where, pattern)))


def value(path, sql, *args):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(sql, args).fetchone()[0]


def whole(st, where):
    """What restore says about it, where no daemon runs: (exit code, stdout, stderr)."""
    os.makedirs(st.path("nowhere"), exist_ok=True)
    r = subprocess.run([st.program("fcmctl"), "--dir", st.path("nowhere"), "restore", where, "--dry-run"],
                       capture_output=True, text=True, check=False, env=dict(os.environ, COLUMNS="1000"))
    return r.returncode, r.stdout, r.stderr


class Load:
    """Sets, one after the other, while something else is done."""

    def __init__(self, st):
        self.st, self.answers, self.ended = st, [], threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        n = 0
        while not self.ended.is_set():
            n += 1
            self.answers.append(self.st.request("param.set", name="floor2.om1.threshold", value=20 + n % 50))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def fill(st):
    """Some MB more, so that a copy takes several steps."""
    with contextlib.closing(sqlite3.connect(st.database)) as db, db:
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                   " INSERT INTO loss SELECT 1, 0, 'crc', 0, 1, 1, '', '', 1, i * 100, 1, NULL, ?, 0, NULL FROM n",
                   (time.time_ns(),))


def is_well_made(t, st, what, where):
    path = backups(where)[-1]
    sums = subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=path, capture_output=True, text=True,
                          check=False)
    t.check(f"{what}: sha256sum finds every file as it was", sums.returncode == 0, sums.stdout + sums.stderr)
    with open(os.path.join(path, "backup.json")) as f:
        made = json.load(f)
    files = sorted(os.path.relpath(os.path.join(base, name), path) for base, _, names in os.walk(path)
                   for name in names)
    t.equal(f"{what}: backup.json names all files", sorted(f["name"] for f in made["files"]),
            [name for name in files if name not in ("SHA256SUMS", "backup.json")])
    copy = os.path.join(path, "station.db")
    t.equal(f"{what}: the copy is sound", value(copy, "PRAGMA integrity_check"), "ok")
    t.equal(f"{what}: counts are those of the copy", {
        table: value(copy, f"SELECT count(*) FROM {table}") - (table == "station") for table in made["rows"]},
        made["rows"])
    return made


def under_load(t, st, where):
    with Load(st) as load:
        before = value(st.database, "SELECT coalesce(max(id), 0) FROM command")
        code, out, err = st.ctl("--json", "backup", where)
        after = value(st.database, "SELECT max(id) FROM command")
    t.check("under load a backup is made", code == 0, (code, out, err))
    t.check("each set meanwhile is done", load.answers and all(a["ok"] for a in load.answers), load.answers[-1:])
    made = is_well_made(t, st, "under load", where)
    t.check("it is of that time", before <= made["last"]["command"] <= after, (before, made["last"], after))
    t.equal("no commit of the daemon failed", [st.status()["store"][k] for k in ("state", "errors")],
            ["well", 0])
    t.equal("the archive is in it", value(os.path.join(backups(where)[-1], "station-2024.db"),
                                          "SELECT count(*) FROM event"), 1)


def keys(t, st, where):
    key = os.path.join(backups(where)[-1], "files" + os.path.realpath(st.path("network.key")))
    t.check("a secret key is left out, and named", not os.path.exists(key) and
            os.path.realpath(st.path("network.key")) in st.ask("backup", where)["left_out"], key)
    st.ask("backup", where, "--with-keys", "--keep", "1")
    t.equal("--keep 1: the older backups are removed", len(backups(where)), 1)
    key = os.path.join(backups(where)[-1], "files" + os.path.realpath(st.path("network.key")))
    t.equal("--with-keys: it is there, only for its owner", oct(os.stat(key).st_mode & 0o777), "0o600")


def killed(t, st, where):
    """At each call that brings something to the disk or gives it its name."""
    first, places = backups(where), 0
    for call, when in (*(("fsync", n) for n in (1, 2, 3, 5, 8, 12, 15, 16, 17)), ("rename", 1), ("pwrite64", 1),
                       ("pwrite64", 300)):
        r = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={when}",
                            st.program("fcmctl"), "--dir", st.dir, "backup", where], capture_output=True, check=False)
        places += r.returncode != 0
        for path in set(backups(where)) - set(first):  # killed after the rename, or not at all
            code, out, err = whole(st, path)
            t.check(f"killed at {call} {when}: what has a name is whole", code == 0, (code, out, err))
            shutil.rmtree(path)
    t.check("killed at each of many places: the older backup stays", places >= 8 and backups(where) == first,
            (places, backups(where)))
    t.equal("it is whole", whole(st, first[0])[0], 0)
    code, out, err = st.ctl("backup", where, "--keep", "1")
    t.check("the next one is made, and what was left is removed", code == 0 and not backups(where, PART),
            (code, out, err, backups(where, PART)))


def full_disk(t, st, where):
    first = backups(where)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    r = subprocess.run([st.program("fcmctl"), "--dir", st.dir, "backup", where], capture_output=True, text=True,
                       preexec_fn=limit, env=dict(os.environ, COLUMNS="1000"), check=False)
    t.check("a disk that becomes full: an error that says so, and what to do", r.returncode == 1 and
            "the disk is full" in r.stderr and "Free space" in r.stderr and "no backup was made" in r.stderr,
            (r.returncode, r.stderr))
    t.equal("the older backup stays, and nothing else", (backups(where), backups(where, PART)), (first, []))
    small = st.path("small")
    os.makedirs(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "fcm-test", small], check=False,
                      stderr=subprocess.DEVNULL).returncode == 0:
        try:
            code, _, err = st.ctl("backup", small)
            t.check("a disk without room: an error with both sizes, before anything is written", code == 1 and
                    "MiB are free" in err and "is full" in err, (code, err))
        finally:
            subprocess.run(["umount", "-l", small], check=False)


def damaged(t, st, where):
    """A byte of each file."""
    source = backups(where)[-1]
    with open(os.path.join(source, "backup.json")) as f:
        names = [entry["name"] for entry in json.load(f)["files"]] + ["backup.json"]
    for name in names:
        copy = st.path("damaged")
        shutil.copytree(source, copy)
        with open(os.path.join(copy, name), "r+b") as f:
            f.seek(os.path.getsize(f.name) // 2)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        code, out, err = whole(st, copy)
        if code != 1 or name not in err or "damaged" not in err:
            t.check(f"a damaged {name} is found", False, (code, out, err))
        shutil.rmtree(copy)
    t.check(f"a changed byte is found in each of {len(names)} files", len(names) >= 4, names)


def made(t):
    """backups of a station at work: under load, killed, on a full disk, damaged"""
    st = t.station(load="quiet", config=["[network]", "key_file = " + os.path.join(t.base, "station", "network.key")])
    st.ctl("key", "server", st.path("network.key"))
    st.start(consumers=False)
    st.wait_ready()
    fill(st)
    with contextlib.closing(sqlite3.connect(st.database)) as db, \
            contextlib.closing(sqlite3.connect(st.path("station-2024.db"))) as archive:
        db.backup(archive)
        archive.execute("DELETE FROM event")
        archive.execute("INSERT INTO event VALUES(1, 1, 'info', 'run', 'run 1', 'old', '')")
        archive.commit()
    where = st.path("backups")
    under_load(t, st, where)
    keys(t, st, where)
    full_disk(t, st, where)
    damaged(t, st, where)
    killed(t, st, where)
    t.check("the daemon is well after all that", st.status()["store"]["state"] == "well", st.status()["store"])


def last_numbers(st):
    return [value(st.database, f"SELECT coalesce(max({column}), 0) FROM {table}") for column, table in (
        ("id", "command"), ("number", "run"), ("number", "incident"), ("session", "dma"), ("id", "event"))] + [
        value(st.database, "SELECT max(coalesce((SELECT max(sequence) FROM command WHERE floor = 1), 0),"
                           " (SELECT max(reserved_until) FROM sequence WHERE floor = 1))")]


NAMES = ("command", "run", "incident", "session of DMA", "event", "sequence of a floor")


def an_hour(t, st, n, victim):
    """What a shift does: commands, a run, an incident (a process ends)."""
    for threshold in (30 + n, 40 + n):
        t.equal("a set", st.ctl("set", "floor1.om0.threshold", str(threshold))[0], 0)
    t.equal("a run", (st.ctl("run", "stop")[0] if n else 0, st.ctl("run", "start", f"number {n}")[0]), (0, 0))
    before = last_numbers(st)[2]
    victim.kill9()
    st.wait_for("an incident", lambda: last_numbers(st)[2] > before, 30)


def refusals(t, spare, where):
    """Where a daemon runs, where the database is newer, where it is another station's."""
    code, _, err = spare.ctl("restore", where, "--replace")
    t.check("a daemon runs: nothing is restored", code == 1 and "a daemon of board 0 runs" in err, (code, err))
    spare.daemon.end()
    before = last_numbers(spare)
    code, _, err = spare.ctl("restore", where)
    t.check("the database is newer: nothing is restored", code == 1 and "is newer than the backup" in err, (code, err))
    with contextlib.closing(sqlite3.connect(spare.database)) as db, db:
        db.execute("UPDATE dma SET begun = begun - 1000")
    code, _, err = spare.ctl("restore", where)
    t.check("it is another station's: nothing is restored", code == 1 and "of another station" in err, (code, err))
    t.equal("it is as it was", last_numbers(spare), before)
    code, out, err = spare.ctl("restore", where, "--replace")
    t.check("--replace: it is restored", code == 0, (code, out, err))
    kept = glob.glob(spare.database + ".before-restore-*")
    t.check("what was there is kept", len(kept) == 1 and value(kept[0], "SELECT max(id) FROM command") == before[0],
            kept)


def twice(records):
    """Frames that came twice, by their time: the other board counts from the beginning, as after each power-up."""
    seen, again = set(), 0
    for path in records:
        with open(path, "rb") as f:
            for record in iter(lambda: f.read(128), b""):
                key = record[2:6] + record[16:24]  # link, tower, floor, stream, TAI
                if len(record) == 128 and record[16:24] != NO_TAI:
                    again += key in seen
                    seen.add(key)
    return again, len(seen)


def spare_pc(t):
    """from a backup, with the station going on after it: another PC is well, and no number is given twice"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    an_hour(t, st, 0, st.consumers.pop("acoustic-1"))
    st.ask("backup", st.path("backups"))
    an_hour(t, st, 1, st.gpsd)
    given = last_numbers(st)
    consumers, st.consumers = st.consumers, {}
    st.daemon.kill9()
    st.emu.end()
    st.gpsd.end()
    spare = t.station("spare", load="quiet", seed=2)
    spare.reserved, spare.consumers = st.reserved, consumers
    spare.start_consumer("acoustic-1", "acoustic")
    code, out, err = spare.ctl("restore", st.path("backups"))
    t.check("restored on another PC", code == 0 and spare.database in out, (code, out, err))
    spare.start(consumers=False)
    spare.wait_ready()
    t.check("it is well, or says what is not", spare.word() in ("WELL", "ATTENTION"), spare.seen())
    spare.wait_for("WELL", lambda: spare.word() == "WELL", 60, 0.5)
    events = spare.ask("event", "list")["events"]
    t.check("an event says so, with the time of the backup", any(
        e["code"] == "database-restored" and "restored from a backup of 20" in e["text"] for e in events), events)
    t.equal("the run of the backup has ended", spare.status()["run"]["number"], 0)
    first = last_numbers(spare)
    an_hour(t, spare, 0, spare.gpsd)
    for name, was, now in zip(NAMES, given, last_numbers(spare)):
        t.check(f"{name}: goes on above all that were given", now > was, (was, now))
    numbers = {value(spare.database, "SELECT min(id) FROM command WHERE id > ?", first[0]),
               value(spare.database, "SELECT min(number) FROM run WHERE number > ?", first[1])}
    t.check("the first ones, too", numbers.isdisjoint(range(given[0] + 1)), (given, numbers))
    refusals(t, spare, st.path("backups"))
    consumers["trigger-1"].end()
    counts = spare.summaries()["trigger-1"]
    t.check("a consumer that was connected before takes no block of the spare PC for a repeat, and misses none",
            counts["welcomes"] >= 2 and [counts[k] for k in ("misjudged", "resent", "gap_lost")] == [0, 0, 0], counts)
    again, frames = twice(st.records)
    t.check("no time came twice", again == 0 and frames > 0, (again, frames))


def restore(st, directory, *args):
    """Of another directory than the station's: (exit code, stdout + stderr)."""
    where = ("--dir", directory) if directory else ("--board", "0")
    r = subprocess.run([st.program("fcmctl"), *where, *args], capture_output=True, text=True, check=False,
                       env=dict(os.environ, COLUMNS="1000"))
    return r.returncode, r.stdout + r.stderr


def sum_again(path):
    names = [n for n in glob.glob("**", root_dir=path, recursive=True)
             if n != "SHA256SUMS" and os.path.isfile(os.path.join(path, n))]
    with open(os.path.join(path, "SHA256SUMS"), "w") as f:
        subprocess.run(["sha256sum", *names], cwd=path, stdout=f, check=True)


def crafted(t, st, source):
    """Sums that are right do not make a file a part of a backup."""
    victim = st.path("victim")
    entry = {"name": "files" + victim, "path": victim, "kind": "configuration", "mode": 0o644}
    cases = {"another path": entry, "a secret": dict(entry, kind="secret", mode=0o600),
             "another mode": dict(entry, name="station-2023.db", kind="archive", mode=0o6755),
             "an archive without its name": dict(entry, name="a", kind="archive"),
             "another database": dict(entry, name="b.db", kind="database"),
             "another kind": dict(entry, name="c", kind="program")}
    for what, added in cases.items():
        copy = st.path("crafted")
        shutil.copytree(source, copy)
        name = os.path.join(copy, added["name"])
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w") as f:
            f.write("as you like\n")
        with open(os.path.join(copy, "backup.json")) as f:
            made = json.load(f)
        made["files"].append(added)
        with open(os.path.join(copy, "backup.json"), "w") as f:
            json.dump(made, f)
        sum_again(copy)
        code, text = restore(st, st.path("crafted-to"), "restore", copy)
        t.check(f"crafted, {what}: refused", code == 1 and "is no part of a backup" in text and
                not os.path.exists(victim) and not os.path.exists(st.path("crafted-to")), (code, text))
        shutil.rmtree(copy)
    for name in ("backup.json", "station.db", "."):
        shutil.copytree(source, copy)
        os.chmod(os.path.join(copy, name), 0o770)
        code, text = restore(st, st.path("crafted-to"), "restore", copy)
        t.check(f"its group may write to {name}: refused", code == 1 and "its group may write" in text, (code, text))
        shutil.rmtree(copy)
    code, text = restore(st, None, "restore", source, "--dry-run")
    t.check("the daemon's database was elsewhere: refused without --database", code == 1 and
            "--database" in text, (code, text))


def names_and_times(t, st, where):
    """What has another name or a later time than a backup of now."""
    for name in ("fcm-backup-0-99991231T235959Z", "fcm-backup-0-zzz"):
        os.mkdir(os.path.join(where, name))
    before = backups(where, "fcm-backup-0-2*")
    made = st.ask("backup", where, "--keep", "1")
    t.equal("--keep 1: the new one stays, older ones are removed, others are not touched",
            ([os.path.basename(p) for p in backups(where)], made["removed"]),
            ([os.path.basename(made["backup"]), "fcm-backup-0-99991231T235959Z", "fcm-backup-0-zzz"], before[::-1]))
    t.equal("one of a later time is named", made["later"], [os.path.join(where, "fcm-backup-0-99991231T235959Z")])
    t.check("that it is on the database's disk is said", made["same_disk"], made)


def old_data(t):
    """a database that is a week old: its backup is, too; a crafted backup; a new PC without the directory"""
    st, where = t.station(load="quiet"), os.path.join(t.base, "old")
    st.start(consumers=False)
    st.wait_ready()
    t.equal("a set", st.ctl("set", "floor1.om0.threshold", "30")[0], 0)
    st.daemon.end()
    week = time.time_ns() - 7 * 86400 * 10**9
    with contextlib.closing(sqlite3.connect(st.database)) as db, db:
        db.execute("UPDATE station SET value = ? WHERE key = 'last_alive'", (week,))
    drop_in, named = st.path("board.conf.d/extra.conf"), st.path("extra.parameters")
    os.makedirs(os.path.dirname(drop_in))
    with open(drop_in, "w") as f, open(named, "w") as g:
        f.write(f"[slowctl]\nsite_dictionary = {named}\n")
        g.write("# none\n")
    os.chmod(drop_in, 0o644)
    os.chmod(named, 0o644)
    with open(st.path("board.conf"), "a") as f:
        f.write(f"#allow_list\n allow_list = {st.path('large')}\n")
    with open(st.path("large"), "w") as f:
        f.truncate((4 << 20) + 1)
    made = st.ask("backup", where)
    files = {f["path"]: f for f in made["files"]}
    t.check("drop-ins and what they name are in it, with their owner", all(
        p in files and files[p]["owner"] and files[p]["mode"] == 0o644 for p in (drop_in, named)), made["files"])
    t.check("what is too large is named", st.path("large") in made["left_out"], made["left_out"])
    copy = os.path.join(made["backup"], "station.db")
    copied = "SELECT CAST(value AS INTEGER) FROM station WHERE key = 'copied'"
    t.equal("the backup has the time of the data", value(copy, copied), week)
    crafted(t, st, made["backup"])
    shutil.rmtree(os.path.dirname(drop_in))
    fresh = st.path("fresh")
    code, text = restore(st, fresh, "restore", made["backup"], "--dry-run")
    t.check("a dry run makes nothing", code == 0 and not os.path.exists(fresh), (code, text))
    code, text = restore(st, fresh, "restore", made["backup"])
    t.check("a new PC: the directory is made, the drop-in put back", code == 0 and
            os.stat(fresh).st_mode & 0o777 == 0o750 and os.path.exists(os.path.join(fresh, "station.db")) and
            os.stat(drop_in).st_mode & 0o777 == 0o644, (code, text))
    again = st.path("again")
    code, text = restore(st, fresh, "backup", again)
    t.equal("a backup of what was restored keeps the older time",
            (code, value(os.path.join(backups(again)[0], "station.db"), copied)), (0, week))
    names_and_times(t, st, where)
    shutil.rmtree(os.path.dirname(drop_in))
    code, out, err = st.ctl("restore", backups(where)[0], "--replace")
    t.check("restored in its place", code == 0, (code, out, err))
    os.unlink(st.path("large"))
    config = st.path("board.conf")
    with open(config) as f:
        text = f.read()
    with open(config, "w") as f:
        f.write(text[:text.index("#allow_list")])
    shutil.rmtree(os.path.dirname(drop_in), ignore_errors=True)
    st.start_daemon()
    st.wait_ready()
    st.wait_for("a set", lambda: st.ctl("set", "floor1.om0.threshold", "31")[0] == 0, 30, 0.5)
    first = value(st.database, "SELECT min(id) FROM command WHERE id > ?", made["last"]["command"])
    t.check("its number is above all of a week", first > 7 * 86400 * 10000, first)


PARAMETER = "'tower1.floor' || (f.i + 1) || '.om' || (p.i / 8) || '.' || ({names})"
# What is kept of a year by the default ages; and the ranges of the numbers in it. In the order of the tables' keys.
YEAR = (
    # 28 floors, 48 parameters each: hours, and every 10 minutes of the last 29 days
    ("INSERT INTO sample_sum SELECT {parameter}, {now} - (365 * 24 - t.i) * 3600000000000, 3600, {now} - (365 * 24 - t.i)"
     " * 3600000000000 + 3599000000000, 360, 20.1, 19.1, 21.1, NULL FROM f CROSS JOIN p CROSS JOIN t",
     {"f": 28, "p": 48, "t": 336 * 24}),
    ("INSERT INTO sample SELECT {parameter}, {now} - (29 * 144 - t.i) * 600000000000, 20.1 + t.i % 5, NULL FROM f"
     " CROSS JOIN p CROSS JOIN t", {"f": 28, "p": 48, "t": 29 * 144}),
    # 100 commands a day
    ("INSERT INTO command SELECT 1 + t.i, 'year-' || t.i, {now} - (36500 - t.i) * 864000000000, 'ann', 0, 1,"
     " 'local', '',"
     " 0, 1, 1 + t.i % 4, 'tower1.floor' || (1 + t.i % 4) || '.om1.threshold', 'set', 10, 11, 'mV', 1 + t.i,"
     " 15, 'DONE',"
     " 'read-back', 1, {now} - (36500 - t.i) * 864000000000 + 100000000 FROM t", {"t": 36500}),
    ("INSERT INTO transition SELECT 1 + t.i, 2 + s.i, {now} - (36500 - t.i) * 864000000000 + s.i, 'DONE', 1, ''"
     " FROM t, s",
     {"t": 36500, "s": 3}),
    ("INSERT INTO event SELECT NULL, {now} - (18250 - t.i) * 1728000000000, 'info', 'run', 'run ' || t.i, 'began', ''"
     " FROM t", {"t": 18250}),
    ("INSERT INTO incident SELECT 1 + t.i, 'link-dark', 'link' || t.i % 4, 1, 'dark', '', {now} - (3650 - t.i) *"
     " 8640000000000, {now} - (3650 - t.i) * 8640000000000 + 60000000000, '', 1, 100, 0, 0, 0, NULL, '', '',"
     " '', 0 FROM t",
     {"t": 3650}),
    # the ledger: minutes of 82 days, and seconds of the last 7
    ("INSERT INTO ledger_link_sum SELECT 1, 1, l.i, t.i * 60, 60, 60, 1, 1 + l.i, 480000, 480000, 0, 0, 0, 0,"
     " 0, 0, 0, 0,"
     " {now} - (89 * 1440 - t.i) * 60000000000, {now} - (89 * 1440 - t.i) * 60000000000 + 59000000000, NULL"
     " FROM l CROSS JOIN t", {"l": 4, "t": 82 * 1440}),
    ("INSERT INTO ledger_stream_sum SELECT 1, 1, l.i, iif(g.i, 'pmt', 'acoustic'), iif(g.i, 'trigger', 'acoustic'),"
     " t.i * 60, 60, 60, 480000, 480000, 0, 0, 0, 0, 0,"
     " {now} - (89 * 1440 - t.i) * 60000000000, {now} - (89 * 1440 - t.i) * 60000000000 + 59000000000, NULL"
     " FROM l CROSS JOIN g CROSS JOIN t", {"l": 4, "g": 2, "t": 82 * 1440}),
    ("INSERT INTO ledger_link SELECT 1, 1, l.i, 82 * 86400 + t.i, 1, 1 + l.i, 8000, 8000, 0, 0, 0, 0, 0, 0, 0, 0, 1,"
     " {now} - (7 * 86400 - t.i) * 1000000000, NULL FROM l CROSS JOIN t", {"l": 4, "t": 7 * 86400 - 600}),
    ("INSERT INTO ledger_stream SELECT 1, 1, l.i, iif(g.i, 'pmt', 'acoustic'), iif(g.i, 'trigger', 'acoustic'),"
     " 82 * 86400 + t.i, 8000, 8000, 0, 0, 0, 0, 0, 0, 1, {now} - (7 * 86400 - t.i) * 1000000000"
     " FROM l CROSS JOIN g CROSS JOIN t", {"l": 4, "g": 2, "t": 7 * 86400 - 600}),
    # a row a link and second
    ("INSERT INTO phase_row SELECT l.i, {now} - (365 * 86400 - t.i) * 1000000000, 100.1, 20.1, -41.1, 42.1, 100, 1, 1, 1"
     " FROM l CROSS JOIN t", {"l": 4, "t": 365 * 86400 - 600}),
)


def add_year(path):
    names = "CASE p.i % 8 WHEN 0 THEN 'hv' WHEN 1 THEN 'rate' WHEN 2 THEN 'current' ELSE 'sensor' || (p.i % 8) END"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-500000"):  # the daemon sets its own again
            db.execute(f"PRAGMA {pragma}")
        db.execute("BEGIN")
        now = time.time_ns() - time.time_ns() % (3600 * 10**9) - 3600 * 10**9
        for table in ("sample", "sample_sum", "command", "transition", "event", "incident", "phase_row"):
            db.execute(f"DELETE FROM {table}")
        for sql, counts in YEAR:
            for name, count in counts.items():
                db.execute(f"DROP TABLE IF EXISTS temp.{name}")
                db.execute(f"CREATE TEMP TABLE {name} AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
                           f" WHERE i + 1 < {count}) SELECT i FROM n")
            db.execute(sql.format(parameter=PARAMETER.format(names=names), now=now))
        db.execute("COMMIT")


QUESTIONS = (
    ("status",), ("history", "floor1.om1.hv", "--since", "1h"), ("history", "floor1.om1.hv", "--since", "30d"),
    ("command", "list"), ("event", "list"), ("incident", "list"), ("ledger", "show", "--since", "1h"), ("link", "list"),
    ("phase", "show"), ("run", "show"), ("get", "floor1.om1.*"), ("report",),
)


def best(act, times=3):
    """The shortest of some: what the machine does beside is not measured."""
    took = []
    for _ in range(times):
        begin = time.monotonic()
        act()
        took.append(time.monotonic() - begin)
    return min(took)


def forget(path):
    """The kernel's copy: it has to be read from the disk."""
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(st):
    """Seconds by question, and of a start until the daemon answers."""
    took = {" ".join(q): best(lambda q=q: st.ask(*q, codes=(0, 1))) for q in QUESTIONS}

    def start():
        st.daemon.end()
        forget(st.database)
        st.start_daemon()
    took["a start"] = best(start)
    st.wait_ready()
    return took


ROOM = 25 << 30  # for such a database and its copy


@harness.long
def a_year(t):
    """a database of a year answers as soon as one of a minute, and a backup of it is made"""
    with tempfile.TemporaryDirectory(prefix="fcm-year-", dir="/var/tmp") as disk:  # not in memory
        if shutil.disk_usage(disk).free < ROOM:
            print(f"  {disk}: less than {ROOM >> 30} GiB free: left out")
            t.check("nothing to check", True)
            return
        try:
            ask_of_a_year(t, disk)
        finally:
            for st in t.stations:
                st.close()  # before its disk is gone


def ask_of_a_year(t, disk):
    st = t.station(load="quiet")
    st.database = os.path.join(disk, "station.db")
    st.start(consumers=False)
    st.wait_ready()
    small = measure(st)
    st.daemon.end()
    add_year(st.database)
    size = os.path.getsize(st.database)
    t.check(f"a year are {size >> 20} MiB", size > 7 << 30, size)
    forget(st.database)
    st.start_daemon()
    st.wait_ready()
    year = measure(st)
    for question, took in year.items():
        # The report reads each second of eight hours; a small database has a minute.
        limit = (400 if question == "report" else 30) * max(small[question], small["status"])
        t.check(f"{question}: {took:.3f} s, of a small database {small[question]:.3f} s", took < limit, (took, limit))
    with Load(st) as load:
        code, out, err = st.ctl("backup", os.path.join(disk, "backups"), timeout=3000)
    t.check("a backup is made while commands are done", code == 0 and len(load.answers) > 10 and
            all(a["ok"] for a in load.answers), (code, out, err, load.answers[-1:]))
    t.equal("no commit of the daemon failed", st.status()["store"]["errors"], 0)


harness.main([made, old_data, spare_pc, a_year])
