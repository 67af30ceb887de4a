"""Recognizes text that addresses an assistant and demands an action of it.

Decided by what a sentence does, in terms of `acts_of`: it cancels instructions, asks for them to be
revealed, dictates or shapes the answer, or poses as a part of a prompt. `planted` is certain.
`suspect` may as well be meant for people, or quotes such text."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

from config.prompts import CHAT_TOKEN
from enrichment.language.words import sentences
from enrichment.safety.acts import acts_of, as_read

Addressing = Literal["", "suspect", "planted"]

_MAX_SENTENCE_CHARS = 4_000
"""Characters of one sentence; a longer one is checked in overlapping parts."""
_OVERLAP = 200
MARK = "may address an AI: "
"""Begins a sentence or cell that is doubtful because of what stands around it."""

_QUOTED = re.compile(
    r"[“\"«„]([^“”\"«»„]{2,400})(?:[”\"»“]|$)|`([^`\s]{1,200}\s[^`]{1,400})`|‘([^‘’]{2,400})’"
)
_FEW_WORDS = 3
"""With fewer words around it, the quotation is the sentence itself."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,4000}={0,2}")

_POSE = re.compile(
    CHAT_TOKEN.pattern + r"|[\"']role[\"']\s*:\s*[\"'](?:system|assistant|developer|tool)[\"']"
    r"|(?:</|^\W*<)(?:system|assistant|instructions?|tool_calls?|tool_response|function_calls?"
    r"|prompt|context|documents?|sources?)>(?! *[-/])|</?data-[0-9a-f]{4,}|^\W*source \d+ \|"
    r"|^\W*(?:system|developer)(?: (?:prompt|message|override|update))?\s*:.{0,80}\byou\b"
    r"|\b(?:begin|end)(?: of)?(?: the)? (?:sources?|context|passages?|instructions|documents?)\b"
    r"\s*(?:$|[-=.\])])|^\W*\[(?:system|assistant)\]"
    r"|\b(?:human|user)\s*:.{0,200}\b(?:ai|assistant)\s*:"
    r"|^\W*(?:new|updated|real|actual|hidden|secret) (?:system )?instructions?\s*:"
    r"|\bNO_ANSWER\b|\bsmall_talk\b",
    re.IGNORECASE,
)
"""Syntax of prompts."""
_COMMISSION = re.compile(
    r"\b(?:write|compose|draft|create|generate|tell)\b (?:me |us )?an? (?:\w+ ){0,4}"
    r"(?:essay|poem|limerick|haiku|song|sonnet|joke|fairy tale)\b",
    re.IGNORECASE,
)
"""Asks for a piece of literature, as no document asks of its readers."""
_CLAUSE = r"(?:^|[;,&])[.nm]{0,2}"
_PLANTED = re.compile(
    rf"{_CLAUSE}[Xx][^;,tN]{{0,3}}(?:[PY][^;,tN]{{0,3}}R|YPr|R[^;,tN]?P)(?!p)"
    r"|[PAY][^;,tN]{0,3}R[^;,tN]{0,3}x(?![^;,]{0,3}R)"
)
"""Cancels earlier instructions. With a place (`instructions in the e-mail`) it may be meant for
people; `override` is a setting as well as an act, but not after what it overrides."""
DICTATES = re.compile(r"^n?S")
"""Tells somebody what to say."""
_OPENS_AN_ORDER = re.compile(
    "|".join(
        (
            # Cancels or doesn't follow instructions, or all that was said before.
            r"(?<![tN])[Xx][^;]{0,6}[Rr]|[PAY][^;]{0,3}R[^;]{0,3}x|X[^;,]{0,4}A[^;]{0,6}[dP]",
            r"NF[^;]{0,4}[YPA]|Dd[^;]{0,2}x[^;]{0,2}A|pnp,?y[^;,]{0,2}[SBEm]",
            # Speaks to an assistant, or says what one has to say.
            r"M[^;,]{0,4}m[^;,]{0,2}[SBTEVXx]|M[^;]{0,3}GD|M[^;,]{0,3}n[SBE][^;,]?[wCc]",
            r"^[.,AtYmniyp]{0,5}M+[,;][^;]{0,6}[SBTEVXxNmyYb]|^[^;,]{0,2}MR,",
            r"M[^;,]{0,3}m[^;]{0,8}[AY]B|yb[.,mn]{0,3}M+(?:$|[^.M])",
        )
    )
)
_SUSPECT = re.compile(
    "|".join(
        (
            # Reveals instructions.
            rf"{_CLAUSE}[VST][^;,]{{0,5}}(?:[YH][^;,]{{0,2}}R|[Ad][^;]{{0,3}}[Py])",
            # Shapes or dictates the answer.
            r"Y[^;,]{0,2}B(?!n|m[^SBTEN])|YB[^;]{0,8}C|[ESVT][^;]{0,6}Y[^;,]{0,2}O",
            r"(?:^|[;,&mn])[SBTE][^;]{0,6}A[^;,]{0,2}Q|Dd[^;]{0,4}A[^;,]{0,2}Q|BtA[^;,]{0,2}Q",
            r"(?:^|[;,&])[nm]{0,2}[SB]n?[^;,]?[Cc]|(?:^|[;mn])n?[SB]n?[^;,]?w",
            r"i[^;,]{0,4}Q[^;]{0,8},[.n]{0,2}[SBTE]|i[^;,]{0,4}Q[^;,]{0,6}[ST]",
            rf"{_CLAUSE}T[^;,]{{0,2}}(?:u[^;,]{{0,4}}w|Q)|nT[^;,]{{0,2}}u",
            rf"[SB][^;]{{0,9}}pnp(?:;|,|$)|{_CLAUSE}X[^;,]?t[BS]|(?:^|[;,&])n?VC",
            r"i[^;]{0,2}[BG][^;,]{0,4}D[^;,]?d",
            r"K[^;]{0,4}#",
            r"N[^;,]{0,2}[VTS][^;]{0,12},n?S|N[^;,]{0,2}[VSK][^;,]?Dd|N[^;,]?[VST]w?y|V[^;,]{0,3}Yd",
            r"B[^;,]?pDd|[BO][^;,]{0,2}Dd[^;]{0,2}[Sm]|B[^;,]{0,6}C(?:;|$)|(?:^|[;,&])[.]wC(?:;|$)|^M,C;?$|E[^;]{0,10}[tp][.]?B(?:[;,]|$)",
            r"[SEVT][^;,]{0,3}AB|E[^;]{0,8}y[SB]|(?:^n?|[;&])Ew[Cc]|Y[^;,]{0,3}t[VSBE][^;,]?[Cc]",
        )
    )
)


