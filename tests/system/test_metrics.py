#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""/metrics, /healthz and /readyz of fcm-page: against promtool, fcmctl and a daemon that hangs; the alert rules and the
Grafana dashboard.

    test_metrics.py --update described      writes slowctl/metrics/METRICS.md from fcm-page --list-metrics"""
import concurrent.futures
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from page_server import DASHBOARD, DICTIONARY, RULES, Metrics, Server, look, promtool, queries, scrape  # noqa: E402

PAGE = os.path.join(harness.ROOT, "slowctl", "metrics", "METRICS.md")
# As the dictionary has them: (unit of the metric, factor).
UNITS = {"V": ("_volts", 1), "mV": ("_volts", 1e-3), "V/s": ("_volts_per_second", 1), "A": ("_amperes", 1),
         "uA": ("_amperes", 1e-6), "uW": ("_watts", 1e-6), "degC": ("_celsius", 1), "deg": ("_degrees", 1),
         "%": ("_ratio", 1e-2), "dB": ("_decibels", 1), "Hz": ("_hertz", 1), "frames/s": ("_frames_per_second", 1),
         "s": ("_seconds", 1), "ns": ("_seconds", 1e-9), "ps": ("_seconds", 1e-12), "MB": ("_bytes", 1e6),
         "frames": ("_frames", 1), "rows": ("_rows", 1), "counts": ("_counts", 1), "": ("", 1)}


def listed(t):
    """{name: (type, labels, help)}, of fcm-page --list-metrics."""
    out = subprocess.run([os.path.join(t.bin, "fcm-page"), "--list-metrics", "--dictionary", DICTIONARY], check=True,
                         capture_output=True, text=True).stdout
    return {name: (kind, set(labels.split()), text)
            for name, kind, labels, text in (line.split("\t") for line in out.splitlines())}


# ------------------------------------------------------------------ what needs no station

def described(t):
    """METRICS.md is what fcm-page --list-metrics says; rules by promtool; names in rules and dashboard are metrics"""
    names = listed(t)
    rows = [f"| `{n}` | {kind} | {' '.join(f'`{x}`' for x in sorted(labels))} | {text} |"
            for n, (kind, labels, text) in names.items()]
    with open(PAGE, encoding="utf-8") as f:
        head = f.read().split("| metric |")[0]
    page = head + "\n".join(["| metric | type | labels | what |", "|---|---|---|---|", *rows]) + "\n"
    if t.update:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(page)
    with open(PAGE, encoding="utf-8") as f:
        t.check("METRICS.md is of this fcm-page (test_metrics.py --update described)", f.read() == page)
    t.equal("promtool check rules", *(promtool("check", "rules", RULES)[0], True))
    good, said = promtool("test", "rules", RULES.replace(".yml", ".test.yml"))
    t.check("promtool test rules", good, said)
    with open(RULES, encoding="utf-8") as f:
        rules = f.read()
    with open(RULES.replace(".yml", ".test.yml"), encoding="utf-8") as f:
        tested = f.read()
    alerts = re.findall(r"- alert: (\w+)", rules)
    t.equal("each alert has a test in which it fires, and is silent when all is well",
            {a for a in alerts if f"alertname: {a}\n" not in tested or f"alertname: {a}}}" not in tested}, set())
    t.equal("each says what to do, with a command of fcmctl", rules.count("fcmctl --board"), len(alerts))
    with open(DASHBOARD, encoding="utf-8") as f:
        shown = f.read()
    for what, text in (("rules", rules), ("their test", tested), ("the dashboard", shown)):
        t.equal(f"{what}: each name is a metric", set(re.findall(r"\bfcm_\w+", text)) - set(names), set())
    board(t)


def board(t):
    """The dashboard, as far as it can be judged without Grafana."""
    with open(DASHBOARD, encoding="utf-8") as f:
        d = json.load(f)
    panels = d["panels"]
    t.check("it has a title, a uid and a schema version", d["title"] and d["uid"] and d["schemaVersion"] >= 36)
    t.equal("panels have numbers of their own", len({p["id"] for p in panels}), len(panels))
    t.check("and kinds that every Grafana has", {p["type"] for p in panels} <= {"row", "stat", "table", "timeseries"})
    places = [(x, y) for p in panels for x in range(p["gridPos"]["x"], p["gridPos"]["x"] + p["gridPos"]["w"])
              for y in range(p["gridPos"]["y"], p["gridPos"]["y"] + p["gridPos"]["h"])]
    t.check("none lies on another or beside the 24 columns", len(set(places)) == len(places) and max(places)[0] < 24)
    variables = {v["name"] for v in d["templating"]["list"]}
    t.check("the data source and the board are variables", variables == {"datasource", "board"} and all(
        p["datasource"]["uid"] == "${datasource}" for p in panels if p["type"] != "row"))
    t.equal("each query is of the board that was chosen", [e for e in queries(d) if e.count("fcm_") !=
                                                           e.count('board="$board"')], [])


# ------------------------------------------------------------------ numbers

class Counting:
    """A way to the daemon's control socket that counts what is asked."""

    def __init__(self, st, directory):
        os.mkdir(directory)
        self.dir, self.upstream, self.asked = directory, st.path("control.sock"), []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(directory, "control.sock"))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            here, _ = self.listener.accept()
            there = socket.socket(socket.AF_UNIX)
            try:
                there.connect(self.upstream)
            except OSError:
                here.close()
                continue
            for a, b, count in ((here, there, True), (there, here, False)):
                threading.Thread(target=self.carry, args=(a, b, count), daemon=True).start()

    def carry(self, a, b, count):
        try:
            while part := a.recv(65536):
                if count:
                    self.asked += re.findall(rb'"op":"([^"]+)"', part)
                b.sendall(part)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def metric_of(metrics, p, key="value"):
    """(metric, labels, factor) of a parameter of fcmctl get."""
    place, leaf = p["name"].rsplit(".", 1)
    found = re.fullmatch(r"tower(\d+)\.floor(\d+)\.((\D+)\d*)", place)
    labels = {}
    if found:
        labels = {"link": p["link"], "tower": found[1], "floor": found[2]}
        if found[3] != "fcm":
            labels["module"] = found[3]
    elif p["link"] is not None:
        labels = {"link": p["link"], "tower": 1, "floor": p["link"] + 1}
    kind = re.sub(r"\d+$", "", place.rsplit(".", 1)[-1])
    unit, factor = UNITS[p["unit"]]
    name = f"fcm_{'floor' if kind == 'fcm' else kind}_{leaf}{'_set' if key == 'setpoint' else ''}{unit}"
    return (f"{name}_total" if f"{name}_total" in metrics.type and key == "value" else name), labels, factor


