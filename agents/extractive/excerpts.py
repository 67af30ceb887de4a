"""Where the documents speak of what was asked: at most three titled excerpts.

Which sentences, list items and rows may be quoted, and how each is put into words.

What an excerpt reads like: statements of one section as Markdown, telling words in bold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.answer import Passage
from agents.extractive.language import asks_about_the_past
from agents.extractive.relevance import Aspect, Scored, citation
from agents.extractive.table import flat, row_label, says_nothing, together
from enrichment.chunk import Chunk, ChunkTable, DocumentCard, Unit, is_out_of_force
from enrichment.language.words import TOKEN, naming_words
from enrichment.safety.injection import WITHHELD, addressing

LONGEST_STATEMENT = 400
"""Characters of a sentence, item or row as it is quoted."""
_FEWEST_WORDS = 2
"""`Yes!` answers nothing by itself."""
_NEARLY, _LIKELY = 3.0, 2.0
"""What is in force may be that many log-odds weaker than a superseded document, or have only
these at all, and still wins: an outdated rule is wrong advice."""

_ABOUT_THE_PAGE = re.compile(
    r"^\W*(?:(?:last|date) (?:modified|updated|reviewed|changed)|references?|see also"
    r"|version|status)\s*:|^\W*see (?:also |the )",
    re.IGNORECASE,
)


def quotable(
    scored: Sequence[Scored],
    context: Sequence[Chunk],
    whole: Aspect,
    documents: Mapping[str, DocumentCard],
) -> list[Scored]:
    """What of the context says something to people, best first; without what a superseded
    document says where its successor answers."""
    visible = {chunk.id for chunk in context}
    usable = [unit for unit in scored if unit.chunk.id in visible and _says_something(unit)]
    if not usable or asks_about_the_past(whole.text):
        return usable
    current = [u for u in usable if not is_out_of_force(documents.get(u.chunk.document_id))]
    enough = min(usable[0].strength - _NEARLY, _LIKELY)
    return current if current and current[0].strength > enough else usable


def is_lead_in(unit: Unit) -> bool:
    """A sentence or item that ends in a colon."""
    return unit.kind != "row" and unit.text.rstrip().endswith((":", "："))


def in_words(chunk: Chunk, unit: Unit) -> str:
    """The sentence or item verbatim; a row as `label — header: cell; header: cell`."""
    if unit.row is None or chunk.table is None:
        return shortened(unit.text)
    label = row_label(chunk.table, unit.row)
    cells = "; ".join(_cells(chunk.table, unit.row))
    return shortened(f"{label} — {cells}" if label and cells else label or cells)


def shortened(text: str) -> str:
    """At a word's end, with a sign that something follows."""
    if len(text) <= LONGEST_STATEMENT:
        return text
    return text[:LONGEST_STATEMENT].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _cells(table: ChunkTable, row: int) -> list[str]:
    """`header: cell` beside the label; neighbours that hold the same cell are one."""
    found: list[tuple[list[str], str]] = []
    for position in range(table.label_columns, len(table.rows[row])):
        cell = flat(table.rows[row][position])
        header = flat(table.header[position]) if position < len(table.header) else ""
        if found and found[-1][1] == cell:
            found[-1][0].append(header)
        else:
            found.append(([header], cell))
    return [
        f"{together(headers)}: {cell}" if any(headers) else cell
        for headers, cell in found
        if not says_nothing(cell)
    ]


def _says_something(scored: Scored) -> bool:
    unit = scored.unit
    if _ABOUT_THE_PAGE.search(unit.text) or unit.text.strip() == WITHHELD:
        return False
    # An index made before planted text was kept out may hold some.
    if addressing(unit.text) == "planted":
        return False
    if unit.kind == "sentence" and unit.text.rstrip().endswith("?"):
        return False
    return unit.row is not None or len(naming_words(unit.text)) >= _FEWEST_WORDS


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


MOST_PASSAGES = 3
LONGEST = 1_200
"""Characters of all excerpts: someone reads this in a thread, at night, on a phone."""
LONGEST_PASSAGE = 900
LONGEST_LIST = 700
"""Of a list that is shown whole."""
_FURTHER, _WEAKEST = 3.0, 5.0
"""Log-odds by which a further passage's best statement, and any statement, may be weaker than the
best of all: room alone is no reason to show something."""
_COUNTED = 3
"""Statements of a section that speak for it."""
_NEXT, _NEAR = 1.0, 0.5
"""Log-odds that a statement gains by standing right after its section's best one, or near it:
what is read in one go needs no …"""

Section = tuple[str, str, tuple[str, ...], bool]
"""Document, tab, headings, and whether a picture there is described."""


@dataclass(frozen=True, kw_only=True)
class Excerpts:
    """What is shown of the documents."""

    passages: tuple[Passage, ...] = ()
    """Best first."""
    share_shown: float = 0.0
    """Of the odds of all statements found, how much those have that are shown, 0–1."""


