// SPDX-License-Identifier: GPL-2.0-or-later
// What to do, as a sentence in which each command of the shell can be copied by a button.
import { make } from "./dom.js";
import { live } from "./live.js";

// A command begins at the start of the text or behind one of " (;:", with or without a path before its name.
const BEGINS = /(^|[\s(;:])((?:[^\s(;:]*\/)?(?:fcmctl |fcm-server --|sudo |cd |mv |systemctl |journalctl ))/;
// It ends where the sentence goes on; what is quoted is passed over.
const ENDS = /^(?:'[^']*'|(?!, | \(|[;)]|[:?.](?:\s|$)| (?:brings|shows|names|lists|does|again)\b)[\s\S])*/;

/** [{text} or {command}] */
export function pieces(advice) {
  const found = [];
  let rest = advice;
  for (let at; (at = BEGINS.exec(rest)); ) {
    const start = at.index + at[1].length;
    const whole = ENDS.exec(rest.slice(start))[0];
    const command = whole.replace(/[\s.]+$/, "");
    found.push({ text: rest.slice(0, start) });
    rest = rest.slice(start + command.length);
    found.push(rest.startsWith("...") ? { text: command } : { command });
  }
  return [...found, { text: rest }].filter((p) => p.text !== "");
}

/** As it has to be typed for this station: the server says what replaces "fcmctl". */
export const typed = (command) => command.replace(/^fcmctl(?= )/, () => live.station?.fcmctl ?? "fcmctl");

/** The clipboard's API is only there for https and localhost. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { class: "offscreen", readonly: "", "aria-hidden": "true" });
    const focus = document.activeElement;
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focus?.focus();
    return done;
  }
}

export function commandNode(command) {
  const text = typed(command);
  const button = make("button", { type: "button", class: "copy", "aria-label": `Copy: ${text}` }, "copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "copied" : "select it by hand";
    setTimeout(() => (button.textContent = "copy"), 2000);
  });
  return make("span", { class: "command" }, make("code", {}, text), button);
}

/** Renews `node` only when the texts have changed. `commands`: offered besides. */
export function advise(node, advice, commands = []) {
  const key = JSON.stringify([advice, commands, live.station?.fcmctl]);
  if (node.dataset.advice === key) return;
  node.dataset.advice = key;
  const parts = pieces(advice ?? "").map((p, n, all) => p.command ? commandNode(p.command)
    : all[n - 1]?.command ? p.text.replace(/^[.;,:](\s+|$)/, "") : p.text); // the box has ended the clause
  node.replaceChildren(...parts, ...commands.map(commandNode));
}
