"""Whether a sentence of a document is meant for the model that reads it, and not for people.

Told by its structure: it overrides instructions, poses as a part of a prompt, names the assistant
it speaks to, or says what the answer is to look like. Runbooks are full of imperatives, so none
of that is enough by itself where a human could be meant: such a sentence is only suspect."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from functools import lru_cache
from typing import Literal

from enrichment.trust.wording import MESSAGE, PLANTED, SUSPECT

Addressing = Literal["", "suspect", "planted"]
"""`planted`: for a model, and nobody else. `suspect`: could be, or tells of such a sentence."""

_LONGEST = 4_000
"""Characters of one sentence that are read; a longer one is read in overlapping parts."""
_OVERLAP = 200

_QUOTED = re.compile(
    r"[“\"«„]([^“”\"«»„]{2,400})(?:[”\"»“]|$)|`([^`\s]{1,200}\s[^`]{1,400})`|‘([^‘’]{2,400})’"
)
_DICTATED = 16
"""Characters of a quotation that is a text to be said, and no word to be mentioned."""
_FEW_WORDS = 3
"""Fewer than this around a quotation tell nothing about it: the quotation is the sentence."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,4000}={0,2}")
_EMPHASIS = re.compile(r"[*~]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|<br\s*/?>")
_LINK = re.compile(r"\[([^\[\]]{1,300})\]\([^()\s]{1,500}\)")
_TAGS = range(0xE0020, 0xE007F)
"""Characters that nothing shows and a model reads as ASCII."""
_LOOKALIKES = str.maketrans("аеорсухіѕԁһјАВЕКМНОРСТХУІЅЈ", "aeopcyxisdhjABEKMHOPCTXYISJ")
_MIXED = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[\u0400-\u052f])\w{2,40}\b")
"""A word in two alphabets at once."""


@lru_cache(maxsize=50_000)
def addressing(sentence: str) -> Addressing:
    """Of one sentence, list item, title or cell, plain or markdown. Linear in its length."""
    if len(sentence) > _LONGEST:
        step = _LONGEST - _OVERLAP
        parts = {addressing(sentence[at : at + _LONGEST]) for at in range(0, len(sentence), step)}
        return "planted" if "planted" in parts else "suspect" if "suspect" in parts else ""
    seen = as_read(sentence)
    if MESSAGE.search(seen) or any(PLANTED.search(hidden) for hidden in _decoded(seen)):
        return "planted"
    if not PLANTED.search(seen):
        return "suspect" if SUSPECT.search(seen) else ""
    return "suspect" if _only_quotes(seen) else "planted"


def as_read(text: str) -> str:
    """The text as a model takes it in: without what nobody sees, and without markup."""
    if not text.isascii():
        text = _without_disguise(text)
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", text)).split(" "))


def _without_disguise(text: str) -> str:
    """Compatibility forms, invisible characters and lookalike letters, as the plain ones."""
    shown = "".join(chr(ord(c) - 0xE0000) if ord(c) in _TAGS else c for c in text)
    shown = unicodedata.normalize("NFKC", shown)
    shown = "".join(c for c in shown if unicodedata.category(c) not in ("Cf", "Mn") or c == "\n")
    return _MIXED.sub(lambda word: word[0].translate(_LOOKALIKES), shown)


def _only_quotes(seen: str) -> bool:
    """Whether what is planted is only told of: quoted, in a sentence of somebody else's."""
    around = _QUOTED.sub(lambda quoted: " …… " if len(quoted[0]) > _DICTATED else " … ", seen)
    return not PLANTED.search(around) and len(re.findall(r"\w+", around)) >= _FEW_WORDS


def _decoded(text: str) -> list[str]:
    """What stands there in base64."""
    found = []
    for match in _BASE64.finditer(text):
        letters = match[0].rstrip("=")
        try:
            raw = base64.b64decode(letters + "=" * (-len(letters) % 4))
            found.append(raw.decode("utf-8"))
        except (binascii.Error, ValueError):
            continue
    return found