def passages_of(
    quotable: Sequence[Scored], aspects: Sequence[Aspect], documents: Mapping[str, DocumentCard]
) -> Excerpts:
    """The sections that speak of the question most, and of each part of it.

    `quotable`: see `quotable.py`, best first. `aspects`: the whole question first."""
    sections: dict[Section, list[Scored]] = {}
    first = {flat(unit.unit.text): unit for unit in reversed(quotable)}
    for unit in quotable:
        if first[flat(unit.unit.text)] is not unit:  # the same in another document
            continue
        sections.setdefault(_section(unit.chunk), []).append(unit)
    chosen = _leading(quotable, list(sections.values()))
    excerpts = _filled(chosen)
    passages = tuple(
        Passage(
            citation=citation(units[0].chunk, number, units[0].unit.text, documents),
            text=excerpt(said, aspects),
        )
        for number, (units, said) in enumerate(zip(chosen, excerpts, strict=True), start=1)
    )
    shown = [unit for said in excerpts for unit in said]
    return Excerpts(passages=passages, share_shown=_share(shown, quotable))


def _share(shown: Sequence[Scored], quotable: Sequence[Scored]) -> float:
    best = max((unit.strength for unit in quotable), default=0.0)
    all_odds = math.fsum(math.exp(unit.strength - best) for unit in quotable)
    odds = math.fsum(math.exp(unit.strength - best) for unit in shown)
    return min(1.0, odds / all_odds) if all_odds else 0.0


def _leading(
    quotable: Sequence[Scored], sections: Sequence[Sequence[Scored]]
) -> list[Sequence[Scored]]:
    """The best section for the whole question, the best of each part, then the next best."""
    ranked = sorted(sections, key=lambda units: -_together(units))
    if not ranked:
        return []
    parts = range(1, len(quotable[0].aspects))
    leaders = [_section(max(quotable, key=lambda u: u.aspects[part]).chunk) for part in parts]
    near = [units for units in ranked if units[0].strength > ranked[0][0].strength - _FURTHER]
    wanted = [ranked[0], *(units for units in ranked if _section(units[0].chunk) in leaders), *near]
    return list({_section(units[0].chunk): units for units in wanted}.values())[:MOST_PASSAGES]


def _together(units: Sequence[Scored]) -> float:
    """Log-odds of a section: those of its best statements add up."""
    return math.log(math.fsum(math.exp(min(50.0, one.strength)) for one in units[:_COUNTED]))


def _filled(chosen: Sequence[Sequence[Scored]]) -> list[list[Scored]]:
    """Of each section its best statement, then the next best of all while there is room."""
    said = [[units[0]] for units in chosen]
    strongest = max((units[0].strength for units in chosen), default=0.0)
    used = [_size(units[0]) for units in chosen]
    for place, units in enumerate(chosen):
        whole = _completed(units[0], units)
        more = sum(map(_size, whole)) - used[place]
        if used[place] + more <= LONGEST_LIST and sum(used) + more <= LONGEST:
            said[place] = whole
            used[place] += more
    others = [
        (unit.strength + _nearness(unit, units), place, unit)
        for place, units in enumerate(chosen)
        for unit in units[1:]
    ]
    for worth, place, unit in sorted(others, key=lambda other: (-other[0], other[1])):
        if worth < strongest - _WEAKEST:
            break
        whole = _completed(unit, chosen[place]) if unit.unit.kind == "item" else [unit]
        for added in (whole, [unit]):
            new = [one for one in added if one not in said[place]]
            size = sum(map(_size, new))
            if sum(used) + size <= LONGEST and used[place] + size <= LONGEST_PASSAGE:
                said[place] += new
                used[place] += size
                break
    return [sorted(units, key=_order) for units in said]


def _completed(best: Scored, units: Sequence[Scored]) -> list[Scored]:
    """The list that a statement is an item of or leads into: half of a list misleads. With a
    sentence the one after it, which often completes it."""
    own, start, end = best.chunk.units, best.index, best.index
    if best.unit.kind == "item":
        while start > 0 and own[start - 1].kind == "item":
            start -= 1
        start -= start > 0 and is_lead_in(own[start - 1])
    if best.unit.kind == "item" or is_lead_in(best.unit):
        while end + 1 < len(own) and own[end + 1].kind == "item":
            end += 1
    elif [one.kind for one in own[end : end + 2]] == ["sentence", "sentence"]:
        end += 1
    places = {(best.chunk.id, index) for index in range(start, end + 1)}
    return [unit for unit in units if (unit.chunk.id, unit.index) in places]


def _size(unit: Scored) -> int:
    return len(in_words(unit.chunk, unit.unit))


def _order(unit: Scored) -> tuple[int, int]:
    return unit.chunk.position, unit.index


def _nearness(unit: Scored, units: Sequence[Scored]) -> float:
    places = sorted(map(_order, units))
    apart = places.index(_order(unit)) - places.index(_order(units[0]))
    return _NEXT if apart == 1 else _NEAR if abs(apart) <= 2 else 0.0


def _section(chunk: Chunk) -> Section:
    return chunk.document_id, chunk.tab, chunk.heading_path, chunk.from_picture
