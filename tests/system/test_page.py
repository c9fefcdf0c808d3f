#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-page: its server under attack, and the page of a real station in Chromium, whose numbers are those of fcmctl.

SHOTS=DIR keeps a picture of each state."""
import fnmatch
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import scenario  # noqa: E402
from page_browser import CONTROLS, DULL, GREEN, OVERLAPS, PIECES, WATCH, Browser, fed  # noqa: E402
from page_server import DICTIONARY, WWW, Server  # noqa: E402
from station import StationError  # noqa: E402
sys.path.insert(0, os.path.join(harness.ROOT, "tests", "drill"))
import causes  # noqa: E402


def station(t, **kwargs):
    st = t.station(load="quiet", **kwargs)
    st.start()
    st.wait_ready()
    return st


# By question: when its first answer was there, in ms after the page was opened.
FIRST_ANSWERS = """
const first = {};
for (const e of performance.getEntriesByType("resource")) {
  const { pathname, searchParams } = new URL(e.name), name = pathname + (searchParams.get("link") ?? "");
  if (pathname.startsWith("/past/")) first[name] = Math.min(first[name] ?? Infinity, e.responseEnd);
}
return first"""


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
    page = Server(st)
    small, asked = opened(t, page)
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
    year_s = 365 * 86400
    for path in (*(f"phase?link={n}&since={now - year_s}&until={now}&columns=400&rows=200" for n in range(4)),
                 f"losses?since={now - year_s}&until={now}&columns=400", f"event.list?since={now - year_s}",
                 f"incident.history?since={now - year_s}", f"command.list?since={now - year_s}", "run.show"):
        code, _, body = page.get("/past/" + path)
        t.check(f"{path.split('?')[0]} of a year", code == 200 and len(body) < 1 << 20, (code, len(body), body[:200]))
    large, answered = opened(t, page)
    t.equal("a page that opens has the same answers as with a small database", answered, asked)
    t.check(f"all are there after {large:.2f} s, with a small database after {small:.2f} s",
            large < 2 * small + 0.5, (large, small))
    t.equal("it ends in order", page.end(), 0)


def opened(t, page):
    """Seconds from the opening of the page to the last of its first answers, the best of three; which there are."""
    browser, took = Browser(t, page), []
    for _ in range(3):
        browser.driver.refresh()
        time.sleep(4)
        first = browser.driver.execute_script(FIRST_ANSWERS)
        t.check(f"the page has asked for its past: {sorted(first)}", len(first) >= 5, first)
        took.append(max(first.values()) / 1000)
    browser.end()
    return min(took), sorted(first)


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

def layout(t, browser):
    """on a wall and on a telephone, with much that is wrong"""
    for width, height in ((1920, 1080), (1280, 720), (390, 844)):
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        browser.driver.execute_script("scrollTo(0, 0)")
        time.sleep(1)
        for count in (8, 20):
            seen = fed(browser, count, OVERLAPS)
            if seen["found"]:  # a caption has just grown: the graph above it follows in the next frame
                seen = fed(browser, count, OVERLAPS)
            t.equal(f"{width} wide, {count} incidents: no text of a link covers another", seen["found"], [])
            t.check(f"{width} wide: nothing is beside the screen", seen["width"] <= width, seen["width"])
            t.equal(f"{width} wide: two are new", seen["fresh"], 2)
            t.equal(f"{width} wide: the texts of the first incidents are whole", seen["clipped"], 0)
            t.check(f"{width} wide: all modules are on the screen", seen["modules"] <= width, seen["modules"])
            if width == 1920:
                t.check("8 incidents are visible", seen["visible"] >= 8, seen)
            if count == 20:
                t.check("it says how many are below", seen["below"].endswith("more below"), seen)
            browser.shot(f"{width}-{count}")
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def near(a, b, part=0, apart=0):
    """Numbers, or their texts, that differ by no more than `part` of b, or than `apart`."""
    return a is not None and b is not None and abs(float(a) - float(b)) <= max(part * abs(float(b)), apart)


def number(text):
    """The number in a text of the page: "12.3 k hits/s", "phase +3.2 ps"; None: there is none."""
    found = re.search(r"([+-]?\d[\d\u202f.]*)\s*([kMG]?)", text or "")
    return found and float(found[1].replace("\u202f", "")) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]]


def numbers(t):
    """the page of a running station has the numbers of fcmctl; no news turns it red"""
    st = station(t)
    page = Server(st)
    browser = Browser(t, page)
    st.wait_for("the word", lambda: browser.word() == st.word() == browser.shown("#word"), 30)
    t.check("the word is that of fcmctl status", True)
    st.wait_for("the headline", lambda: browser.shown("#headline") == st.status()["incidents"]["headline"], 20)
    t.check("so is the headline", True)

    def agree(what, values):
        """values(): {selector: (number of fcmctl, limits)}: the value for programs agrees, and the text that is shown."""
        wrong = {}

        def all_near():
            wrong.clear()
            for css, (value, limits) in values().items():
                got = browser.attribute(css, "data-value"), number(browser.shown(css))
                if not all(near(x, value, **limits) for x in got):
                    wrong[css] = got, value
            return not wrong
        try:
            st.wait_for(what, all_near)
        except StationError:
            pass
        t.check(what, not wrong, wrong)

    def of_link(n):
        status = st.status()
        link, phase = status["links"][n], status["phases"][n]
        return {f'[data-link="{n}"] [data-field="{name}"]': pair for name, pair in {
            "rate": (link["hits_per_s"], {"part": 0.1}), "bytes": (link["bytes_per_s"], {"part": 0.1}),
            "lost-minute": (link["lost_last_minute"], {}), "phase": (phase["difference_ps"], {"apart": 20})}.items()}

    def of_modules():
        return {f'[data-module="{p["name"].rpartition(".")[0]}"] [data-field="hv"]': (p["value"], {"part": 0.02})
                for p in st.ask("get", "floor*.om*.hv")["parameters"]}
    for n, link in enumerate(st.status()["links"]):
        t.equal(f"link {n} is up", (browser.attribute(f'[data-link="{n}"]', "data-state"),
                                    browser.shown(f'[data-link="{n}"] [data-field="state"]')), ("up", "UP"))
        t.equal(f"floor of link {n}", browser.shown(f'[data-link="{n}"] [data-field="floor"]'), f"tower1.floor{link['floor']}")
        agree(f"hits and bytes a second, frames lost, phase to 20 ps of link {n}", lambda of=n: of_link(of))
    t.equal("24 voltages", len(of_modules()), 24)
    agree("the voltages of all modules", of_modules)
    agree("rate of a module", lambda: {'[data-module="tower1.floor2.om3"] [data-field="rate"]': (
        st.ask("get", "floor2.om3.rate")["parameters"][0]["value"], {"part": 0.02})})
    agree("modules on, uncertainty of the clock", lambda: {
        "#modules-line": (st.status()["modules"]["on"], {}),
        '#clock [data-field="uncertainty"]': (st.status()["clock"]["uncertainty_ns"], {"part": 0.1})})
    t.equal("members", sorted(browser.shown("#members").split()[:1] + browser.shown("#members tr + tr").split()[:1]),
            sorted(m["member"] for m in st.ask("consumer", "list")["members"]))
    t.equal("state of the clock", browser.shown('#clock [data-field="state"]').lower(), st.status()["clock"]["state"])
    browser.shot("well")
    layout(t, browser)
    no_news(t, st, page, browser)


def turned_in_time(t, browser, what, news):
    """Judged by the page's own clock, less what the page's own timers were late."""
    turn = browser.driver.execute_script("return window.turns")[news]
    t.check(f"{what}: the page turned within 3 s of the last news", turn["ms"] - turn["late"] <= 3000, turn)


def missed(t, st, browser, what, news):
    st.wait_for(f"{what} is missed", lambda: browser.word() == "NO-NEWS", 20)
    t.equal(f"{what} is seen", browser.shown("#word"), "RED")
    turned_in_time(t, browser, what, news)
    browser.shot(what.replace(" ", "-"))


def news_again(t, st, browser):
    st.wait_for("the page has news again", lambda: browser.word() not in (None, "NO-NEWS"), 30)
    t.check("it has news again", True)


def no_news(t, st, page, browser):
    browser.driver.execute_async_script(WATCH)
    st.daemon.kill9()
    missed(t, st, browser, "a killed daemon", "status")
    st.start_daemon()
    news_again(t, st, browser)
    page.process.kill9()
    missed(t, st, browser, "a killed server", "anything")
    st.wait_for("ages grow", lambda: number(browser.shown('[data-link="0"] [data-field="age"]')) in range(3, 60), 10)
    t.check("ages grow without news", True)
    st.wait_for("this station has no unit", lambda: "make run" in (browser.shown("#advice") or ""), 10)
    for part in ("scope", "losses", "journal"):
        t.check(f"{part} is marked as old", "grayscale" in browser.style(f"#{part}", "filter"))
    browser.end(allowed=("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE",
                         "ERR_CONNECTION_CLOSED"))


def modules(floor, state):
    return {f"tower1.floor{floor}.om{m} {state}" for m in range(6)}


ANYWHERE = ["tower1.* stale"]  # on a slow host, for a moment
AHEAD = 5  # s, that a round begins before its faults
# Seconds after the begin of the data; faults of links of their own: (what is injected, its incident, what TURNED must
# see); what it may see besides; (seconds after that, what ends a fault). Nothing else may turn.
ROUNDS = [
    (30, [("link 1 unplug 8", "link1/link-dark", {"link1 dark"}),
          ("link 2 crc 1500", "link2/link-loss", {"link2 lost-minute"}),
          ("link 3 hv-trip 2", "tower1.floor4/hv-trip", {"tower1.floor4.om2 tripped"}),
          ("link 0 mute", "tower1.floor1/floor-mute", modules(1, "unknown"))],
     ["link1 *", "tower1.floor2.* unknown", "tower1.floor4.om2 low"], [(40, "link 0 unmute")]),
    (85, [("link 1 phase-step 300", "link1/phase-jump", {"link1 phase", "link1 JUMP"}),
          ("link 0 drop 400", "link0/link-loss", {"link0 lost-minute"}),
          ("link 2 phase-stop", "link2/phase-silent", {"link2 old"}),
          ("link 3 fcm-boot", "tower1.floor4/fcm-booted", {"link3 lost-minute"}),
          ("gps silent", "clock/clock-holdover", {"clock holdover"})],
     ["link3 *", "tower1.floor4.* unknown", "clock *"],
     [(30, "link 2 phase-go"), (30, "link 1 phase-step -300"), (30, "gps ok")]),
    (150, [("swap 0 3", "link0/floor-identity", {"link0 floor", "link3 floor"}),
           ("link 1 burst 400000 20", "tower1.floor2/hits-lost", modules(2, "light")),
           ("link 2 phase-drift 12", "link2/phase-drift", {"link2 phase", "link2 DRIFT"})],
     ["link[03] *", "tower1.floor[14].* unknown"], [(25, "swap 0 3"), (45, "link 2 phase-drift 0")]),
    (205, [("link 1 slip-on-align 3", "link1/phase-slip", {"link1 phase", "link1 SLIP"})],
     ["link1 *", "tower1.floor2.* unknown"], [(0.5, "link 1 unplug 1")]),
    (230, [("stall 4", "board/board-stalled", {f"link{n} silent" for n in range(4)})],
     ["link? aligning", "link? lost-minute", "link? old", "tower1.* unknown", "clock holdover"], []),  # no word, no PPS comes
]


def seconds(st):
    """Of data by now, as the scenario counts them."""
    return max(sum(link["cells"].values()) for link in st.status()["links"]) / 8000


def one_round(t, st, browser, faults, besides, until):
    before, turned, named = set(browser.turned()), set(), set()
    wanted = set().union(*(tiles for _, _, tiles in faults))
    t.equal("none of it is so before", wanted & before, set())

    def all_seen():
        turned.update(browser.turned())
        named.update(f"{obj}/{code}" for code, obj in browser.incidents())
        return wanted <= turned and {incident for _, incident, _ in faults} <= named
    try:
        st.wait_for("all tiles and incidents", all_seen, 60)
    except StationError:
        pass  # which, is said below
    t.equal("no link with an active incident is green", browser.driver.execute_script(GREEN), [])
    browser.shot(faults[0][0].replace(" ", "-"))
    while seconds(st) < until:
        all_seen()
        time.sleep(0.2)
    for what, incident, tiles in faults:
        t.check(f"{what}: told as {incident}", incident in named, named)
        t.check(f"{what}: {', '.join(sorted(tiles))}", tiles <= turned, turned)
    t.equal("no other tile turned", [x for x in sorted(turned - wanted - before)
                                     if not any(fnmatch.fnmatch(x, p) for p in [*besides, *ANYWHERE])], [])
    wanted = {(i["code"], i["object"]) for i in st.status()["incidents"]["list"] if i["state"] != "cleared"}
    st.wait_for("all that is active is on the page", lambda: wanted <= set(browser.incidents()), 10)


@harness.long
def every_fault(t):
    """each fault is on the page: its incident, its tile, and no other tile; texts of operators are text"""
    told = {incident.split("/")[1] for _, faults, _, _ in ROUNDS for _, incident, _ in faults}
    t.equal("each cause of a drill is among them", set().union(*(c.codes for c in causes.CAUSES)) - told, set())
    lines = [(at + after, what) for at, faults, _, ends in ROUNDS for after, what in [*((0, f[0]) for f in faults), *ends]]
    st = station(t, depth_ms=4000, scenario=t.scenario("from data\n" + "".join(f"at {at} {what}\n" for at, what in sorted(lines))))
    page = Server(st)
    browser = Browser(t, page)
    st.wait_for("it has news", lambda: browser.word() not in (None, "NO-NEWS"), 30)
    browser.driver.execute_async_script(WATCH)
    st.ask("log", "<img src=x onerror=alert(1)> seen", "--object", "floor2")
    starts = [at for at, *_ in ROUNDS]
    for (at, faults, besides, _), end in zip(ROUNDS, starts[1:] + [starts[-1] + 20]):
        st.wait_for("the next faults", lambda at=at: seconds(st) > at - AHEAD, 60)
        one_round(t, st, browser, faults, besides, end - AHEAD)
        if at == starts[0]:
            text = next(i["text"] for i in st.status()["incidents"]["list"] if i["code"] == "hv-trip")
            t.equal("an incident says what fcmctl says", browser.shown('[data-code="hv-trip"] [data-field="text"]'), text)
    turned_in_time(t, browser, "holdover", "holdover")
    st.daemon.signal(signal.SIGSTOP)
    missed(t, st, browser, "a daemon that hangs", "status")
    st.daemon.signal(signal.SIGCONT)
    news_again(t, st, browser)
    cleared = [e.text for e in browser.driver.find_elements(By.CSS_SELECTOR, "#incident-cleared > li")]
    causes_of = {i["text"] for i in st.status()["incidents"]["list"]}
    t.check("a cleared incident has its cause", cleared and all(any(c in line for c in causes_of) for line in cleared), cleared)
    browser.look("#incident-cleared summary").click()
    t.check("and can be unfolded", "incident show" in browser.shown("#incident-cleared > li"))
    t.check("the remark is text", not browser.driver.find_elements(By.CSS_SELECTOR, "img[src=x]"))
    t.equal("every part is shown", browser.driver.find_elements(By.CSS_SELECTOR, "[data-broken]"), [])
    for part in ("modules", "consumers", "scope", "losses", "sample", "journal"):
        browser.driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", part)
        browser.shot(part)
    browser.end()


NAMED = ("button", "link", "radio", "DisclosureTriangle", "article", "region", "image", "heading", "cell", "rowheader")


def advices():
    """All that the daemon's source and the dictionary advise."""
    texts = []
    for path in glob.glob(os.path.join(harness.ROOT, "daemon", "alarms", "*.c")):
        with open(path, encoding="utf-8") as f:
            for run in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', f.read()):
                texts.append("".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)))
    with open(DICTIONARY, encoding="utf-8") as f:
        texts += re.findall(r"^on_alarm = (.*)$", f.read(), re.M)
    return [text for text in texts if "fcmctl " in text]


