// SPDX-License-Identifier: GPL-2.0-or-later
// The live stream, and how old its news is. Silence is found by a clock of the page's own, because an EventSource
// whose network is gone reports nothing.
import { isNumber } from "./format.js";

const OLD_S = 2.7; // so that the page is red within 3 s: it looks each quarter of a second
const REOPEN_S = 5;

const clock = () => performance.now() / 1000;

/** The newest events as they came, and when (by clock()); null: never. */
export const live = { station: null, sample: null, stationAt: null, sampleAt: null };

let source = null;
let openedAt = clock();
let heardAt = null;

const silence = () => clock() - (heardAt ?? openedAt);
const since = (at) => (at === null ? null : clock() - at);

export const isSilent = () => heardAt === null || silence() > OLD_S;

/** Of the status; null: it never came. */
export function stationAge() {
  const age = live.station?.age_s;
  return isNumber(age) ? age + since(live.stationAt) : null;
}

/** Of a part of the event that is read on its own, where the server says how old it is (`name`); else of the status. */
export function ageOf(name) {
  const age = live.station?.[name];
  return isNumber(age) ? age + since(live.stationAt) : stationAge();
}

/** Of a value in it that had this age when the event was sent. */
export const ageNow = (age_s) => (isNumber(age_s) ? age_s + (stationAge() ?? 0) : null);

export const sampleAge = () => since(live.sampleAt);

/** The server's time: that of a phone may be wrong. */
export const utc = () =>
  isNumber(live.station?.time) ? live.station.time + since(live.stationAt) : Date.now() / 1000;

/** null: there is news; else {seconds (null: never any), why, advice}. */
export function noNews() {
  if (isSilent()) {
    return {
      seconds: heardAt === null ? null : silence(),
      why: "fcm-page does not answer",
      advice: "is the network up, and the ssh tunnel? On the machine of the page: "
        + (/ --dir /.test(live.station?.fcmctl) ? "look at the terminal of make run or make drill: has it ended?"
          : "systemctl status 'fcm-page*'"),
    };
  }
  const { away, do: advice } = live.station ?? {};
  const age = stationAge();
  if (away) return { seconds: age, why: String(away), advice: advice ?? "" };
  if (age === null || age > OLD_S) return { seconds: age, why: "fcm-server does not answer", advice: advice ?? "" };
  return null;
}

function open(onNews) {
  const take = (name) => (event) => {
    let data;
    try {
      data = JSON.parse(event.data);
    } catch {
      return; // what cannot be read is no news
    }
    if (!data || typeof data !== "object") return;
    heardAt = clock();
    live[name] = data;
    live[name + "At"] = heardAt;
    onNews(name);
  };
  source?.close();
  openedAt = clock();
  source = new EventSource("live");
  source.addEventListener("station", take("station"));
  source.addEventListener("sample", take("sample"));
}

/** Calls onNews("station") and onNews("sample"). */
export function startLive(onNews) {
  open(onNews);
  setInterval(() => {
    if (silence() > REOPEN_S && clock() - openedAt > REOPEN_S) open(onNews);
  }, 1000);
}
