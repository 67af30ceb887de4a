"""What an excerpt reads like: statements of one section as Markdown, telling words in bold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from agents.answer import Passage
from agents.extractive.quotable import in_words
from agents.extractive.relevance import Aspect, Scored
from enrichment.language.words import TOKEN, naming_words

GAP = "…"
PICTURED = " _(a picture, as a model described it)_"
_CODE = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n(.*?)^ *\1", re.MULTILINE | re.DOTALL)
_NOT_MARKED = re.compile(r"`[^`]*`|\S*(?:://|@|\*)\S*")


def excerpt(said: Sequence[Scored], aspects: Sequence[Aspect]) -> str:
    """Markdown of statements of one section in reading order: sentences run on, items and rows
    are a list, code stays code; … where something is left out."""
    blocks: list[str] = []
    for _, group in groupby(_with_gaps(said), key=lambda pair: _shape(pair[0])):
        pairs = list(group)
        blocks.append(_block(pairs, aspects))
    return "\n".join(blocks)


def _block(pairs: Sequence[tuple[Scored, bool]], aspects: Sequence[Aspect]) -> str:
    shape = _shape(pairs[0][0])
    if shape == "code":
        return "\n".join(["```", *(one.unit.text for one, _ in pairs), "```"])
    texts = [marked(in_words(one.chunk, one.unit), aspects) for one, _ in pairs]
    if shape == "rows":
        return "\n".join([*(f"- {text}" for text in texts), *_rows_left_out(pairs)])
    if shape == "items":
        cuts = [f"- {GAP}\n" * cut for _, cut in pairs]
        return "\n".join(f"{cut}- {text}" for cut, text in zip(cuts, texts, strict=True))
    return " ".join(
        f"{GAP} {text}" if cut else text for text, (_, cut) in zip(texts, pairs, strict=True)
    )


def _shape(unit: Scored) -> str:
    if unit.chunk.kind == "code" or (unit.unit.kind == "sentence" and _is_code(unit)):
        return "code"
    return f"{unit.unit.kind}s"


def _is_code(one: Scored) -> bool:
    """A command between the steps of a text."""
    return any(one.unit.text in code[2] for code in _CODE.finditer(one.chunk.text))


def _rows_left_out(pairs: Sequence[tuple[Scored, bool]]) -> Iterator[str]:
    """How much of its table the reader sees: the row that isn't there may be the one."""
    shown: dict[str, int] = {}
    totals: dict[str, int] = {}
    for one, _ in pairs:
        if table := one.chunk.table:
            shown[table.id] = shown.get(table.id, 0) + 1
            totals[table.id] = max(table.total_rows, len(table.rows))
    for table_id, count in shown.items():
        if count < totals[table_id]:
            yield f"\n_{count} of the table's {totals[table_id]} rows_"


def _with_gaps(said: Sequence[Scored]) -> Iterator[tuple[Scored, bool]]:
    """Each with whether something between it and the one before it is left out."""
    before: Scored | None = None
    for unit in said:
        follows = before is None or _follows(unit, before)
        yield unit, not follows
        before = unit


def _follows(unit: Scored, before: Scored) -> bool:
    if unit.chunk.id == before.chunk.id:
        return unit.index == before.index + 1
    last = before.index == len(before.chunk.units) - 1
    return last and unit.index == 0 and unit.chunk.position == before.chunk.position + 1


def marked(text: str, aspects: Sequence[Aspect]) -> str:
    """The text with the words that the question names in bold, neighbours as one."""
    named = aspects[0].named_in(naming_words(text).keys())
    telling = named | {
        word for stem in named for way in aspects[0].same.get(stem, ()) for word in way
    }
    untouched = [match.span() for match in _NOT_MARKED.finditer(text)]
    runs: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        start, end = match.span()
        if any(low < end and start < high for low, high in untouched):
            continue
        if not naming_words(match[0]).keys() & telling:
            continue
        if runs and text[runs[-1][1] : start].isspace():
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    for start, end in reversed(runs):
        text = f"{text[:start]}**{text[start:end]}**{text[end:]}"
    return text


def written(lead: str, passages: Sequence[Passage]) -> str:
    """Markdown of the whole: the lead, then each passage under its title."""
    parts = [lead]
    for one in passages:
        place = " › ".join(dict.fromkeys((one.citation.title, one.citation.heading)))
        quoted = "\n".join(f"> {line}" for line in one.text.split("\n"))
        pictured = PICTURED if one.citation.from_picture else ""
        parts.append(f"**{place}** [{one.citation.number}]{pictured}\n{quoted}")
    return "\n\n".join(parts)
