# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium before a page of a station, and what is looked at in it."""
import json
import os

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By


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

    def shown(self, css):
        """Its text as it is seen; None: it is not shown."""
        return self.driver.execute_script(
            "const e = document.querySelector(arguments[0]); return e && e.checkVisibility() ? e.innerText.trim() : null", css)

    def attribute(self, css, name):
        return self.driver.execute_script(
            "const e = document.querySelector(arguments[0]); return e && e.getAttribute(arguments[1])", css, name)

    def word(self):
        return self.attribute("body", "data-word")

    def incidents(self):
        """{(code, object): state}"""
        return {tuple(x[:2]): x[2] for x in self.driver.execute_script(
            "return [...document.querySelectorAll('[data-incident]')].map(e => [e.dataset.code, e.dataset.object, e.dataset.state])")}

    def turned(self):
        return self.driver.execute_script(TURNED)

    def style(self, css, name):
        return self.driver.execute_script(
            "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", css, name)

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

# Shows the page's status with every phase outside its band, and as many incidents as it is told, and looks at it as LOOK
# does; false: news came between.
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
    found: (() => {LOOK})(),
    clipped: titles.slice(0, 4).filter((h) => h.scrollWidth > h.clientWidth).length,
    modules: Math.max(...[...document.querySelectorAll("[data-module]")].map((m) => m.getBoundingClientRect().right)),
    visible: titles.filter((h) => h.getBoundingClientRect().bottom <= innerHeight).length,
    fresh: titles.filter((h) => h.textContent.includes("NEW")).length,
    below: document.querySelector("#incident-below").textContent,
    width: document.documentElement.scrollWidth})));
});"""


def fed(browser, count, look):
    """What FEED gives, once it is whole."""
    seen = False
    while not seen:
        seen = browser.driver.execute_async_script(FEED.replace("LOOK", look), count)
    return seen


# The pieces of each text of advice, in which each command is of its own.
PIECES = """
const [texts, done] = arguments;
import("/advice.js").then(({pieces}) => done(texts.map((t) => pieces(t))));"""

# Links with an active incident of their own whose tile is as that of a good link.
GREEN = """
return [...document.querySelectorAll(".incident[data-state=active][data-object^=link]")].filter((i) =>
  document.querySelector(`[data-link="${i.dataset.object.slice(4)}"]`).dataset.edge === "good").map((i) => i.dataset.object)"""

# What is not as on a well station: ["link1 dark", "link2 lost-minute", "tower1.floor4.om2 tripped", "clock holdover"].
TURNED = """
const found = [];
for (const tile of document.querySelectorAll("[data-link]")) {
  const say = (what) => found.push(`link${tile.dataset.link} ${what}`);
  const field = (name) => tile.querySelector(`[data-field="${name}"]`).dataset;
  if (tile.dataset.state !== "up") say(tile.dataset.state);
  if ("old" in tile.dataset) say("old");
  for (const name of ["floor", "lost-minute", "phase"]) if (field(name).tone === "bad") say(name);
  if (["bad", "warn"].includes(field("verdict").tone)) say(field("verdict").value);
}
for (const cell of document.querySelectorAll("[data-module]")) {
  if (cell.dataset.state !== "on") found.push(`${cell.dataset.module} ${cell.dataset.state}`);
  if (cell.dataset.level === "6") found.push(`${cell.dataset.module} light`);
}
const clock = document.querySelector("#clock").dataset.state;
if (clock !== "locked") found.push(`clock ${clock}`);
return found"""

# Writes down, by the page's own clocks, how old the news was (ms) when the page turned: its status, anything that came,
# the holdover of the clock (by the daemon's clock). `late`: by how much more than it was to a timer of the page came of late.
WATCH = """
const done = arguments[0];
import("/live.js").then(({live, stationAge}) => {
  const tick_ms = 250, late = [];
  let last = performance.now();
  setInterval(() => {
    late.push(performance.now() - last - tick_ms);
    last = performance.now();
    if (late.length > 20) late.shift();
  }, tick_ms);
  window.turns = {};
  const note = (name, ms) => {
    window.turns[name] = {ms, late: Math.max(0, performance.now() - last - tick_ms, ...late)};
  };
  const since = (at) => performance.now() - 1000 * at;
  new MutationObserver(() => {
    if (document.body.dataset.word !== "NO-NEWS") return;
    note("status", 1000 * stationAge());
    note("anything", since(Math.max(live.stationAt, live.sampleAt ?? 0)));
  }).observe(document.body, {attributeFilter: ["data-word"]});
  new MutationObserver(() => {
    const {time, clock} = live.station.status;
    if (clock.state === "holdover") note("holdover", 1000 * (time - clock.since + stationAge()));
  }).observe(document.querySelector("#clock"), {attributeFilter: ["data-state"]});
  done();
});"""

# Shown texts whose contrast against what is below them is less than 4.5 (WCAG 2.1, AA): [text, ratio, state word].
# The head has each state word in turn, the modules have each state on several colours, a link has an old phase.
DULL = """
const parse = (c) => { const [r, g, b, a = 1] = c.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
const over = (top, below, part = top[3]) => [0, 1, 2].map((i) => top[i] * part + below[i] * (1 - part)).concat(1);
const ground = (e) => {
  if (!e) return [255, 255, 255, 1];
  const c = parse(getComputedStyle(e).backgroundColor);
  return c[3] === 1 ? c : over(c, ground(e.parentElement));
};
const light = (c) => c.slice(0, 3).map((x) => x / 255).map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
  .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
const ratio = (node) => {
  const e = node.parentElement, style = getComputedStyle(e), bar = e.closest(".bar:not(.thin)");
  let below = bar ? parse(getComputedStyle(bar.querySelector("rect")).fill) : ground(e);
  let ink = over(parse(e.ownerSVGElement ? style.fill : style.color), below);
  for (let a = e; a; a = a.parentElement) {
    const opacity = Number(getComputedStyle(a).opacity), under = ground(a.parentElement);
    if (opacity < 1) [ink, below] = [over(ink, under, opacity), over(below, under, opacity)];
  }
  const [high, low] = [light(ink), light(below)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};
const texts = () => {
  const range = document.createRange(), all = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    range.selectNodeContents(n);
    const box = range.getBoundingClientRect();
    if (n.data.trim() && box.width > 1 && box.right > 0 && n.parentElement.checkVisibility()) all.push(n);
  }
  return all;
};
const dull = [], states = ["on", "tripped", "off", "low", "unknown", "stale"];
[...document.querySelectorAll("[data-module]")].forEach((cell, n) => {
  cell.dataset.state = states[n % 6];
  cell.dataset.level = 2 * Math.floor(n / 6);
});
document.querySelector("[data-link='1']").dataset.old = "true";
for (const word of ["WELL", "ATTENTION", "RED", "NO-NEWS"]) {
  document.body.dataset.word = word;
  for (const n of texts()) if (ratio(n) < 4.5) dull.push([n.data.trim().slice(0, 40), ratio(n).toFixed(2), word]);
}
return dull"""

# What can be operated, as Tab reaches it: of radio buttons of a name the chosen one. Its name, for who reads the result.
CONTROLS = """
const controls = [...document.querySelectorAll("a[href], button, summary, input, [tabindex='0']")].filter((e) =>
  e.checkVisibility() && (e.type !== "radio" || e.checked));
const mark = (e) => {
  const shown = e.type === "radio" ? e.nextElementSibling : e;
  const style = getComputedStyle(shown);
  return [controls.indexOf(e), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2, e.outerHTML.slice(0, 80)];
};
return [controls.map((e) => e.outerHTML.slice(0, 80)), mark(document.activeElement)]"""
