#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds control messages against schemas/control.schema.json.

    test_schema.py OP < answers.json      each line an answer to OP (progress, result or error)
    test_schema.py --request < lines      each line a request
    test_schema.py --result OP < file     a result as `fcmctl --json` prints it
    test_schema.py                        checks the schema itself against control.md
    test_schema.py --bin DIR ...          that, and the answers of a daemon on an emulated board

Prints what is wrong and ends with `N passed, N failed`; exit 0 only when nothing failed.
"""
import glob
import json
import os
import re
import subprocess
import sys

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Schema:
    def __init__(self, path=os.path.join(ROOT, "schemas", "control.schema.json")):
        with open(path) as f:
            self.whole = json.load(f)
        jsonschema.Draft202012Validator.check_schema(self.whole)
        self.ops = list(self.whole["$defs"]["args"])

    def reason_codes(self):
        return set(self.whole["$defs"]["code"]["enum"])

    def _errors(self, where, value):
        schema = {"$schema": self.whole["$schema"], "$ref": "#/$defs/" + where, "$defs": self.whole["$defs"]}
        found = jsonschema.Draft202012Validator(schema).iter_errors(value)
        return [f"{'.'.join(str(p) for p in e.absolute_path) or 'message'}: {e.message[:200]}"
                for e in found]

    def request(self, message):
        return self._errors("request", message)

    def result(self, op, result):
        return self._errors("result/" + op, result)

    def away(self, result):
        """What status is while no daemon answers: fcmctl's own."""
        return self._errors("away", result)

    def answer(self, op, message):
        """An answer to `op`, whichever kind it is."""
        if not isinstance(message, dict):
            return ["message: no object"]
        if "progress" in message:
            return self._errors("progress", message)
        if message.get("ok") is False:
            return self._errors("failure", message)
        errors = self._errors("done", message)
        if op not in self.ops:
            return errors + [f"{op}: done, though there is no such operation"]
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


def error_details():
    """Details that the daemon's sources name literally; most are codes of the engine."""
    codes = set()
    for room in ("slowctl/param", "slowctl/engine", "daemon/ops"):
        for path in glob.glob(os.path.join(ROOT, room, "*.c")):
            with open(path) as f:
                codes |= set(re.findall(r'sc_fail\(\s*\w+,\s*-E\w+,\s*"([a-z-]+)"', f.read()))
    return codes - {"configuration", "dictionary"}  # of files, which no request reads


def documented_ops():
    """Operations in the table of control.md."""
    ops = set()
    with open(os.path.join(ROOT, "schemas", "control.md")) as f:
        for line in f:
            if re.match(r"\| `[a-z.]+` \| (reader|operator|expert) \|", line):
                ops |= set(re.findall(r"`([a-z]+(?:\.[a-z]+)?)`", line.split("|")[1]))
    return ops


def reason_codes():
    """Reasons of status that the daemon's sources name literally (some come from tables or the engine)."""
    codes = set()
    for path in glob.glob(os.path.join(ROOT, "daemon", "*", "*.c")):
        with open(path) as f:
            text = f.read()
        codes |= set(re.findall(r'reasons_add(?:_link)?\(\s*[^,;]+,\s*[^,;]+,\s*"([a-z-]+)"', text))
        codes |= set(re.findall(r'\bcode = "([a-z-]+)"', text))
    return codes


