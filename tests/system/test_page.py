#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-page: its server under attack, and the page of a real station in Chromium, whose numbers are those of fcmctl.

SHOTS=DIR keeps a picture of each state."""
import json
import os
import re
import socket
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import scenario  # noqa: E402
from page_server import DICTIONARY, WWW, Server  # noqa: E402

def station(t, **kwargs):
    st = t.station(load="quiet", **kwargs)
    st.start()
    st.wait_ready()
    return st


# ------------------------------------------------------------------ the server

def door(t):
    """who may ask what: GET only, our names only, no other site, nothing but what is listed"""
    st = station(t)
    page = Server(st)
    code, headers, body = page.get("/")
    t.check("the page", code == 200 and b"<html" in body, (code, body[:100]))
    t.check("it may load and ask of itself only", "default-src 'none'" in headers["Content-Security-Policy"] and
            headers["X-Content-Type-Options"] == "nosniff", headers)
    for name in os.listdir(WWW):
        t.equal(f"/{name}", page.get("/" + name)[2], open(os.path.join(WWW, name), "rb").read())
    t.check("dygraphs", b"Dygraph" in page.get("/dygraph.min.js")[2])
    for path in ("/../main.c", "/%2e%2e/main.c", "//etc/passwd", "/etc/passwd", "/nothing", "/past/nothing", "/liver", "/past/"):
        t.equal(f"{path}: there is none", page.get(path)[0], 404)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"):
        t.check(f"{method} is refused", page.get("/", method)[0] in (405, 501), page.get("/", method)[0])
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", ""):
        t.equal(f"called {host!r}: refused", page.get("/", Host=host)[0], 403)
    for host in ("localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:5770"):
        t.equal(f"called {host}: served", page.get("/", Host=host)[0], 200)
    t.check("called nothing: refused", b" 403 " in page.raw(b"GET / HTTP/1.0\r\n\r\n").split(b"\n")[0] + b" ")
    for path in ("/live", "/past/run.show"):
        t.equal(f"{path} for a page of another site: refused", page.get(path, Sec_Fetch_Site="cross-site")[0], 403)
    t.equal("for our own page: served", page.get("/past/run.show", Sec_Fetch_Site="same-origin")[0], 200)
    for arguments in ("since=x", "since=-1", "since=1e300", "limit=1.5", "limit=0", "link=4", "columns=401", "rows=201",
                      "who=x", "since=", "name=x", "link=nan"):
        t.equal(f"?{arguments}: refused", page.past("phase?" + arguments)[0], 400)
    t.equal("a question that there is not", page.past("param.history?link=1")[0], 404)
    t.check("a head without end is refused", b" 200 " not in page.raw(b"GET / HTTP/1.1\r\nX: " + b"y" * 100000 + b"\r\n\r\n"))
    t.check("so is a body", b" 200 " not in page.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123456789"))
    t.check("so is what is no HTTP", b" 200 " not in page.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 50, 3))
    taken(t, page)
    crowd(t, page)
    lookers(t, page)
    t.equal("it ends in order", page.end(), 0)


def taken(t, page):
    """systemd starts it again, except after a mistake of the configuration."""
    def exits(*args):
        argv = [page.st.program("fcm-page"), "--dir", page.st.dir, "--port", "0", "--files", WWW,
                "--dictionary", DICTIONARY, *args]
        return subprocess.run(argv, capture_output=True, check=False, timeout=30).returncode
    t.equal("a port that is taken may be free later", exits("--port", str(page.port)), 1)
    t.equal("an address may be there later", exits("--address", "192.0.2.1"), 1)
    t.equal("files do not come by waiting", exits("--files", "/nowhere"), 78)
    t.equal("nor does a dictionary", exits("--dictionary", "/nowhere"), 78)


def crowd(t, page):
    """More connections than places, most of them silent."""
    others = []
    for _ in range(40):
        others.append(socket.create_connection(("127.0.0.1", page.port), 10))
    closed = 0
    for s in others:
        s.settimeout(0.3)
        try:
            closed += s.recv(1) == b""
        except TimeoutError:
            pass
        except ConnectionError:
            closed += 1
    t.equal("32 connections have a place", closed, 8)
    for s in others:
        s.close()

    def served():
        return page.get("/")[0] == 200
    page.st.wait_for("it serves again when they have gone", served)
    t.check("it serves again when they have gone", True)


def lookers(t, page):
    """Streams do not end: they leave places for questions."""
    streams, answers = [], []
    for _ in range(70):
        s = socket.create_connection(("127.0.0.1", page.port), 10)
        s.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        streams.append(s)
        answers.append(s.recv(12))
    t.equal("16 pages are open, the others are refused",
            [answers.count(b"HTTP/1.1 200"), answers.count(b"HTTP/1.1 503")],
            [16, 54])
    t.equal("/metrics is answered", page.get("/metrics")[0], 200)
    for s in streams:
        s.close()

    def looked():
        with socket.create_connection(("127.0.0.1", page.port), 10) as s:
            s.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return s.recv(12) == b"HTTP/1.1 200"
    page.st.wait_for("a page can be opened when they have gone", looked)


@harness.long
def slow(t):
    """clients that send slowly, take slowly, and look for ever without reading"""
    st = station(t)
    page = Server(st)
    with socket.create_connection(("127.0.0.1", page.port), 10) as s:
        begin = time.monotonic()
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        ended = False
        while not ended and time.monotonic() - begin < 90:
            time.sleep(1)
            try:
                s.sendall(b"X: y\r\n")
            except ConnectionError:
                ended = True
        t.check("a request that does not end is ended", ended)
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", page.port))
        s.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        st.wait_for("who does not read is disconnected", lambda: "has not read" in page.process.tail(50), 600)
        t.check("who does not read is disconnected", True)
    with open(f"/proc/{page.process.pid}/status") as f:
        rss = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
    t.check("in bounded memory", rss < 200000, rss)
    t.equal("others are served", page.get("/")[0], 200)
    t.equal("it ends in order", page.end(), 0)


def same(a, b):
    """Numbers but for their last digits: fcmctl prints fewer."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return abs(a - b) < 0.001 if isinstance(a, float) and isinstance(b, float) else a == b


