// SPDX-License-Identifier: GPL-2.0-or-later
// What is wrong: the incidents of now with their cost and what to do, and the shift's as a time line and a table.
import { $, attr, clone, fill, keyed, make, makeSvg, put, rows } from "./dom.js";
import { acknowledgedWords, costWords, isNumber, pausedWords, span, time, tone, when } from "./format.js";
import { advise } from "./advice.js";
import { isSilent, live, utc } from "./live.js";
import { keep } from "./past.js";

const SHIFT_S = 8 * 3600;
const HOUR_S = 3600;
const NEW_S = 60;
const CLEARED = 6;
const LANES = 6;
const LANE_PX = 16;
const LEAST_PX = 3;
const DIGIT_PX = 8;
const GAP_PX = 4;
const LABEL_PX = 36;

let shift = []; // the incidents of the shift, as the database has them

/** Active: "red" or "warning"; of what does not count: its state. */
const stateWord = (i) => (i.state === "active" ? i.severity : i.state) ?? "red";

/** Without news the time since then is unknown: it does not grow. */
const sinceWords = (i) => {
  const now = isSilent() && isNumber(live.station?.time) ? live.station.time : utc();
  if (!isNumber(i.until)) return [`since ${when(i.since, now)} UTC`, `for ${span(now - i.since)}`];
  return [`${when(i.since, now)} to ${when(i.until, now)} UTC`, `lasted ${span(i.until - i.since)}`];
};

function updateObservation(node, o) {
  const hands = [acknowledgedWords(o.acknowledged), pausedWords(o.paused)].filter(Boolean).join("; ");
  const [since] = sinceWords(o);
  fill(node, {
    text: `${o.object}/${o.code}: ${o.text}`,
    facts: [since, costWords(o) === "-" ? "" : costWords(o), o.count > 1 ? `began ${o.count} times` : "", hands]
      .filter(Boolean).join("; "),
  });
  advise($('[data-field="action"]', node), o.action);
}

const makeObservation = () =>
  make("li", {}, make("p", { "data-field": "text" }), make("p", { "data-field": "facts", class: "facts" }),
    make("p", { "data-field": "action", class: "action" }));

const isActive = (i) => i.state === "active" || i.state === "acknowledged";

/** Beside the headline: how many more are active, and which of them came last. */
export function words(list, headline) {
  const others = (list ?? []).filter((i) => isActive(i) && !headline?.startsWith(`${i.object}/${i.code}:`));
  if (!others.length) return "";
  const newest = others.reduce((a, b) => (b.since > a.since ? b : a));
  return `+${others.length} more, newest: ${newest.object}/${newest.code}`;
}

function mark(node, i) {
  for (const name of ["state", "severity", "code", "object"]) attr(node, `data-${name}`, i[name]);
  attr(node, "data-incident", i.number);
}

const makeCleared = () =>
  make("li", {}, make("details", {}, make("summary", {}, make("b", { "data-field": "name" }), " ",
    make("span", { "data-field": "text" }), " ", make("span", { "data-field": "facts" })),
  make("p", { "data-field": "action", class: "action" }), make("ul"),
  make("p", { "data-field": "commands", class: "action" })));

function updateCleared(node, i) {
  mark(node, i);
  fill(node, {
    name: `no. ${i.number ?? "-"} cleared ${i.object}/${i.code}:`,
    text: i.text ? `${i.text};` : "",
    facts: `${sinceWords(i)[0]}, cost: ${costWords(i.cost)}`,
  });
  updateDetails(node, i);
}

const explainedOf = (i) => (i.observations ?? []).filter((o) => o.code !== i.code || o.object !== i.object);

/** What is folded: what to do while it is active, and what else the incident explains. */
function updateDetails(node, i) {
  const explained = isActive(i) ? explainedOf(i) : explainedOf(i).map((o) => ({ ...o, action: "" }));
  advise($('[data-field="action"]', node), i.action);
  advise($('[data-field="commands"]', node), "", !isNumber(i.number) ? [] : [`fcmctl incident show ${i.number}`]
    .concat(i.state === "active" ? [`fcmctl incident ack ${i.number}`] : []));
  keyed($("ul", node), explained, (o) => `${o.object}/${o.code}/${o.loss}`, makeObservation, updateObservation);
}

