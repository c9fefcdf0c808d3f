#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make run`: the whole station on the emulator and a real gpsd, without root, below build/run.

Without --seconds it shows the live station until Ctrl-C. With it, it counts from all links up and the
clock locked, ends by itself, compares what arrived with the emulator's truth, and exits 0 only when the
ledger balances and data arrived.
"""
import argparse
import itertools
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from page_server import DICTIONARY, WWW  # noqa: E402
from station import DRIFT_NS, LINKS, Process, Station, StationError, die, free_base_port, is_free  # noqa: E402

# What the manual and the examples name; others, where somebody has them.
RESERVED_PORT, MONITOR_PORT, FEED_PORT, PAGE_PORT = 5710, 5730, 5600, 5770
LOSSES = ["link-down", "board-fifo", "ring-full", "crc", "alignment", "time-fault"]


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--dir", default="build/run")
    p.add_argument("--seconds", type=float)
    p.add_argument("--scenario")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--load", default="design", choices=["quiet", "design", "full"])
    p.add_argument("--rate", type=float, metavar="HZ", help="hits of each module a second, instead of --load")
    p.add_argument("--beacons", type=float, metavar="HZ", help="the sea has LED and acoustic beacons: nanet3-emu(1)")
    p.add_argument("--feed", action="store_true", help="enable the TriDAS feed, one port per floor")
    p.add_argument("--kill-consumer", metavar="NAME", help="kill -9 this consumer half-way")
    p.add_argument("--keep", action="store_true", help="keep what a finished run has for its comparison: truth and records")
    return p.parse_args()


def daemon_of(directory):
    """The process that answers at the station's control socket; None: none does."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(2)
        try:
            s.connect(os.path.join(directory, "control.sock"))
        except OSError:
            return None
        return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def shown(path):
    """As short as it can be typed from here."""
    return min(os.path.relpath(path), os.path.abspath(path), key=len)


def keep_earlier(directory):
    """Keep the previous run readable, without its data; remove the one before."""
    if not os.path.isdir(directory):
        return
    before = directory.rstrip("/") + ".before"
    shutil.rmtree(before, ignore_errors=True)
    remove_data(directory)
    keep_recordings(directory)
    os.rename(directory, before)
    if os.path.exists(os.path.join(before, "station.db")):
        print(f"the previous run is kept: fcmctl --dir {shown(before)} reads its database", flush=True)


def keep_recordings(directory):
    """No run removes what a person has recorded, and no daemon goes on with the recording of an earlier run."""
    made, kept = os.path.join(directory, "recordings"), directory.rstrip("/") + ".recordings"
    for name in sorted(os.listdir(made)) if os.path.isdir(made) else []:
        if name[0] == "." or name.startswith("blackbox-"):
            continue
        os.makedirs(kept, exist_ok=True)
        paths = (os.path.join(kept, name + f"-{n}" * (n > 1)) for n in itertools.count(1))
        to = next(path for path in paths if not os.path.exists(path))
        os.rename(os.path.join(made, name), to)
        print(f"the recording of an earlier run is kept: {shown(to)}", flush=True)
    shutil.rmtree(made, ignore_errors=True)


def remove_data(directory):
    for name in os.listdir(directory):
        if name.endswith(".rec") or name == "truth.bin":
            os.remove(os.path.join(directory, name))


def fresh(directory):
    pid_file = os.path.join(directory, "run.pid")
    try:
        with open(pid_file) as f:
            os.kill(int(f.read()), 0)
        die(f"make run: a station is running below {directory} (pid file {pid_file}); stop it first")
    except (OSError, ValueError):
        pass
    if pid := daemon_of(directory):
        die(f"make run: a daemon is running below {directory}, but not the program that started it; stop it first: kill {pid}")
    keep_earlier(directory)
    os.makedirs(directory)
    with open(pid_file, "w") as f:
        f.write(str(os.getpid()))


