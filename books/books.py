#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The books as HTML: books/README.md lists them, each of them lists its chapters, which are Markdown files and manual
pages of the tree.

    books.py OUT      writes the books below OUT; begin with OUT/index.html

A page has the place that its file has in the tree. A file that a page links to and that is no page is copied."""
import html
import os
import re
import shutil
import sys

import pages
from pages import INDEX, ROOT

STYLE = "books/books.css"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{style}">
</head>
<body>
<nav>
{contents}
</nav>
<main>
{body}
{turn}
</main>
</body>
</html>
"""


class Wrong(Exception):
    pass


def chapters(page):
    """[(page, its name there)], in order: the links of the page's lists."""
    return [(pages.target(page, href)[0], text) for _, href, text in pages.links(page, "list_item")]


def books():
    """{book: its chapters}, in order: the links of the tables of the index."""
    rows = [pages.target(INDEX, href)[0] for _, href, _ in pages.links(INDEX, "table")]
    return {book: chapters(book) for book in rows}


def out_name(page):
    if page == INDEX:
        return "index.html"
    return page + ".html" if pages.is_manual(page) else re.sub(r"\.md$", ".html", page)


class Library:
    def __init__(self, out):
        self.out, self.books, self.copied = out, books(), set()
        self.book_of = {chapter: book for book, list_ in self.books.items() for chapter, _ in list_}
        self.places = {INDEX, *self.books, *self.book_of}
        self.manuals = {os.path.basename(p): p for p in self.places if pages.is_manual(p)}

    def page_of(self, path):
        """The page of a file or folder of the tree, or None."""
        return next((p for p in (path, os.path.join(path, "README.md")) if p in self.places), None)

    def between(self, page, path):
        return os.path.relpath(path, os.path.dirname(out_name(page)) or ".")

    def address(self, page, path, anchor):
        """Of a link on a page; None: to a folder without a page."""
        there, file = self.page_of(path), os.path.join(ROOT, path)
        if not os.path.exists(file):
            raise Wrong(f"{page}: nothing is at the link to {path}")
        if not there and os.path.isdir(file):
            return None
        if not there and path not in self.copied:
            self.copied.add(path)
            self.write(path, None)
        return self.between(page, out_name(there) if there else path) + ("#" + anchor if anchor else "")

    def find(self, page, name):
        """The address of a name in the text, if a page of the books is of this name."""
        near = os.path.normpath(os.path.join(os.path.dirname(page), name))
        files = [p for p in (name, near) if p.endswith(".md") and p in self.places]
        there = self.manuals.get(name) or next(iter(files), None)
        return self.between(page, out_name(there)) if there and there != page else None

    def write(self, path, text):
        """`text` None: a copy of the tree's file."""
        place = os.path.join(self.out, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if text is None:
            shutil.copyfile(os.path.join(ROOT, path), place)
        else:
            with open(place, "w", encoding="utf-8") as f:
                f.write(text)

    def link(self, page, there, text):
        return f'<a href="{html.escape(self.between(page, out_name(there)))}">{html.escape(text)}</a>'

    def contents(self, page):
        """Beside a page: the books, and the chapters of the one that it is in."""
        of = page if page in self.books else self.book_of.get(page)
        lines = [f"<p>{self.link(page, INDEX, 'FCM-Server')}</p>", "<ul>"]
        for book, list_ in self.books.items():
            lines.append(f"<li>{self.link(page, book, pages.title(book))}")
            if book == of:
                items = [f"<b>{html.escape(name)}</b>" if chapter == page else self.link(page, chapter, name)
                         for chapter, name in list_]
                lines += ["<ol>", *(f"<li>{item}</li>" for item in items), "</ol>"]
            lines.append("</li>")
        return "\n".join([*lines, "</ul>"])

    def turn(self, page):
        """To the next chapter."""
        list_ = self.books.get(self.book_of.get(page), [])
        at = next((n for n, (chapter, _) in enumerate(list_) if chapter == page), len(list_))
        return f'<p class="turn">Next: {self.link(page, *list_[at + 1])}</p>' if at + 1 < len(list_) else ""

    def build(self):
        for page in sorted(self.places):
            body = pages.as_html(page, lambda path, anchor, page=page: self.address(page, path, anchor),
                                 lambda name, page=page: self.find(page, name))
            self.write(out_name(page), PAGE.format(
                title=html.escape(pages.title(page)), style=self.between(page, STYLE), contents=self.contents(page),
                body=body, turn=self.turn(page)))
        self.write(STYLE, None)
        print(f"{len(self.books)} books, {len(self.places)} pages: {os.path.join(self.out, 'index.html')}")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: books.py OUT")
    out = sys.argv[1]
    shutil.rmtree(out, ignore_errors=True)  # pages of before
    try:
        Library(out).build()
    except Wrong as e:
        sys.exit(f"books.py: {e}")


if __name__ == "__main__":
    main()
