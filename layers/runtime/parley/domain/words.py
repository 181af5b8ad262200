"""The words of a text as a search sees them: the same for documents and for queries, in any script.

Case, accents and the forms that Unicode holds equal make no difference: ``Größe`` is ``groesse``'s neighbour
``grosse``, ``łódź`` is ``lodz``. Scripts that put no spaces between words are read in pairs of characters. What hyphens
hold together is read apart and as one, so that ``A-1001``, ``a1001`` and ``1001`` find each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

LONGEST_WORD: Final = 64
"""Characters: what is longer is no word, and is found by its beginning."""
_STEM: Final = 5
"""Cutting words to five letters finds inflected forms in most European languages, with no rules for each."""
_SHORTEST_STEM: Final = 3
_SHORTEST_PART: Final = 4
_VOWELS: Final = frozenset("aeiouyаеиоуыэюя")
_SPELLED_OUT: Final = re.compile("([aou])e")

_UNSPACED: Final = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
"""Thai, Lao, Burmese, Khmer, kana, Han; and Hangul, whose spaces stand between more than words."""
# Vowel signs count as part of a word; \w has the letters alone.
_LETTER = "(?:[^\\W_]|[\u0900-\u0963\u0966-\u0eff\u0f00-\u109f\u1780-\u17ff])"
_HYPHEN: Final = re.compile("[-_\u2010]")
_WORD: Final = re.compile(f"{_LETTER}+(?:{_HYPHEN.pattern}{_LETTER}+)*")
_MARKS: Final = re.compile(
    "[\u00ad\u200c\u200d\u2060\ufeff\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]"
)
"""Accents, the points of Hebrew and Arabic, and what is not seen within a word: soft hyphens and joiners."""
_LETTERS: Final = {
    ord(letter): plain
    for letter, plain in zip("łøđħıæœðþ", ("l", "o", "d", "h", "i", "ae", "oe", "d", "th"), strict=True)
}
"""Letters that Unicode does not take apart."""

_COMMON: Final = """
    a an and any are as at be been but by can could did do does for from had has have how i if in into
    is it its may me my no not of on or our shall should so than that the their them then there these
    they this those to us was we were what when where which who whom whose why will with would you your
    about also am get happen happens just many mean means much need only out over own please some someone
    something tell up want
    aber als am auf aus bei bin das dass dem den der des die ein eine einem einen einer es fur hat ich
    ihr im ist kann mein mit nach nicht oder sich sie sind und uns von vom war was wenn wer wie wir wo
    zu zum zur au aux avec ce ces cette comment dans de du elle en est et il je la le les ma mes mon
    nous ou par pas pour que quel quelle qui sa ses son sont sur un une vous como con cual cuando del
    donde el ella es esta este la las lo los mi mis nos para pero por que se si sin su sus una uno unos
    y czy dla do gdzie i jak jaka jaki jakie jest ktory kto lub ma moj mozna na nie o od po przez sa sie
    ta tak ten to w z za ze
    """
COMMON: Final = frozenset(_COMMON.split())
"""What questions are made of in five languages, as ``words`` writes it: it tells no two documents apart."""


def words(text: str) -> list[str]:
    """The words, in order: letters and digits only, folded, at most ``LONGEST_WORD`` long."""
    found: list[str] = []
    for word in _WORD.findall(text.lower() if text.isascii() else _folded(text)):
        if word.isascii() and word.isalnum():  # the usual case
            found.append(word[:LONGEST_WORD])
            continue
        parts = _HYPHEN.split(word)
        for part in parts:
            if part.isascii():
                found.append(part[:LONGEST_WORD])
            else:
                found += _spaced(part)
        if len(parts) > 1 and not _UNSPACED.search(word):
            found.append("".join(parts)[:LONGEST_WORD])
    return found


def _spaced(word: str) -> Iterator[str]:
    for place, part in enumerate(_UNSPACED.split(word)):
        if place % 2:
            yield from pairs(part)
        elif part:
            yield part[:LONGEST_WORD]


def pairs(run: str) -> list[str]:
    """Every two neighbours, and the last character alone: so each character begins a word of the index."""
    return [run[place : place + 2] for place in range(len(run))]


def is_one_of_a_pair(word: str) -> bool:
    """Whether a query's word is a single character of a script without spaces: it is to be found inside pairs."""
    return len(word) == 1 and _UNSPACED.match(word) is not None


def stem(word: str) -> str:
    """What forms of a word have in common, roughly: ``policies`` and ``policy``, ``refunded`` and ``refund``.

    Short words lose what an ending may have left of itself: ``closing`` and ``close``, ``shipped`` and ``ship``.
    """
    if len(word) <= _SHORTEST_STEM or not word.isalpha():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = word[:_STEM]
    if len(word) > _SHORTEST_STEM and word[-1] in _VOWELS:
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] == word[-2] else word


def parts_of(word: str) -> list[str]:
    """What a word may be made of, or be a form of: its beginnings and its ends, the longest first."""
    beginnings = [word[:length] for length in range(len(word) - 1, _SHORTEST_PART - 1, -1)]
    ends = [word[place:] for place in range(1, len(word) - _SHORTEST_PART + 1)]
    return sorted([*beginnings, *ends], key=len, reverse=True)


def without_e(word: str) -> str:
    """A word with umlauts that was typed without: ``rueckgabe`` is ``ruckgabe``, which `words` makes of Rückgabe."""
    return _SPELLED_OUT.sub(r"\1", word)


def query_words(query: str) -> list[str]:
    """The words that a search is about, each once: not the common ones, unless there are no others."""
    all_words = list(dict.fromkeys(words(query)))
    return [word for word in all_words if word not in COMMON] or all_words


def neighbours(query: str) -> list[str]:
    """Each two neighbours as one word, which a document may have written so: ``back up`` and ``backup``."""
    return list(dict.fromkeys(one + other for one, other in pairwise(words(query))))


def _folded(text: str) -> str:
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold())).translate(_LETTERS)
    return unicodedata.normalize("NFC", plain)  # Hangul syllables and voiced kana come together again
