#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Prometheus beside a station: alerts fire and clear, the dashboard's queries have answers."""
import json
import os
import re
import shlex
import shutil
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import scenario  # noqa: E402
from page_server import DASHBOARD, RULES, Server, look, promtool, queries, scrape  # noqa: E402
from station import Process, free_port  # noqa: E402


class Prometheus:
    """Debian's, with the rules of the tree, beside a station."""

    def __init__(self, t, st, page, quick=True):
        self.port, directory = free_port(), os.path.join(t.base, "prometheus")
        os.mkdir(directory)
        rules = os.path.join(directory, "fcm.rules.yml")
        if quick:  # the same rules; they wait for a second only
            with open(RULES, encoding="utf-8") as f, open(rules, "w", encoding="utf-8") as copy:
                copy.write(re.sub(r"\bfor: \S+", "for: 1s", f.read()))
        else:
            shutil.copy(RULES, rules)
        config = os.path.join(directory, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            f.write("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
                    "rule_files: [fcm.rules.yml]\n"
                    "scrape_configs:\n  - job_name: fcm\n    static_configs:\n"
                    f"      - {{targets: ['127.0.0.1:{page.port}'], labels: {{board: '0'}}}}\n")
        t.equal("promtool check config", promtool("check", "config", config)[0], True)
        self.process = Process("prometheus", [
            "prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address=127.0.0.1:{self.port}"], st.path("prometheus.log"))
        st.extras.append(self.process)
        st.wait_for("Prometheus", lambda: self.ask("/-/ready", raw=True))

    def ask(self, path, raw=False, **args):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(args)}"
        with urllib.request.urlopen(url, timeout=10) as r:
            body = r.read()
        return body if raw else json.loads(body)["data"]

    def query(self, expr):
        return self.ask("/api/v1/query", query=expr)["result"]

    def alerts(self, state="firing"):
        """{name: [its labels and annotations]}"""
        found = {}
        for a in self.ask("/api/v1/alerts")["alerts"]:
            if a["state"] == state:
                found.setdefault(a["labels"]["alertname"], []).append({**a["labels"], **a["annotations"]})
        return found


def type_actions(t, st, alerts):
    """What an alert advises can be typed."""
    for action in sorted({a["action"] for found in alerts.values() for a in found}):
        for command in filter(lambda c: c.startswith("fcmctl "), action.split("; ")):
            code, out, err = st.ctl(*shlex.split(command.replace(" --board 0", ""))[1:])
            t.check(f"{command} can be typed", code in (0, 1), (code, out, err))


def dead_link(t):
    """a fibre is unplugged: the alert fires, /readyz is red, its floor's values are gone; it clears"""
    st = t.station(load="quiet", scenario=scenario(t, (4, "link 2 unplug 10")))
    st.start()
    page = Server(st)
    st.wait_ready()
    prometheus = Prometheus(t, st, page)
    st.wait_for("/readyz 200", lambda: look(page, "/readyz")[0] == 200)
    st.wait_for("it is scraped", lambda: [x["value"][1] for x in prometheus.query("fcm_up")] == ["1"])
    st.wait_for("the alert", lambda: "FcmLinkDead" in prometheus.alerts(), 40)
    alerts = prometheus.alerts()
    t.equal("it is of this link only", [(a["link"], a["floor"], a["board"]) for a in alerts["FcmLinkDead"]],
            [("2", "3", "0")])
    code, why = look(page, "/readyz")
    t.check("the station is RED: /readyz 503, and why", code == 503 and why.startswith("RED: "), (code, why))
    t.equal("/healthz is not: the daemon answers", look(page, "/healthz")[0], 200)
    st.wait_for("values of its floor are stale",
                lambda: not scrape(page).of("fcm_floor_temperature_celsius", floor=3), 20)
    m = scrape(page)
    t.check("they have no sample, those of others have", len(m.of("fcm_floor_temperature_celsius")) == 3 and
            m.get("fcm_parameters_left_out", link=2, tower=1, floor=3, name="tower1.floor3.fcm") > 0, m.samples)
    type_actions(t, st, alerts)
    st.wait_for("the alert clears", lambda: "FcmLinkDead" not in prometheus.alerts(), 40)
    st.wait_for("/readyz 200", lambda: look(page, "/readyz")[0] == 200, 30)
    t.check("the alert has fired and cleared, /readyz is well again", True)
    with open(DASHBOARD, encoding="utf-8") as f:
        asked = [e.replace("$board", "0") for e in queries(json.load(f))]
    st.wait_for("an answer to each query", lambda: all(prometheus.query(e) for e in asked if "incident" not in e))
    t.check("each query of the dashboard has an answer", True)
    t.equal("its target is up", [x["value"][1] for x in prometheus.query("up")], ["1"])
    t.equal("Prometheus ends in order", prometheus.process.end(), 0)
    t.equal("so does the page", page.end(), 0)


@harness.long
def minute(t):
    """a minute of scrapes: none fails; the alert with its own delay fires and clears; then nothing fires"""
    st = t.station(load="quiet", scenario=scenario(t, (15, "link 2 unplug 25")))
    st.start()
    page = Server(st)
    st.wait_ready()
    prometheus = Prometheus(t, st, page, quick=False)
    begin = time.monotonic()
    st.wait_for("the alert waits", lambda: "FcmLinkDead" in prometheus.alerts("pending"), 60)
    t.equal("nothing fired before", prometheus.alerts(), {})
    st.wait_for("the alert", lambda: "FcmLinkDead" in prometheus.alerts(), 60)
    st.wait_for("the alert clears", lambda: "FcmLinkDead" not in prometheus.alerts(), 60)
    while time.monotonic() - begin < 60:
        time.sleep(1)
    up = prometheus.query("up[60s]")[0]["values"]
    t.check("60 scrapes in a minute, each with an answer", len(up) >= 55 and {v for _, v in up} == {"1"}, up)
    longest = max(float(v) for _, v in prometheus.query("scrape_duration_seconds[60s]")[0]["values"])
    t.check("each within a second", longest < 1, longest)
    st.wait_for("only losses of the last minutes fire", lambda: set(prometheus.alerts()) <= {"FcmFramesLost"}, 60)
    t.check("only losses of the last minutes fire", True)
    t.equal("Prometheus ends in order", prometheus.process.end(), 0)


if __name__ == "__main__":
    harness.main([dead_link, minute])