def check_itself(schema):
    passed = failed = 0
    known, said = schema.reason_codes(), reason_codes()
    for code in sorted(said):
        passed, failed = passed + (code in known), failed + (code not in known)
        if code not in known:
            print(f"reason {code}: control.schema.json does not know it")
    if len(said) < 25:
        failed += 1
        print(f"only {len(said)} reasons found in daemon/*/*.c: has reasons_add() another name now?")
    known, said = set(schema.whole["$defs"]["failure"]["properties"]["error"]["properties"]["detail"]["enum"]), error_details()
    for detail in sorted(said):
        passed, failed = passed + (detail in known), failed + (detail not in known)
        if detail not in known:
            print(f"detail {detail}: schemas/error_detail.h does not know it")
    if len(said) < 20:
        failed += 1
        print(f"only {len(said)} details found: has sc_fail() another name now?")
    documented = documented_ops()
    for op in sorted(documented | set(schema.ops)):
        good = op in documented and op in schema.ops
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"{op}: only in {'control.md' if op in documented else 'control.schema.json'}")
    cases = [  # message, whether it is one
        ({"v": 2, "id": "1", "op": "info", "args": {}}, True),
        ({"v": 2, "id": "1", "op": "info"}, True),
        ({"v": 1, "id": "1", "op": "info", "args": {}}, False),
        ({"v": 2, "id": "1", "op": "format.disk", "args": {}}, False),
        ({"v": 2, "id": "1", "op": "link.show", "args": {}}, False),
        ({"v": 2, "id": "1", "op": "link.show", "args": {"link": 4}}, False),
        ({"v": 2, "id": "1", "op": "link.show"}, False),
        ({"v": 2, "id": "1", "op": "phase.show", "args": {"link": None}}, True),
        ({"v": 2, "id": "1", "op": "serial.write", "args": {"session": "a", "data": "0aff"}}, True),
        ({"v": 2, "id": "1", "op": "serial.write", "args": {"session": "a", "data": "0af"}}, False),
        ({"v": 2, "id": "1", "op": "ledger.show", "args": {"by_s": 61}}, False),
        ({"v": 2, "id": "1", "op": "phase.accept", "args": {"link": 1, "reason": ""}}, False),
        ({"v": 2, "id": "1", "op": "param.set", "args": {"name": "x", "value": "1", "vaule": 2}}, False),
    ]
    for message, good in cases:
        right = (not schema.request(message)) == good
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"{'refused' if good else 'taken'}: {json.dumps(message)}")
    for message, good in [
            ({"v": 2, "id": "1", "ok": True, "result": {"run": 3, "from_slice": 4}}, True),
            ({"v": 2, "id": "1", "ok": True, "result": {"run": "3", "from_slice": 4}}, False),
            ({"v": 2, "id": "1", "ok": True}, False),
            ({"v": 2, "id": "1", "ok": False, "error": {"code": "refused", "message": "no"}}, True),
            ({"v": 2, "id": "1", "ok": False, "error": {"code": "maybe", "message": "no"}}, False),
            ({"v": 2, "id": "1", "ok": False, "error": {"code": "refused", "message": "no", "detail": "role"}}, True),
            ({"v": 2, "id": "1", "ok": False, "error": {"code": "refused", "message": "no", "detail": "roll"}}, False),
            ({"v": 2, "id": "1", "progress": {"text": "waiting"}}, True)]:
        right = (not schema.answer("run.start", message)) == good
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"{'refused' if good else 'taken'}: {json.dumps(message)}")
    return passed, failed


# --- as a system test ---

def itself(bench):
    """the schema knows control.md's operations, takes what is right and nothing else"""
    passed, failed = check_itself(Schema())
    bench.check(f"{passed + failed} checks of the schema itself", failed == 0, f"{failed} failed")