def past(t):
    """what the database says is what fcmctl says; the daemon is not needed for it"""
    st = station(t, scenario=scenario(t, (0, "link 2 crc 300")))
    page = Server(st)
    st.ask("set", "floor1.om0.hv", "1390", "--reason", "<script>alert(1)</script>")
    st.wait_for("300 frames lost", lambda: st.status()["links"][2]["cells"]["crc"] == 300)
    st.wait_for("their incident has ended", lambda: any(
        i["code"] == "link-loss" and i["until"] for i in st.ask("incident", "list", "--since", "1h")["incidents"]), 60)

    def lost():
        _, p = page.past("losses?columns=60")
        return sum(c[p["names"].index("crc")] for c in p["columns"] if c) if "crc" in p.get("names", []) else None
    st.wait_for("all losses are in the picture", lambda: abs((lost() or 0) - 300) < 0.01)
    t.check("300 frames are in the picture of losses", True)
    kinds = [("command.list?limit=5", ["command", "list", "--limit", "5"]),
             ("run.show", ["run", "show"]), ("incident.history", ["incident", "list", "--since", "1h"])]
    for path, ctl in kinds:
        code, got = page.past(path)
        wanted = st.ask(*ctl)
        key = next(k for k in ("commands", "runs", "incidents") if k in got)
        t.check(f"{path} as fcmctl {' '.join(ctl)}", code == 200 and same(got[key], wanted[key]), (code, got[key], wanted[key]))
    t.check("a reason is text", "<script>" in page.past("command.list")[1]["commands"][0]["reason"])
    st.wait_for("rows of the phase", lambda: page.past("phase?link=2&columns=10&rows=20")[1]["samples"] > 1)
    code, p = page.past("phase?link=2&columns=10&rows=20")
    t.check("a scope of 10 x 20", code == 200 and len(p["picture"]) == 400 and abs(sum(p["histogram"]) - 1) < 1e-6, p)
    rows = st.ask("phase", "history", "2", "--since", "1h")["rows"]
    mean = sum(r["mean_ps"] for r in rows) / len(rows)
    t.check("its mean is that of the rows", abs(p["mean_ps"] - mean) < max(3, p["row_ps"]), (p["mean_ps"], mean))
    st.daemon.end()
    t.equal("also when the daemon is not running", page.past("command.list?limit=1")[0], 200)
    os.rename(st.database, st.database + ".away")
    code, answer = page.past("command.list")
    t.check("no database: an error that says so", code == 500 and answer["error"], answer)
    t.equal("it ends in order", page.end(), 0)


