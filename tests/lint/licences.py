#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Licences: each source file says its own in one SPDX line at its head, the one that is asked for here, and its text is
in LICENSES/. Prints every file that does not."""
import os
import re
import subprocess
import sys

GPL, LGPL, BSD = "GPL-2.0-or-later", "LGPL-2.1-or-later", "BSD-2-Clause"
# The first that matches. What a program of another licence may want: formats and examples BSD, libraries LGPL with all
# that they contain.
RULES = [
    (r"driver/nanet3\.h", "GPL-2.0-only WITH Linux-syscall-note OR " + BSD),
    (r"driver/nanet3_socket\.h", BSD),
    (r"schemas/.*|daemon/consumer/examples/.*|tdm/.*\.h|driver/emu/common/truth\.h", BSD),
    (r"tdm/.*", LGPL),
    (r"driver/lib/.*|driver/now\.h|daemon/consumer/.*|slowctl/access/.*|slowctl/param/error\.h", LGPL),
    (r".*", GPL),
]
# Not *.md, *.json and data of the tests: COPYING covers them.
PATTERNS = ["*.c", "*.h", "*.cpp", "*.hpp", "*.sh", "*.py", "*.lua", "*.mk", "*Makefile", "*Kbuild", "*.conf", "*.scn", "*.sql", "*.[1358]",
            "*.service", "*.rules", "*.sysusers", "*.tmpfiles", "*.map", "*.pc.in", "*.dict", "*.supp", "*.config",
            ".ci/run", "tests/vm/init",
            ":!schemas/example.conf"]  # that one is what `fcm-server --example-config` prints


def main():
    files = subprocess.run(["tests/lint/files.sh", *PATTERNS], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    wrong, named = [], set()
    for f in files:
        with open(f, encoding="utf-8") as text:
            head = [next(text, "") for _ in range(4)]
        found = [m.strip() for line in head for m in re.findall(r"SPDX-License-Identifier: ([^*\n]+)", line)]
        wanted = next(licence for pattern, licence in RULES if re.fullmatch(pattern, f))
        named |= set(re.split(r" (?:OR|WITH) ", wanted))
        if found != [wanted]:
            wrong.append(f"{f}: {' and '.join(found) or 'no SPDX line at its head'}, wanted: {wanted}")
    texts = {re.sub(r"-(only|or-later)$", "", n) for n in named}
    wrong += [f"LICENSES/{n}.txt is missing" for n in sorted(texts) if not os.path.isfile(f"LICENSES/{n}.txt")]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
