// SPDX-License-Identifier: GPL-2.0-or-later
// The map of the optical modules: a row per floor, a cell per module with its rate, its HV and what is wrong with it.
import { $, attr, clone, fill, keyed, make, put } from "./dom.js";
import { fixed, isNumber, rate, span } from "./format.js";
import { ageNow, utc } from "./live.js";
import { keep } from "./past.js";

const LEVELS_HZ = [1e3, 1e4, 3e4, 6e4, 1e5, 3e5]; // a darker cell from each on
const BAD = ["tripped", "off", "low", "unknown"]; // lists of status.modules, the worst first
const MARKS = { tripped: "T trip", off: "O off", low: "L low HV", unknown: "? unknown", stale: "~ old", on: "" };
const MODULES = 6;

function stateOf(module, lists) {
  const listed = BAD.find((state) => lists?.[state]?.includes(module.name));
  if (listed) return listed;
  return module.quality === "good" ? "on" : module.quality === "stale" ? "stale" : "unknown";
}

const level = (hz) => (isNumber(hz) ? LEVELS_HZ.filter((from) => hz >= from).length : null);

function updateCell(cell, { module, state }) {
  if (!module) return;
  const age = ageNow(module.age_s);
  attr(cell, "data-module", module.name);
  attr(cell, "data-state", state);
  attr(cell, "data-quality", module.quality);
  attr(cell, "data-level", level(module.rate));
  attr(cell, "title", `${module.name}: ${MARKS[state].slice(2) || "on"}; HV set to ${fixed(module.hv_set, 0)} V; `
    + `values ${module.quality ?? "?"}`);
  fill(cell, {
    mark: MARKS[state],
    rate: [rate(module.rate, "Hz"), module.rate ?? null],
    hv: [`${fixed(module.hv, 0)} V`, module.hv ?? null],
    age: age > 10 ? `${span(age)} old` : "",
  });
}

function updateRow(row, { floor, link, cells }) {
  put(row.firstElementChild, `${floor}, link ${link ?? "-"}`);
  keyed(row, [{ head: true }, ...cells], (c) => (c.head ? "head" : `${c.om}${c.module ? "" : " none"}`),
    (c) => (c.module ? clone("module") : make("td", {}, "-")), (node, c) => c.head || updateCell(node, c));
}

const makeRow = () => make("tr", {}, make("th", { scope: "row", "data-key": "head" }));

/** What the terminal says in its line "modules". */
function words(m) {
  if (!m) return "-";
  const lists = ["tripped", "off", "low", "unknown"].filter((s) => m[s]?.length).map((s) => `${s}: ${m[s].join(", ")}`);
  return [`modules ${m.on ?? "-"}/${m.count ?? "-"} on`, ...lists].join("; ");
}

export function renderModules({ status, modules }) {
  const floors = new Map();
  for (const module of modules ?? []) {
    const floor = `tower${module.tower ?? "-"}.floor${module.floor ?? "-"}`;
    if (!floors.has(floor)) floors.set(floor, { floor, link: module.link, modules: new Map() });
    floors.get(floor).modules.set(module.om, module);
  }
  const list = [...floors.values()].sort((a, b) => (a.link ?? 9) - (b.link ?? 9)).map((f) => ({
    ...f,
    cells: Array.from({ length: MODULES }, (_, om) => {
      const module = f.modules.get(om);
      return { om, module, state: module && stateOf(module, status?.modules) };
    }),
  }));
  put($("#modules-line"), words(status?.modules), status?.modules?.on);
  attr($("#modules-line"), "data-tone", status?.modules?.on < status?.modules?.count ? "warn" : null);
  put($("#modules-none"), list.length ? "" : "no module has been read yet");
  keyed($("#module-rows"), list, (f) => f.floor, makeRow, updateRow);
}

export function startModules() {
  LEVELS_HZ.forEach((hz, i) => $("#levels").append(make("li", { "data-level": i + 1 }, `from ${rate(hz, "Hz")}`)));
  $("#levels").prepend(make("li", { "data-level": 0 }, `below ${rate(LEVELS_HZ[0], "Hz")}`));
  keep({
    name: "dark", every: 60, url: () => `past/dark.show?since=${(utc() - 86400).toFixed(0)}&limit=20`,
    done: ({ dark_s, hits }) => put($("#dark"), "dark in the last 24 h: " + (dark_s > 0
      ? `${rate(dark_s)} module-s, ${rate(hits)} hits not seen` : "nothing"), dark_s),
  });
}