def line_of(status):
    links = "  ".join(
        f"{l['link']}:{l['state']}" + (f" {l['hits_per_s'] / 1e3:.0f} kHz" if l["state"] == "up" else "")
        for l in status["links"])
    text = (f"{status['incidents']['word']:9}  clock {status['clock']['state']} ({status['clock']['source']})  {links}")
    for i in [i for i in status["incidents"]["list"] if i["state"] == "active"][:3]:
        text += f"\n      {i['severity']}: {i['object']}: {i['text']}"
    return text


def now_of(st):
    """The status line, or why there is none: a busy host may pause the station without ending the run."""
    try:
        return line_of(st.status())
    except StationError as e:
        return str(e).splitlines()[0] if st.daemon.alive() else "fcm-server is not running"


def last_status(st):
    answers = []
    st.wait_for("the daemon's last status", lambda: not st.daemon.alive() or answers.append(st.status()) or True, 60)
    if not answers:
        raise StationError(f"fcm-server has ended with {st.daemon.popen.returncode} before the end of the run: no summary; "
                           f"its log is {os.path.relpath(st.path('daemon.log'))}")
    return answers[0]


def guests_of(st):
    """Members of the groups that the run has not started."""
    try:
        return {f"{m['member']} in group {m['group']}" for m in st.ask("consumer", "list")["members"]
                if m["member"] not in st.consumers}
    except StationError:
        return set()


def cells(status):
    return [l["cells"] for l in status["links"]]


def counted(st, seconds, kill_consumer):
    """Run for `seconds`; the links' cells before and after, the last status, and the groups' other members."""
    before = cells(st.status())
    begin = time.monotonic()
    killed, guests = False, set()
    while (left := begin + seconds - time.monotonic()) > 0:
        time.sleep(min(1, left))
        guests |= guests_of(st)
        print(f"{time.monotonic() - begin:5.1f} s  {now_of(st)}", flush=True)
        if kill_consumer and not killed and time.monotonic() - begin > seconds / 2:
            st.consumers[kill_consumer].kill9()
            killed = True
            print(f"         killed -9 {kill_consumer}", flush=True)
    final = last_status(st)
    return before, cells(final), final, guests


def show_links(before, after, final):
    """The table of links. A daemon that was started again counts from its start."""
    if any(now[k] < was[k] for was, now in zip(before, after) for k in now):
        print("\nThe daemon was started again; the table counts from then (the ledger below has everything):", end="")
        before = [dict.fromkeys(now, 0) for now in after]
    print(f"\n{'link':>4} {'floor':>5} {'frames':>8} {'good':>8}  lost, by name")
    lost_any = False
    for link in range(LINKS):
        d = {k: after[link][k] - before[link][k] for k in after[link]}
        lost = {k: d[k] for k in LOSSES if d[k]}
        lost_any |= bool(lost)
        print(f"{link:>4} {final['links'][link]['floor']:>5} {sum(d.values()):>8} {d['good']:>8}  "
              f"{', '.join(f'{n} {k}' for k, n in lost.items()) or 'none'}")
    return lost_any


def show_losses(ledger):
    named = [x for x in ledger["losses"] if x["kind"] == "group" or x["code"] in LOSSES]
    if named:
        print("\nlosses by name, floor and frame range, counted from the first frame:")
    for x in named[-20:]:
        what = f"{x['stream']} for {x['group']}" if x["kind"] == "group" else "link"
        print(f"  {x['code']:<10} floor {x['floor']} link {x['link']} {what}: frames {x['first']}.."
              f"{x['last']} ({x['frames']})")


def number(value, form):
    return "-" if value is None else format(value, form)


def counted_anew(scenario, ledger):
    """The scenario removed the board and it came back: its counts restarted, those of the truth did not."""
    if not scenario:
        return False
    with open(scenario) as f:
        goes = any("board-gone" in line.partition("#")[0].split() for line in f)
    return goes and len({row["dma_epoch"] for row in ledger["links"]}) > 1


def truth_words(code, truth):
    return (f"{'every delivered frame equals it, every other is charged to a loss' if code == 0 else 'DISAGREES'}"
            f"; times {truth['tai_max_difference_locked_ns']} ns off at most"
            f" ({truth['equal']} equal, {truth['different']} different, {truth['missing_named']} missing by "
            f"name, {truth['missing_unnamed']} missing without a name)")


