#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the READMEs tell a newcomer, an administrator and a maintainer to type, typed as it stands there, on a `make run`:
all of it works, and the station's own consumers lose nothing by it. What is typed is read from the pages. A block or a
command that is added to a page fails until it is named below, with what it prints, or with the reason why it is not
typed."""
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import run  # noqa: E402

PAGES = ("README.md", "schemas/README.md", "books/adding.md", "debian/README.md", "systemd/README.md",
         "driver/kernel/README.md", "slowctl/fcmctl.1")
ENDS_S = 120  # of a command, on a busy machine
ENDLESS = "fcmctl data tail"
DAEMON = "fcm-server --board 0 --config"  # at the end, see daemon_by_hand()

# What each command of a shell block prints, by the beginning of the command, the longest one that fits.
SHOWS = {
    "fcmctl status": r"(?m)^modules +(! )?2[34]/24 on",  # README's `safe` of a module is made good later
    "fcmctl --json status": r'"strangers": ?\d',
    "fcmctl link list": r"(?s)tower1\.floor1.*tower1\.floor4",
    "fcmctl get '": r"\.om2\.hv ",
    "fcmctl set floor": r" DONE ",
    "fcmctl get 'floor3.om*.rate'": r"(?s)(\.om[0-5]\.rate .*){6}",
    "fcmctl get store.queued": r"store\.queued ",
    "fcmctl get floor1.fcm.silenced_ago": r"\.silenced_ago ",
    "fcmctl get --plan": r"\A\Z",
    "fcmctl plan": r"\b0 to change",
    "fcmctl apply": r"\S",
    "fcmctl safe": r"\S",
    "fcmctl set 'floor": r"(?s)( DONE .*){4}",
    "fcmctl record list": r"(?m)^\d{8}T\d{6}Z ",
    "fcmctl history": r"(?m) 1450$",
    "fcmctl history floor3.om2.rate": r"\S",
    "fcmctl incident list": r"\S",
    "fcmctl link show": r"(?m)^rejected +\d+$",
    "fcmctl log": r"  floor1: .*: a remark\n",
    "fcmctl event list": r": a remark",
    "fcmctl command list": r"\.hv .* 1450 +DONE",
    "fcmctl phase show": r"(?s)Link 0\n.*Link 3\n",
    "fcmctl ledger show": r"(?m)^BALANCED ",
    "fcmctl ledger show --since 02:00": r"\S",
    "build/bin/fcm-server --reasons": r'"leap-table-missing"',
    "fcmctl data tail": r"(?s)( pmt run .*){10}",
    "fcmctl data plot": r"(?s)\Acharge: \d+ hits, floors 1, 2, 3, 4, .*\nmedian +\d+\n",
    "fcmctl record start": r"recordings/",
    "tshark -i lo -f 'tcp portrange 5710-5749' -B 256 -c 200 -w": r"\A\Z",
    "tshark -X lua_script:schemas/fcm.lua -r build/lo.pcap -o": r"(?m)^ +Hit: PMT 1, .*charge \d{3,4}",
    "tshark -X lua_script:schemas/fcm.lua -r build/lo.pcap -Y '": r"",
    "tshark -X lua_script:schemas/fcm.lua -r build/lo.pcap -Y fcm": r"(?m)(^pmt\.T01\.F0[1-4]\t\d{12,}\t\d+\t0$[^$]*){3}",
    "head -c": r"\A0+ .. .. aa 55 ",  # on the border of a hit
}
# Exit status 1 is a right answer, too: a feed without readers is an incident.
MAY_BE_1 = ("fcmctl status", "fcmctl --json status", "fcmctl incident list")

# Commands within the text that are not typed, and why. All others are typed.
NAMES, INSTALLED, OPEN = "the name of a command", "of an installed system", "with a word that the reader fills in"
INLINE = {
    "fcmctl safe": NAMES,
    "fcmctl status": NAMES,
    "fcmctl incident ack": NAMES,
    "fcmctl log": NAMES,
    "nanet3-emu --play": NAMES,
    "fcmctl key make NAME consumer:GROUP": OPEN,
    "fcmctl record dump RECORDING --pcap FILE": OPEN,
    "fcm-server --example-config": INSTALLED,
    "fcmctl --board 0 status": INSTALLED,
    "systemctl enable --now fcm-page@0": INSTALLED,
    "journalctl -u fcm-server@0": INSTALLED,
    "journalctl -u nanet3-selftest@0": INSTALLED,
    "journalctl -x": INSTALLED,
    "nanet3-perf selftest": INSTALLED,
    "systemctl --failed": INSTALLED,
    "systemctl edit": INSTALLED,
    "systemctl edit fcm-notify@0": INSTALLED,
    "systemctl enable": INSTALLED,
    "systemctl enable --now fcm-server@0": INSTALLED,
    "systemctl reload fcm-server@0": INSTALLED,
    "systemctl restart fcm-server.target": INSTALLED,
    "systemctl try-restart 'fcm-server@*'": INSTALLED,
    "pkg-config fcmdata": INSTALLED,
    "sudo modprobe nanet3": INSTALLED,
    "sudo apt install ./fcmctl_*.deb": INSTALLED,
    "sudo apt install ./fcm-convert_*.deb ./libfcmdata0_*.deb ./python3-fcmdata_*.deb": INSTALLED,
    "fcmctl --database FILE": OPEN,
    "make deb": "minutes: make check-deb",
    "systemctl status nanet3-selftest@0": INSTALLED,
}
COMMAND = re.compile(r"(?:make|sudo|fcmctl|fcm-server|nanet3-\w+|sqlite3|tshark|nc|python3|export|systemctl|journalctl|"
                     r"modinfo|pkg-config|dpkg-reconfigure|(?:build|tests|driver)/\S+) ")

Block = collections.namedtuple("Block", "section language text")


def lines_of(page):
    with open(os.path.join(harness.ROOT, page)) as f:
        return f.read().splitlines()


def displays(page):
    """What a manual page shows to be typed at a prompt, a block a section."""
    found, section = {}, ""
    for line in lines_of(page):
        section = re.sub(r"^\.S[hs] ", "", line) if re.match(r"\.S[hs] ", line) else section
        if line.startswith(".Dl $ "):
            found[section] = found.get(section, "") + line.removeprefix(".Dl $ ") + "\n"
    return [Block(section, "", text) for section, text in found.items()]


def blocks(page):
    """Every fenced and every indented block; without a language it is ""."""
    if not page.endswith(".md"):
        yield from displays(page)
        return
    section, before, inside, language = "", "", None, None
    for line in [*lines_of(page), "", "."]:
        if inside is None and (line.startswith("```") or (line.startswith("    ") and not before)):
            language, inside = (line[3:], []) if line[0] == "`" else (None, [line[4:]])
        elif inside is not None and (line == "```" if language is not None else line and line[0] != " "):
            yield Block(section, language or "", "\n".join(inside).rstrip() + "\n")
            inside = None
        elif inside is not None:
            inside.append(line if language is not None else line[4:])
        if inside is None and line.startswith("#"):
            section = line.lstrip("# ")
        before = line


def inline(page):
    """Commands within the text, each once."""
    text = re.sub(r"^```.*?^```|^    .*?$", "", "\n".join(lines_of(page)), flags=re.M | re.S)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
    return list(dict.fromkeys(s for s in spans if COMMAND.match(s)))


def commands(text):
    """The commands of a shell block, without what is said of them."""
    lines = re.sub(r" *\\\n *", " ", text).splitlines()
    return [re.sub(r"  +# .*$", "", line) for line in lines if line and line[0] != "#"]


def typed(argv, env=None, cwd=harness.ROOT, text="", until=None, again_s=5):
    """(exit status; None: it went on until Ctrl-C, stdout, stderr). Ctrl-C comes when the pattern `until` was printed, and
    again after again_s seconds."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        given.write(text)
        given.seek(0)

        def printed():
            return [os.pread(f.fileno(), 1 << 24, 0).decode(errors="replace") for f in (out, err)]
        with subprocess.Popen(argv, cwd=cwd, env={**os.environ, **(env or {})}, stdin=given, stdout=out, stderr=err,
                              start_new_session=True) as p:
            end = time.monotonic() + ENDS_S
            while p.poll() is None and time.monotonic() < end and not (until and any(re.search(until, x) for x in printed())):
                time.sleep(0.1)
            if p.poll() is not None:
                return p.returncode, *printed()
            for _ in range(4):  # Python loses one that comes while it frees an object
                os.killpg(p.pid, signal.SIGINT)
                try:
                    p.wait(again_s)
                    return None, *printed()
                except subprocess.TimeoutExpired:
                    pass
            os.killpg(p.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(argv, 20)


class Reader:
    """A user in the tree, with the programs in build/bin and the station of a `make run` in build/run."""

    def __init__(self, t, **options):
        self.t, self.tree, self.aliases, self.env, self.targets = t, os.path.join(t.base, "tree"), [], {}, None
        self.st = t.station("tree/build/run", load="quiet", truth=False, **options)
        for name in os.listdir(harness.ROOT):
            if name not in ("build", ".git"):
                os.symlink(os.path.join(harness.ROOT, name), os.path.join(self.tree, name))
        for part in ("bin",) if t.sanitized else ("bin", "lib"):  # an instrumented library is not for Python
            os.symlink(os.path.join(os.path.dirname(os.path.abspath(t.bin)), part), os.path.join(self.tree, "build", part))
        run.name_ports(self.st, feed=True)
        self.st.start()
        self.st.wait_ready()
        self.st.wait_for("what each module is", lambda: not self.st.status()["modules"]["unknown"], 30)

    def with_ports(self, text):
        """The documented ports, unless somebody on this machine has them: then `make run` says others."""
        st = self.st
        ours = [endpoint.rsplit(":", 1)[1] for endpoint in (st.reserved, st.monitor)]
        documented = [str(run.RESERVED_PORT), str(run.MONITOR_PORT)]
        if ours != documented:
            for was, port in zip(documented, ours):
                text = text.replace(f"127.0.0.1:{was}", f"127.0.0.1:{port}")
            text = re.sub(r"tcp portrange [-\d]+", " or ".join(f"tcp port {p}" for p in ours), text)
            text = text.replace("-X lua_script:", f"-o fcm.ports:{','.join(ours)} -X lua_script:")
        for link in range(run.LINKS):
            text = re.sub(rf"(127\.0\.0\.1\"?[, /]+){run.FEED_PORT + link}\b", rf"\g<1>{st.feed_port + link}", text)
        return text

    def types(self, command, text="", until=None):
        """In a shell that has the aliases of the lines before."""
        if self.t.sanitized:  # the sea is dark then, its hits are dim
            command = command.replace(">= 1000", ">= 100").replace(r"[0-9]\{4\}", r"[0-9]\{3\}")
        lines = "\n".join([*self.aliases, self.with_ports(command)])
        return typed(["bash", "-O", "expand_aliases", "-c", lines], self.env, self.tree, text, until)


def python(r, block):
    """a program that shows data until Ctrl-C"""
    lines = 2 if r.t.sanitized else 10  # then the sea is dark, and one program shows a hit of ten thousand
    code, out, err = typed(["/usr/bin/python3", "-u", "-c", r.with_ports(block.text)], env=r.env, cwd=r.tree,
                           until=rf"(.*\n){{{lines + 1}}}")
    r.t.check(f"{block.section}: the program ({block.text.splitlines()[0]}) shows data until Ctrl-C",
              code is None and out.count("\n") > lines and "Warning" not in err, (code, out[-500:], err[-1500:]))


def exit_codes(command):
    if command.startswith(ENDLESS):
        return (None,)
    return (0, 1) if command.startswith(MAY_BE_1) else (0,)


def shown(command):
    """What it prints; None: it is not named above."""
    return SHOWS.get(max((s for s in SHOWS if command.startswith(s)), key=len, default=None))


def shell(r, block):
    """commands, each of which prints what SHOWS says"""
    for command in commands(block.text):
        if command.startswith("alias "):
            r.aliases.append(command)
            continue
        shows = shown(command)
        code, out, err = r.types(command, until=shows if command.startswith(ENDLESS) else None)
        if "repeat it with --yes" in err:  # on a terminal it asks
            code, out, err = r.types(command + " --yes")
        r.t.check(f"{block.section}: {command}", code in exit_codes(command) and shows is not None and
                  re.search(shows, out) and not re.search(r"Lua.*rror", err), (shows, code, out[-500:], err[-500:]))


def capture(r, block):
    """as shell(), where this user may capture on loopback"""
    if " lo " in subprocess.run(["dumpcap", "-D"], capture_output=True, text=True, check=False).stdout.replace("\n", " "):
        shell(r, block)
    else:
        print(f"  left out: {block.section}: this user may not capture on loopback")


def examples(r, block):
    """as shell(), but not the screen, which test_fcmctl.py types on a terminal"""
    shell(r, block._replace(text=re.sub(r"(?m)^.* top\n", "", block.text)))


def writers(r, block):
    """programs that write into the tree, which a test or lint compares with it: they exist; and targets of make"""
    for command in commands(block.text):
        program, *words = command.split()
        if program != "make":
            r.t.check(f"{command}: it can be run", os.access(os.path.join(r.tree, program), os.X_OK))
        elif words[0][0] != "-":
            make_target(r, command)


def targets(r, block):
    """targets of make: they exist. The station here is that of make run, the other targets run these tests, or for minutes"""
    for command in commands(block.text):
        make_target(r, command)


def make_target(r, command):
    r.targets = r.targets or re.findall(r"^  make (\S+)", r.types("make help")[1], re.M)
    r.t.check(f"{command}: make help has it", command.split()[1] in r.targets, r.targets)


def sql(r, block):
    """questions to the database, by the command that its section names"""
    code, out, err = r.types([c for c in inline("schemas/README.md") if c.startswith("sqlite3 ")][0], text=block.text)
    r.t.check(f"{block.section}: the questions are answered: what was set, losses and counts of four links",
              code == 0 and not err and re.search(r"\|1450\.0\|DONE\|", out) and
              all(re.search(rf"(?m)^\d+-\d+-\d+\|{n}\|\d+\|\d+$", out) for n in range(run.LINKS)), (code, out, err))


def site_dictionary(r, block):
    """a file that the daemon accepts"""
    site, conf = (os.path.join(r.t.base, name) for name in ("site.conf", "board.conf"))
    with open(site, "w") as f:
        f.write(block.text)
    with open(conf, "w") as f, open(r.st.path("board.conf")) as station:
        f.write(f"{station.read()}[slowctl]\nsite_dictionary = {site}\n")
    argv = [r.st.program("fcm-server"), "--board", "0", "--config", conf, "--check-config"]
    r.t.check(f"{block.section}: the daemon accepts the file", typed(argv)[0] == 0, typed(argv))


# By page and section what takes its blocks, in their order; or why they are not typed.
BLOCKS = {
    ("README.md", "FCM-Server"): ["a drawing"],
    ("README.md", "Try it"): [targets, shell],
    ("README.md", "Install"): ["as root: make check-deb, in a Debian root of its own"],
    ("README.md", "Operate an instance"): ["as root, where the board is: tests/vm/plans/step_systemd.sh in a guest"],
    ("books/adding.md", "A parameter"): [shell],
    ("books/adding.md", "A counter"): [shell],
    ("books/adding.md", "A register"): [shell],
    ("books/adding.md", "A frame field"): [shell],
    ("books/adding.md", "An incident"): [shell],
    ("books/adding.md", "A command"): [shell],
    ("books/adding.md", "What is generated"): [writers],
    ("debian/README.md", "debian: the packages"): [targets],
    ("driver/kernel/README.md", "nanet3.ko: the kernel module"): ["minutes, some as root: make module-check, make check-vm"],
    ("driver/kernel/README.md", "Upgrade"): ["as root, where the board is"],
    ("slowctl/fcmctl.1", "The silence timer"): ["README.md has it, too"],
    ("slowctl/fcmctl.1", "EXAMPLES"): [examples],
    ("schemas/README.md", "The data message"): [python, python],
    ("schemas/README.md", "In Wireshark"): [capture],
    ("schemas/README.md", "The TriDAS feed"): [shell, python],
    ("schemas/README.md", "The database"): [sql],
    ("schemas/README.md", "The parameter dictionary"): [site_dictionary],
}


def every_block_is_taken(t):
    """each block of the pages is typed by the next case or has a reason why not; what is named here is on a page"""
    found = collections.Counter((page, b.section) for page in PAGES for b in blocks(page))
    t.equal("blocks by page and section", dict(found), {where: len(taken) for where, taken in BLOCKS.items()})
    text = [inline(page) for page in PAGES]
    t.equal("named as not typed, but on no page", [c for c in INLINE if not any(c in x for x in text)], [])
    lines = [c for page in PAGES for b, take in taken(page) if take in (shell, capture, examples) for c in commands(b.text)]
    t.equal("named with what it prints, but on no page", [s for s in SHOWS if not any(c.startswith(s) for c in lines)], [])


def taken(page):
    """(block, what takes it), in the order of the page."""
    left = {where: list(takers) for where, takers in BLOCKS.items()}
    for block in blocks(page):
        takers = left.get((page, block.section))
        if takers:
            yield block, takers.pop(0)


def type_inline(r, command):
    if command.startswith("make "):
        make_target(r, command)
    elif DAEMON not in command and not command.startswith("export "):
        code, out, err = r.types(command)
        r.t.check(command, code == 0, (code, out[-500:], err[-500:]))


def daemon_by_hand(r):
    """In the place of the station's own: it answers, and ends with 0 at Ctrl-C."""
    command = [c for c in inline("README.md") if DAEMON in c]
    r.t.equal("the README says how to start the daemon, once", len(command), 1)
    r.t.equal("the daemon ends with 0", r.st.daemon.end(30), 0)
    with open(r.st.path("daemon.log"), "a") as log, subprocess.Popen(
            ["bash", "-c", *command], cwd=r.tree, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True) as p:
        try:
            r.st.wait_for("the daemon that was started by hand", lambda: {x["state"] for x in r.st.status()["links"]} == {"up"})
        finally:
            os.killpg(p.pid, signal.SIGINT)
        r.t.equal("the daemon that was started by hand ends with 0 at Ctrl-C", p.wait(60), 0)


def first_contact(t):
    """every block and command of the pages, from the top"""
    r = Reader(t)
    for page in PAGES:
        r.env.update(c.removeprefix("export ").split("=") for c in inline(page) if c.startswith("export "))
        for block, take in taken(page):
            if callable(take):
                take(r, block)
        for command in inline(page):
            if command not in INLINE:
                type_inline(r, command)
    t.check("schemas/README.md says where Python finds the modules", "PYTHONPATH" in r.env)
    daemon_by_hand(r)
    r.st.stop()
    ledger = r.st.ledger()  # no comparison with the truth: what the second program got has nobody recorded
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    t.equal("the station's own consumers lost nothing", [x for x in ledger["losses"] if x["kind"] == "group"
                                                         and x["group"] != "tridas"], [])


def nobody_there(t):
    """the first example without a station says that nobody answers, and goes on"""
    first = [b for b in blocks("schemas/README.md") if b.language == "python"][0]
    text = first.text.replace(f":{run.MONITOR_PORT}", f":{run.free_base_port(1)}")
    expected = "nobody answers at tcp://127.0.0.1:"
    code, _, err = typed(["/usr/bin/python3", "-c", text], env={"PYTHONPATH": "daemon/consumer:schemas"},
                         until=expected)
    t.check("it says so, and goes on", code is None and expected in err, (code, err))


if __name__ == "__main__":
    harness.main([every_block_is_taken, first_contact, nobody_there])
