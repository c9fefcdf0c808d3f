#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds control messages against schemas/control.schema.json.

    test_schema.py OP < answers.json      each line an answer to OP (progress, result or error)
    test_schema.py --request < lines      each line a request
    test_schema.py --result OP < file     a result as `fcmctl --json` prints it
    test_schema.py                        checks the schema itself against control.md

Prints what is wrong and ends with `N passed, N failed`; exit 0 only when nothing failed.
"""
import json
import os
import re
import sys

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Schema:
    def __init__(self, path=os.path.join(ROOT, "schemas", "control.schema.json")):
        with open(path) as f:
            self.whole = json.load(f)
        jsonschema.Draft202012Validator.check_schema(self.whole)
        self.ops = list(self.whole["$defs"]["args"])

    def _errors(self, where, value):
        schema = {"$schema": self.whole["$schema"], "$ref": "#/$defs/" + where, "$defs": self.whole["$defs"]}
        found = jsonschema.Draft202012Validator(schema).iter_errors(value)
        return [f"{'.'.join(str(p) for p in e.absolute_path) or 'message'}: {e.message[:200]}"
                for e in found]

    def request(self, message):
        return self._errors("request", message)

    def result(self, op, result):
        return self._errors("result/" + op, result)

    def answer(self, op, message):
        """An answer to `op`, whichever kind it is."""
        if not isinstance(message, dict):
            return ["message: no object"]
        if "progress" in message:
            return self._errors("progress", message)
        if message.get("ok") is False:
            return self._errors("failure", message)
        errors = self._errors("done", message)
        return errors or ["result." + e for e in self.result(op, message["result"])]


def each_line(check):
    passed = failed = 0
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        try:
            errors = check(json.loads(line))
        except ValueError as e:
            errors = [f"no JSON: {e}"]
        for e in errors[:20]:
            print(f"line {number}: {e}")
        passed, failed = passed + (not errors), failed + bool(errors)
    if passed + failed == 0:
        print("nothing came")
        failed = 1
    return passed, failed


def documented_ops():
    """Operations in the table of control.md."""
    ops = set()
    with open(os.path.join(ROOT, "schemas", "control.md")) as f:
        for line in f:
            if line.startswith("| `"):
                ops |= set(re.findall(r"`([a-z]+(?:\.[a-z]+)?)`", line.split("|")[1]))
    return ops


def check_itself(schema):
    passed = failed = 0
    documented = documented_ops()
    for op in sorted(documented | set(schema.ops)):
        good = op in documented and op in schema.ops
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"{op}: only in {'control.md' if op in documented else 'control.schema.json'}")
    cases = [  # message, whether it is one
        ({"v": 1, "id": "1", "op": "info", "args": {}}, True),
        ({"v": 1, "id": "1", "op": "info"}, True),
        ({"v": 2, "id": "1", "op": "info", "args": {}}, False),
        ({"v": 1, "id": "1", "op": "format.disk", "args": {}}, False),
        ({"v": 1, "id": "1", "op": "link.show", "args": {}}, False),
        ({"v": 1, "id": "1", "op": "link.show", "args": {"link": 4}}, False),
        ({"v": 1, "id": "1", "op": "param.set", "args": {"name": "x", "value": "1", "vaule": 2}}, False),
    ]
    for message, good in cases:
        right = (not schema.request(message)) == good
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"{'refused' if good else 'taken'}: {json.dumps(message)}")
    for message, good in [
            ({"v": 1, "id": "1", "ok": True, "result": {"run": 3, "from_slice": 4}}, True),
            ({"v": 1, "id": "1", "ok": True, "result": {"run": "3", "from_slice": 4}}, False),
            ({"v": 1, "id": "1", "ok": True}, False),
            ({"v": 1, "id": "1", "ok": False, "error": {"code": "refused", "message": "no"}}, True),
            ({"v": 1, "id": "1", "ok": False, "error": {"code": "maybe", "message": "no"}}, False),
            ({"v": 1, "id": "1", "progress": {"text": "waiting"}}, True)]:
        right = (not schema.answer("run.start", message)) == good
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"{'refused' if good else 'taken'}: {json.dumps(message)}")
    return passed, failed


def main(argv):
    schema = Schema()
    if not argv:
        passed, failed = check_itself(schema)
    elif argv == ["--request"]:
        passed, failed = each_line(schema.request)
    elif len(argv) == 2 and argv[0] == "--result" and argv[1] in schema.ops:
        passed, failed = each_line(lambda r: schema.result(argv[1], r))
    elif len(argv) == 1 and argv[0] in schema.ops:
        passed, failed = each_line(lambda m: schema.answer(argv[0], m))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