def same(metrics, p, key):
    """Whether the metric of a parameter has its value."""
    name, labels, factor = metric_of(metrics, p, key)
    if p["type"] == "enum":
        return metrics.get(name, state=p[key], **labels) == 1 and sum(metrics.of(name, **labels)) == 1
    got = metrics.get(name, **labels)
    return got is not None and abs(got - p[key] * factor) <= 1e-12 * abs(got)


def within(a, m, b):
    return m is not None and a <= m <= b


def counters_between(t, before, m, after):
    wrong = []
    for a, b in zip(before["links"], after["links"]):
        place = {"link": a["link"], "tower": a["expected"]["tower"], "floor": a["expected"]["floor"]}
        pairs = [(f"fcm_link_{name}_total", {}, a[name], b[name])
                 for name in ("downlink_errors", "lost_locks", "aligns", "item_faults")]
        pairs += [("fcm_link_frames_total", {"verdict": v}, n, b["cells"][v]) for v, n in a["cells"].items()]
        wrong += [(n, x, m.get(n, **x, **place), z) for n, x, y, z in pairs if not within(y, m.get(n, **x, **place), z)]
    for a, b in zip(before["groups"], after["groups"]):
        pairs = [("fcm_group_offered_blocks_total", {}, a["offered"], b["offered"]),
                 ("fcm_group_acknowledged_bytes_total", {}, a["acknowledged_bytes"], b["acknowledged_bytes"])]
        pairs += [("fcm_group_dropped_frames_total", {"outcome": o}, d["frames"], b["dropped"][o]["frames"])
                  for o, d in a["dropped"].items()]
        wrong += [(n, x) for n, x, y, z in pairs if not within(y, m.get(n, group=a["group"], **x), z)]
    if not within(before["uptime_s"], m.get("fcm_uptime_seconds"), after["uptime_s"]):
        wrong.append(("fcm_uptime_seconds", before["uptime_s"], m.get("fcm_uptime_seconds"), after["uptime_s"]))
    t.equal("counters of status lie between two looks of fcmctl", wrong, [])


def numbers(t, st, page):
    """Of one moment: a scrape between two looks. A value that is renewed between them is looked at again."""
    rest = None
    for turn in range(20):
        time.sleep(1.1)  # the next scrape asks the daemon
        status, before = st.status(), st.ask("get")["parameters"]
        m = scrape(page)
        after, status_after = st.ask("get")["parameters"], st.status()
        if turn == 0:
            counters_between(t, status, m, status_after)
            shown = {(p["name"], key) for p in before for key in ("value", "setpoint")
                     if p["access"] != "action" and p["quality"] == "good" and p[key] is not None}
            t.check("hundreds of values", len(shown) > 500, len(shown))
            t.equal("what is not good has no sample", [
                p["name"] for p, q in zip(before, after) if p["access"] != "action" and
                "good" not in (p["quality"], q["quality"]) and m.of(metric_of(m, p)[0], **metric_of(m, p)[1])], [])
            rest = shown
        rest = rest - {(p["name"], key) for p, q in zip(before, after) for key in ("value", "setpoint")
                       if (p["name"], key) in rest and (same(m, p, key) or same(m, q, key))}
        if not rest:
            break
    t.equal("each parameter's metric is what fcmctl get says, in base units", rest, set())


