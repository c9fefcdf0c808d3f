#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reason means and what to do about it has one description, daemon/incidents/runbook.md, which the daemon has compiled
in: `fcm-server --reasons`. THE SHIFT of fcmctl.1 and the journal's catalogue are generated from it.

    runbook.py [BUILD]            fails when they are not what is generated
    runbook.py [BUILD] --write    writes them
"""
import os
import re
import sys
import textwrap

from operations import ROOT, Wrong, bring, replaced

RUNBOOK, PAGE = os.path.join(ROOT, "daemon", "incidents", "runbook.md"), os.path.join(ROOT, "slowctl", "fcmctl.1")
CATALOGUE = os.path.join(ROOT, "systemd", "fcm-server.catalog")
FIRST, LAST = r'.\" From daemon/incidents/runbook.md by tests/lint/runbook.py --write, up to the end of the section:', ".Sh "
MARKUP = re.compile(r'`([^`]+)`|\*\*([^*]+)\*\*|\[([^]]+)\]|"([^"]+)"|([a-z][a-z.-]*)\((\d)\)')


def read(text):
    """[(title, words before the first entry, [(name, text)])]"""
    parts = re.split(r"^(##|###) (.*)\n", text, flags=re.M)[1:]
    sections = []
    for mark, name, body in zip(*[iter(parts)] * 3):
        if mark == "##":
            sections.append((name, body.strip("\n"), []))
        elif sections:
            sections[-1][2].append((name, body.strip("\n")))
    return sections


def checked(sections, reasons):
    """Each reason has its text, once, and the daemon the same."""
    told = [entry for _, _, entries in sections for entry in entries]
    for reason in reasons:
        texts = [text for name, text in told if name == reason["code"]]
        if len(texts) != 1:
            raise Wrong(f"runbook.md has {len(texts)} texts about {reason['code']}")
        if texts[0] != reason.get("runbook", "").strip("\n"):
            raise Wrong(f"the daemon has another text about {reason['code']} than runbook.md: build it first")
    return sections


# --- mdoc ---

def words(text):
    """A line that is no macro, in lines of at most 100 columns."""
    text = text.strip().replace("\\", "\\e")
    return [re.sub(r"^([.'])", r"\\&\1", line) for line in textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)]


def argument(word):
    word = word.replace("\\", "\\e").replace("'", "\\(aq").replace('"', "\\(dq")
    return "\\&" + word if re.fullmatch(r"[.,:;()\[\]?!|]|[A-Z][a-z]", word) else word


def macro(match):
    code, bold, section, quoted, name, number = match.groups()
    if name:
        return f".Xr {name} {number}"
    kind, text = next((k, t) for k, t in (("Li", code), ("Sy", bold), ("Sx", section), ("Dq", quoted)) if t)
    if kind == "Li" and text.startswith("fcmctl "):
        kind, text = "Ic", text.removeprefix("fcmctl ")
    return f".{kind} " + " ".join(map(argument, text.split()))


def sentence(line):
    """A line of Markdown; what touches a macro in front or behind goes with it."""
    lines, at = [], 0
    for match in MARKUP.finditer(line):
        front = re.search(r"\(?$", line[at:match.start()]).group()
        before = line[at:match.start() - len(front)]
        behind = re.match(r"[.,:;)?]*", line[match.end():]).group()
        at = match.end() + len(behind)
        if before[-1:].strip() or line[at:at + 1].strip():
            raise Wrong(f"runbook.md: no space beside {match.group()!r} in {line!r}")
        command, *rest = macro(match).split(" ", 1)
        lines += words(before) + [" ".join([command, *front, *rest, *behind])]
    return lines + words(line[at:])


def paragraphs(text):
    """Sentences, paragraphs, and lists of `- name: text` whose further lines are indented."""
    lines, listed = [], False
    for line in text.split("\n"):
        item = re.match(r"- ([a-z-]+): (.*)", line)
        if listed and not item and not line.startswith("  "):
            lines, listed = lines + [".El"], False
        if item and not listed:
            lines, listed = lines + [".Bl -tag -width board-fifo"], True
        lines += [f".It Sy {item[1]}"] if item else []
        lines += sentence(item[2] if item else line.strip()) if line else [".Pp"]
    return lines + ([".El"] if listed else [])


def page(text, said):
    with open(RUNBOOK) as f:
        sections = checked(read(f.read()), said["reasons"])
    lines = []
    for title, before, entries in sections:
        lines += [f".Ss {title}"] + (paragraphs(before) if before else []) + [".Bl -tag -width Ds"]
        for name, body in entries:
            lines += [f".It Sy {name}"] + paragraphs(body)
        lines.append(".El")
    return replaced(text, FIRST, LAST, "\n".join(lines))


# --- the catalogue of the journal (systemd.io/CATALOG) ---

def plain(line):
    """A line of Markdown without its marks."""
    return re.sub(r"\*\*([^*]+)\*\*|`([^`]+)`|\[([^]]+)\]", lambda m: m[1] or (f"`{m[2]}`" if m[2] else f'"{m[3]}"'), line)


def catalogue(_, said):
    """An entry for each reason: what it means and what to do, as `journalctl -x` shows it below a line."""
    entries = ["# From daemon/incidents/runbook.md by tests/lint/runbook.py --write."]
    for reason in said["reasons"]:
        lines = [w for line in reason["runbook"].strip("\n").split("\n") for w in
                 textwrap.wrap(plain(line), 78, subsequent_indent="  " if line.startswith("- ") else "",
                               break_long_words=False, break_on_hyphens=False) or [""]]
        entries.append("\n".join([f"-- {reason['message_id']}", f"Subject: {reason['code']} of @FCM_OBJECT@",
                                  "Defined-By: FCM-Server", "Documentation: man:fcmctl(1)", "",
                                  *lines, "", "All of this incident: fcmctl --board @FCM_BOARD@ incident show @FCM_INCIDENT@"]))
    return "\n\n".join(entries) + "\n"


if __name__ == "__main__":
    sys.exit(bring(sys.argv[1:], "reasons", {PAGE: page, CATALOGUE: catalogue}))
