// SPDX-License-Identifier: GPL-2.0-or-later
// What people and the station did: remarks of the logbook, events, commands, runs, recordings.
import { $, put, rows } from "./dom.js";
import { typed } from "./advice.js";
import { bytes, count, isNumber, time, tone, valueWord, when } from "./format.js";
import { utc } from "./live.js";
import { keep } from "./past.js";

const SHIFT_S = 8 * 3600;
const HOUR_S = 3600;
const SHOWN = 60;
const EVENTS = 200;

const since = (seconds) => (utc() - seconds).toFixed(0);
const isRemark = (e) => e.code === "remark" || e.code === "summary";
const eventKey = (e) => `${e.time} ${e.code} ${e.object} ${e.severity} ${e.text}`;

function renderEvents({ events }) {
  const list = events ?? [], now = utc();
  put($("#remarks-range"), list.length < EVENTS ? "last 8 h" : `of the newest ${EVENTS} events`);
  put($("#events-range"), list.length < EVENTS ? "last 8 h" : `remarks included, the newest ${EVENTS}`);
  rows($("#remarks"), list.filter(isRemark), eventKey, (e) => [
    [when(e.time, now), e.time], e.code, e.object || "-", e.text,
  ], `no remark in the last 8 h: ${typed("fcmctl log TEXT")}`);
  rows($("#events"), list.filter((e) => !isRemark(e)), eventKey, (e) => [
    [when(e.time, now), e.time], [e.severity, e.severity, tone(e.severity)], `${e.object || "-"}/${e.code}`, e.text,
  ], "no event in the last 8 h");
}

function renderCommands({ commands }) {
  rows($("#commands"), (commands ?? []).slice(0, SHOWN), (c) => c.command, (c) => [
    [String(c.command), c.command],
    [when(c.time, utc()), c.time],
    c.who,
    c.parameter,
    c.op === "action" ? "action"
      : `${valueWord(c.old, c.words)} \u2192 ${valueWord(c.new, c.words)}${c.unit ? ` ${c.unit}` : ""}`,
    [c.state, c.state, tone(c.state)],
    c.detail || "-",
    c.reason || "-",
  ], "no command in the last hour");
}

function renderRuns({ runs }) {
  rows($("#runs"), runs ?? [], (r) => r.number, (r) => [
    [String(r.number), r.number], time(r.begun), isNumber(r.ended) ? time(r.ended) : "under way", r.who || "-",
    r.note || "-",
  ], "no run yet");
}

function renderRecordings({ recordings }) {
  rows($("#recordings"), (recordings ?? []).slice(0, 10), (r) => r.name, (r) => [
    r.name,
    r.kind,
    isNumber(r.begun) ? time(r.begun) : "-",
    isNumber(r.ended) ? time(r.ended) : "-",
    [bytes(r.bytes), r.bytes],
    [`${r.let_go_at_least ? "at least " : ""}${count(r.let_go_frames)}`, r.let_go_frames,
      r.let_go_frames > 0 ? "warn" : ""],
    r.trouble || r.cause_text || r.why || r.note || "-",
  ], "no recording");
}

export function startJournal() {
  keep({
    name: "events", every: 10, done: renderEvents,
    url: () => `past/event.list?since=${since(SHIFT_S)}&limit=${EVENTS}`,
  });
  keep({
    name: "commands", every: 10, done: renderCommands,
    url: () => `past/command.list?since=${since(HOUR_S)}&limit=${SHOWN}`,
  });
  keep({ name: "runs", every: 60, url: () => "past/run.show?limit=5", done: renderRuns });
  keep({ name: "recordings", every: 60, url: () => "past/record.list?limit=10", done: renderRecordings });
}