def commands(t, browser):
    """A box that is copied has one command, and no prose."""
    texts = advices()
    t.check("there is much advice", len(texts) > 20, len(texts))
    for text, pieces in zip(texts, browser.driver.execute_async_script(PIECES, texts)):
        found = [p["command"] for p in pieces if "command" in p]
        t.equal(f"{text}: each command has a box", len(found), text.count("fcmctl "))
        wrong = [c for c in found if re.search(r"[?.:;,](\s|$)|\s\(", re.sub(r"'[^']*'", "", c)) or c.count("fcmctl") != 1]
        t.equal(f"{text}: a box has a command only", wrong, [])
        t.equal(f"{text}: nothing is lost", "".join(p.get("command", p.get("text")) for p in pieces), text)


def by_keyboard(t, browser):
    """Tab goes to each control, and is seen there."""
    controls, reached, unseen = [], set(), []
    for _ in range(100):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        controls, (at, outlined, html) = browser.driver.execute_script(CONTROLS)
        if at in reached:
            break
        if at >= 0:  # else the browser's own, or what scrolls
            reached.add(at)
            unseen += [] if outlined else [html]
    t.equal("Tab reaches each control", [c for n, c in enumerate(controls) if n not in reached], [])
    t.check("there are many", len(controls) > 8, controls)
    t.equal("where the focus is, is seen", unseen, [])


