// SPDX-License-Identifier: GPL-2.0-or-later
// What there is one of: the clock, the run, the recording, the daemon; and the consumers of the data.
import { $, attr, fill, keyed, make, rows } from "./dom.js";
import { ago, bytes, count, fixed, isNumber, losses, megabytes, rate, span, time, tone, when } from "./format.js";
import { advise } from "./advice.js";
import { ageNow, utc } from "./live.js";

function clockWords(c) {
  if ((c.source ?? "none") === "none") return "no source yet";
  return c.state === "locked" ? `by ${c.source}` : `since ${time(c.since)} UTC, last by ${c.source}`;
}

export function renderClock({ status }) {
  const c = status?.clock ?? {};
  const { gpsd, pps } = c;
  const fix = !gpsd ? "-" : `${gpsd.connected ? "connected" : "not connected"}, ${gpsd.fix ? "fix" : "no fix"}, `
    + `${gpsd.satellites ?? "-"} satellites, ${ago(ageNow(gpsd.age_s))}`;
  const offset = !isNumber(c.system_offset_s) ? "-"
    : `${fixed(Math.abs(c.system_offset_s), 6)} s ${c.system_offset_s < 0 ? "behind" : "ahead of"} the time in use, `
      + (c.system_synchronised ? "synchronised" : "not synchronised (proves nothing)");
  attr($("#clock"), "data-state", c.state);
  fill($("#clock"), {
    state: [c.state ?? "-", c.state ?? null, tone(c.state)],
    source: [clockWords(c), c.source ?? null],
    uncertainty: [isNumber(c.uncertainty_ns) ? `\u00b1${count(c.uncertainty_ns)} ns` : "-", c.uncertainty_ns ?? null],
    reason: c.reason || "-",
    gpsd: [fix, gpsd?.age_s ?? null, gpsd && !(gpsd.connected && gpsd.fix) ? "warn" : ""],
    pps: [pps ? `number ${pps.number ?? "-"}, ${ago(ageNow(pps.age_s))}` : "-", pps?.age_s ?? null],
    epoch: [c.time_epoch === undefined ? "-" : `${c.time_epoch} (${c.relabels ?? "-"} relabellings)`, c.time_epoch],
    system: [offset, c.system_offset_s ?? null, c.system_disagrees ? "warn" : ""],
  });
  advise($("#clock .action"), c.action);
}

function runWords(run) {
  if (!run) return "-";
  if (!run.number) return "none (data flow as run 0)";
  return `${run.number} since ${when(run.since, utc())} UTC  ${run.note ?? ""}`;
}

function recordingWords(r) {
  if (!r) return "-";
  if (!r.active) return "none";
  const links = (r.links ?? []).join(", ") || "-";
  return `${r.name} since ${when(r.since, utc())} UTC, links ${links}, ${bytes(r.bytes)} by now, `
    + `room for ${span(r.lasts_s)} more` + (r.let_go_frames > 0 ? `; ${count(r.let_go_frames)} cells let go` : "");
}

export function renderDaemon({ status }) {
  const { run, recording, store, commands, capture } = status ?? {};
  const { kept, refused, failed } = recording?.black_boxes ?? {};
  fill($("#daemon"), {
    run: [runWords(run), run?.number ?? null],
    recording: [recordingWords(recording), recording?.active ?? null, recording?.let_go_frames > 0 ? "warn" : ""],
    "black-boxes": `${count(kept)} kept, ${count(refused)} refused (too many), ${count(failed)} failed`,
    commands: [commands ? `${commands.open} open, ${commands.unknown} unknown` : "-", commands?.open ?? null,
      commands?.unknown > 0 ? "bad" : ""],
    store: [store ? `${store.state}, ${store.queued ?? "-"} rows queued, lag ${span(store.lag_s)}` : "-", store?.state,
      store ? tone(store.state) || "warn" : ""],
    capture: capture ? `last tick ${ago(ageNow(capture.tick_age_s))}` : "-",
    uptime: [status ? `${span(status.uptime_s)}, version ${status.version ?? "?"}` : "-", status?.uptime_s ?? null],
  });
}

const GROUP_FIELDS = ["group", "members", "waiting", "in_flight", "oldest_s", "rate", "dropped"];

function makeGroup() {
  const row = make("tr");
  GROUP_FIELDS.forEach((field, i) =>
    row.append(make(i ? "td" : "th", { "data-field": field, scope: i ? null : "row" })));
  return row;
}

function updateGroup(row, g) {
  const [dropped, names] = losses(g.dropped);
  attr(row, "data-group", g.group);
  fill(row, {
    group: g.group ?? "-",
    members: [count(g.members), g.members, g.members === 0 ? "bad" : ""],
    waiting: [count(g.waiting), g.waiting],
    in_flight: [count(g.in_flight), g.in_flight],
    oldest_s: [span(g.oldest_s), g.oldest_s ?? null],
    rate: [`${megabytes(g.bytes_per_s)} MB/s`, g.bytes_per_s ?? null],
    dropped: [names || count(dropped), dropped, dropped > 0 ? "warn" : ""],
  });
}

export function renderConsumers({ status, members }) {
  keyed($("#groups"), status?.groups ?? [], (g) => g.group, makeGroup, updateGroup);
  rows($("#members"), members ?? [], (m) => `${m.group}/${m.member}`, (m) => [
    m.member,
    m.group,
    [m.state, m.state, tone(m.state)],
    [count(m.in_flight), m.in_flight],
    [span(m.oldest_s), m.oldest_s],
    [rate(m.blocks_per_s), m.blocks_per_s],
    [`${megabytes(m.bytes_per_s)} MB/s`, m.bytes_per_s],
    [ago(ageNow(m.age_s)), m.age_s],
  ], "no consumer is connected");
}