@lru_cache(maxsize=50_000)
def addressing(sentence: str) -> Addressing:
    """Checks one sentence, list item, title or cell, plain or markdown. Linear in its length."""
    if len(sentence) > _MAX_SENTENCE_CHARS:
        step = _MAX_SENTENCE_CHARS - _OVERLAP
        parts = {
            addressing(sentence[at : at + _MAX_SENTENCE_CHARS])
            for at in range(0, len(sentence), step)
        }
        return "planted" if "planted" in parts else "suspect" if "suspect" in parts else ""
    plain = as_read(sentence)
    if any(map(addressing, _decode(plain))):
        return "planted"
    acts = acts_of(plain)
    cancels = _PLANTED.search(acts)
    if cancels and "z" not in acts:
        return "planted"
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(plain)]
    if any(addressing(one) == "planted" for one in quoted if one != plain):
        return "planted" if unquoted(plain) == plain else "suspect"
    if (
        cancels
        or MARK in plain
        or opens_an_order(plain)
        or _SUSPECT.search(acts)
        or _COMMISSION.search(plain)
    ):
        return "suspect"
    return ""


def opens_an_order(plain: str) -> bool:
    """Whether what follows may be a part of the same order. `plain`: see `as_read`."""
    return bool(_POSE.search(plain) or _OPENS_AN_ORDER.search(acts_of(plain)))


def unquoted(text: str) -> str:
    """The text without what it only quotes; the whole text when little is left."""
    around = _QUOTED.sub(" … ", text)
    return around if len(re.findall(r"\w+", around)) >= _FEW_WORDS else text


def _decode(text: str) -> list[str]:
    """Decoded base64 strings of the text."""
    texts = []
    for match in _BASE64.finditer(text):
        letters = match[0].rstrip("=")
        try:
            raw = base64.b64decode(letters + "=" * (-len(letters) % 4))
            texts.append(raw.decode("utf-8"))
        except (binascii.Error, ValueError):
            continue
    return texts


_CELL = re.compile(r"(?:^|(?<=\s))\|(?=\s|$)|<br\s*/?>|\n", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])\s+")


def statements(text: str) -> Iterator[str]:
    """Sentences and cells of a text or of markdown, verbatim and in order.

    Sentences also end before signs that open no sentence, such as braces."""
    for part in _CELL.split(text):
        for sentence in sentences(part):
            yield from _END.split(sentence)


def rewrite(text: str, change: Callable[[str], str]) -> str:
    """The text with every statement changed, and what stands between them as it was."""
    parts, at = [], 0
    for statement in statements(text):
        start = text.index(statement, at)
        parts += [text[at:start], change(statement)]
        at = start + len(statement)
    return "".join((*parts, text[at:]))


def with_marks(text: str) -> str:
    """The text as a prompt quotes it: what may address the model says so."""
    return rewrite(text, lambda one: marked(one) if addressing(one) else one)


def marked(statement: str) -> str:
    return statement if MARK in statement else f"({MARK}{statement})"


REDACTED = "…"


def redacted(text: str) -> str:
    """The text as it is shown to people: without what may address a model."""
    return rewrite(text, lambda one: REDACTED if addressing(one) else one)