def sums(losses, key):
    """"320 link-down, 12 alignment", by the losses' codes, one line for each object that `key` names."""
    of = {}
    for x in losses:
        codes = of.setdefault(key(x), {})
        codes[x["code"]] = codes.get(x["code"], 0) + x["frames"]
    return {name: ", ".join(f"{n} {code}" for code, n in codes.items()) for name, codes in of.items()}


def not_delivered(ledger):
    """The frames that the consumers did not get, one line per object."""
    links = sums([x for x in ledger["losses"] if x["kind"] != "group" and x["code"] in LOSSES],
                 lambda x: f"of link {x['link']}")
    groups = sums([x for x in ledger["losses"] if x["kind"] == "group"], lambda x: f"of {x['stream']} for {x['group']}")
    return [f"frames {what}: {codes}" for what, codes in sorted({**links, **groups}.items())]


def say_end(ledger, troubles, where):
    if troubles:
        print("\nNOT BALANCED: " + "; ".join(troubles))
    else:
        print("\nbalanced: every frame was delivered, or is charged to a loss by name")
    missing = not_delivered(ledger)
    print("not delivered:" if missing else "not delivered: nothing", *missing, sep="\n  ")
    print(f"state below {where}")


def summary(st, before, after, final, guests=(), code=0):
    """Print it; True when the account is right and whole. `code`: the daemon's exit status."""
    ledger = st.ledger()
    differs, words = 0, "cannot be compared: the board was gone and has restarted its counts"
    if not counted_anew(st.scenario, ledger):
        differs, truth = st.compare(drift_ns=DRIFT_NS)
        words = truth_words(differs, truth)
        if guests and not truth["different"]:
            differs = 0
            words = (f"{truth['equal']} delivered frames equal it; the others cannot be compared: "
                     f"{', '.join(sorted(guests))} had blocks, too, which are not recorded here")
    show_links(before, after, final)
    show_losses(ledger)
    clock = final["clock"]
    print(f"\nclock     {clock['state']} by {clock['source']}, uncertainty "
          f"{number(clock['uncertainty_ns'], 'd')} ns, TAI-UTC {clock['tai_utc_s']} s; gpsd "
          f"{'with' if clock['gpsd']['fix'] else 'without'} fix, PPS {clock['pps']['number']}")
    for p in final["phases"]:
        print(f"phase {p['link']}   mean {number(p['mean_ps'], '.1f')} ps, sigma {number(p['sigma_ps'], '.1f')} ps, "
              f"peak to peak {number(p['peak_to_peak_ps'], '.1f')} ps, last verdict {p['last']['verdict']}")
    delivered = 0
    for name, s in st.summaries().items():
        delivered += s["blocks"]
        print(f"consumer  {name}: {s['blocks']} blocks, {s['frames']} frames, {s['hits']} hits, "
              f"{s['bytes'] / 1e6:.0f} MB; repeats {s['repeats']}, without flag {s['repeats_unflagged']}, "
              f"CRC errors {s['crc_errors']}")
    rows = len(ledger["links"]) + len(ledger["streams"])
    print(f"ledger    {rows} rows, {'both balances correct' if ledger['balanced'] else 'DOES NOT BALANCE'}")
    print(f"truth     {words}")
    unwritten = re.search(r"\d+ rows could not be written.*", st.daemon.tail(100000))
    troubles = [why for wrong, why in (
        (code != 0, f"fcm-server ended with {code}"),
        (not ledger["balanced"], "the ledger does not balance (fcmctl ledger show names the rows)"),
        (differs, "the data that arrived differ from those that the floors sent"),
        (delivered == 0, "no block was delivered"),
        (rows == 0, "the ledger is empty"),
        (unwritten, f"rows of the database are lost: {unwritten and unwritten[0]}"),
    ) if wrong]
    say_end(ledger, troubles, os.path.relpath(st.dir))
    return not troubles


def timed(st, args):
    say_ports(st)
    print("waiting for all links and the clock ...", flush=True)
    st.wait_ready(30)
    before, after, final, guests = counted(st, args.seconds, args.kill_consumer)
    code = st.stop()
    if code != 0:
        print(f"fcm-server ended with {code}:\n{st.daemon.tail()}")
    good = summary(st, before, after, final, guests, code)
    if not args.keep and good:
        remove_data(st.dir)
    return 0 if good else 1


