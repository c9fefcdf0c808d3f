#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the READMEs tell a newcomer to type, typed as it stands there, on a `make run`: all of it works, and the station's
own consumers lose nothing by it."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import run  # noqa: E402

# What only shows that it works by not ending: so long of it is enough.
ENOUGH_S = 4
# Of a station that is installed, of another machine, or of a file that is only an example.
NOT_HERE = ("/usr/share", "lo.pcap", "FILE")


def snippets(path, language):
    with open(os.path.join(harness.ROOT, path)) as f:
        return re.findall(rf"^```{language}\n(.*?)^```", f.read(), re.M | re.S)


def with_ports(text, st):
    """The documented ports, unless somebody on this machine has them: then `make run` says others."""
    for documented, ours in ((run.RESERVED_PORT, st.reserved), (run.MONITOR_PORT, st.monitor)):
        text = text.replace(f"127.0.0.1:{documented}", ours[6:])
    for link in range(4):
        text = re.sub(rf"(127\.0\.0\.1\"?[, ]+){run.FEED_PORT + link}\b", rf"\g<1>{st.feed_port + link}", text)
    return text


def typed(argv, seconds=ENOUGH_S, env=None):
    """(exit status; None: it went on until Ctrl-C, stdout, stderr)."""
    with subprocess.Popen(argv, cwd=harness.ROOT, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as p:
        try:
            out, err = p.communicate(timeout=seconds)
            return p.returncode, out, err
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGINT)
            out, err = p.communicate(timeout=20)
            return None, out, err


def first_contact(t):
    """every Python snippet of schemas/README.md, every fcmctl line of the README"""
    st = t.station(load="quiet")
    run.name_ports(st, feed=True)
    st.start()
    st.wait_ready()
    with open(os.path.join(harness.ROOT, "schemas", "README.md")) as f:
        export = re.search(r"`export\s+PYTHONPATH=(\S+)`", f.read())
    t.check("schemas/README.md says where Python finds the modules", export is not None)
    found = snippets("schemas/README.md", "python")
    t.check("there are snippets", len(found) >= 3, len(found))
    for n, text in enumerate(found):
        code, out, err = typed(["/usr/bin/python3", "-u", "-c", with_ports(text, st)],
                               env={"PYTHONPATH": export[1]} if export else {})
        t.check(f"snippet {n + 1} ({text.splitlines()[0]}) shows data until Ctrl-C",
                code is None and len(out.splitlines()) > 10 and "Warning" not in err, (code, out[-500:], err[-1500:]))
    with open(os.path.join(harness.ROOT, "README.md")) as f:
        lines = re.findall(r"^    fcmctl (.*?)(?:  +#.*)?$", f.read(), re.M)
    t.check("the README has lines for the second terminal", len(lines) >= 10, lines)
    for line in lines:
        for part in line.split("; fcmctl ") if "FILE" not in line else []:
            command = f"{st.program('fcmctl')} --dir {st.dir} {part}"
            seconds = ENOUGH_S if part.startswith("data tail") else 60
            code, out, err = typed(["sh", "-c", command], seconds)
            if "repeat it with --yes" in err:  # on a terminal it asks
                code, out, err = typed(["sh", "-c", command + " --yes"], seconds)
            t.check(f"fcmctl {part}", code in (0, None) or (code == 1 and part in ("status", "alarm list")),
                    (code, out[-500:], err[-500:]))
    t.equal("the daemon ends with 0", st.stop(), 0)
    ledger = st.ledger()  # no comparison with the truth: what the second snippet got has nobody recorded
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    t.equal("the station's own consumers lost nothing", [x for x in ledger["losses"] if x["kind"] == "group"
                                                         and x["group"] != "tridas"], [])


def nobody_there(t):
    """the first example without a station says within seconds that nobody answers"""
    text = snippets("schemas/README.md", "python")[0].replace(f":{run.MONITOR_PORT}", f":{run.free_base_port(1)}")
    begin = time.monotonic()
    code, _, err = typed(["/usr/bin/python3", "-c", text], seconds=8,
                         env={"PYTHONPATH": "daemon/consumer:schemas"})
    t.check("it says so, and goes on", code is None and "nobody answers at tcp://127.0.0.1:" in err,
            (code, err, time.monotonic() - begin))


if __name__ == "__main__":
    harness.main([first_contact, nobody_there])
