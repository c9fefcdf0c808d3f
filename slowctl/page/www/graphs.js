// SPDX-License-Identifier: GPL-2.0-or-later
// Curves by dygraphs, without its interaction and its legend, in the page's colours.
import { colour, onTheme } from "./theme.js";

/** The legend's plugin sets a style attribute, which the page's Content-Security-Policy forbids. */
function usable() {
  if (!window.Dygraph) return false;
  const named = (plugin) => String(plugin.prototype);
  if (Dygraph.PLUGINS.some((p) => named(p) === "Legend Plugin")) {
    Dygraph.PLUGINS = Dygraph.PLUGINS.filter((p) => named(p) !== "Legend Plugin");
  }
  return true;
}

/**
 * A curve in `div`; returns draw(data, options). Dygraph's options, except that `colours` are names of custom
 * properties. `data`: rows [x, y...], not empty; x a Date or a number.
 */
export function graph(div, fixed) {
  let g = null, last = null;
  function draw(data, options = {}) {
    last = [data, options];
    if (!usable()) {
      div.textContent = "dygraph.min.js is missing: install libjs-dygraphs on the machine of the page";
      return;
    }
    if (!div.clientWidth) return; // it is not shown, and has no size
    const { colours, ...more } = { ...fixed, ...options };
    const all = {
      labelsUTC: true, legend: "never", interactionModel: {}, showLabelsOnHighlight: false, highlightCircleSize: 0,
      axisLabelFontSize: 12, axisLineColor: colour("dim"), gridLineColor: colour("line"), gridLineWidth: 1,
      strokeWidth: 1.5, colors: (colours ?? ["curve"]).map(colour), ...more,
    };
    if (g) g.updateOptions({ ...all, file: data });
    else g = new Dygraph(div, data, all);
  }
  new ResizeObserver(() => div.clientWidth && g?.resize()).observe(div);
  onTheme(() => last && draw(...last));
  return draw;
}

export const date = (utc_s) => new Date(utc_s * 1000);