@harness.long
def year(t):
    """a database with a year of rows: each question of the page is answered in bounded time and size"""
    st = station(t)
    st.stop()
    import sqlite3  # pylint: disable=import-outside-toplevel
    now = int(time.time())
    with sqlite3.connect(st.database) as db:
        for link in range(4):
            db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3153600)"
                       " INSERT OR IGNORE INTO phase_row SELECT ?, (? - i * 10) * 1000000000, 100.0 + i % 50, 9.0, -20.0, 20.0,"
                       " 100, 0, 0, 0 FROM n", (link, now))
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
                   " INSERT OR IGNORE INTO loss SELECT 1, 0, 'crc', i % 4, 1, 1, '', '', 9, i * 10, 7, NULL,"
                   " (? - i * 100) * 1000000000, 0, NULL FROM n", (now,))
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 36500)"
                   " INSERT INTO event (time, severity, code, object, text, action) SELECT (? - i * 864) * 1000000000,"
                   " 'info', 'remark', 'floor1', 'x', '' FROM n", (now,))
    page = Server(st)
    year_s = 365 * 86400
    for path in (*(f"phase?link={n}&since={now - year_s}&until={now}&columns=400&rows=200" for n in range(4)),
                 f"losses?since={now - year_s}&until={now}&columns=400", f"event.list?since={now - year_s}",
                 f"incident.history?since={now - year_s}", f"command.list?since={now - year_s}", "run.show"):
        code, _, body = page.get("/past/" + path)
        t.check(f"{path.split('?')[0]} of a year", code == 200 and len(body) < 1 << 20, (code, len(body), body[:200]))
    t.equal("it ends in order", page.end(), 0)


def live(t):
    """events once a second; a daemon that is stopped, hangs, or has never been there"""
    st = station(t)
    page = Server(st)
    found = page.events(6)
    stations = [d for e, d in found if e == "station"]
    samples = [d for e, d in found if e == "sample"]
    t.check("the station, with a fresh status", stations and all(d["age_s"] < 1 for d in stations[1:]), stations[:1])
    t.equal("24 modules", len(stations[-1]["modules"]), 24)
    t.equal("two consumers", len(stations[-1]["members"]), 2)
    st.wait_for("a sample of four floors", lambda: [len(d["links"]) for e, d in page.events(4) if e == "sample"][-1:] == [4], 60)
    sample = [d for e, d in page.events(4) if e == "sample"][-1]
    link = sample["links"][1]
    t.check("hits, charges, spectra", sum(link["hits"]) == sum(link["charge"]) > 0 and len(link["hits"]) == 6 and
            len(link["hydrophones"][0]["db"]) == 192, link)
    t.check("samples have no error", not any(d["error"] for d in samples), samples)
    st.daemon.kill9()
    away = [d for e, d in page.events(2) if e == "station"][-1]
    t.check("a daemon that is not running", "not running" in (away["away"] or ""), away)
    t.check("its last status has an age", away["status"] and away["age_s"] > 0, away["age_s"])
    st.start_daemon()
    st.wait_for("it is asked again", lambda: not page.status()["away"])
    t.equal("the page has nothing to say about the daemon", page.status()["away"], None)
    t.equal("it ends in order", page.end(), 0)


