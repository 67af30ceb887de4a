"""Selects the statements that may be quoted, and writes at most three excerpts of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from agents.answer import Passage
from agents.extractive.language import asks_about_the_past
from agents.extractive.relevance import Aspect, ScoredUnit, citation
from agents.extractive.table import cell_at, flat, header_at, row_label, says_nothing, together
from enrichment.chunk import Chunk, ChunkTable, DocumentCard, Unit, is_out_of_force
from enrichment.language.words import TOKEN, naming_words
from enrichment.safety.injection import redacted
from enrichment.safety.withholding import WITHHELD

MAX_STATEMENT_CHARS = 400
"""Maximum length of a quoted sentence, item or row."""
_MIN_WORDS = 2
"""A statement such as `Yes!` answers nothing by itself."""
_NEARLY, _LIKELY = 3.0, 2.0
"""Log-odds by which a document in force may be weaker than a superseded one, and log-odds that are
enough for it in any case: an outdated rule is wrong advice."""

_ABOUT_THE_PAGE = re.compile(
    r"^\W*(?:(?:last|date) (?:modified|updated|reviewed|changed)|references?|see also"
    r"|version|status)\s*:|^\W*see (?:also |the )",
    re.IGNORECASE,
)


def quotable(
    scored: Sequence[ScoredUnit],
    context: Sequence[Chunk],
    whole: Aspect,
    documents: Mapping[str, DocumentCard],
) -> list[ScoredUnit]:
    """Statements of the context that tell a reader something, best first. Superseded documents are
    left out where one in force answers."""
    visible = {chunk.id for chunk in context}
    usable = [unit for unit in scored if unit.chunk.id in visible and _says_something(unit)]
    if not usable or asks_about_the_past(whole.text):
        return usable
    current = [u for u in usable if not is_out_of_force(documents.get(u.chunk.document_id))]
    enough = min(usable[0].strength - _NEARLY, _LIKELY)
    return current if current and current[0].strength > enough else usable


def is_lead_in(unit: Unit) -> bool:
    """Whether it is a sentence or item that ends in a colon."""
    return unit.kind != "row" and unit.text.rstrip().endswith((":", "："))


def unit_text(chunk: Chunk, unit: Unit) -> str:
    """The sentence or item verbatim; a row as `label — header: cell; header: cell`."""
    if unit.row is None or chunk.table is None:
        return shorten(redacted(unit.text))
    label = redacted(row_label(chunk.table, unit.row))
    cells = "; ".join(_cells(chunk.table, unit.row))
    return shorten(f"{label} — {cells}" if label and cells else label or cells)


def shorten(text: str) -> str:
    """Cuts a long text after a word, with an ellipsis."""
    if len(text) <= MAX_STATEMENT_CHARS:
        return text
    return text[:MAX_STATEMENT_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _cells(table: ChunkTable, row: int) -> list[str]:
    """`header: cell` of each value column; neighbors with the same cell are merged."""
    lines: list[str] = []
    value_columns = range(table.label_columns, len(table.rows[row]))
    for cell, columns in groupby(value_columns, key=lambda column: cell_at(table, row, column)):
        headers = together([header_at(table, column) for column in columns])
        if not says_nothing(cell):
            lines.append(": ".join(filter(None, map(redacted, (headers, cell)))))
    return lines


def _says_something(scored: ScoredUnit) -> bool:
    unit = scored.unit
    if _ABOUT_THE_PAGE.search(unit.text) or unit.text.strip() == WITHHELD:
        return False
    if unit.kind == "sentence" and unit.text.rstrip().endswith("?"):
        return False
    # What may address a model is no answer to a person.
    return unit.row is not None or len(naming_words(redacted(unit.text))) >= _MIN_WORDS


GAP = "…"
PICTURED = " _(a picture, as a model described it)_"
_CODE = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n(.*?)^ *\1", re.MULTILINE | re.DOTALL)
_NOT_MARKED = re.compile(r"`[^`]*`|\S*(?:://|@|\*)\S*")


def excerpt(statements: Sequence[ScoredUnit], aspects: Sequence[Aspect]) -> str:
    """Markdown of one section's statements in reading order: sentences as running text, items and
    rows as a list, code as code; … marks a gap."""
    groups = groupby(_with_gaps(statements), key=lambda pair: _shape(pair[0]))
    return "\n".join(_block(list(pairs), aspects) for _, pairs in groups)


def _block(pairs: Sequence[tuple[ScoredUnit, bool]], aspects: Sequence[Aspect]) -> str:
    shape = _shape(pairs[0][0])
    if shape == "code":
        return "\n".join(["```", *(one.unit.text for one, _ in pairs), "```"])
    texts = [with_bold_words(unit_text(one.chunk, one.unit), aspects) for one, _ in pairs]
    if shape == "rows":
        return "\n".join([*(f"- {text}" for text in texts), *_rows_left_out(pairs)])
    if shape == "items":
        cuts = [f"- {GAP}\n" * cut for _, cut in pairs]
        return "\n".join(f"{cut}- {text}" for cut, text in zip(cuts, texts, strict=True))
    return " ".join(
        f"{GAP} {text}" if cut else text for text, (_, cut) in zip(texts, pairs, strict=True)
    )


def _shape(unit: ScoredUnit) -> str:
    if unit.chunk.kind == "code" or (unit.unit.kind == "sentence" and _is_code(unit)):
        return "code"
    return f"{unit.unit.kind}s"


def _is_code(one: ScoredUnit) -> bool:
    """Whether it is a command in a code block of a text."""
    return any(one.unit.text in code[2] for code in _CODE.finditer(one.chunk.text))


def _rows_left_out(pairs: Sequence[tuple[ScoredUnit, bool]]) -> Iterator[str]:
    """Says how many of a table's rows are visible: the needed row may be another one."""
    tables = [one.chunk.table for one, _ in pairs if one.chunk.table]
    totals = {table.id: max(table.total_rows, len(table.rows)) for table in tables}
    for table_id, count in Counter(table.id for table in tables).items():
        if count < totals[table_id]:
            yield f"\n_{count} of the table's {totals[table_id]} rows_"


