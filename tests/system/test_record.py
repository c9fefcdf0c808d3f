#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings and black boxes of a station: through a broken link, a kill -9 and a full disk."""
import json
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402


def recordings(st):
    return {r["name"]: r for r in st.ask("record", "list")["recordings"]}


def check_cells(t, st, name, links, least=100):
    """Every recorded cell is the one the floor sent, none twice, none missing without a record of it."""
    r = subprocess.run([st.program("record-check"), st.path("truth.bin"), st.path(f"recordings/{name}")],
                       capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(r.stdout) if r.stdout else {}
    t.equal(f"{name}: every recorded cell equals the truth, every other is named", (r.returncode, r.stderr), (0, ""))
    if r.returncode:
        print(found)
    for link in links:
        t.check(f"{name}: link {link} has good frames", found[str(link)]["good"] >= least, found)
    t.equal(f"{name}: no other link", [l for l, v in found.items() if v["segments"] and int(l) not in links], [])
    return found


def before_the_dark(st, name):
    """Cells with data in a black box before its first link-down."""
    code, out, err = st.ctl("--json", "record", "dump", st.path(f"recordings/{name}"))
    if code != 0:
        return err
    cells = 0
    for item in map(json.loads, out.splitlines()):
        if item["what"] == "record" and item["kind"] == "data":
            cells += item["frames"]
        if item["what"] == "record" and item.get("reason") == "link-down":
            return cells
    return "no link-down in it"


def recorded(st):
    return st.status()["recording"]["frames"]


def broken_killed_and_full(t):
    """two links recorded while one breaks, the daemon is killed and comes back, the disk gets full: no data lost"""
    st = t.station(gpsd=False, load="quiet", depth_ms=4000, config=["[record]", "min_free_mb = 1"],
                   scenario=t.scenario("from data\nat 6 link 1 unplug 1\nat 6 link 3 unplug 1\n"))
    st.start()
    begun = st.ask("record", "start", "--links", "0,1", "--name", "night", "--note", "noise", "--for", "1h")
    t.equal("it begins as asked", (begun["name"], begun["links"]), ("night", [0, 1]))
    code, _, err = st.ctl("record", "start")
    t.check("a second one is refused, with what to do", code == 1 and "record stop" in err, (code, err))
    st.wait_for("the dark links' black boxes, in the events", lambda: {"link1", "link3"} <= {
        e["object"] for e in st.ask("event", "list")["events"] if e["code"] == "black-box"})
    st.wait_ready()
    st.daemon.kill9()
    code, out, err = st.ctl("record", "list")
    t.check("while the daemon is away the files tell", code == 0 and "night" in out and "not running" in err, (code, out, err))
    st.start_daemon()
    st.wait_for("the recording goes on by itself", lambda: recorded(st) > 4000)
    ended = st.ask("record", "stop")
    t.check("it ends with frames", ended["name"] == "night" and ended["frames"] > 4000, ended)

    # No room any more in the middle of a record.
    st.ask("record", "start", "--links", "2", "--name", "full")
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (24 << 20, resource.RLIM_INFINITY))
    st.wait_for("the alarm", lambda: any(r["code"] == "record-stopped" for r in st.seen()))
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    s = st.status()
    t.check("status is red, says why and what to do", s["incidents"]["word"] == "RED" and not s["recording"]["active"] and
            all(w in json.dumps(harness.observations(s)) for w in ("File too large", "fcmctl record start")), harness.observations(s))
    st.ask("record", "stop")
    t.equal("seen: it is no reason any more", [r for r in st.seen() if r["code"] == "record-stopped"], [])
    events = []

    def told(code, *words):
        events[:] = st.ask("event", "list", "--limit", "200")["events"]
        return any(e["code"] == code and all(w in json.dumps(e) for w in words) for e in events)
    for what in (("record", "night", "(uid", "noise"), ("record", "night", "resumed"),
                 ("record", "night", "stopped by"), ("record-stopped", "red", "File too large"),
                 ("record-stopped", "is over: acknowledged by")):
        st.wait_for(f"the event {what}", lambda: told(*what), 5)
    there = recordings(st)
    boxes = sorted((r for r in there.values() if r["cause"] == "link-dark"), key=lambda r: r["links"])
    t.check("one black box of each dark link, named in an event", [b["links"] for b in boxes] == [[1], [3]] and
            all(any(e["code"] == "black-box" and b["name"] in e["text"] for e in events) for b in boxes), there)
    t.equal("why they are there", [(b["why"], b["cause_text"]) for b in boxes], [("incident", "no light")] * 2)
    t.check("how they ended", there["night"]["why"].startswith("stopped by") and not there["night"]["trouble"] and
            there["full"]["trouble"] == "File too large", there)
    t.account(st, named=[(link, c) for link in (1, 3) for c in ("link-down", "alignment", "crc")])
    found = check_cells(t, st, "night", [0, 1])
    # Where the recorder is too slow, the dark cells may be among those that it has let go.
    t.check("night: the dark cells of link 1 are gaps", found["1"]["gaps"] + found["1"]["let_go"] > 4000 and
            found["0"]["gaps"] < 1000, found)
    # A second is all that the recorder may be behind: a host that gives the board's clock less is too slow for it.
    let_go, good = (sum(v[key] for v in found.values()) for key in ("let_go", "good"))
    slow = st.lag_s() > 0.5
    t.check("night: the recorder lost less than it wrote", slow or let_go < good, (st.lag_s(), found))
    st.host_too_slow = st.host_too_slow or (let_go > 0 and (slow or let_go < good))
    check_cells(t, st, "full", [2])
    for box in boxes:
        link, = box["links"]
        check_cells(t, st, box["name"], [link], least=0)
        if link == 3:  # a link that is being recorded has the cells before in its recording
            cells = before_the_dark(st, box["name"])
            t.check("the box has what was before the dark", isinstance(cells, int) and cells > 0, cells)
        with open(st.path(f"recordings/{box['name']}/registers.txt")) as f:
            t.check("the box has the registers", "link.locked = 0" in f.read())


if __name__ == "__main__":
    harness.main([broken_killed_and_full])
