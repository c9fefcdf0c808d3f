#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-server-emulator: a training station without a board, in one command; fcm-server-emulator(1).

It runs what the system tests and `make run` run (tests/system/station.py): nanet3-emu, a gpsd of its own, fcm-server,
two consumers, fcm-page. What belongs to a station is below its directory, next to it the log of this program
(DIR.log) and a lock (DIR.lock), which is held while the station runs and has the number of this process.
"""
import argparse
import fcntl
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
INSTALLED = os.path.exists(os.path.join(HERE, "station.py"))
ROOT = os.path.dirname(HERE)
SCENARIOS = os.path.join(HERE, "scenarios") if INSTALLED else os.path.join(ROOT, "tests", "data", "scenarios")
BIN = os.path.join(*((os.path.dirname(ROOT), "lib", "fcm-server-emulator") if INSTALLED else (ROOT, "build", "bin")))
FCMCTL = "fcmctl" if INSTALLED else os.path.relpath(os.path.join(BIN, "fcmctl"))
sys.path.insert(0, HERE if INSTALLED else os.path.join(ROOT, "tests", "system"))
import run  # noqa: E402
from station import Process, Station, StationError, free_port, is_free  # noqa: E402

READY_S = 60   # from the start to all links up and the clock locked, on a slow machine
STOP_S = 60
STATIONS = "/etc/fcm-server"  # configurations of real ones
ASIDE = 10000  # from their ports to ours


def base_directory():
    if os.geteuid() == 0:
        return os.path.realpath("/var/lib/fcm-server-emulator")
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.realpath(os.path.join(state, "fcm-server-emulator"))


def options(argv):
    p = argparse.ArgumentParser(prog="fcm-server-emulator", description=__doc__.splitlines()[0].split("; ")[0])
    p.add_argument("--bin", default=BIN, help=argparse.SUPPRESS)
    commands = p.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, about):
        return commands.add_parser(name, help=about, description=about)
    for name, about in (("start", "start the station in the background, and wait until it works"),
                        ("run", "run the station in the foreground, until SIGTERM or Ctrl-C")):
        c = command(name, about)
        c.add_argument("--scenario", metavar="NAME|FILE", help="inject the faults of this scenario; default: none")
        c.add_argument("--load", default="quiet", choices=["quiet", "design", "full"], 
                       help="hits of the sea; default: quiet")
        c.add_argument("--beacons", type=float, metavar="HZ", help="the sea has LED and acoustic beacons")
        c.add_argument("--seed", type=int, default=1, help="of all that is random; default: 1")
        where(c)
    where(command("status", "what fcmctl status says of the station"))
    c = command("stop", "stop the station; its database is kept until the next start but one")
    where(c)
    c.add_argument("--all", action="store_true", help="every station of this user")
    command("scenarios", "list the scenarios by name")
    args = p.parse_args(argv)
    if getattr(args, "board", 0) not in range(100):
        p.error("--board: a number from 0 to 99")
    if hasattr(args, "dir"):
        args.dir = os.path.realpath(args.dir or os.path.join(base_directory(), str(args.board)))
    return args


def where(parser):
    parser.add_argument("--board", type=int, default=0, metavar="N", help="number of the station; default: 0")
    parser.add_argument("--dir", help="its directory; default: N in /var/lib/fcm-server-emulator for root, "
                        "in ~/.local/state/fcm-server-emulator for others")


def fail(message):
    print(f"fcm-server-emulator: {message}", file=sys.stderr)
    return 1


def guarded(path, flags):
    """For open(): another user may have put a link or a pipe there."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise StationError(f"{path} is no file")
    return fd


def refuse_foreign(directory):
    """Root writes only where no other user can put a link. `directory` is without links."""
    path = directory
    while os.geteuid() == 0 and path != "/":
        if os.path.lexists(path):
            st = os.lstat(path)
            writers = st.st_mode & (stat.S_IWOTH if st.st_gid == 0 else stat.S_IWOTH | stat.S_IWGRP)
            sticky = st.st_mode & stat.S_ISVTX and path != directory
            if st.st_uid != 0 or (writers and not sticky):
                raise StationError(f"{path} is another user's, or others may write there: start it as that user, "
                                   f"or in another --dir")
        path = os.path.dirname(path)


