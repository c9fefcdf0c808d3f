# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole station in one directory: emulated board, real gpsd, daemon, consumers. Used by `make run` and
by every system test, so that what is tested is what a user starts.

    with Station(bin_dir, directory, scenario="faults.scn") as st:
        st.start()
        st.wait_ready()
        st.ctl("set", "floor3.om2.hv", "1450")
        st.stop()

Everything below `directory`: sockets, configuration, database, truth, records, logs. Only loopback ports
that were free a moment ago. Processes are ended by their own pid, the emulator last.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

LINKS = 4
DRIFT_NS = 10  # largest drift of a fibre that a scenario warms: the configured cable delay is constant


def free_base_port(count=LINKS):
    """`count` ports in a row that are free now."""
    while True:
        base = free_port()
        try:
            for port in range(base, base + count):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return base
        except (OSError, OverflowError):
            pass


def is_free(port):
    """As a daemon binds it: what is left of connections that have ended is in nobody's way."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


PORTS_GIVEN = set()


def free_port(kind=socket.SOCK_STREAM):
    """One that nobody listens on, and that was not given before: the kernel may name the same one twice."""
    while True:
        with socket.socket(type=kind) as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        if port not in PORTS_GIVEN:
            PORTS_GIVEN.add(port)
            return port


def observations(status, cleared=False):
    """The observations of the incidents of a status, also of cleared ones; each with its incident's number."""
    return [dict(o, number=i["number"]) for i in status["incidents"]["list"] for o in i["observations"]
            if cleared or not o["until"]]


class StationError(Exception):
    pass


# Also when root runs the tests: the daemon may send words because it owns the links, not because root started it.
UNPRIVILEGED = ["--bounding-set", "-sys_admin"] if os.geteuid() == 0 else []


class Process:
    """One child: its log below the station's directory, ended by pid, or by our own death."""

    def __init__(self, name, argv, log, env=None, pass_fds=()):
        self.name, self.argv, self.log = name, argv, log
        with open(log, "ab") as f:
            self.popen = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *UNPRIVILEGED, *argv],
                                          stdin=subprocess.DEVNULL, stdout=f, stderr=f, env=env,
                                          start_new_session=True, pass_fds=pass_fds)

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def signal(self, number):
        if self.alive():
            os.kill(self.pid, number)

    def end(self, timeout=15):
        """SIGTERM, then SIGKILL after `timeout`. Returns the exit code."""
        self.signal(signal.SIGTERM)
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            return self.popen.wait()

    def kill9(self):
        self.signal(signal.SIGKILL)
        return self.popen.wait()

    def tail(self, lines=15):
        try:
            with open(self.log, errors="replace") as f:
                return "".join(f.readlines()[-lines:])
        except OSError:
            return ""


