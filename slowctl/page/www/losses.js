// SPDX-License-Identifier: GPL-2.0-or-later
// Frames that were lost on links or dropped by groups: over time, stacked by name, with the sum of each name.
import { $, attr, choice, keyed, make, put } from "./dom.js";
import { count, fixed, rate, span, sum } from "./format.js";
import { date, graph } from "./graphs.js";
import { utc } from "./live.js";
import { keep } from "./past.js";
import { colour } from "./theme.js";

const COLUMNS = 240;
const COLOURS = 12;
const WINDOWS = [[3600, "1 h"], [86400, "24 h"], [604800, "7 d"]];
const LINK_LOSSES = ["link-down", "board-fifo", "ring-full", "crc", "alignment", "time-fault"];

/** A name of a link's loss has its own colour; what groups dropped has the others, in order. */
function coloursOf(names) {
  let next = LINK_LOSSES.length;
  return names.map((name) => {
    const own = LINK_LOSSES.indexOf(name);
    return `loss-${own >= 0 ? own : next++ % COLOURS}`;
  });
}

function renderNames(names, colours, totals) {
  const items = names.map((name, i) => ({ name, colour: colours[i], total: totals[i] }));
  const create = () => make("tr", {}, make("th", { scope: "row" }, make("i"), make("span")), make("td"));
  keyed($("#loss-names"), items, (item) => item.name, create, (row, { name, colour, total }) => {
    attr($("i", row), "class", colour);
    put($("span", row), name);
    attr(row, "data-loss", name);
    put(row.lastElementChild, count(Math.round(total)), total);
  });
}

/** Behind the curves: grey where nothing is known. */
function shade(p) {
  return (canvas, area, g) => {
    canvas.fillStyle = colour("line");
    for (const column of p.unaccounted ?? []) {
      const [from, to] = [column, column + 1].map((c) => g.toDomXCoord(date(p.since + c * p.column_s)));
      canvas.fillRect(from, area.y, to - from, area.h);
    }
  };
}

function render(draw, p) {
  const names = p.names ?? [], columns = p.columns ?? [];
  const colours = coloursOf(names);
  const values = columns.map((column) => names.map((_, n) => column?.[n] ?? 0)); // null: nothing was lost
  const totals = names.map((_, n) => sum(values.map((v) => v[n])));
  const data = values.map((v, i) => [date(p.since + i * p.column_s), ...(v.length ? v : [0])]);
  const last = data.at(-1) ?? [null, ...(names.length ? names.map(() => 0) : [0])];
  data.push([date(p.until), ...last.slice(1)]);
  renderNames(names, colours, totals);
  const unknown = (p.unaccounted ?? []).length * p.column_s;
  put($("#loss-text"), (names.length ? `${count(Math.round(sum(totals)))} frames in all` : "no loss is known")
    + (unknown ? `; grey: ${span(unknown)} without an account, no daemon or no board` : "")
    + (p.cut ? "; there are more losses than can be read: the picture begins later" : ""), sum(totals));
  put($("#loss-unit"), `frames lost in each ${span(p.column_s)}; time in UTC`);
  draw(data, {
    labels: ["time", ...(names.length ? names : ["none"])], colours: names.length ? colours : ["dim"], underlayCallback: shade(p),
  });
}

export function startLosses() {
  const draw = graph($("#loss-graph"), {
    stackedGraph: true, stepPlot: true, fillAlpha: 0.7, strokeWidth: 1, includeZero: true,
    axes: { y: { axisLabelWidth: 64, axisLabelFormatter: (y) => (y < 10 ? fixed(y, y % 1 ? 1 : 0) : rate(y)) } },
  });
  const chosen = choice($("#loss-window"), WINDOWS, 3600, () => renew());
  const renew = keep({
    name: "losses", every: 60, done: (p) => render(draw, p),
    url: () => `past/losses?since=${(utc() - chosen()).toFixed(0)}&until=${utc().toFixed(0)}&columns=${COLUMNS}`,
  });
}