def lock_of(directory):
    """Process and user of the station in `directory`; process 0: it is about to say; None: it does not run."""
    try:
        with open(directory + ".lock", encoding="ascii", opener=guarded) as f:
            try:
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(f.read() or 0), os.fstat(f.fileno()).st_uid
    except FileNotFoundError:
        pass
    return None


def runs(directory):
    return lock_of(directory) is not None


def which(args):
    """The options by which another command finds the same station."""
    if args.dir != os.path.join(base_directory(), str(args.board)):
        return f" --dir {args.dir}"
    return f" --board {args.board}" if args.board else ""


def ctl(args):
    return f"{FCMCTL} --dir {args.dir}"


def scenario_file(name):
    """The path of a scenario by its name or path."""
    installed = os.path.join(SCENARIOS, name + ".scn")
    if "/" not in name and os.path.exists(installed):
        return installed
    if os.path.exists(name):
        return os.path.abspath(name)
    raise StationError(f"no scenario {name}: fcm-server-emulator scenarios lists them")


def has_stations(directory=STATIONS):
    """Whether this machine has a real station, or may have one: a stopped one needs its ports, too."""
    try:
        return any(re.fullmatch(r"board-\d+\.conf", name) for name in os.listdir(directory))
    except PermissionError:
        return True
    except OSError:
        return False


class Training(Station):
    """The station of a number: its ports are those of the manual where they are free; beside a real station others."""

    def __init__(self, args):
        super().__init__(args.bin, args.dir, seed=args.seed, load=args.load, truth=False,
                         scenario=scenario_file(args.scenario) if args.scenario else None,
                         emulator_args=[] if args.beacons is None else ["--beacons", f"{args.beacons:g}"],
                         config=["[daemon]", f"name = training station {args.board}"])
        self.board = args.board
        self.reserved, self.monitor = (f"tcp://127.0.0.1:{self.port(p)}" for p in (run.RESERVED_PORT, run.MONITOR_PORT))

    def port(self, documented):
        wanted = documented + self.board + (ASIDE if has_stations(STATIONS) else 0)
        return wanted if is_free(wanted) else free_port()

    def launch_daemon(self, *args, env=None):
        self.daemon = Process("fcm-server", [self.program("fcm-server"), "--board", str(self.board), "--config",
                                             self.path("board.conf"), *args], self.path("daemon.log"), env)

    def start_page(self):
        www = ["--files", os.path.join(ROOT, "slowctl", "page", "www"),
               "--dictionary", os.path.join(ROOT, "schemas", "parameters.conf")] if not INSTALLED else []
        page = Process("fcm-page", [self.program("fcm-page"), "--dir", self.dir, "--port",
                                    str(self.port(run.PAGE_PORT)), *www], self.path("page.log"))
        self.extras.append(page)
        self.wait_for("the page", lambda: not page.alive() or "http://" in page.tail(), 10)
        found = re.search(r"http://\S+", page.tail())
        return found[0] if found else f"not served: {self.path('page.log')} says why"


def notify(text):
    """To systemd, where it has started us."""
    if path := NOTIFY_SOCKET:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.connect("\0" + path[1:] if path[0] == "@" else path)
            s.sendall(text.encode())


# Not for the daemon of the station: it would speak for this program.
NOTIFY_SOCKET = os.environ.pop("NOTIFY_SOCKET", None)


def start(args):
    if runs(args.dir):
        return fail(f"station {args.board} runs already; see it with: {ctl(args)} status")
    refuse_foreign(args.dir)
    os.makedirs(os.path.dirname(args.dir), exist_ok=True)
    log = args.dir + ".log"
    argv = [sys.executable, os.path.abspath(__file__), "--bin", args.bin, "run", "--board", str(args.board),
            "--dir", args.dir, "--load", args.load, "--seed", str(args.seed)]
    for name in ("scenario", "beacons"):
        if (value := getattr(args, name)) is not None:
            argv += [f"--{name}", str(value)]
    print("starting the station (all links up and the clock locked) ...", flush=True)
    with open(log, "wb", opener=guarded) as f:
        station = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=f, start_new_session=True)
    text = ""
    while "Ctrl-C ends it" not in text:
        ended = station.poll()
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if ended is not None:
            return fail(f"the station has ended with {ended}:\n{text.strip()}")
        time.sleep(0.1)
    print(text.replace("Ctrl-C ends it.", f"fcm-server-emulator stop{which(args)} ends it."), end="")
    return 0


