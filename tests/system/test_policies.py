#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Consumers stopped by SIGSTOP, one for each policy: memory stays bounded, others lose nothing, the loss is exact."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

BUDGET_MB = {"oldest": 32, "newest": 8, "patient": 48, "strict": 32}
GROUPS = [line for name, policy, streams in (("oldest", "drop-oldest", "pmt"), ("newest", "drop-newest", "pmt"),
                                             ("patient", "wait", "pmt"), ("strict", "disconnect", "pmt,hydrophone"))
          for line in (f"[group {name}]", f"streams = {streams}", f"policy = {policy}",
                       f"budget_mb = {BUDGET_MB[name]}")]
STOP_S = 4


def resident(st):
    """Bytes of the daemon's own memory: without the rings, which it maps."""
    with open(f"/proc/{st.daemon.pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("RssAnon"))


def groups_of(st):
    return {g["group"]: g for g in st.ask("consumer", "list")["groups"]}


def lost(group):
    return {why: d["frames"] for why, d in group["dropped"].items() if d["frames"]}


def exact(t, st, name, dropped):
    """The group's frames: delivered and dropped by name are the truth's, each once; those that reached the consumer
    too late are among the dropped, and counted."""
    rc, truth = st.compare(name, [st.path(f"{name}-1.rec")])
    rows = {(r["link"], r["stream"]): r for r in truth["links"]}
    t.check(f"{name}: every frame is delivered equal, or named", rc == 0, truth)
    t.equal(f"{name}: dropped by the ledger = missing in the truth + delivered too late",
            {link: r["dropped"] + r["late"] for (link, stream), r in rows.items() if stream == "pmt"},
            {link: dropped.get(link, 0) for link in range(4)})


def stopped_consumers(t):
    """four groups with a stopped consumer each; a fifth consumer takes over in the one that disconnects"""
    st = t.station(emulator_args=["--rate", "8000"], depth_ms=2000, gpsd=False,
                   config=["[data]", "pool_mb = 144", "consumer_dead_ms = 20000", *GROUPS])
    st.start(consumers=False)
    for name in BUDGET_MB:
        st.start_consumer(f"{name}-1", name)
    st.start_consumer("strict-2", "strict")
    st.wait_for("data with every group", lambda: all(g["acknowledged"] > 100 for g in groups_of(st).values()))
    time.sleep(0.5)
    memory = resident(st)
    for name in BUDGET_MB:
        st.consumers[f"{name}-1"].signal(signal.SIGSTOP)
    begin, seen, pool = time.monotonic(), [], 0
    while time.monotonic() < begin + STOP_S:
        seen.append(groups_of(st))
        pool = max(pool, st.status()["capture"]["pool_in_use"])
        time.sleep(0.2)
    growth = resident(st) - memory
    rate = sum(x["bytes_per_s"] for x in st.status()["links"])
    members = {m["member"]: m for m in st.ask("consumer", "list")["members"]}
    for name in BUDGET_MB:
        st.consumers[f"{name}-1"].signal(signal.SIGCONT)
    st.wait_for("all caught up", lambda: all(g["oldest_s"] < 0.2 for g in groups_of(st).values()))
    time.sleep(0.5)
    last = groups_of(st)
    for name, mb in BUDGET_MB.items():
        most = max(s[name]["held_bytes"] for s in seen)
        t.check(f"{name}: memory held within its budget", 0 < most <= mb << 20, (most, mb))
    if not t.sanitized:
        t.check("memory of all is bounded, far below what came in", max(growth, pool) < 0.6 * rate * STOP_S,
                (growth, pool, rate))
    print(f"  {rate / 1e6:.1f} MB/s, pool in use {pool / 1e6:.1f} MB, resident +{growth / 1e6:.1f} MB; held " +
          ", ".join(f"{n} {max(s[n]['held_bytes'] for s in seen) / 1e6:.1f} MB" for n in BUDGET_MB) + "; dropped " +
          ", ".join(f"{n} {lost(last[n])}" for n in BUDGET_MB))
    t.check("the member that stood still is none any more", members["strict-1"]["state"] == "too-slow" and
            members["strict-2"]["state"] == "alive" and last["strict"]["disconnected"] == 1, members)
    told = [e for e in st.ask("event", "list")["events"] if e["code"] == "consumer-disconnected"]
    t.check("and the operator by an event", len(told) == 1 and told[0]["object"] == "group strict" and
            "strict-1" in told[0]["text"], told)
    for name in ("oldest", "newest", "patient"):
        t.check(f"{name}: dropped as slow, as nothing else", set(lost(last[name])) == {"slow"}, last[name]["dropped"])
        t.check(f"{name}: the last drop is named", last[name]["last_drop"]["stream"] == "pmt" and
                last[name]["last_drop"]["age_s"] is not None, last[name]["last_drop"])
    t.equal("strict: nothing dropped, the other member took over", lost(last["strict"]), {})
    # What stands in the ring at 3/4 of it goes, whatever the policy. drop-oldest has let go before, and its number is
    # 0 by its meaning: nothing to be seen there.
    beyond = {name: last[name]["beyond_limit"] for name in ("newest", "patient", "strict")}
    t.check("against the policy: who waits or drops the newest, when 3/4 of the ring are used; not who is disconnected "
            "before", beyond["newest"] > 0 and beyond["patient"] > 0 and beyond["strict"] == 0, beyond)
    t.check("who waits loses less than who drops the oldest", lost(last["patient"])["slow"] <
            lost(last["oldest"])["slow"], last)
    t.equal("the daemon ends with 0", st.stop(), 0)
    ledger = st.ledger()
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    t.equal("no link lost a frame", harness.after_beginning(ledger), [])
    t.equal("the stopped member was told once", st.summaries()["strict-1"]["too_slow"], 1)
    drops = [x for x in ledger["losses"] if x["kind"] == "group"]
    for name in ("oldest", "newest", "patient"):
        by_link = {l: sum(x["frames"] for x in drops if x["group"] == name and x["link"] == l) for l in range(4)}
        t.equal(f"{name}: the status counts what the ledger names", lost(last[name])["slow"], sum(by_link.values()))
        exact(t, st, name, by_link)
    t.equal("strict: no drop in the ledger", [x for x in drops if x["group"] == "strict"], [])
    rc, truth = st.compare("strict", [st.path("strict-1.rec"), st.path("strict-2.rec")])
    t.check("strict: every frame is delivered equal, none is dropped", rc == 0 and truth["dropped"] == 0 and
            truth["late"] == 0, truth)


def offline(t):
    """policy wait, a model at full speed: it waits for a stopped consumer longer than for any other, nothing is lost"""
    st = t.station(load="quiet", speed="max", gpsd=False, truth=False,
                   config=["[data]", "consumer_dead_ms = 20000", "[group trigger]", "policy = wait", "[group acoustic]",
                           "policy = wait"])
    st.start()
    st.wait_ready()  # by the model's own labels the daemon knows that it waits
    st.consumers["trigger-1"].signal(signal.SIGSTOP)
    offered = []

    def nothing_new():
        time.sleep(1)
        offered.append(groups_of(st)["trigger"]["offered"])
        return offered[-1:] == offered[-2:-1]
    st.wait_for("the model waits: no block is offered for a second", nothing_new)
    offered, group = offered[-1], groups_of(st)["trigger"]
    t.equal("and none after that", group["offered"], offered)
    t.check("because of the stopped consumer", group["oldest_s"] > 1 and group["in_flight"] > 0, group)
    st.consumers["trigger-1"].signal(signal.SIGCONT)
    st.wait_for("data flow on", lambda: groups_of(st)["trigger"]["acknowledged"] > offered + 400)
    t.equal("the daemon ends with 0", st.stop(), 0)
    ledger = st.ledger()
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    t.equal("nothing is lost or dropped", [x for x in ledger["losses"] if x["kind"] == "group"] +
            harness.after_beginning(ledger), [])


if __name__ == "__main__":
    harness.main([stopped_consumers, offline])
