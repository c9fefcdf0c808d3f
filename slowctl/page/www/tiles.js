// SPDX-License-Identifier: GPL-2.0-or-later
// One tile per link: is it up, what it brings, what it has lost, and did its phase stay.
import { $, attr, clone, fill, keyed, put } from "./dom.js";
import { typed } from "./advice.js";
import { ago, count, fixed, floorName, isNumber, megabytes, rate, signed, sum, tone } from "./format.js";
import { date, graph } from "./graphs.js";
import { ageNow, utc } from "./live.js";
import { keep } from "./past.js";
import { colour } from "./theme.js";

const HOUR_S = 3600;
const OLD_S = 3;
let lostHour = null; // by link: frames of the hour before the last reading, and all that were lost until then
const shown = new Map(); // links as they are shown now

/** The mark of the moved phase, on a scale of three times the band to each side. */
function renderGauge(node, moved, band) {
  const known = isNumber(moved) && band > 0;
  attr($(".gauge", node), "hidden", known ? null : "");
  if (known) $(".gauge b", node).style.left = `${50 + 50 * Math.max(-1, Math.min(1, moved / (3 * band)))}%`;
}

const SEVERITIES = ["red", "warning"]; // the worst first

/** The worst active incident that is of the link, or explains something of it. Modules have their own map. */
function incidentOf(link, incidents) {
  const name = `link${link}`;
  const own = (incidents ?? []).filter((i) => ["active", "acknowledged"].includes(i.state)
    && [i, ...(i.observations ?? [])].some((o) => o.object === name));
  return SEVERITIES.map((severity) => own.find((i) => i.severity === severity)).find(Boolean);
}

/** ["modules: 4 tripped, 2 off", how good that is]: of the link's floor. */
function darkModules(floor, lists) {
  const [tripped, off] = ["tripped", "off"].map((state) =>
    (lists?.[state] ?? []).filter((name) => name.startsWith(`${floor}.`)).length);
  const words = [tripped && `${tripped} tripped`, off && `${off} off`].filter(Boolean).join(", ");
  return [words && `modules: ${words}`, tripped ? "bad" : "warn"];
}

function phaseFields(phase, band) {
  const moved = phase?.difference_ps;
  const outside = isNumber(moved) && isNumber(band) && Math.abs(moved) > band;
  const words = isNumber(moved) ? `${signed(moved)} ps` : !phase ? "-"
    : phase.reference ? "not measured" : "no reference";
  const limits = isNumber(band) ? `${outside ? "OUTSIDE" : "in"} \u00b1${fixed(band, 0)} ps` : "";
  const verdict = phase?.last?.verdict;
  return {
    phase: [`phase ${words}`, moved ?? null, outside ? "bad" : ""],
    band: [isNumber(moved) ? limits : "", band ?? null, outside ? "bad" : ""],
    sigma: [`sigma ${fixed(phase?.sigma_ps)} ps`, phase?.sigma_ps ?? null],
    verdict: [`re-lock ${verdict ?? "-"}`, verdict ?? null, tone(verdict)],
    "phase-age": [`phase ${ago(ageNow(phase?.age_s))}`, phase?.age_s ?? null],
  };
}

/** All frames of the link that were lost since the daemon's start. */
const lostOf = (link) => sum(Object.entries(link?.cells ?? {}).filter(([name]) => name !== "good").map(([, n]) => n));