def begin(st, args):
    """Start all and say how to use it."""
    st.start()
    st.wait_ready(READY_S)
    page = st.start_page()
    print(f"""training station {args.board}: board, floors, sea and GPS receiver are emulated

    {ctl(args)} status
    {ctl(args)} top

In a browser: {page}
Consumers connect to {st.reserved}, monitors to {st.monitor}.
Ctrl-C ends it.""", flush=True)
    notify("READY=1\nSTATUS=the station runs")


def stay(st, args):
    ended = threading.Event()
    keeper = threading.Thread(target=run.keep_alive, args=(st, ended), daemon=True)
    keeper.start()
    try:
        while st.emu.alive():
            time.sleep(0.5)
    finally:
        notify("STOPPING=1")
        ended.set()
        keeper.join()
    return fail(f"the emulator has ended:\n{st.emu.tail()}")


def stopped(number, _):
    # Once: the end takes its time, and is not to be interrupted.
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def run_station(args):
    run.keep_earlier(args.dir)
    st = Training(args)
    try:
        begin(st, args)
        return stay(st, args)
    except KeyboardInterrupt:
        st.stop()
        return 0
    finally:
        st.close()


def locked(args):
    """Hold the lock of the station, with our number in it."""
    refuse_foreign(args.dir)
    os.makedirs(os.path.dirname(args.dir), exist_ok=True)
    f = open(args.dir + ".lock", "a", encoding="ascii", opener=guarded)  # noqa: SIM115
    try:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StationError(f"station {args.board} runs already; see it with: {ctl(args)} status") from None
    f.truncate(0)
    f.write(str(os.getpid()))
    f.flush()
    return f


def run_foreground(args):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stopped)
    try:
        with locked(args):
            return run_station(args)
    except KeyboardInterrupt:
        return 0


def stop_one(directory):
    """False: it does not run."""
    asked, end = None, time.monotonic() + STOP_S
    while (lock := lock_of(directory)) is not None:
        pid, user = lock
        if pid and pid != asked:
            # Who may write the lock names a process of his own, or none: this may be root.
            if os.stat(f"/proc/{pid}").st_uid != user:
                raise StationError(f"{directory}.lock names process {pid}, which is of another user")
            os.kill(pid, signal.SIGTERM)
            asked = pid
        if time.monotonic() > end:
            raise StationError(f"the station in {directory} (process {pid}) has not ended within {STOP_S} s")
        time.sleep(0.1)
    return asked is not None


def stop(args):
    directories = [args.dir]
    if args.all:
        base = base_directory()
        names = sorted(os.listdir(base)) if os.path.isdir(base) else []
        directories = [os.path.join(base, name[:-5]) for name in names if name.endswith(".lock")]
    done = [d for d in directories if stop_one(d)]
    for d in done:
        print(f"stopped; {FCMCTL} --dir {d} reads its database")
    return 0 if done or args.all else fail(f"station {args.board} does not run")


def status(args):
    if not runs(args.dir):
        unit = f"/var/lib/fcm-emulator/{args.board}"
        return fail(f"station {args.board} does not run in {args.dir}; start it with: fcm-server-emulator start{which(args)}" +
                    (f"; that of systemd: fcm-server-emulator status --dir {unit}" if runs(unit) else ""))
    return subprocess.run([os.path.join(args.bin, "fcmctl"), "--dir", args.dir, "status"], check=False).returncode


def scenarios(_):
    """Each with the first sentence of its head."""
    for name in sorted(os.listdir(SCENARIOS)):
        with open(os.path.join(SCENARIOS, name), encoding="utf-8") as f:
            head = " ".join(line[1:].strip() for line in f if line[0] == "#" and "SPDX" not in line)
        print(f"{name.removesuffix('.scn'):16} {re.split(r'[.:;] |[.]$', head)[0]}")
    return 0


COMMANDS = {"start": start, "run": run_foreground, "status": status, "stop": stop, "scenarios": scenarios}


def main():
    args = options(sys.argv[1:])
    try:
        return COMMANDS[args.command](args)
    except (StationError, OSError) as e:
        return fail(e)


if __name__ == "__main__":
    sys.exit(main())