/** `leads`: its details are open, until somebody folds them. */
function updateIncident(node, i, leads) {
  const [since, duration] = sinceWords(i);
  const word = stateWord(i);
  const explained = explainedOf(i).length;
  mark(node, i);
  attr(node, "aria-label", `Incident ${i.number ?? "-"}: ${i.object}/${i.code}`);
  if (node.hasAttribute("data-leads") !== leads) $("details", node).open = leads;
  attr(node, "data-leads", leads || null);
  fill(node, {
    number: [`${i.number ?? "-"}`, i.number ?? null],
    state: [word, i.state, isActive(i) ? tone(i.severity) : "dim"],
    new: isActive(i) && utc() - i.since < NEW_S ? "NEW" : "",
    name: `${i.object ?? "?"}/${i.code ?? "?"}`,
    text: i.text ?? "",
    since: [since, i.since],
    duration: [duration, (isNumber(i.until) ? i.until : utc()) - i.since],
    cost: `cost: ${costWords(i.cost)}`,
    held: i.held ? "has ended, waits to be acknowledged" : "",
    own: i.own ? `by our command: ${i.own}` : "",
    acknowledged: acknowledgedWords(i.acknowledged),
    paused: pausedWords(i.paused),
    explains: `explains ${explained} more`,
  });
  $(".explains", node).hidden = explained === 0;
  updateDetails(node, i);
}

export function renderIncidents({ status }) {
  const incidents = status?.incidents;
  const list = incidents?.list ?? [];
  const states = ["active", "acknowledged", "paused", "cleared"].map((s) => [s, list.filter((i) => i.state === s)]);
  const now = states.slice(0, 3).flatMap(([, of]) => of);
  put($("#incident-count"), states.filter(([, of]) => of.length).map(([s, of]) => `${of.length} ${s}`).join(", "));
  put($("#incident-none"), !incidents ? "not known" : now.length ? ""
    : list.length ? "no incident is active" : "no incident now, or in the last 10 minutes");
  const lead = now.find((i) => i.state === "active" && i.severity === "red");
  keyed($("#incident-list"), now, (i) => i.number, () => clone("incident"),
    (node, i) => updateIncident(node, i, i === lead));
  const cleared = [...states[3][1]].sort((a, b) => b.until - a.until);
  keyed($("#incident-cleared"), cleared.slice(0, CLEARED), (i) => i.number, makeCleared, updateCleared);
  const more = (incidents?.pauses ?? []).map((p) =>
    `${p.name}, not active: ${[acknowledgedWords(p.acknowledged), pausedWords(p.paused)].filter(Boolean).join("; ")}`);
  if (cleared.length > CLEARED) more.unshift(`${cleared.length - CLEARED} more cleared: see the journal`);
  if (incidents?.left_out > 0) more.unshift(`${incidents.left_out} more observations had no room`);
  keyed($("#incident-more"), more, (text) => text, () => make("li"), put);
  tickBelow();
}

/** Active ones that the screen ends above. The line that says so sticks to the screen's end. */
function tickBelow() {
  const line = $("#incident-below"), end = innerHeight - line.offsetHeight;
  const below = [...$("#incident-list").children].filter((node) => $("h3", node).getBoundingClientRect().bottom > end);
  put(line, below.length ? `${below.length} more below` : "");
}

/* --- the time line --- */

const set = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) attr(node, name, value);
};

/**
 * Gives each incident the first lane that is free then, and the last lane when none is. In pixels. Its number is in
 * its bar, else to the right of it, else to the left; it has none where none of these has room.
 */
function lay(incidents, since, until, width) {
  const ends = new Array(LANES).fill(-Infinity);
  const px = (t) => ((t - since) / (until - since)) * width;
  return incidents.map((i) => {
    const end = px(isNumber(i.until) ? i.until : until), start = px(Math.max(i.since, since));
    const w = Math.max(end - start, LEAST_PX), x = Math.max(0, Math.min(start, width - w));
    const number = String(i.number).length * DIGIT_PX + 2 * GAP_PX;
    const inside = w >= number, after = !inside && x + w + number <= width;
    const from = inside || after ? x : x - number;
    const free = [from, x].map((at) => ends.findIndex((taken) => taken <= at)); // the second: without its number
    const named = free[0] >= 0, lane = named ? free[0] : free[1] >= 0 ? free[1] : LANES - 1;
    ends[lane] = Math.max(ends[lane], x + w + (named && after ? number : 0) + GAP_PX / 2);
    return { i, lane, x, w, at: !named ? null : inside ? "inside" : after ? "after" : "before" };
  });
}