function updateTile(node, { link, phase, incidents, modules }) {
  const band = phase?.tolerance_ps;
  const state = link.state ?? "unknown";
  const minute = link.lost_last_minute;
  // The hour is read once a minute, and not yet at the start; what came since is added.
  const hour = lostHour?.get(link.link);
  const lost = hour ? Math.max(hour.frames, hour.frames + lostOf(link) - hour.until, minute ?? 0) : minute > 0 ? minute : null;
  const floor = floorName(link), expected = floorName(link.expected);
  const other = floor !== "-" && expected !== "-" && floor !== expected;
  attr(node, "data-link", link.link);
  attr(node, "data-state", state);
  attr(node, "aria-label", `Link ${link.link}, ${state}`);
  const incident = incidentOf(link.link, incidents);
  const [dark, darkTone] = darkModules(floor, modules);
  const mute = state === "up" && link.hits_per_s === 0 ? darkTone : "";
  const tones = [other && "bad", mute, tone(state), tone(incident?.severity)];
  const edge = ["bad", "warn"].find((t) => tones.includes(t)) ?? (tone(state) || "dim");
  attr(node, "data-edge", edge);
  attr(node, "data-old", !isNumber(phase?.age_s) || ageNow(phase.age_s) > OLD_S);
  fill(node, {
    link: [`Link ${link.link}${link.name ? ` (${link.name})` : ""}`, link.link],
    floor: [other ? `${floor}, NOT ${expected}` : floor !== "-" || expected === "-" ? floor : `${expected} (expected)`, floor,
      other ? "bad" : ""],
    state: [state, state, edge],
    incident: [incident ? `${incident.severity}: ${incident.object}/${incident.code}` : "",
      incident?.number ?? null, tone(incident?.severity)],
    rate: [`${rate(link.hits_per_s)} hits/s`, link.hits_per_s ?? null, mute],
    modules: [dark, null, darkTone],
    bytes: [`${megabytes(link.bytes_per_s)} MB/s`, link.bytes_per_s ?? null],
    "lost-minute": [count(minute), minute ?? null, minute > 0 ? "bad" : ""],
    "lost-hour": [count(lost), lost],
    age: [`last frame ${ago(ageNow(link.age_s))}`, link.age_s ?? null],
    ...phaseFields(phase, band),
  });
  renderGauge(node, phase?.difference_ps, band);
}

/** A line across the curve where the reference is. */
const underlay = (reference) => (canvas, area, g) => {
  if (!isNumber(reference)) return;
  const y = g.toDomYCoord(reference);
  canvas.strokeStyle = colour("dim");
  canvas.setLineDash([6, 4]);
  canvas.beginPath();
  canvas.moveTo(area.x, y);
  canvas.lineTo(area.x + area.w, y);
  canvas.stroke();
  canvas.setLineDash([]);
};

function renderTrace(draw, p) {
  const points = (p.trace ?? []).filter((t) => isNumber(t[1]));
  const ends = [p.since, p.until].map((t) => [date(t), [null, null, null]]);
  const data = points.map(([t, mean, low, high]) => [date(t), [low ?? mean, mean, high ?? mean]]);
  const levels = [...points.flatMap((t) => t.slice(1)), p.reference_ps].filter(isNumber);
  const low = Math.min(...levels), high = Math.max(...levels), room = Math.max(5, (high - low) * 0.1);
  draw([ends[0], ...data, ends[1]], {
    valueRange: levels.length ? [low - room, high + room] : [0, 1],
    underlayCallback: underlay(p.reference_ps),
  });
}

function makeTile({ link }) {
  const node = clone("tile");
  const name = `trace-${link.link}`;
  const draw = graph($(".trace", node), {
    labels: ["time", "phase"], customBars: true, colours: ["curve"],
    axes: { x: { pixelsPerLabel: 80 }, y: { pixelsPerLabel: 40, axisLabelWidth: 56 } },
  });
  attr($("[data-past]", node), "data-past", name);
  keep({
    name, every: 60, done: (p) => renderTrace(draw, p),
    url: () => `past/phase?link=${link.link}&since=${(utc() - HOUR_S).toFixed(0)}&columns=180&rows=1`,
  });
  return node;
}

export function renderTiles({ status }) {
  const links = status?.links?.length ? status.links : [0, 1, 2, 3].map((link) => ({ link }));
  for (const link of links) shown.set(link.link, link);
  const tiles = links.map((link) => ({ link, phase: status?.phases?.find((p) => p.link === link.link),
    incidents: status?.incidents?.list, modules: status?.modules }));
  keyed($("#tiles"), tiles, (t) => t.link.link, makeTile, updateTile);
}

export function startTiles() {
  keep({
    name: "ledger", every: 60, url: () => `past/ledger.show?since=${(utc() - HOUR_S).toFixed(0)}&limit=1`,
    done: ({ totals, balanced }) => {
      const links = totals?.links ?? [];
      lostHour = new Map(links.map(({ link }) => [link, {
        frames: sum(links.filter((t) => t.link === link).map((t) => t.lost)), until: lostOf(shown.get(link)),
      }]));
      put($("#balanced"), balanced === undefined ? "" : balanced ? "ledger of the last hour: BALANCED"
        : "ledger of the last hour: NOT BALANCED: " + typed("fcmctl ledger show --since 1h"), balanced);
    },
  });
}