# ------------------------------------------------------------------ in the browser

class Browser:
    """Chromium, without a way to other machines."""

    def __init__(self, t, page, width=1920, height=1080):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for a in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}",
                  "--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync",
                  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={t.base}/chromium"):
            options.add_argument(a)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.t, self.page = t, page
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_window_size(width, height)
        self.asked, self.said = [], []
        self.driver.get(page.url)

    def look(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def text(self, css):
        """Its text, also where it is not in sight."""
        return self.driver.execute_script("const e = document.querySelector(arguments[0]); return e && e.textContent", css)

    def attribute(self, css, name):
        return self.driver.execute_script(
            "const e = document.querySelector(arguments[0]); return e && e.getAttribute(arguments[1])", css, name)

    def word(self):
        return self.attribute("body", "data-word")

    def incidents(self):
        """{(code, object): state}"""
        return {tuple(x[:2]): x[2] for x in self.driver.execute_script(
            "return [...document.querySelectorAll('[data-incident]')].map(e => [e.dataset.code, e.dataset.object, e.dataset.state])")}

    def shot(self, name):
        if os.environ.get("SHOTS"):
            self.driver.save_screenshot(os.path.join(os.environ["SHOTS"], f"{self.t.name}-{name}.png"))

    def drain(self):
        """What the browser has asked for, and what it has complained about."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.asked.append(message["params"]["request"]["url"])
        self.said += [e["message"] for e in self.driver.get_log("browser")]

    def end(self, allowed=()):
        """`allowed`: what may be complained about, because the test has ended the server."""
        self.drain()
        self.driver.quit()
        foreign = [u for u in self.asked if not u.startswith((self.page.url, "data:", "blob:", "chrome:"))]
        self.t.check("no request to others", not foreign and self.asked, foreign)
        errors = [s for s in self.said if not any(a in s for a in allowed)]
        self.t.check("no error in the console", not errors, errors[:3])


# Pairs of texts of a link's tile that cover each other by more than what a line's leading explains.
OVERLAPS = """
const found = [];
for (const tile of document.querySelectorAll(".tile")) {
  const boxes = [], walk = document.createTreeWalker(tile, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const range = document.createRange();
    range.selectNodeContents(n);
    if (n.data.trim()) for (const r of range.getClientRects()) boxes.push([n, r]);
  }
  for (const [a, p] of boxes) for (const [b, q] of boxes) {
    if (a === b || a.parentElement.closest(".trace") && b.parentElement.closest(".trace")) continue;
    const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (x > 1 && y > 5) found.push([a.data, b.data, y]);
  }
}
return found"""

# Shows the page's status with every phase outside its band, and as many incidents as it is told; false: news came
# between.
FEED = """
const [count, done] = arguments;
Promise.all(["live", "incidents", "tiles"].map((name) => import(`/${name}.js`))).then(([{live}, incidents, tiles]) => {
  const status = structuredClone(live.station.status);
  for (const p of status.phases) Object.assign(p, {difference_ps: -3772.4, tolerance_ps: 100});
  for (const l of status.links) Object.assign(l, {lost_last_minute: 40083});
  status.incidents.list = Array.from({length: count}, (_, n) => ({
    number: n + 1, state: "active", severity: n < 3 ? "red" : "warning", object: `tower1.floor${n}`, code: "hv-trip",
    text: "the high voltage has tripped on over-current and is off: om0, om1, om2, om3, om4, om5",
    action: "Find the cause: fcmctl event list --since 1h; then fcmctl action 'floor2.om*.clear_trip'",
    since: status.time - 30 * n, until: null, cost: {dark_s: 30}, observations: []}));
  incidents.renderIncidents({status});
  tiles.renderTiles({status});
  const titles = [...document.querySelectorAll("#incident-list h3")];
  requestAnimationFrame(() => requestAnimationFrame(() => done( // graphs have their new size after one frame
    titles[0].isConnected && {
    overlaps: (() => {OVERLAPS})(),
    visible: titles.filter((h) => h.getBoundingClientRect().bottom <= innerHeight).length,
    fresh: titles.filter((h) => h.textContent.includes("NEW")).length,
    below: document.querySelector("#incident-below").textContent,
    width: document.documentElement.scrollWidth})));
});""".replace("OVERLAPS", OVERLAPS)


def layout(t, browser):
    """on a wall and on a telephone, with much that is wrong"""
    for width, height in ((1920, 1080), (1280, 720), (390, 844)):
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        browser.driver.execute_script("scrollTo(0, 0)")
        time.sleep(1)
        for count in (8, 20):
            seen = False
            while not seen:
                seen = browser.driver.execute_async_script(FEED, count)
            t.equal(f"{width} wide, {count} incidents: no text of a link covers another", seen["overlaps"], [])
            t.check(f"{width} wide: nothing is beside the screen", seen["width"] <= width, seen["width"])
            t.equal(f"{width} wide: two are new", seen["fresh"], 2)
            if width == 1920:
                t.check("8 incidents are visible", seen["visible"] >= 8, seen)
            if count == 20:
                t.check("it says how many are below", seen["below"].endswith("more below"), seen)
            browser.shot(f"{width}-{count}")
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def near(a, b, part=0, apart=0):
    """Numbers, or their texts, that differ by no more than `part` of b, or than `apart`."""
    return a is not None and b is not None and abs(float(a) - float(b)) <= max(part * abs(float(b)), apart)


def numbers(t):
    """the page of a running station has the numbers of fcmctl; no news turns it red"""
    st = station(t)
    page = Server(st)
    browser = Browser(t, page)
    st.wait_for("the word", lambda: browser.word() == st.word(), 30)
    t.check("the word is that of fcmctl status", True)
    st.wait_for("the headline", lambda: browser.text("#headline") == st.status()["incidents"]["headline"], 20)
    t.check("so is the headline", True)
    for link in range(4):
        tile = f'[data-link="{link}"]'

        def agrees(what, field, value, of=tile, **limits):
            css = f'{of} [data-field="{field}"]'
            st.wait_for(what, lambda: near(browser.attribute(css, "data-value"), value(), **limits))
            t.check(what, True)
        t.equal(f"link {link} is up", browser.attribute(tile, "data-state"), "up")
        agrees(f"hits a second of link {link}", "rate", lambda n=link: st.status()["links"][n]["hits_per_s"], part=0.1)
        agrees(f"lost in a minute of link {link}", "lost-minute",
               lambda n=link: st.status()["links"][n]["lost_last_minute"])
        agrees(f"phase of link {link}, to 20 ps", "phase", lambda n=link: st.status()["phases"][n]["difference_ps"], apart=20)
    for p in st.ask("get", "floor*.om*.hv")["parameters"]:
        module = p["name"].rpartition(".")[0]
        got = browser.attribute(f'[data-module="{module}"] [data-field="hv"]', "data-value")
        t.check(f"voltage of {module}", near(got, p["value"], part=0.02), (got, p["value"]))
    t.equal("state of the clock", browser.text('#clock [data-field="state"]').strip().lower(), st.status()["clock"]["state"])
    browser.shot("well")
    layout(t, browser)
    no_news(t, st, page, browser)


def no_news(t, st, page, browser):
    st.daemon.kill9()
    begin = time.monotonic()
    st.wait_for("the daemon is missed", lambda: browser.word() == "NO-NEWS", 20)
    t.check("a killed daemon is seen", True)
    print(f"          after {time.monotonic() - begin:.1f} s")
    browser.shot("no-daemon")
    st.start_daemon()
    st.wait_for("the page has news again", lambda: browser.word() not in (None, "NO-NEWS"), 30)
    t.check("it has news again", True)
    page.process.kill9()
    begin = time.monotonic()
    st.wait_for("the server is missed", lambda: browser.word() == "NO-NEWS", 20)
    t.check("a killed server is seen", True)
    print(f"          after {time.monotonic() - begin:.1f} s")
    browser.shot("no-server")
    browser.end(allowed=("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE",
                         "ERR_CONNECTION_CLOSED"))


# (what is injected, state of the tile, code and object that the page must name)
FAULTS = [
    ("link 1 unplug 8", ('[data-link="1"]', "dark"), ("link-dark", "link1")),
    ("link 2 crc 1500", None, ("link-loss", "link2")),
    ("link 3 hv-trip 2", ('[data-module="tower1.floor4.om2"]', "tripped"), ("hv-trip", "tower1.floor4")),
    ("link 0 mute", None, ("floor-mute", "tower1.floor1")),
    ("link 1 phase-step 300", None, ("phase-jump", "link1")),
    ("gps silent", None, ("clock-holdover", "clock")),
]


@harness.long
def every_fault(t):
    """each fault is on the page: its incident, its tile; texts of operators are text"""
    times = [20 + 20 * n for n in range(len(FAULTS))]
    st = station(t, scenario=scenario(t, *[(at, what) for at, (what, _, _) in zip(times, FAULTS)]))
    page = Server(st)
    browser = Browser(t, page)
    st.wait_for("it has news", lambda: browser.word() == "WELL", 30)
    st.ask("log", "<img src=x onerror=alert(1)> seen", "--object", "floor2")
    for what, tile, incident in FAULTS:
        st.wait_for(f"{what}: told", lambda: incident in browser.incidents(), 120)
        t.check(f"{what}: told as {'/'.join(reversed(incident))}", True)
        if tile:
            st.wait_for(f"{what}: {tile}", lambda: browser.attribute(tile[0], "data-state") == tile[1], 20)
            t.check(f"{what}: {tile[0]} is {tile[1]}", True)
        browser.shot(what.replace(" ", "-"))
        wanted = {(i["code"], i["object"]) for i in st.status()["incidents"]["list"] if i["state"] != "cleared"}
        st.wait_for("all that is active is on the page", lambda: wanted <= set(browser.incidents()), 10)
        t.check(f"{what}: all that is active is on the page", True)
    t.check("the remark is text", not browser.driver.find_elements(By.CSS_SELECTOR, "img[src=x]"))
    t.equal("every part is shown", browser.driver.find_elements(By.CSS_SELECTOR, "[data-broken]"), [])
    for part in ("modules", "consumers", "scope", "losses", "sample", "journal"):
        browser.driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", part)
        browser.shot(part)
    browser.end()


@harness.long
def for_long(t):
    """open for minutes: it does not grow; a telephone, a dark room"""
    st = station(t)
    page = Server(st)
    browser = Browser(t, page)
    st.wait_for("it has news", lambda: browser.word() == "WELL", 30)
    time.sleep(60)

    def size():
        browser.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return browser.driver.execute_script(
            "return [document.querySelectorAll('*').length, performance.memory.usedJSHeapSize]")
    nodes, heap = size()
    time.sleep(120)
    later, more = size()
    t.check("elements do not grow", later <= nodes + 40, (nodes, later))
    t.check("memory does not grow", more < heap * 1.25 + 1e6, (heap, more))
    browser.driver.set_window_size(400, 900)
    time.sleep(2)
    width = browser.driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    t.check("a telephone's screen is wide enough", width[0] <= width[1], width)
    browser.shot("telephone")
    browser.end()


if __name__ == "__main__":
    harness.main([door, slow, past, year, live, numbers, every_fault, for_long])
