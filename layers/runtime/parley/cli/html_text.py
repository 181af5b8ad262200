"""What a page says, as Markdown of the plainest kind: headings, paragraphs, list items. Markup and scripts are gone."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_UNSEEN = frozenset({"head", "script", "style", "template", "noscript", "svg"})
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCK_NAMES = """
    address article aside blockquote dd details div dl dt fieldset figcaption figure footer form header hr html
    main nav ol p pre section summary table tbody thead tr ul
    """
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_SPACES = re.compile(r"[ \t\r\n\f\u00a0]+")


def text_of_html(html: str) -> tuple[str | None, str]:
    """The page's title, if it has one, and its text."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = [line.strip() for line in "".join(reader.parts).split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    title = _SPACES.sub(" ", "".join(reader.title)).strip()
    return title or None, text + "\n" if text else ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._unseen = 0
        self._in_title = False
        self._preformatted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "body":
            self._unseen = 0  # the end of a head may be left out
        elif tag == "title":
            self._in_title = not self.title
        elif tag in _HEADINGS:
            self.parts.append(f"\n\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag == "br":
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag in _BLOCKS:
            self.parts.append("\n" if tag == "tr" else "\n\n")
            self._preformatted += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(self._unseen - 1, 0)
        elif tag == "title":
            self._in_title = False
        elif tag in _HEADINGS or (tag in _BLOCKS and tag != "tr"):
            self.parts.append("\n\n")
            self._preformatted = max(self._preformatted - (tag == "pre"), 0)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.parts.append(data if self._preformatted else _SPACES.sub(" ", data))