function makeBar() {
  const g = makeSvg("g");
  g.append(makeSvg("title"), makeSvg("rect"), makeSvg("text"));
  return g;
}

function updateBar(g, { i, lane, x, w, at }) {
  const [title, rect, text] = g.children;
  attr(g, "class", `bar ${i.severity}${at === "inside" ? "" : " thin"}`);
  put(title, `${i.number} ${i.severity} ${i.object}/${i.code}: ${sinceWords(i).join(", ")}`);
  set(rect, { x: x.toFixed(1), width: w.toFixed(1), y: lane * LANE_PX + 2, height: LANE_PX - 4 });
  set(text, { x: (at === "before" ? x - GAP_PX : x + GAP_PX + (at === "after" ? w : 0)).toFixed(1) });
  set(text, { y: lane * LANE_PX + LANE_PX - 4, "text-anchor": at === "before" ? "end" : "start" });
  put(text, at ? String(i.number) : "");
}

function makeTick() {
  const g = makeSvg("g");
  g.append(makeSvg("line"), makeSvg("text"));
  return g;
}

function renderTimeLine(incidents) {
  const until = utc(), earliest = until - SHIFT_S;
  const first = Math.max(earliest, Math.min(until, ...incidents.map((i) => i.since)));
  const since = Math.min(first, until - HOUR_S), span_s = until - since; // of a young station: no empty hours
  const width = $("#time-line").getBoundingClientRect().width || 400;
  const bars = lay(incidents, since, until, width);
  const step = [900, 1800].find((s) => span_s / s <= 8) ?? HOUR_S;
  const height = LANE_PX * Math.max(1, ...bars.map((b) => b.lane + 1));
  const hours = [];
  for (let t = Math.ceil(since / step) * step; t <= until; t += step) hours.push(t);
  const range = since > earliest ? `since ${time(since).slice(11, 16)}` : "last 8 h";
  put($("#time-line-range"), range);
  attr($("#time-line"), "height", height + 18);
  attr($("#time-line"), "aria-label",
    `Incidents, ${range}: ${incidents.length}; they are also in the table "Incidents of the shift"`);
  keyed($("#time-line .ticks"), hours, (t) => t, makeTick, (g, t) => {
    const part = (t - since) / span_s, x = `${(100 * part).toFixed(2)}%`, half = LABEL_PX / 2 / width;
    set(g.children[0], { x1: x, x2: x, y1: 0, y2: height });
    const anchor = part < half ? "start" : part > 1 - half ? "end" : "middle";
    set(g.children[1], { x, y: height + 14, "text-anchor": anchor });
    put(g.children[1], time(t).slice(11, 16));
  });
  keyed($("#time-line .bars"), bars, (b) => b.i.number, makeBar, updateBar);
}

function renderPast({ incidents }) {
  const list = (incidents ?? []).filter((i) => isNumber(i.since));
  shift = list;
  renderTimeLine(list);
  rows($("#incident-history"), [...list].reverse(), (i) => i.number, (i) => [
    [String(i.number), i.number],
    [i.severity, i.severity, tone(i.severity)],
    when(i.since, utc()),
    isNumber(i.until) ? when(i.until, utc()) : "active",
    costWords(i.cost),
    `${i.object}/${i.code}: ${i.text}`,
    [i.own, i.acknowledged_by ? acknowledgedWords({ who: i.acknowledged_by, text: i.acknowledged_text }) : ""]
      .filter(Boolean).join("; ") || "-",
  ], "no incident in the last 8 h");
}

export function startIncidents() {
  for (const what of ["scroll", "resize"]) addEventListener(what, tickBelow, { passive: true });
  new ResizeObserver(() => renderTimeLine(shift)).observe($("#time-line").parentElement);
  keep({
    name: "incidents", every: 10, done: renderPast,
    url: () => `past/incident.history?since=${(utc() - SHIFT_S).toFixed(0)}&limit=200`,
  });
}
