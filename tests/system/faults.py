# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of faults share: a scenario that begins when all is well, and what then is said and counted.

Every fault of a scenario ends in the right counter, state and message, and the other links lose nothing."""
import re
import shlex

import consumer_record
import harness
from station import StationError

BLOCK_GAP, LINK_DOWN = 0x002, 1  # FCM_BLOCK_GAP, enum tdm_loss
SLICE = 1600  # frames
# Seconds of data before the first fault: time for the links to align and the clock to lock.
BEGIN = 7


def scenario(t, *events):
    lines = ["from data"] + [f"at {BEGIN + at} {what}" for at, what in events]
    return t.scenario("\n".join(lines) + "\n")


def codes(st):
    return {(r["code"], r["object"]) for r in st.seen()}


def events(st, code=None):
    """Oldest first."""
    answer = st.ask("event", "list", "--limit", "500")
    if "events" not in answer:
        raise StationError(f"event list: {answer}")
    return [e for e in reversed(answer["events"]) if code in (None, e["code"])]


def sees(t, st, code, obj, timeout=20):
    """Status shows this reason, with a text and something to do."""
    found = []

    def shown():
        found[:] = [r for r in st.seen() if r["code"] == code and obj in r["object"]]
        return bool(found)
    try:
        st.wait_for(f"{code} of {obj}", shown, timeout)
    except Exception:
        t.check(f"status says {code} of {obj}", False, st.seen())
        return
    t.check(f"status says {code} of {obj}, and what to do", found[0]["text"] and found[0]["action"], found)
    for asked in re.findall(r"fcmctl ((?:get|link show|link list|ledger show|event list|consumer list|phase history|"
                            r"clock show)\b[^;:,()?!]*?)(?= (?:names|shows|tells|then)\b|[;:,()?!]|\. |\.?$)",
                            found[0]["action"]):
        exit_code, _, err = st.ctl(*shlex.split(asked))
        t.check(f"fcmctl {asked} can be typed", exit_code == 0, err)


def lost(ledger, link, code):
    return sum(x["frames"] for x in ledger["losses"] if x["kind"] == "link" and x["link"] == link and
               x["code"] == code)


def lost_later(ledger, link, code):
    """The same, behind the link's beginning."""
    return sum(x["frames"] for x in harness.after_beginning(ledger) if x["link"] == link and x["code"] == code)


def dark_frames(st, consumer, link):
    """Frames that the consumer was told to be link-down, behind the link's first good one: (all, in gap blocks)."""
    records = consumer_record.read(st.path(f"{consumer}.rec"))
    of_link = records[records["link"] == link]
    good = (of_link["status"] == consumer_record.GOOD).nonzero()[0]
    dark = of_link[good[0]:] if len(good) else of_link[:0]
    dark = dark[dark["status"] == LINK_DOWN]
    return len(dark), int((dark["block_flags"] & BLOCK_GAP != 0).sum())
