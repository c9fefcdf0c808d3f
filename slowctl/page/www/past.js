// SPDX-License-Identifier: GPL-2.0-or-later
// What the database has, fetched again and again: never twice at once, not while nobody looks, and not while the
// server is silent. A failed fetch leaves what is shown, with its age.
import { attr, put } from "./dom.js";
import { age } from "./format.js";
import { isSilent } from "./live.js";

const PATIENCE_MS = 30000;
const clock = () => performance.now() / 1000;
const sources = [];

async function get(url, signal) {
  const answer = await fetch(url, { signal, cache: "no-store" });
  const body = await answer.json().catch(() => null);
  if (!answer.ok || body === null || typeof body !== "object") {
    throw new Error([body?.error ?? `HTTP status ${answer.status}`, body?.hint].filter(Boolean).join("; "));
  }
  return body;
}

async function renew(s) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), PATIENCE_MS);
  s.controller?.abort();
  s.controller = controller;
  let error = null, body = null;
  try {
    body = await get(s.url(), controller.signal);
  } catch (e) {
    error = e.name === "AbortError" ? `no answer within ${PATIENCE_MS / 1000} s` : e.message;
  }
  clearTimeout(timer);
  if (s.controller !== controller) return; // another one has replaced it
  s.controller = null;
  s.due = clock() + s.every;
  if (body) {
    try {
      s.done(body);
      s.at = clock();
    } catch (e) {
      error = `the answer cannot be shown: ${e.message}`;
    }
  }
  s.error = error;
  showAge(s);
}

function showAge(s) {
  const seconds = s.at === null ? null : Math.floor(clock() - s.at);
  const text = seconds === null ? "not read yet" : `read ${age(seconds)}\u00a0ago`;
  for (const node of document.querySelectorAll(`[data-past="${s.name}"]`)) {
    put(node, s.error ? `${text}: ${s.error}` : text, seconds);
    attr(node.closest(".past"), "data-stale", s.error !== null || seconds === null || seconds > 3 * s.every);
  }
}

/**
 * Keeps `done` supplied with the answer of `url()`, each `every` seconds. Nodes with data-past=NAME show its age,
 * inside an element of class "past", which is greyed while it is old.
 * Returns a function that renews it at once.
 */
export function keep({ name, every, url, done }) {
  const s = { name, every, url, done, at: null, due: 0, error: null, controller: null };
  sources.push(s);
  return () => renew(s);
}

/** Once a second. */
export function tickPast() {
  for (const s of sources) {
    showAge(s);
    if (!document.hidden && !isSilent() && !s.controller && clock() >= s.due) renew(s);
  }
}
