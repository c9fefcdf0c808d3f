#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The books (books/README.md): they are built, every link in them leads to something, and what they name is there:
commands of fcmctl, targets of make, keys of the configuration. What needs a station is typed by test_readme.py."""
import glob
import html.parser
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
for folder in ("books", "tests/lint"):
    sys.path.insert(0, os.path.join(harness.ROOT, folder))
import books  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402

OPTIONS = r"(?: --(?:board|dir|timeout)[ =]\S+| -[bd] \S+| --json| -j| --deep)*"
FCMCTL = re.compile(rf"^(?:[$#] |sudo )?(?:build/bin/)?fcmctl{OPTIONS} ([a-z]+)(?: ([a-z]+))?(?![\w.-])")
SHORT = {("le", "s")}  # "as long as only one command fits"
MAKE = re.compile(r"^(?:[A-Z_]+=\S+ )?make(?: -j\d?)? ([a-z][a-z-]*)(?= |$)")
DISPLAY = re.compile(r"(?ms)^\.Bd -literal[^\n]*\n(.*?)^\.Ed$")
# Displays of manual pages that are of this file: fcm-notify(8) describes its own.
CONFIGURATION = ("daemon/fcm-server.conf.5", "slowctl/page/fcm-page.8")


class Html(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.text = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        self.links += [attrs[a] for a in ("href", "src") if a in attrs]

    def handle_data(self, data):
        self.text.append(data)


def built(t):
    """every page is there; every link leads to a page or file, every anchor to a place on it"""
    out = os.path.join(t.base, "books")
    subprocess.run([sys.executable, "-B", books.__file__, out], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for folder, _, names in os.walk(out):
        for name in names:
            if name.endswith(".html"):
                with open(os.path.join(folder, name)) as f:
                    found[os.path.join(folder, name)] = Html(f.read())
    t.check("the books have pages", len(found) > 90, len(found))
    wrong = []
    for place, page in found.items():
        for link in page.links:
            if pages.is_outside(link):
                continue
            path, _, anchor = link.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(place), path)) if path else place
            if not os.path.isfile(there) or (anchor and anchor not in found[there].ids):
                wrong.append(f"{os.path.relpath(place, out)}: {link}")
    t.equal("links that lead nowhere", wrong, [])
    guide = found[os.path.join(out, "books", "adding.html")]
    t.check("a link between Markdown files is one between pages", "../CONTRIBUTING.html" in guide.links, guide.links)
    operator = found[os.path.join(out, "daemon", "incidents", "runbook.html")]
    t.check("a manual page that the text names is linked",
            "../../slowctl/fcmctl.1.html" in operator.links and "fcmctl(1)" in operator.text, operator.links[:20])


def lint(t):
    """a link to no file, to no heading, and a page that is in no book are found"""
    path = os.path.join(t.base, "a.md")
    with open(path, "w") as f:
        f.write("# A `b` c\n[1](a.md#a-b-c) [2](#a-b-c) [3](https://x.example/#y) [4](none.md)\n\n"
                "## A b c\n[5](#a-b-c-1) [6](#d)\n")
    root, pages.ROOT = pages.ROOT, t.base
    try:
        wrong = [w.split(": ")[:2] for w in links.wrong_links("a.md", {"a.md"}, {"."})]
    finally:
        pages.ROOT = root
    t.equal("wrong links", wrong, [["a.md:2", "none.md"], ["a.md:5", "#d"]])
    files, _ = links.sources()
    t.equal("all pages are in books", list(links.wrong_chapters(files)), [])
    t.equal("one that is not", [w.split(" ")[0] for w in links.wrong_chapters(files | {"daemon/new.md"})],
            ["daemon/new.md"])


def unpacked(t):
    """the same sources with git and without, whatever was built"""
    listed = subprocess.run([os.path.join(harness.ROOT, "tests/lint/files.sh")], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    copy = os.path.join(t.base, "unpacked")
    os.mkdir(copy)
    subprocess.run(["sh", "-c", f"tar -C {harness.ROOT} -c -T - | tar -C {copy} -x"], input=listed, text=True, check=True)
    for path in ("build/bin/x.c", "daemon/__pycache__/x.py", "debian/.debhelper/x.h", "debian/tmp/x.md"):
        os.makedirs(os.path.join(copy, os.path.dirname(path)))
        with open(os.path.join(copy, path), "w"):
            pass

    def files(*patterns):
        p = subprocess.run([os.path.join(copy, "tests/lint/files.sh"), *patterns], capture_output=True, text=True, check=False)
        return p.returncode, p.stdout.splitlines()
    t.equal("all of them, and nothing that was built", files(), (0, sorted(listed.splitlines())))
    wanted = [f for f in sorted(listed.splitlines()) if re.fullmatch(r"tdm/.*\.c|.*\.sql|tests/vm/init", f)
              and f != "schemas/sql/0001_initial.sql"]
    t.equal("of patterns", files("tdm/*.c", "*.sql", "tests/vm/init", ":!schemas/sql/0001_initial.sql"), (0, wanted))
    t.equal("nothing is a failure", files("*.none"), (1, []))


def code(page):
    """What is typed or shown on a page, a line each: code of Markdown, lines of a manual page."""
    if pages.is_manual(page):
        shown = re.findall(r"(?m)^\.(?:Dl|Li|Ql) (.*)", pages.read(page))
        return shown + [line for display in DISPLAY.findall(pages.read(page)) for line in display.splitlines()]
    blocks = [t.content for t in pages.tokens(page) if t.type in ("fence", "code_block")]
    return [" ".join(span.split()) for _, span in pages.code_spans(page)] + "".join(blocks).splitlines()


def all_code():
    for page in (pages.INDEX, *(chapter for list_ in books.books().values() for chapter, _ in list_)):
        yield from ((page, line) for line in code(page))


def commands(t):
    """each command of fcmctl that a page names is one, each target of make too"""
    fcmctl = os.path.join(t.bin, "fcmctl")
    text = subprocess.run([fcmctl, "--help"], capture_output=True, text=True, check=True).stdout.split("Options:")[0]
    known = set(re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?= |$)", text, re.M))
    nouns = {c.split()[0] for c in known}
    named = [(page, *words) for page, line in all_code() for words in FCMCTL.findall(line) if words not in SHORT]
    t.check("pages name commands", len(named) > 100, len(named))
    t.equal("commands that fcmctl does not have", [n for n in named if not (
        n[1] in known or f"{n[1]} {n[2]}" in known or (n[1] in nouns and not n[2]))], [])
    targets = set()
    for path in ["Makefile", *glob.glob("**/module.mk", root_dir=harness.ROOT, recursive=True)]:
        with open(os.path.join(harness.ROOT, path)) as f:
            targets.update(re.findall(r"^([a-z][a-z-]*):", f.read(), re.M))
    named = [(page, found[1]) for page, line in all_code() if (found := MAKE.match(line.strip()))]
    t.check("pages name targets", len(named) > 50, len(named))
    t.equal("targets that the Makefile does not have", [n for n in named if n[1] not in targets], [])


def configurations(t):
    """sections and keys in the displays of manual pages are those of the example of the daemon itself"""
    with open(os.path.join(harness.ROOT, "schemas", "example.conf")) as f:
        lines = [line.lstrip("#; ").rstrip() for line in f]
    example = {kind(line) for line in lines if kind(line)}
    for page in CONFIGURATION:
        shown = [kind(line) for display in DISPLAY.findall(pages.read(page)) if display.startswith("[")
                 for line in display.splitlines() if kind(line)]
        t.check(f"{page} has examples", shown)
        t.equal(f"{page}: what the daemon does not have", [s for s in shown if s not in example], [])


def kind(line):
    """ "[link" or "hold_fraction": of a section its first word. """
    section, key = re.match(r"\[([a-z]+)[ \]]", line), re.match(r"([a-z_]+) =", line)
    return f"[{section[1]}" if section else key and key[1]


if __name__ == "__main__":
    harness.main([built, lint, unpacked, commands, configurations])