def _with_gaps(statements: Sequence[ScoredUnit]) -> Iterator[tuple[ScoredUnit, bool]]:
    """(statement, whether there is a gap before it)."""
    before: ScoredUnit | None = None
    for unit in statements:
        follows = before is None or _follows(unit, before)
        yield unit, not follows
        before = unit


def _follows(unit: ScoredUnit, before: ScoredUnit) -> bool:
    if unit.chunk.id == before.chunk.id:
        return unit.index == before.index + 1
    last = before.index == len(before.chunk.units) - 1
    return last and unit.index == 0 and unit.chunk.position == before.chunk.position + 1


def with_bold_words(text: str, aspects: Sequence[Aspect]) -> str:
    """Sets the question's words in bold; neighbors share one pair of marks."""
    question_words = aspects[0].named_in(naming_words(text).keys())
    bold = question_words | {
        word for stem in question_words for way in aspects[0].same.get(stem, ()) for word in way
    }
    untouched = [match.span() for match in _NOT_MARKED.finditer(text)]
    runs: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        start, end = match.span()
        if any(low < end and start < high for low, high in untouched):
            continue
        if not naming_words(match[0]).keys() & bold:
            continue
        if runs and text[runs[-1][1] : start].isspace():
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    for start, end in reversed(runs):
        text = f"{text[:start]}**{text[start:end]}**{text[end:]}"
    return text


def passages_text(lead: str, passages: Sequence[Passage]) -> str:
    """Markdown of the lead, then of each passage under its title."""
    parts = [lead]
    for one in passages:
        place = " › ".join(dict.fromkeys((one.citation.title, one.citation.heading)))
        quoted = "\n".join(f"> {line}" for line in one.text.split("\n"))
        pictured = PICTURED if one.citation.from_picture else ""
        parts.append(f"**{place}** [{one.citation.number}]{pictured}\n{quoted}")
    return "\n\n".join(parts)


MAX_PASSAGES = 3
MAX_CHARS = 1_200
"""Characters of all excerpts: people read them in a thread on a phone."""
MAX_PASSAGE_CHARS = 900
MAX_LIST_CHARS = 700
"""Maximum length of a list that is shown whole."""
_FURTHER, _WEAKEST = 3.0, 5.0
"""Log-odds by which the best statement of a further passage, and any statement, may be weaker than
the best one: free space alone is no reason to show a statement."""
_STATEMENTS_COUNTED = 3
"""Statements that count for a section's strength."""
_NEXT, _NEAR = 1.0, 0.5
"""Log-odds that a statement gains directly after its section's best one, or near it: adjacent
statements need no gap mark."""

Section = tuple[str, str, tuple[str, ...], bool]
"""(document id, tab, heading path, whether it is a description of a picture)."""