ASKED = [  # operation, args; in this order, on a station that is up
    ("info", {}), ("status", {}), ("ops.list", {}), ("link.list", {}), ("phase.show", {}), ("phase.show", {"link": 1}),
    ("clock.show", {}), ("clock.history", {}), ("param.list", {}), ("param.list", {"pattern": "clock"}),
    ("param.get", {"names": ["floor1", "link2.phase"]}), ("consumer.list", {}), ("run.show", {}),
    ("run.start", {"note": "schema"}), ("status", {}), ("run.show", {}), ("run.stop", {}),
    ("record.stop", {}), ("record.start", {"links": [0], "name": "schema", "note": "n", "seconds": 60}), ("status", {}),
    ("record.start", {}), ("record.list", {}), ("record.stop", {}), ("record.start", {"links": [0], "name": "schema"}),
    ("record.start", {"links": [4]}), ("record.start", {"name": "../x"}), ("record.list", {}),
    ("param.set", {"name": "floor1.om0.hv", "value": 1405, "dry_run": True}),
    ("param.set", {"name": "floor1.om0.power", "value": "off", "dry_run": True, "yes": True}),
    ("param.action", {"name": "floor1.fcm.reset", "dry_run": True}),
    ("param.set", {"name": "floor1.om0.hv", "value": 99999, "dry_run": True}),
    ("param.set", {"name": "floor1.om0.hv", "value": 1405, "reason": "schema"}),
    ("param.set", {"name": "floor1.om1.threshold", "value": "11", "wait": False, "client_id": "schema-1"}),
    ("param.set", {"name": "floor1.om1.threshold", "value": "11", "client_id": "schema-1"}),
    ("param.set", {"name": "floor1.om1.threshold", "value": "11", "client_id": "schema-1", "dry_run": True}),
    ("param.set", {"name": "floor1.om2.threshold", "value": "11", "client_id": "schema.1.0.1"}),
    ("job.show", {"job": "schema"}), ("job.show", {"job": "none"}), ("job.show", {}),
    ("snapshot.save", {"name": "all", "note": "schema"}), ("snapshot.save", {"name": "all"}),
    ("snapshot.save", {"name": "../x"}), ("snapshot.save", {"name": "one", "pattern": "floor1.om0.*"}),
    ("snapshot.save", {"name": "none", "pattern": "floor9.*"}), ("snapshot.list", {}), ("snapshot.list", {"limit": 1}),
    ("snapshot.show", {"name": "one"}), ("snapshot.show", {"name": "two"}), ("snapshot.remove", {"name": "one"}),
    ("snapshot.remove", {}),
    ("param.action", {"name": "floor1.om0.reset"}), ("param.action", {"name": "floor1.fcm.reset"}),
    ("param.set", {"name": "floor1.om0.hv", "value": 99999}), ("param.set", {"name": "no.such", "value": 1}),
    ("param.set", {"name": "floor1.om0.hv", "value": "high"}), ("param.set", {"name": "clock.state", "value": 1}),
    ("param.set", {"name": "floor1.om0.hv", "value": 1410, "rate": 50}), ("param.set", {"name": "floor1.om0.threshold",
                                                                                       "value": 9, "rate": 5}),
    ("safe", {"pattern": "floor4.om5"}), ("safe", {"pattern": "floor4.om5", "yes": True, "wait": False}),
    ("safe", {"pattern": "floor4.om[45]", "yes": True, "reason": "schema"}), ("safe", {"pattern": "fcm", "yes": True}),
    ("param.get", {"names": ["no.such"]}), ("param.history", {"name": "floor1.om0.hv", "limit": 5}),
    ("param.history", {"name": "no.such"}), ("param.at", {"time": 1795000000, "names": ["floor1"]}), ("param.at", {}),
    ("param.at", {"time": 4102444800}), ("param.at", {"time": 1, "names": ["no.such"]}), ("param.diff", {"from": 1795000000}),
    ("param.at", {"time": 1e300, "names": ["floor1.fcm.reset"]}), ("param.diff", {"from": 1795000000, "to": 4102444800}),
    ("param.at", {"time": 1, "names": ["floor1.fcm.reset"]}), ("command.list", {}), ("command.list", {"floor": 1, "limit": 1}),
    ("command.show", {"command": 1}), ("command.show", {"command": 12345}), ("command.cancel", {"command": 1}),
    ("link.align", {"link": 3, "reason": "schema"}), ("link.reset", {"link": 2}), ("phase.accept", {"link": 3}),
    ("phase.accept", {"link": 3, "reason": "schema"}), ("phase.show", {}), ("phase.history", {"link": 3}),
    ("phase.soak", {"link": 1, "trials": 2, "interval_s": 1.0, "command": "align"}), ("event.list", {}),
    ("incident.list", {}), ("incident.ack", {"names": ["no.such"]}), ("incident.resume", {"names": ["link2"]}),
    ("incident.pause", {"name": "link2/link-dark", "seconds": 60, "reason": "schema"}), ("incident.list", {}),
    ("incident.pause", {"name": "link2/link-dark", "seconds": 0}), ("status", {}), ("incident.resume", {"names": ["link2"]}),
    ("ledger.show", {"since": 1.0}), ("ledger.show", {"link": 1, "limit": 2}), ("status", {}),
    ("link.show", {"link": 0}), ("link.show", {"link": 7}), ("link.show", {}), ("no.such", {}),
]


