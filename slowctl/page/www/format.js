// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers, times and standard words as texts, the same as fcmctl prints them. "-": not known.

export const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
export const sum = (numbers) => numbers.reduce((a, b) => a + (isNumber(b) ? b : 0), 0);

/** "8000", "12.3 k", "1.25 M"; with a unit "8000 Hz", "12.3 kHz", "1.25 MHz". A line never ends before a unit. */
export function rate(x, unit = "") {
  const join = (text, prefix) => (prefix + unit ? `${text}\u00a0${prefix}${unit}` : text);
  if (!isNumber(x)) return join("-", "");
  const size = Math.abs(x);
  if (size < 9999.5) return join(x.toFixed(0), "");
  if (size < 999950) return join((x / 1e3).toFixed(1), "k");
  if (size < 999.995e6) return join((x / 1e6).toFixed(2), "M");
  return join((x / 1e9).toFixed(2), "G");
}

export const count = (x) => (isNumber(x) ? x.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u202f") : "-");
export const fixed = (x, digits = 1) => (isNumber(x) ? x.toFixed(digits) : "-");
export const signed = (x, digits = 1) => (isNumber(x) ? (x < 0 ? "" : "+") + x.toFixed(digits) : "-");
export const bytes = (x) => (!isNumber(x) ? "-" : x < 1e9 ? `${fixed(x / 1e6)}\u00a0MB` : `${fixed(x / 1e9)}\u00a0GB`);
export const megabytes = (x) => (isNumber(x) ? fixed(x / 1e6, x < 1e7 ? 2 : 1) : "-");

/** "40 ms", "1.5 s", "12 min 4 s", "3 h 20 min", "2 d 5 h". */
export function span(seconds) {
  if (!isNumber(seconds)) return "-";
  const s = Math.abs(seconds), whole = Math.round(s), sign = seconds < 0 ? "-" : "";
  const pair = (big, big_s, small, small_s) =>
    `${sign}${Math.floor(whole / big_s)}\u00a0${big} ${Math.floor((whole % big_s) / small_s)}\u00a0${small}`;
  if (s < 0.0995) return `${sign}${(s * 1000).toFixed(0)}\u00a0ms`;
  if (s < 9.95) return `${sign}${s.toFixed(1)}\u00a0s`;
  if (whole < 60) return `${sign}${whole}\u00a0s`;
  if (whole < 3600) return pair("min", 60, "s", 1);
  if (whole < 86400) return pair("h", 3600, "min", 60);
  return pair("d", 86400, "h", 3600);
}

/** An age that is shown as it grows: whole seconds. */
export const age = (seconds) =>
  !isNumber(seconds) ? "-" : seconds < 60 ? `${Math.floor(seconds)}\u00a0s` : span(Math.floor(seconds));

export const ago = (seconds) => (isNumber(seconds) ? span(seconds) + "\u00a0ago" : "never");

/** "2026-11-27 14:05:09", in UTC. */
export function time(utc_s) {
  if (!isNumber(utc_s) || Math.abs(utc_s) > 2.5e11) return "-";
  return new Date(Math.floor(utc_s) * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** The time of day; with the date, if that is not the date of `today_s`. */
export function when(utc_s, today_s) {
  const text = time(utc_s);
  return text.slice(0, 10) === time(today_s).slice(0, 10) ? text.slice(11) || "-" : text;
}

/** "tower1.floor7"; "-": no floor has named itself (255: it has not said who it is). */
export function floorName(of) {
  const known = (n) => isNumber(n) && n > 0 && n !== 255;
  if (!known(of?.floor)) return "-";
  return known(of.tower) ? `tower${of.tower}.floor${of.floor}` : `floor${of.floor}`;
}

/** How good a state is: "good", "warn", "bad", "dim" or "". */
export function tone(word) {
  const tones = {
    good: "WELL up locked PASS first DONE good alive ok well",
    warn: "ATTENTION warning aligning acquiring holdover DRIFT CANCELLED stale never unknown",
    bad: "RED red dark silent no-time fault SLIP JUMP REFUSED FAILED UNKNOWN bad left too-slow damaged failing",
    dim: "off",
  };
  return Object.keys(tones).find((t) => tones[t].split(" ").includes(word)) ?? "";
}

/** "840 frames, 12.0 k hits, 36 module-s dark"; "-": nothing. */
export function costWords(cost) {
  const parts = [];
  if (cost?.frames > 0) parts.push(`${count(cost.frames)} frames`);
  if (cost?.dropped > 0) parts.push(`${count(cost.dropped)} frames dropped`);
  if (cost?.hits > 0) parts.push(`${rate(cost.hits)} hits`);
  if (cost?.dark_s > 0) parts.push(`${rate(cost.dark_s)} module-s dark`);
  return parts.join(", ") || "-";
}

export const acknowledgedWords = (hand) =>
  hand ? `acknowledged by ${hand.who ?? "?"}${hand.text ? ": " + hand.text : ""}` : "";

export const pausedWords = (hand) =>
  hand ? `paused ${hand.covers === "red" ? "" : "as a warning "}until ${time(hand.until)} UTC by ` +
    `${hand.who ?? "?"}: ${hand.text ?? ""}` : "";

/** Of counts by name (numbers, or objects with `blocks`): [sum, "13 crc, 80 slow"]. */
export function losses(byName) {
  const counts = Object.entries(byName ?? {}).map(([name, n]) => [name, isNumber(n) ? n : n?.blocks ?? 0]);
  const words = counts.filter(([, n]) => n > 0).map(([name, n]) => `${count(n)} ${name}`);
  return [sum(counts.map(([, n]) => n)), words.join(", ")];
}

/** A value of a command: its word (on, off) where it has one. */
export const valueWord = (value, words) =>
  value === null || value === undefined ? "-" : String(words?.[Number(value)] ?? value);