class Station:
    patience = 1  # of every wait: a limit only says when to give up
    confirm = None  # labels before the clock is locked; None: the daemon's default

    def __init__(self, bin_dir, directory, scenario=None, seed=1, truth=True, load="design",
                 emulator_args=(), config=(), gpsd=True, depth_ms=2000, speed=None, play=None, delays=None):
        self.bin, self.dir = os.path.abspath(bin_dir), os.path.abspath(directory)
        self.scenario, self.seed, self.load = scenario, seed, load
        self.emulator_args, self.config = list(emulator_args), list(config)
        self.want_truth, self.want_gpsd, self.depth_ms, self.speed = truth, gpsd, depth_ms, speed
        self.play = play  # a recording in the place of floors and sea
        self.delays = delays  # cable_delay_ns by link; None: the emulator's
        self.reserved = self.monitor = self.gps_port = self.gpsd_port = self.feed_port = None
        self.emu = self.gpsd = self.daemon = None
        self.host_too_slow = False  # the emulator fell behind by more than half of what the rings hold
        self.consumers = {}
        self.extras = []  # further processes that end with the station
        self.records = []
        self.database = self.path("station.db")
        os.makedirs(self.dir, exist_ok=True)

    # -- paths
    def path(self, name):
        return os.path.join(self.dir, name)

    def program(self, name):
        return os.path.join(self.bin, name)

    # -- life
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self, consumers=True):
        self.start_around(consumers)
        self.start_daemon()

    def start_around(self, consumers=True):
        """All but the daemon."""
        self.start_emulator()
        if self.want_gpsd:
            self.start_gpsd()
        self.write_config()
        if consumers:
            self.start_consumer("trigger-1", "trigger")
            self.start_consumer("acoustic-1", "acoustic")

    def start_emulator(self):
        argv = [self.program("nanet3-emu"), "--socket", self.path("board.sock"), "--depth-ms", str(self.depth_ms)]
        if self.play:
            argv += ["--play", self.play]
        else:
            self.gps_port = self.gps_port or free_port(socket.SOCK_DGRAM)
            argv += ["--gps-udp", str(self.gps_port), "--seed", str(self.seed), "--load", self.load,
                     "--executed", self.path("executed.log"), "--leap-seconds", self.leap_table()]
        if self.want_truth and not self.play:
            argv += ["--truth", self.path("truth.bin")]
        if self.scenario:
            argv += ["--scenario", self.scenario]
        if self.speed:
            argv += ["--speed", self.speed]
        self.emu = Process("nanet3-emu", argv + self.emulator_args, self.path("emu.log"))
        self._wait(lambda: os.path.exists(self.path("board.sock")), 20, "the emulator's socket", self.emu)

    def leap_table(self):
        """A table of the test's own, so that an old tzdata on the machine is no warning of the station's."""
        since_1900 = 2208988800
        with open(self.path("leap-seconds.list"), "w") as f:
            f.write(f"#@ {int(time.time()) + since_1900 + 366 * 86400}\n3692217600 37\n")
        return self.path("leap-seconds.list")

    def start_gpsd(self):
        self.gpsd_port = self.gpsd_port or free_port()
        self.gpsd = Process("gpsd", ["/usr/sbin/gpsd", "-N", "-n", "-S", str(self.gpsd_port),
                                     f"udp://127.0.0.1:{self.gps_port}"], self.path("gpsd.log"))

        def answers():
            with socket.socket() as s:
                s.settimeout(1)
                return s.connect_ex(("127.0.0.1", self.gpsd_port)) == 0
        self._wait(answers, 10, "gpsd", self.gpsd)

    def cable_delays(self):
        """Of the emulator's fibres, one way, as it has said them: ns by link; of another board none."""
        if self.emu is None:
            return ("0",) * 4
        if self.delays is None:
            with open(self.path("emu.log")) as f:
                self.delays = re.search(r"cable_delay_ns of links 0 to 3: (\d+) (\d+) (\d+) (\d+)\n", f.read()).groups()
        return self.delays

    def write_config(self):
        self.reserved = self.reserved or f"tcp://127.0.0.1:{free_port()}"
        self.monitor = self.monitor or f"tcp://127.0.0.1:{free_port()}"
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        dictionary = os.path.join(root, "schemas", "parameters.conf")  # installed, the daemon has its own
        lines = ["[board]", f"device = unix:{self.path('board.sock')}",
                 "[data]", f"reserved_endpoint = {self.reserved}", f"monitor_endpoint = {self.monitor}",
                 "[clock]", "gpsd_host = 127.0.0.1", f"gpsd_port = {self.gpsd_port or 2947}",
                 f"leap_file = {self.leap_table()}",
                 *([f"confirm = {self.confirm}"] if self.confirm else []),
                 "system_tolerance_ms = 0",  # on a busy host the emulator's time falls behind the host's
                 "[control]", f"socket = {self.path('control.sock')}",
                 "[store]", f"database = {self.database}", f"emergency = {self.path('emergency.journal')}",
                 *(["[slowctl]", f"dictionary = {dictionary}"] if os.path.exists(dictionary) else [])]
        for link, delay in enumerate(self.cable_delays()):
            lines += [f"[link {link}]", "tower = 1", f"floor = {link + 1}", f"cable_delay_ns = {delay}"]
        lines += self.config
        with open(self.path("board.conf"), "w") as f:
            f.write("\n".join(lines) + "\n")

    def launch_daemon(self, *args, env=None):
        """Without waiting for it to answer."""
        self.daemon = Process("fcm-server", [self.program("fcm-server"), "--board", "0", "--config",
                                             self.path("board.conf"), *args], self.path("daemon.log"), env)

    def start_daemon(self, *args):
        self.launch_daemon(*args)
        self._wait(self.answers, 20, "the daemon's control socket", self.daemon)

    def start_consumer(self, name, group, *args):
        record = self.path(f"{name}.rec")
        if record not in self.records:
            self.records.append(record)
        self.consumers[name] = Process(
            name, [self.program("fcm-consumer"), "--endpoint", self.reserved, "--name", name, "--group",
                   group, "--check", *(["--record", record] if self.want_truth else []), *args],
            self.path(f"{name}.log"))
        return self.consumers[name]

    def stop(self):
        """In the order that loses nothing: daemon (waits for acknowledgements), consumers, emulator.
        Returns the daemon's exit code."""
        code = self.daemon.end(30) if self.daemon else None
        for c in self.consumers.values():
            c.end()
        if self.emu:
            self.end_emulator()
        if self.gpsd:
            self.gpsd.end(3)
        return code

    def close(self):
        for p in [self.daemon, *self.consumers.values(), *self.extras, self.gpsd]:
            if p and p.alive():
                p.kill9()
        if self.emu and self.emu.alive():
            self.end_emulator(5)

    def end_emulator(self, timeout=15):
        """After half of it a consumer lags, a poll is stale: what a person would see is no longer a well station."""
        self.host_too_slow = self.emu.end(timeout) == 3 or self.lag_s() > self.depth_ms / 2000

    def lag_s(self):
        """What the emulator fell behind at worst, as it says at its end: for so long the machine did nothing for us."""
        found = re.search(r"worst lag ([\d.]+) ms", self.emu.tail(20))
        return float(found[1]) / 1000 if found else 0

    # -- asking
    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(2)
            return s.connect_ex(self.path("control.sock")) == 0

    def ctl(self, *args, timeout=60):
        """fcmctl as a user types it, no line broken: (exit code, stdout, stderr)."""
        r = subprocess.run([self.program("fcmctl"), "--dir", self.dir, "--database", self.database, *args], capture_output=True, text=True,
                           timeout=timeout, stdin=subprocess.DEVNULL, check=False, env=dict(os.environ, COLUMNS="1000"))
        return r.returncode, r.stdout, r.stderr

    def ask(self, *args, timeout=60, codes=(0, 1)):
        """fcmctl --json: the result."""
        code, out, err = self.ctl("--json", *args, timeout=timeout)
        if code not in codes:
            raise StationError(f"fcmctl {' '.join(args)}: exit {code}: {err.strip() or out.strip()}")
        return json.loads(out)

    def status(self):
        return self.ask("status")

    def word(self):
        """WELL, ATTENTION or RED."""
        return self.status()["incidents"]["word"]

    def seen(self, cleared=False):
        """What is true now: the observations of all active incidents; with `cleared` also what has ended in the last minutes."""
        return observations(self.status(), cleared)

    def request(self, op, timeout=60, **args):
        """A control message, without fcmctl between: the whole answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(timeout)
            s.connect(self.path("control.sock"))
            s.sendall((json.dumps({"v": 2, "id": "t", "op": op, "args": args}) + "\n").encode())
            f = s.makefile()
            for line in f:
                answer = json.loads(line)
                if "ok" in answer:
                    return answer
        raise StationError(f"{op}: the daemon closed the connection")

    def wait_ready(self, timeout=30):
        """All links up and the clock locked."""
        last = {}

        def ready():
            last["s"] = s = self.status()
            return s["clock"]["state"] == "locked" and all(l["state"] == "up" for l in s["links"]) and \
                (not self.want_gpsd or s["clock"]["source"] == "gpsd")
        try:
            self._wait(ready, timeout, "all links up and the clock locked", self.daemon, 0.25)
        except StationError as e:
            s = last.get("s")
            if s:
                e.args = (f"{e.args[0]}\nclock {s['clock']['state']}: {s['clock']['reason']}; links " +
                          ", ".join(f"{l['link']}={l['state']}" for l in s["links"]),)
            raise

    def wait_for(self, what, condition, timeout=20, pause=0.1):
        self._wait(condition, timeout, what, None, pause)

    def wait_rest(self, *names):
        """Until the values are the set values: a set is done at the first read-back near enough, its ramp goes on."""
        self.wait_for(f"{', '.join(names)} at rest", lambda: all(
            abs(p["value"] - p["setpoint"]) < 1 for p in self.ask("get", *names)["parameters"]), 60)

    def _wait(self, condition, timeout, what, process, pause=0.05):
        timeout *= self.patience
        end = time.monotonic() + timeout
        while True:
            try:
                if condition():
                    return
            except (OSError, StationError, subprocess.TimeoutExpired):
                pass
            if process and not process.alive():
                raise StationError(f"{process.name} ended with {process.popen.returncode} while waiting for "
                                   f"{what}:\n{process.tail()}")
            if time.monotonic() > end:
                raise StationError(f"{what}: not within {timeout} s" +
                                   (f"\n{process.tail()}" if process else ""))
            time.sleep(pause)

    # -- the account, after stop()
    def compare(self, group=None, records=None, timeout=300, drift_ns=0):
        """truth-compare over all records, or over those of one group: (exit code, its JSON)."""
        argv = [self.program("truth-compare"), "--json", "--ledger", self.database, "--drift", str(drift_ns),
                *(["--group", group] if group else []), self.path("truth.bin")]
        r = subprocess.run(argv + [p for p in records or self.records if os.path.exists(p)], capture_output=True,
                           text=True, timeout=timeout, check=False)
        try:
            return r.returncode, json.loads(r.stdout)
        except ValueError:
            raise StationError(f"truth-compare: exit {r.returncode}\n{r.stdout[-2000:]}\n{r.stderr[-2000:]}")

    def ledger(self):
        return self.ask("ledger", "show", "--since", "1000d", "--limit", "10000")

    def summaries(self):
        """The consumers' closing lines."""
        result = {}
        for name, c in self.consumers.items():
            for line in reversed(c.tail(50).splitlines()):
                if line.startswith("{"):
                    result[name] = json.loads(line)
                    break
        return result


def die(message):
    print(message, file=sys.stderr)
    sys.exit(1)
