#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make drill`: a station on which things go wrong, and nobody says which. Find out with fcmctl or the page, and answer
with `fcmctl drill answer`. At the end: what was right, wrong and missed, and what the station said of it.

The scenario is drawn at random and sealed: it is in no file while the drill runs. --seed repeats a drill."""
import argparse
import json
import os
import random
import secrets
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import causes  # noqa: E402
import run  # noqa: E402
from station import Station, StationError  # noqa: E402

AFTER = 40  # s for the last answers


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--dir", default="build/run")
    p.add_argument("--faults", type=int, default=8)
    p.add_argument("--apart", type=float, default=45, help="seconds between two faults, more or less")
    p.add_argument("--load", default="quiet", choices=["quiet", "design", "full"])
    p.add_argument("--seed", type=int, help="of an earlier drill, to repeat it")
    return p.parse_args()


def begin_of_data(st):
    """UTC when the frames of all links came, which the scenario counts from."""
    begun = []

    def data():
        cells = [sum(link["cells"].values()) for link in st.status()["links"]]
        if min(cells) > 0:
            begun.append(time.time() - min(cells) / 8000)
        return begun
    st.wait_for("data of all links", data, 30)
    return begun[0]


def read_answers(st):
    try:
        with open(st.path("drill.answers")) as f:
            return [json.loads(line) for line in f]
    except OSError:
        return []


def incident_of(fault, incidents, begin):
    """The one by which the station told it: of its code and object, begun with it."""
    for i in incidents:
        place = i["object"].removeprefix("tower1.")
        if i["code"] in causes.OF[fault.cause].codes and i["since"] > begin + fault.at - 3 and \
                i["since"] < begin + fault.at + max(fault.ends, 10) + 15 and \
                (place in ("clock", "board") or causes.same_object(fault, place.split(".")[0])):
            return i
    return None


def debrief(st, faults, begin):
    """Prints it. The score: {right, wrong, missed, faults}."""
    told, wrong = causes.judge(faults, read_answers(st), begin)
    incidents = st.ask("incident", "list", "--since", "1d")["incidents"]
    print("\nThe debrief. Times are UTC.\n")
    for fault, answer in told:
        at = time.strftime("%H:%M:%S", time.gmtime(begin + fault.at))
        verdict = f"right, after {answer['time'] - begin - fault.at:.0f} s" if answer else "MISSED"
        print(f"{at}  {fault.cause} {fault.object}: {verdict}")
        i = incident_of(fault, incidents, begin)
        print(f"          {causes.OF[fault.cause].about} ({'; '.join(what for _, what in fault.lines)})")
        if i:
            print(f"          incident {i['number']}, {i['object']}/{i['code']}: {i['text']}")
        else:
            print("          the station has no incident of it: that is its fault, not yours")
    for a in wrong:
        print(f"{time.strftime('%H:%M:%S', time.gmtime(a['time']))}  {a['cause']} {a['object']}: WRONG, there was none")
    right = sum(1 for _, a in told if a)
    print(f"\n{right} right, {len(wrong)} wrong, {len(told) - right} missed of {len(told)}")
    return {"right": right, "wrong": len(wrong), "missed": len(told) - right, "faults": len(told)}


def shown(path):
    """The shorter name of it."""
    return min(os.path.relpath(path), os.path.abspath(path), key=len)


def announce(st, args, seconds):
    ctl = f"{os.path.relpath(st.program('fcmctl'))} --dir {shown(st.dir)}"
    print(f"""
The drill has begun; it takes {seconds / 60:.0f} minutes, and {args.faults} things go wrong. Find out what:

    {ctl} status
    {ctl} drill causes              # what may happen
    {ctl} drill answer CAUSE OBJECT # as soon as you know; an answer cannot be taken back

In a browser: {run.start_page(st) or "the page is not served"}

Ctrl-C ends it early, with the debrief of what has happened by then.
""", flush=True)


def drill(st, args, faults):
    st.start()
    os.remove(st.scenario)  # the emulator has read it
    begin = begin_of_data(st)
    st.wait_ready(60)
    seconds = max(f.at + f.ends for f in faults) + AFTER
    announce(st, args, seconds)
    try:
        while (left := begin + seconds - time.time()) > 0:
            time.sleep(min(1, left))
    except KeyboardInterrupt:
        faults = [f for f in faults if f.at < time.time() - begin]
    return debrief(st, faults, begin)


def main():
    args = options()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seed = args.seed if args.seed is not None else secrets.randbits(32)
    faults = causes.plan(random.Random(seed), args.faults, args.apart)
    run.fresh(args.dir)
    sealed = os.path.join(args.dir, "sealed")
    with open(sealed, "w") as f:
        f.write(causes.scenario(faults))
    with open(os.path.join(args.dir, "drill.json"), "w") as f:
        json.dump({"causes": [{"cause": c.name, "of": c.of, "about": c.about} for c in causes.CAUSES],
                   "objects": causes.objects()}, f)
    with Station(args.bin, args.dir, scenario=sealed, load=args.load, truth=False) as st:
        run.name_ports(st, False)
        try:
            score = drill(st, args, faults)
            os.remove(st.path("drill.json"))  # no answers any more
            print(f"the same drill again: --seed {seed}")
            with open(st.path("drill.score"), "w") as f:
                json.dump({**score, "seed": seed}, f)
            st.stop()
            return 0
        except (StationError, KeyboardInterrupt) as e:
            print(f"make drill: {e}", file=sys.stderr)
            return 1
        finally:
            st.close()
            os.remove(os.path.join(args.dir, "run.pid"))


if __name__ == "__main__":
    sys.exit(main())
