# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of the books: a Markdown file as GitHub reads it (CommonMark and tables), or a manual page. Its title, its
anchors, its links; and as HTML. For books.py and for lint (tests/lint/links.py)."""
import functools
import html
import os
import re
import subprocess

from markdown_it import MarkdownIt

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INDEX = "books/README.md"
# A file that names a manual page: fcmctl.1
MANUAL = re.compile(r"([a-z][\w.-]*)\.([1-9])")
REFERENCE = re.compile(r"\b([a-z][\w.-]*)\(([1-9])\)")
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def is_manual(page):
    return bool(MANUAL.fullmatch(os.path.basename(page)))


def is_page(page):
    return page.endswith(".md") or is_manual(page)


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as f:
        return f.read()


def is_outside(href):
    return bool(re.match(r"[a-z]+:", href))


def target(page, href):
    """(path in the tree, anchor or "") of a link on a page."""
    path, _, anchor = href.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, anchor


@functools.lru_cache(maxsize=None)
def tokens(page):
    return MARKDOWN.parse(read(page))


def words(inline):
    return "".join(t.content for t in inline.children if t.type in ("text", "code_inline"))


def headings(page):
    """[(its place among the tokens, text, anchor)], anchors as GitHub makes them."""
    found, seen = [], {}
    for n, token in enumerate(tokens(page)):
        if token.type == "heading_open":
            text = words(tokens(page)[n + 1])
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            seen[slug] = seen.get(slug, -1) + 1
            found.append((n, text, f"{slug}-{seen[slug]}" if seen[slug] else slug))
    return found


def title(page):
    if is_manual(page):
        return "{}({})".format(*MANUAL.fullmatch(os.path.basename(page)).groups())
    return next((text for _, text, _ in headings(page)), page)


def inlines(page, within=None):
    """(line, token) of all runs of text, or of those within a "list_item" or "table"."""
    line, depth = 0, 0
    for token in tokens(page):
        line = token.map[0] + 1 if token.map else line
        depth += {f"{within}_open": 1, f"{within}_close": -1}.get(token.type, 0)
        if token.type == "inline" and (depth or not within):
            yield line, token


def links(page, within=None):
    """(line, address, text) of every link and picture of a Markdown page."""
    for line, inline in inlines(page, within):
        for n, token in enumerate(inline.children):
            if token.type == "link_open":
                end = next(m for m, t in enumerate(inline.children) if m > n and t.type == "link_close")
                yield line, token.attrGet("href"), "".join(t.content for t in inline.children[n:end])
            elif token.type == "image":
                yield line, token.attrGet("src"), token.content


def code_spans(page):
    """(line, text) of `code` within the text."""
    for line, inline in inlines(page):
        yield from ((line, t.content) for t in inline.children if t.type == "code_inline")


@functools.lru_cache(maxsize=None)
def manual_html(page):
    """By mandoc; a reference to a manual page has the address man:NAME.SECTION."""
    text = subprocess.run(["mandoc", "-Thtml", "-Ofragment,toc,man=man:%N.%S", os.path.join(ROOT, page)],
                          check=True, capture_output=True, text=True).stdout
    # Headings of one name: mandoc 1.14.6 leaves out some of their anchors, and lists all of them as the first.
    heading, listed = numbered(), numbered()
    text = re.sub(r'<(h[12] class="S[hs]")(?: id="[^"]*")?>(.*?)</h',
                  lambda m: f'<{m[1]} id="{heading(re.sub("<.*?>", "", m[2]))}">{m[2]}</h', text, flags=re.S)
    contents, first, rest = text.partition('id="DESCRIPTION"')
    contents = re.sub(r'(<li><a href="#)[^"]*">(.*?)</a>', lambda m: f'{m[1]}{listed(m[2])}">{m[2]}</a>', contents,
                      flags=re.S)
    return contents + first + rest


def numbered():
    """From a heading to its anchor, as mandoc makes them: Time, Time~2."""
    seen = {}

    def anchor(text):
        name = re.sub(r"\s+", "_", text.strip())
        seen[name] = seen.get(name, 0) + 1
        return f"{name}~{seen[name]}" if seen[name] > 1 else name
    return anchor


def anchors(page):
    if is_manual(page):
        return {html.unescape(a) for a in re.findall(r'\bid="([^"]+)"', manual_html(page))}
    return {anchor for _, _, anchor in headings(page)}


# --- as HTML ---

def linked(text, find):
    """A text in which references to manual pages of the books are links. `find`: the address of fcmctl.1, or None."""
    def reference(m):
        address = find("{}.{}".format(*m.groups()))
        return f'<a href="{html.escape(address)}">{m[0]}</a>' if address else m[0]
    return REFERENCE.sub(reference, html.escape(text, quote=False))


def markdown_html(page, address, find):
    """`address`: of a link's (path, anchor), None: no link; `find`: of a name, a file or a manual page, or None."""
    source = MARKDOWN.parse(read(page))  # not those that are kept: they are changed
    for n, _, anchor in headings(page):
        source[n].attrSet("id", anchor)
    for token in source:
        inside, dead = 0, False
        for child in token.children or ():
            inside += {"link_open": 1, "link_close": -1}.get(child.type, 0)
            if child.type == "link_open" and not is_outside(child.attrGet("href")):
                place = address(*target(page, child.attrGet("href")))
                dead = not place
                child.attrSet("href", place or "")
            if child.type in ("link_open", "link_close") and dead:
                dead = child.type == "link_open"
                child.type, child.content = "html_inline", ""
            elif child.type == "text" and not inside and token.type == "inline":
                child.type, child.content = "html_inline", linked(child.content, find)
            elif child.type == "code_inline" and not inside and find(child.content):
                place, text = html.escape(find(child.content)), html.escape(child.content)
                child.type, child.content = "html_inline", f'<a href="{place}"><code>{text}</code></a>'
    return MARKDOWN.renderer.render(source, MARKDOWN.options, {})


def as_html(page, address, find):
    if not is_manual(page):
        return markdown_html(page, address, find)

    def reference(m):
        place = find(html.unescape(m[1]))
        return f'<a class="Xr" href="{html.escape(place)}">{m[2]}</a>' if place else m[2]
    return re.sub(r'<a class="Xr" href="man:([^"]+)">(.*?)</a>', reference, manual_html(page), flags=re.S)