def conversation(path, op, args):
    """All answers to one request, the last one with "ok"."""
    import socket
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(path)
        s.sendall((json.dumps({"v": 2, "id": "s", "op": op, "args": args}) + "\n").encode())
        with s.makefile() as f:
            for line in f:
                yield json.loads(line)
                if '"ok"' in line and "ok" in json.loads(line):
                    return
    raise AssertionError("the daemon closed the connection")


def daemon(bench):
    """every answer of the daemon fits the schema"""
    schema = Schema()
    st = bench.station()
    st.start()
    st.wait_ready(60)
    for op, args in ASKED:
        errors = []
        try:
            for answer in conversation(st.path("control.sock"), op, args):
                errors += schema.answer(op, answer)
        except (OSError, AssertionError, ValueError) as e:
            errors.append(f"{type(e).__name__}: {e}")
        bench.check(f"{op} {json.dumps(args)}", not errors, "; ".join(errors[:4]))
        if not st.daemon.alive():
            bench.check(f"the daemon survives {op}", False, f"it ended with {st.daemon.popen.returncode}")
            st.start_daemon()
    bench.equal("the daemon ends with 0", st.stop(), 0)


def offered(bench):
    """ops.list: as --operations prints it; each operation is served, no other is, and each refuses what the schema does"""
    st = bench.station()
    st.start()
    path = st.path("control.sock")

    def ask(op, args):
        return list(conversation(path, op, args))[-1]
    said = ask("ops.list", {})["result"]
    printed = json.loads(subprocess.run([st.program("fcm-server"), "--operations"], capture_output=True, text=True,
                                        check=True).stdout)
    bench.equal("ops.list answers what --operations prints", said, printed)
    schema = Schema()
    bench.equal("the schema has these operations and no other", sorted(o["op"] for o in said["operations"]), sorted(schema.ops))
    for o in said["operations"]:
        bench.equal(f"{o['op']}: the schema of its arguments", schema.whole["$defs"]["args"][o["op"]], o["args"])
        error = ask(o["op"], {"no-such-argument": 1}).get("error", {})
        bench.check(f"{o['op']} is served", error.get("code") == "usage" and "takes no argument" in error["message"], error)
        if o["args"]["required"]:
            error = ask(o["op"], {}).get("error", {})
            bench.check(f"{o['op']}: it misses {o['args']['required'][0]}", error.get("code") == "usage" and
                        error["message"] == f"{o['op']}: \"{o['args']['required'][0]}\" is missing" and error["hint"], error)
        for name, p in o["args"]["properties"].items():
            for value in outside(p):
                error = ask(o["op"], {name: value}).get("error", {})
                bench.check(f"{o['op']} refuses {name} = {json.dumps(value)[:40]}", error.get("code") == "usage" and
                            f'"{name}" has ' in error["message"], error)
    with open(st.program("fcm-server"), "rb") as f:
        words = {w.decode() for w in re.findall(rb"\0([a-z]+\.[a-z]+)(?=\0)", f.read())} | {"quit", "help", "ops", "param"}
    bench.check("names in the program have been found", words >= {o["op"] for o in said["operations"] if "." in o["op"]}, words)
    for word in sorted(words - {o["op"] for o in said["operations"]}):
        error = ask(word, {}).get("error", {})
        bench.check(f"{word} is no operation", "no operation" in error.get("message", ""), error)
    bench.equal("the daemon ends with 0", st.stop(), 0)


def outside(p):
    """Values that the schema of an argument does not allow."""
    types = [p["type"]] if isinstance(p["type"], str) else p["type"]
    values = [{}, True] if "boolean" not in types else ["true", 1]
    of = p.get("items", p)
    numbers = [of["minimum"] - 1] if "minimum" in of else []
    numbers += [of["maximum"] + 1] if "maximum" in of else []
    values += [[n] for n in numbers] if "items" in p else numbers
    values += ["a" * (p["maxLength"] + 1)] if "maxLength" in p else []
    values += [["a"] * (p["maxItems"] + 1)] if "maxItems" in p else []
    values += [[]] if p.get("minItems") else []
    values += ["none of them"] if "enum" in p and "string" in types else []
    return values + ([7654321] if "enum" in p and "integer" in types else [])


def main(argv):
    if "--bin" in argv:
        import harness
        harness.main([itself, daemon, offered])
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
