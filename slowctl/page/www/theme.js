// SPDX-License-Identifier: GPL-2.0-or-later
// Light or dark: as the machine prefers, until key d or the button changes it. Canvases get their colours here, from
// the custom properties of page.css.
import { $ } from "./dom.js";

const darkPreferred = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];
const probe = document.createElement("span");
const cache = new Map();

/** The custom property --NAME as "rgb(r, g, b)". */
export function colour(name) {
  if (!cache.has(name)) {
    probe.style.color = `var(--${name})`;
    cache.set(name, getComputedStyle(probe).color);
  }
  return cache.get(name);
}

export function onTheme(listener) {
  listeners.push(listener);
}

function changed() {
  cache.clear();
  for (const listener of listeners) listener();
}

function toggle() {
  const root = document.documentElement;
  const now = root.dataset.theme ?? (darkPreferred.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch { /* it is not kept */ }
  changed();
}

export function startTheme() {
  probe.hidden = true;
  document.body.append(probe);
  try {
    const kept = localStorage.getItem("theme");
    if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  } catch { /* nothing is kept */ }
  darkPreferred.addEventListener("change", changed);
  $("#theme").addEventListener("click", toggle);
  document.addEventListener("keydown", (e) => {
    if (e.key === "d" && !e.ctrlKey && !e.altKey && !e.metaKey && !e.repeat) toggle();
  });
}