def passages_of(
    quotable: Sequence[ScoredUnit], aspects: Sequence[Aspect], documents: Mapping[str, DocumentCard]
) -> tuple[tuple[Passage, ...], float]:
    """(excerpts of the best sections for the question and for each of its parts, best first; share
    of the odds of all quotable statements that they hold, 0–1).

    `quotable`: see `quotable()`, best first. `aspects`: the whole question first."""
    sections: dict[Section, list[ScoredUnit]] = {}
    first = {flat(unit.unit.text): unit for unit in reversed(quotable)}
    for unit in quotable:
        if first[flat(unit.unit.text)] is not unit:  # the same in another document
            continue
        sections.setdefault(_section(unit.chunk), []).append(unit)
    chosen = _leading_sections(quotable, list(sections.values()))
    excerpts = _fill(chosen)
    passages = tuple(
        Passage(
            citation=citation(units[0].chunk, number, units[0].unit.text, documents),
            text=excerpt(statements, aspects),
        )
        for number, (units, statements) in enumerate(zip(chosen, excerpts, strict=True), start=1)
    )
    visible = [unit for statements in excerpts for unit in statements]
    return passages, _share(visible, quotable)


def _share(visible: Sequence[ScoredUnit], quotable: Sequence[ScoredUnit]) -> float:
    best = max((unit.strength for unit in quotable), default=0.0)
    all_odds = math.fsum(math.exp(unit.strength - best) for unit in quotable)
    odds = math.fsum(math.exp(unit.strength - best) for unit in visible)
    return min(1.0, odds / all_odds) if all_odds else 0.0


def _leading_sections(
    quotable: Sequence[ScoredUnit], sections: Sequence[Sequence[ScoredUnit]]
) -> list[Sequence[ScoredUnit]]:
    """The best section for the whole question, the best of each part, then the next best."""
    ranked = sorted(sections, key=lambda units: -_together(units))
    if not ranked:
        return []
    parts = range(1, len(quotable[0].aspects))
    leaders = [_section(max(quotable, key=lambda u: u.aspects[part]).chunk) for part in parts]
    near = [units for units in ranked if units[0].strength > ranked[0][0].strength - _FURTHER]
    leading = [units for units in ranked if _section(units[0].chunk) in leaders]
    ordered = [ranked[0], *leading, *near]
    return list({_section(units[0].chunk): units for units in ordered}.values())[:MAX_PASSAGES]


def _together(units: Sequence[ScoredUnit]) -> float:
    """Log-odds of a section: the odds of its best statements add up."""
    return math.log(
        math.fsum(math.exp(min(50.0, one.strength)) for one in units[:_STATEMENTS_COUNTED])
    )


def _fill(chosen: Sequence[Sequence[ScoredUnit]]) -> list[list[ScoredUnit]]:
    """Each section's best statement, then the next best of all sections while there is space."""
    statements = [[units[0]] for units in chosen]
    strongest = max((units[0].strength for units in chosen), default=0.0)
    used = [_size(units[0]) for units in chosen]
    for place, units in enumerate(chosen):
        whole = _complete_list(units[0], units)
        more = sum(map(_size, whole)) - used[place]
        if used[place] + more <= MAX_LIST_CHARS and sum(used) + more <= MAX_CHARS:
            statements[place] = whole
            used[place] += more
    candidates = [
        (unit.strength + _nearness(unit, units), place, unit)
        for place, units in enumerate(chosen)
        for unit in units[1:]
    ]
    for worth, place, unit in sorted(candidates, key=lambda other: (-other[0], other[1])):
        if worth < strongest - _WEAKEST:
            break
        whole = _complete_list(unit, chosen[place]) if unit.unit.kind == "item" else [unit]
        for added in (whole, [unit]):
            new = [one for one in added if one not in statements[place]]
            size = sum(map(_size, new))
            if sum(used) + size <= MAX_CHARS and used[place] + size <= MAX_PASSAGE_CHARS:
                statements[place] += new
                used[place] += size
                break
    return [sorted(units, key=_order) for units in statements]


def _complete_list(best: ScoredUnit, units: Sequence[ScoredUnit]) -> list[ScoredUnit]:
    """The whole list that a statement belongs to or introduces, because half a list misleads; for a
    sentence the next one too, which often completes it."""
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


def _size(unit: ScoredUnit) -> int:
    return len(unit_text(unit.chunk, unit.unit))


def _order(unit: ScoredUnit) -> tuple[int, int]:
    return unit.chunk.position, unit.index


def _nearness(unit: ScoredUnit, units: Sequence[ScoredUnit]) -> float:
    places = sorted(map(_order, units))
    apart = places.index(_order(unit)) - places.index(_order(units[0]))
    return _NEXT if apart == 1 else _NEAR if abs(apart) <= 2 else 0.0


def _section(chunk: Chunk) -> Section:
    return chunk.document_id, chunk.tab, chunk.heading_path, chunk.from_picture
