#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The operations of the control protocol have one description, the daemon's own: `fcm-server --operations`. The
arguments and details in control.schema.json and control.md are generated from it.

    operations.py [BUILD]            fails when a file is not what is generated
    operations.py [BUILD] --write    writes the files

What an operation answers is written by hand: `result` of the schema, the last column of control.md's table.
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA, PAGE = (os.path.join(ROOT, "schemas", name) for name in ("control.schema.json", "control.md"))


class Wrong(Exception):
    pass


def replaced(text, first, last, body):
    """`body` for what is between the line `first`, which there is once, and the next line `last`."""
    parts = text.split("\n" + first + "\n")
    if len(parts) != 2 or "\n" + last not in "\n" + parts[1]:
        raise Wrong(f"no part from {first!r} to {last!r}, or several")
    rest = ("\n" + parts[1]).split("\n" + last, 1)[1]
    return parts[0] + "\n" + first + "\n" + body + "\n" + last + rest


def bring(argv, table, files):
    """What the daemon says of a table of its own, into each file by its function (text, what it says). Returns the exit code."""
    write, program = "--write" in argv, os.path.basename(sys.argv[0])
    build = next((a for a in argv if not a.startswith("-")), os.path.join(ROOT, "build"))
    said = json.loads(subprocess.run([os.path.join(build, "bin", "fcm-server"), "--" + table], check=True,
                                     capture_output=True, text=True).stdout)
    wrong = []
    for path, make in files.items():
        with open(path) as f:
            old = f.read()
        try:
            new = make(old, said)
        except Wrong as e:
            print(f"{program}: {e}", file=sys.stderr)
            return 1
        if new != old and write:
            with open(path, "w") as f:
                f.write(new)
        elif new != old:
            wrong.append(os.path.relpath(path, ROOT))
    if wrong:
        print(f"not what fcm-server --{table} gives: {', '.join(wrong)}; run tests/lint/{program} --write")
    return 1 if wrong else 0


def sorted_ops(operations):
    """Those of one noun together."""
    nouns = [o["op"].split(".")[0] for o in operations]
    return sorted(operations, key=lambda o: nouns.index(o["op"].split(".")[0]))


# --- control.schema.json ---

def wrapped(words, indent, width=118):
    """A list of strings in JSON, as few lines as possible."""
    lines = [""]
    for n, word in enumerate(words):
        piece = json.dumps(word) + ("," if n + 1 < len(words) else "")
        if lines[-1] and indent + len(lines[-1]) + 1 + len(piece) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + piece
    return "\n".join(" " * indent + line for line in lines)


def condition(o):
    then = {"properties": {"args": {"$ref": "#/$defs/args/" + o["op"]}}}
    if o["args"]["required"]:
        then["required"] = ["args"]
    return "        " + json.dumps({"if": {"properties": {"op": {"const": o["op"]}}, "required": ["op"]}, "then": then})


def args_text(o):
    args = o["args"]
    if not args["properties"]:
        return f'      {json.dumps(o["op"])}: {json.dumps(args)}'
    properties = ",\n".join(f'          {json.dumps(name)}: {json.dumps(p)}' for name, p in args["properties"].items())
    return f'''      {json.dumps(o["op"])}: {{
        "type": "object",
        "required": {json.dumps(args["required"])},
        "properties": {{
{properties}
        }},
        "additionalProperties": false
      }}'''


def schema(text, said):
    operations, details = sorted_ops(said["operations"]), said["details"]
    text = replaced(text, '        "op": {\n          "enum": [', "          ]", wrapped([o["op"] for o in operations], 12))
    text = replaced(text, '      "allOf": [', "      ]", ",\n".join(map(condition, operations)))
    text = replaced(text, '            "detail": {', "            }", '              "enum": [\n' +
                    wrapped([d["detail"] for d in details], 16) + "\n              ]")
    return replaced(text, '    "args": {', "    },", ",\n".join(map(args_text, operations)))


# --- control.md ---

def row(*cells):
    return "| " + " | ".join(cells).rstrip() + " |"


def results(page):
    """What is written by hand: the last column, by operation."""
    found = {}
    for line in page.split("\n"):
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and re.fullmatch(r"`[a-z]+(\.[a-z]+)?`", cells[0]) and cells[1] in ("reader", "operator", "expert"):
            found[cells[0].strip("`")] = cells[3]
    return found


def brief(o):
    names = [name + ("" if name in o["args"]["required"] else "?") for name in o["args"]["properties"]]
    return "`{" + ", ".join(names) + "}`" if names else ""


def kind(p):
    """A schema of one argument in words."""
    if "enum" in p:
        return " or ".join(json.dumps(v) for v in p["enum"] if v is not None) + (f" {p['unit']}" if "unit" in p else "")
    types = [p["type"]] if isinstance(p["type"], str) else [t for t in p["type"] if t != "null"]
    words = " or ".join(types)
    of = p.get("items", p)
    if "items" in p:
        words = f"list of {of['type']}s"
        if "maxItems" in p:
            words += f", {p.get('minItems', 0)} to {p['maxItems']}"
    if "minimum" in of:
        words += f" {of['minimum']:.10g}.." + (f"{of['maximum']:.10g}" if "maximum" in of else "")
    if "maxLength" in p:
        words += f" of at most {p['maxLength']} bytes"
    if "pattern" in p:
        words = "hexadecimal, 1 to 480 bytes"
    return words + (f" {p['unit']}" if "unit" in p else "")


def arguments(operations):
    """A row for each argument; operations that have the same share it."""
    rows = {}
    for o in operations:
        for name, p in o["args"]["properties"].items():
            rows.setdefault((name, kind(p), p["description"]), []).append(o["op"])
    names = [name for name, _, _ in rows]
    lines = []
    for (name, words, what), ops in sorted(rows.items(), key=lambda r: names.index(r[0][0])):
        of = ", ".join(f"`{op}`" for op in ops) if names.count(name) > 1 or len(ops) == 1 else "all that have it"
        lines.append(row(f"`{name}`", of, words, what))
    return "\n".join(lines)


def page(text, said):
    operations, details = sorted_ops(said["operations"]), said["details"]
    answers = results(text)
    missing = [o["op"] for o in operations if not answers.get(o["op"])]
    if missing:
        raise Wrong(f"control.md: no result of {', '.join(missing)}")
    text = replaced(text, "| op | role | args | result |", "\n", "|---|---|---|---|\n" + "\n".join(
        row(f'`{o["op"]}`', o["role"], brief(o), answers[o["op"]]) for o in operations))
    text = replaced(text, "| argument | of | type | what |", "\n", "|---|---|---|---|\n" + arguments(operations))
    return replaced(text, "| `detail` | what |", "\n", "|---|---|\n" + "\n".join(
        row(f'`{d["detail"]}`', d["meaning"]) for d in details))


if __name__ == "__main__":
    sys.exit(bring(sys.argv[1:], "operations", {SCHEMA: schema, PAGE: page}))