def one_station(t):
    """the text by promtool; numbers as fcmctl; who may ask; many ask at once; a daemon that hangs, ends, is back"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    way = Counting(st, os.path.join(t.base, "way"))
    page = Server(st, directory=way.dir)
    code, headers, body = page.get("/metrics")
    t.equal("the text format 0.0.4", (code, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
    t.check("of bounded size", len(body) < 1 << 18, len(body))
    t.equal("promtool check metrics has nothing to say", promtool("check", "metrics", input=body.decode()), (True, ""))
    m, names = Metrics(body.decode()), listed(t)
    t.equal("each metric is as listed: type and help",
            {n: (m.type[n], m.help[n].replace("\\\\", "\\")) for n in m.type if names.get(n, (0, 0, 0))[::2] !=
             (m.type[n], m.help[n].replace("\\\\", "\\"))}, {})
    t.equal("and labels", {n: x for n, x in m.labels().items() if not x <= names[n][1]}, {})
    seldom = {"fcm_incident", "fcm_clock_uncertainty_seconds", "fcm_link_phase_sigma_seconds"}
    wanted = {n for n in names if n not in seldom and not n.startswith("fcm_network_")}
    st.wait_for("each metric", lambda: wanted <= set(scrape(page).type))
    t.check("all that a station can have at once are served", True)
    numbers(t, st, page)
    door(t, page)
    shared(t, page, way)
    gone(t, st, page)
    t.equal("it ends in order", page.end(), 0)


def door(t, page):
    """The limits of the page are those of these paths, too."""
    for path in ("/metrics", "/healthz", "/readyz"):
        t.equal(f"{path}: not by another name", page.get(path, Host="evil.example")[0], 403)
        t.equal(f"{path}: not for another site's page", page.get(path, Sec_Fetch_Site="cross-site")[0], 403)
        t.check(f"{path}: GET only", page.get(path, "POST")[0] in (405, 501))
        t.equal(f"{path}: nothing below it", page.get(path + "/x")[0], 404)


def shared(t, page, way):
    time.sleep(1.1)
    way.asked.clear()
    time.sleep(2)
    t.equal("while nobody scrapes the daemon is asked nothing", way.asked, [])
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: page.get("/metrics")[2], range(60)))
    rounds = 1 + int(time.monotonic() - begin)
    t.check("60 scrapes at once share an answer", len(set(answers)) <= rounds, (len(set(answers)), rounds))
    t.check("for which the daemon is asked two questions", sorted(set(way.asked)) == [b"param.list", b"status"] and
            len(way.asked) <= 2 * rounds, way.asked)


def gone(t, st, page):
    """A daemon that hangs, ends, and is there again."""
    def becomes(path, code):
        st.wait_for(f"{path} {code}", lambda: look(page, path)[0] == code, 30)
        return look(page, path)
    becomes("/readyz", 200)
    t.equal("/healthz of a daemon that answers", look(page, "/healthz"), (200, "fcm-server answers\n"))
    st.daemon.signal(signal.SIGSTOP)
    time.sleep(1.1)
    begin = time.monotonic()
    code, why = look(page, "/readyz")
    took = time.monotonic() - begin
    t.check("/readyz of one that hangs: 503, and one line why", code == 503 and "has not answered" in why and
            why.count("\n") == 1, (code, why))
    t.check("within the limit of a scrape", took < 3 + 2 * st.patience, took)
    t.equal("/healthz, too", look(page, "/healthz")[0], 503)
    m = scrape(page)
    t.check("no old value is served: only that it does not answer, and for how long", m.get("fcm_up") == 0 and
            m.get("fcm_answer_age_seconds") > 1 and len(m.samples) == 2, m.samples)
    st.daemon.signal(signal.SIGCONT)
    becomes("/healthz", 200)
    st.wait_for("values are back", lambda: len(scrape(page).samples) > 500)
    t.check("values are back", True)
    st.daemon.kill9()
    code, why = becomes("/healthz", 503)
    t.check("a daemon that has ended: 503 and why", why.count("\n") == 1, why)
    t.equal("/readyz, too", look(page, "/readyz")[0], 503)
    t.equal("no value of it", len(scrape(page).samples), 2)
    st.start_daemon()
    becomes("/healthz", 200)


if __name__ == "__main__":
    harness.main([described, one_station])
