#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of the Markdown files: each relative one leads to a file or folder of the tree, each anchor to a heading there;
what books/adding.md names is there. And each Markdown file and manual page is a chapter of one book. Prints every one
that is not so."""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "books"))
import books  # noqa: E402
import pages  # noqa: E402

ADDING = "books/adding.md"
PLACE = re.compile(r"[\w.-]+(/[\w.-]+)+|[A-Z]\w+\.md")


def sources():
    """The tree's files, and their folders."""
    listed = subprocess.run([os.path.join(ROOT, "tests/lint/files.sh")], stdout=subprocess.PIPE, text=True, check=True).stdout
    files = set(listed.splitlines())
    folders = {"."}
    for f in files:
        while (f := os.path.dirname(f)):
            folders.add(f)
    return files, folders


def wrong_links(page, files, folders):
    for line, href, _ in pages.links(page):
        if pages.is_outside(href):
            continue
        path, anchor = pages.target(page, href)
        if path not in files | folders:
            yield f"{page}:{line}: {href}: no such file"
        elif anchor and not (pages.is_page(path) and anchor in pages.anchors(path)):
            yield f"{page}:{line}: {href}: {path} has no such heading"


def wrong_places(files, folders):
    """Files that the guide to additions names, not as links."""
    for line, code in pages.code_spans(ADDING):
        if PLACE.fullmatch(code) and code not in files | folders and not code.startswith("build/"):
            yield f"{ADDING}:{line}: {code}: no such file"


def wrong_chapters(files):
    listed = books.books()
    count = collections.Counter(chapter for list_ in listed.values() for chapter, _ in list_)
    count.update([pages.INDEX, *listed])
    for page in sorted(f for f in files if pages.is_page(f)):
        if count[page] != 1:
            yield f"{page} is a chapter of {count[page]} books: it belongs into one of books/*.md"


def main():
    files, folders = sources()
    wrong = [w for page in sorted(files) if page.endswith(".md") for w in wrong_links(page, files, folders)]
    wrong += [*wrong_places(files, folders), *wrong_chapters(files)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