def by_name(t, browser):
    """What a screen reader has to say."""
    nodes = [n for n in browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"] if not n["ignored"]]
    names = [(n["role"]["value"], n.get("name", {}).get("value", "").strip()) for n in nodes]
    t.equal("each control, tile, part and module has a name", [role for role, name in names if role in NAMED and not name], [])
    for role, pattern, count in (("article", r"Link \d, up", 4), ("article", r"Incident \d+: tower1.floor4/hv-trip", 1),
                                 ("cell", r".*Hz.* V\b.*", 24)):
        found = [name for r, name in names if r == role and re.fullmatch(pattern, name, re.S)]
        t.equal(f"{count} of {role} {pattern}", len(found), count) or print(names)


@harness.long
def reads(t):
    """who reads it: contrast in light and dark, sizes for a wall, the keyboard, names for a screen reader"""
    st = station(t, scenario=scenario(t, (0, "link 3 hv-trip 2")))
    page = Server(st)
    browser = Browser(t, page)
    st.wait_for("an incident", lambda: ("hv-trip", "tower1.floor4") in browser.incidents(), 60)
    grounds = []
    for scheme in ("light", "dark"):
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                       {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        grounds.append(browser.style("body", "backgroundColor"))
        time.sleep(2)  # curves are drawn in the new colours
        dull = fed(browser, 8, DULL)["found"]
        t.check(f"{scheme}: each text has a contrast of 4.5 at least", not dull, (len(dull), sorted({tuple(x) for x in dull})[:20]))
        browser.shot(scheme)
    t.check("light is not dark", grounds[0] != grounds[1], grounds)
    ActionChains(browser.driver).send_keys("d").perform()
    t.equal("key d: light again", browser.style("body", "backgroundColor"), grounds[0])
    for css, least in (("#word", 100), ("#headline", 36), (".tile .state", 28), (".tile .rate b", 28)):
        size = float(browser.style(css, "fontSize").removesuffix("px"))
        t.check(f"{css} has {least} pixels at least on a wall of 1920 x 1080", size >= least, size)
    commands(t, browser)
    by_keyboard(t, browser)
    by_name(t, browser)
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
    harness.main([door, slow, past, year, live, numbers, every_fault, reads, for_long])