def port_of(documented):
    return documented if is_free(documented) else free_base_port(1)


def name_ports(st, feed):
    """The ports of the examples, if they are free."""
    st.reserved, st.monitor = (f"tcp://127.0.0.1:{port_of(p)}" for p in (RESERVED_PORT, MONITOR_PORT))
    if feed:
        st.feed_port = FEED_PORT if all(is_free(FEED_PORT + n) for n in range(LINKS)) else free_base_port()
        st.config += ["[feed]", "enabled = yes", f"base_port = {st.feed_port}"]


def say_ports(st):
    print(f"Consumers connect to {st.reserved}, monitors to {st.monitor}"
          + (f", readers of the TriDAS feed to ports {st.feed_port} to {st.feed_port + LINKS - 1}" if st.feed_port else "")
          + ".", flush=True)


def start_page(st):
    """The station's page. Its address; None: it has not started, its log says why."""
    port = PAGE_PORT if is_free(PAGE_PORT) else 0
    page = Process("fcm-page", [st.program("fcm-page"), "--dir", st.dir, "--port", str(port), "--files", WWW,
                                "--dictionary", DICTIONARY], st.path("page.log"))
    st.extras.append(page)
    end = time.monotonic() + 10
    while page.alive() and time.monotonic() < end:
        if found := re.search(r"http://\S+", page.tail()):
            return found[0]
        time.sleep(0.05)
    return None


def live(st):
    ctl = f"{os.path.relpath(st.program('fcmctl'))} --dir {os.path.relpath(st.dir)}"
    page = start_page(st) or f"not served: {os.path.relpath(st.path('page.log'))} says why"
    print(f"The station runs below {os.path.relpath(st.dir)}. In a second terminal:\n\n    {ctl} status\n\n"
          f"In a browser: {page}\n\nCtrl-C ends it.\n", flush=True)
    say_ports(st)
    ended = threading.Event()
    keeper = threading.Thread(target=keep_alive, args=(st, ended), daemon=True)
    keeper.start()
    try:
        if sys.stdout.isatty() and sys.stdin.isatty():
            input("Enter shows the station live here. ")  # it takes the whole screen
            subprocess.run([st.program("fcmctl"), "--dir", st.dir, "top"], check=False)
        else:
            print_lines(st)
    finally:
        ended.set()
        keeper.join()
    st.stop()
    return 0


def keep_alive(st, ended):
    """Restart a daemon that died after 100 ms, as systemd does for a real station."""
    while not ended.wait(0.1):
        if not st.daemon.alive():
            print(f"fcm-server ended with {st.daemon.popen.returncode}; starting it again, as systemd would",
                  flush=True)
            time.sleep(0.1)
            try:
                st.start_daemon()
            except StationError as e:
                print(e, flush=True)
                time.sleep(1)


def print_lines(st):
    while True:
        time.sleep(1)
        print(now_of(st), flush=True)


def main():
    args = options()
    fresh(args.dir)
    def end(number, _):
        for n in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(n, lambda number, _: sys.exit(128 + number))
        if number == signal.SIGTERM and not args.seconds:
            raise KeyboardInterrupt  # of a timed run it is a failure: it has no result
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    with Station(args.bin, args.dir, scenario=args.scenario, seed=args.seed, load=args.load,
                 truth=args.seconds is not None,
                 emulator_args=[x for name in ("rate", "beacons") if (hz := getattr(args, name)) is not None
                                for x in (f"--{name}", f"{hz:g}")]) as st:
        name_ports(st, args.feed)
        try:
            st.start()
            return timed(st, args) if args.seconds else live(st)
        except KeyboardInterrupt:
            print("\nstopping ...", flush=True)
            st.stop()
            return 0
        except StationError as e:
            print(f"make run: {e}", file=sys.stderr)
            return 1
        finally:
            st.close()
            os.remove(os.path.join(args.dir, "run.pid"))


if __name__ == "__main__":
    sys.exit(main())
