// SPDX-License-Identifier: GPL-2.0-or-later
// The page: the state of the station at its head, which turns red by itself when news stops; then the parts, each
// drawn by its own module, so that a fault in one does not take the others with it.
import { $, attr, put } from "./dom.js";
import { age, time } from "./format.js";
import { advise } from "./advice.js";
import { ageOf, isSilent, live, noNews, startLive, stationAge, utc } from "./live.js";
import { renderIncidents, startIncidents, words } from "./incidents.js";
import { startJournal } from "./journal.js";
import { startLosses } from "./losses.js";
import { renderModules, startModules } from "./modules.js";
import { tickPast } from "./past.js";
import { renderSample, startSample, takeSample, tickSample } from "./sample.js";
import { startScope } from "./scope.js";
import { renderClock, renderConsumers, renderDaemon } from "./station.js";
import { startTheme } from "./theme.js";
import { renderTiles, startTiles } from "./tiles.js";

const TICK_MS = 250;
const WORDS = ["WELL", "ATTENTION", "RED"];

/** By the id of the section that each draws into. */
const parts = {
  incidents: renderIncidents, links: renderTiles, modules: renderModules, clock: renderClock, daemon: renderDaemon,
  consumers: renderConsumers,
};

/** A part that throws says so in its place. */
function guarded(id, draw) {
  try {
    draw();
    attr(document.getElementById(id), "data-broken", null);
  } catch (e) {
    attr(document.getElementById(id), "data-broken", e.message);
  }
}

function newsWords(none) {
  if (!none) return `status ${age(stationAge())} old`;
  return none.seconds === null ? "NO NEWS yet" : `NO NEWS for ${age(none.seconds)}`;
}

function renderHead() {
  const none = noNews();
  const { status } = live.station ?? {};
  const known = WORDS.includes(status?.incidents?.word);
  const word = !none && known ? status.incidents.word : "RED";
  const headline = none ? none.why : known ? status.incidents.headline ?? "" : "the daemon does not say how it is";
  const seconds = none ? none.seconds : stationAge();
  attr(document.body, "data-word", none ? "NO-NEWS" : word);
  put($("#word"), word);
  put($("#headline"), headline);
  put($("#headline-more"), none ? "" : words(status?.incidents?.list, status?.incidents?.headline));
  put($("#news"), newsWords(none), seconds?.toFixed(1) ?? null);
  advise($("#advice"), none?.advice ?? "");
  put($("#now"), `${time(utc())} UTC`);
  put($("#board"), status ? `board ${status.board ?? "-"}${status.name ? ` (${status.name})` : ""}` : "");
  put($("#as-of"), none && status ? `below: as it was at ${time(status.time)} UTC` : "");
  const title = `${none ? "NO NEWS" : word}: ${headline}`;
  if (document.title !== title) document.title = title;
}

/** Whatever goes wrong here, the page never stays on a good word. */
function head() {
  try {
    renderHead();
  } catch (e) {
    attr(document.body, "data-word", "NO-NEWS");
    put($("#word"), "RED");
    put($("#headline-more"), "");
    put($("#headline"), `this page has a fault: ${e.message}`);
  }
}

function tickAges() {
  for (const node of document.querySelectorAll("[data-age]")) {
    const seconds = ageOf(node.dataset.age);
    put(node, seconds === null ? "never read" : `${age(seconds)} old`, seconds?.toFixed(1) ?? null);
  }
}

/** Says where a table goes on beside what is shown of it. */
function tickWidths() {
  for (const node of document.querySelectorAll(".scroll")) {
    attr(node, "data-cut", node.scrollWidth > node.clientWidth + 1);
  }
}

function renderParts() {
  if (!live.station || document.hidden) return;
  for (const [id, render] of Object.entries(parts)) guarded(id, () => render(live.station));
}

function onNews(name) {
  if (name === "station") {
    head();
    renderParts();
  } else {
    guarded("sample", () => {
      takeSample();
      if (!document.hidden) renderSample();
    });
  }
}

let ticks = 0;

function tick() {
  head();
  if (ticks++ % (1000 / TICK_MS) === 0) {
    tickAges();
    tickPast();
    tickSample();
    tickWidths();
    if (isSilent()) renderParts(); // their ages grow
  }
}

startTheme();
new ResizeObserver(([{ target }]) => document.documentElement.style.setProperty("--head", `${target.offsetHeight}px`))
  .observe($("#head"));
for (const [id, start] of Object.entries({
  links: startTiles, incidents: startIncidents, modules: startModules, scope: startScope, losses: startLosses,
  sample: startSample, journal: startJournal,
})) guarded(id, start);
for (const [id, render] of Object.entries(parts)) guarded(id, () => render({}));
startLive(onNews);
setInterval(tick, TICK_MS);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  tick();
  renderParts();
});
