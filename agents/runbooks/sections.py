"""Reads sections, pages, items and blocks of fields as runbook entries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agents.runbooks.entries import (
    IS_DIAGNOSIS,
    MAX_CELL_CHARS,
    TELLING,
    Role,
    RunbookCell,
    RunbookEntry,
    link_targets,
    name_cells,
    plain,
    role_of,
    role_of_heading,
)
from agents.runbooks.scopes import read_scope
from agents.runbooks.step import Line, lines_in
from agents.runbooks.words import is_key
from enrichment.chunk import Chunk, says_retired
from enrichment.language.words import sentences
from enrichment.names import NamePlace, is_naming

_FIELD = re.compile(
    r"(?:^|(?<=[.;|,*] ))[\s>*_•+-]*([^\W\d_][\w-]{1,20}(?: [\w-]{1,15}){0,3})[*_`]*:[*_`]*\s+",
    re.MULTILINE,
)
_LEAD = re.compile(r"(?:[*_]{2}([^*_]+)[*_]{2}\W*|(\w[^\s.:|]*(?: [^\s.:|]+){0,2}):)")
_NO_PROSE = re.compile(
    r"\s*(?:\||\$ |<\d+>).*|\W*"
    r"|(?:\W*[^\W\d_][\w -]{0,40}:)?(?:\W*(?:\[[^\[\]]*\]\([^()\s]*\)|https?://\S+))+\W*"
)
"""Rows, console lines and their call-outs, rules, and links alone."""
_MAX_QUOTE_CHARS = 900
EXPLAINING = frozenset[Role](("meaning", "related", "link", *TELLING)) - {"step", "scope"}
"""Roles of headings below which nothing says what to do."""


@dataclass(frozen=True)
class Passage:
    """What stands below a heading, or below a line such as `**Next steps**`."""

    chunk: Chunk
    role: Role
    lines: Sequence[Line]


def section_entry(chunks: Sequence[Chunk], size: int, place: NamePlace) -> RunbookEntry:
    """The entry of a section or page. Its step is a field's, else that of a heading such as
    *Mitigation*, else its first list item.

    `size`: length of the section's heading path; 0 for a page."""
    passages = passages_of(chunks, size)
    fields = [(one.chunk, cell) for one in passages for cell in _labeled(one)]
    cells = [*name_cells(place.text, place.remark), *(cell for _, cell in fields)]
    source = next((chunk for chunk, cell in fields if cell.role == "step"), None)
    own = [one for one in passages if one.role == "step"] or own_passages(passages)
    step = _first_step(own, size) or _first_step(own_passages(passages), size)
    if step and not source:
        source = step[0]
        cells.append(RunbookCell(label="First step", text=step[1][:MAX_CELL_CHARS], role="step"))
    source = source or own[0].chunk
    heading = "".join(chunks[0].heading_path[max(size - 1, 0) : size])
    head = chunks[0].text.strip().split("\n\n")[0].splitlines()[:3]
    return RunbookEntry(
        kind="page" if place.kind == "page" else "section", name=place.text, chunk=source,
        place=" › ".join(filter(None, (source.document_title, heading))), cells=tuple(cells),
        quote=_prose(own) or plain(source.text)[:_MAX_QUOTE_CHARS],
        links=link_targets("\n".join(one.text for one in chunks)),
        retired=any(says_retired(line) for line in head if len(line) < 200),
    )  # fmt: skip


def block_entries(chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
    """`Alert: X` and the lines up to the next alert's; none where it is the chunk's only alert."""
    lines = chunk.text.splitlines()
    starts = [at for at, line in enumerate(lines) if any(map(is_naming, _FIELD.findall(line)[:1]))]
    start = next((at for at in starts if place.text in plain(lines[at])), -1)
    if len(starts) > 1 and start >= 0:
        end = next((at for at in starts if at > start), len(lines))
        part = replace(chunk, text="\n".join(lines[start:end]))
        yield replace(section_entry([part], len(chunk.heading_path), place), chunk=chunk)


def item_entries(chunk: Chunk, place: NamePlace) -> Iterator[RunbookEntry]:
    """`- **DiskFull** (P2): delete old logs.`"""
    for line in chunk.text.splitlines():
        before, name_text, rest = plain(line).partition(place.text)
        if not name_text or len(before) > 6 or not re.match(r"[*`]*\s*[:(—–-]", rest):
            continue
        step = rest.strip(" :—–-*`").removeprefix(f"({place.remark})").strip(" :—–-*`")
        if len(step) >= 8:
            first = RunbookCell(label="First step", text=step[:MAX_CELL_CHARS], role="step")
            yield RunbookEntry(
                kind="item", name=place.text, chunk=chunk, place=chunk.place,
                cells=(*name_cells(place.text, place.remark), first),
                quote=plain(line).strip(" -*•+"), links=link_targets(line),
                retired=says_retired(line.strip(" -*•+")) or says_retired(step),
            )  # fmt: skip
        return


def role_below(headings: Sequence[str]) -> Role:
    """The role of the outermost heading that has one; a numbered heading is a step."""
    roles = (role_of(one) or ("step" if re.match(r"1[.)]\s", one) else "") for one in headings)
    return next(filter(None, roles), "")


def passages_of(chunks: Sequence[Chunk], size: int) -> list[Passage]:
    """`size`: length of the section's heading path. A page's title says nothing of its parts."""
    passages: list[Passage] = []
    size = size or len({one.heading_path[:1] for one in chunks}) == 1
    for _, section in groupby(chunks, key=lambda one: one.heading_path):
        role: Role | None = None
        for chunk in section:
            lines, role = list[Line](), role or role_below(chunk.heading_path[size:])
            for line in lines_in(chunk.text):
                is_lead = chunk.kind == "text" and not line.indent and not line.number
                lead = _LEAD.fullmatch(line.text) if is_lead else None
                if lead and (its_role := role_of(lead[1] or lead[2])):
                    passages.append(Passage(chunk, role, lines))
                    lines, role = [], its_role
                else:
                    lines.append(line)
            passages.append(Passage(chunk, role, lines))
    return [one for one in passages if one.lines] or passages


def own_passages(passages: Sequence[Passage]) -> list[Passage]:
    """What does not merely explain the alert, else its diagnosis, else all of it."""
    own = [one for one in passages if one.role not in EXPLAINING]
    diagnosis = [one for one in passages if IS_DIAGNOSIS.search(" ".join(one.chunk.heading_path))]
    return own or diagnosis or list(passages)


def has_numbered_steps(passages: Sequence[Passage]) -> bool:
    return any(line.number for one in passages for line in one.lines)


def _labeled(passage: Passage) -> Iterator[RunbookCell]:
    """Cells by a heading, by `Severity: P3. Owner: Checkout.`, or by a table of two columns."""
    chunk, role = passage.chunk, passage.role
    is_cell = role in {"escalation", "owner", "severity"}
    if is_cell and (step := _first_step([replace(passage, role="step")], len(chunk.heading_path))):
        yield RunbookCell(label=chunk.heading, text=step[1][:MAX_CELL_CHARS], role=role)
    if chunk.table and len(chunk.table.header) == 2:
        rows = (chunk.table.header, *chunk.table.rows)
        yield from (_field(label, text) for label, text in rows if role_of(label) in TELLING)
    head = chunk.text.strip().partition("\n\n")[0]
    is_read = chunk.kind == "text" and role not in EXPLAINING
    for line in (one.markdown for one in passage.lines if is_read and not one.is_code):
        fields = [
            one for one in _FIELD.finditer(line)
            if line in head or role_of(one[1]) in TELLING or is_key(one[1])
        ]  # fmt: skip
        ends = [*(one.start() for one in fields[1:]), len(line)]
        for one, end in zip(fields, ends, strict=False):
            yield _field(one[1], line[one.end() : end].strip(" .;*|"))


def _field(label: str, text: str) -> RunbookCell:
    scope = read_scope(text, label) if role_of(label) in {"scope", ""} else None
    text = plain(text)[:MAX_CELL_CHARS]
    return RunbookCell(label=label, text=text, role=role_of(label), scope=scope)


def _first_step(passages: Sequence[Passage], size: int) -> tuple[Chunk, str] | None:
    """The first item; below a heading of steps, else the first sentence or command. Of the first
    section that has one. Below *Steps*, a subheading says what to do."""
    for _, group in groupby(passages, key=lambda one: (one.chunk.heading_path, one.role)):
        lines = [(one, line) for one in group for line in one.lines]
        for text_of in (_item, _sentence, _command):
            for one, line in lines:
                if text := text_of(one, line):
                    *above, heading = ("", *one.chunk.heading_path[size:])
                    is_step = text_of != _item and "step" in map(role_of_heading, above)
                    return one.chunk, f"{heading}: {text}" if is_step else text
    return None


def _item(_: Passage, line: Line) -> str:
    return plain(line.text) if line.item and _is_prose(line) else ""


def _sentence(passage: Passage, line: Line) -> str:
    """None that leads in to something."""
    is_step = passage.role == "step" and _is_prose(line) and not line.text.endswith(":")
    return next(iter(sentences(plain(line.text))), "") if is_step else ""


def _command(passage: Passage, line: Line) -> str:
    """The first command of a block, after the comments above it, which say what it is for."""
    words: list[str] = []
    for each in filter(str.strip, line.markdown.splitlines() if line.is_code else ()):
        if not each.lstrip().startswith("#"):
            is_step = words or passage.role == "step"
            return " ".join((*words, f"`{each.strip()}`")) if is_step else ""
        words.append(each.strip(" #"))
    return ""


def _prose(passages: Sequence[Passage]) -> str:
    """Whole sentences from the beginning, without code and data."""
    quote = ""
    for line in (line for one in passages for line in one.lines if _is_prose(line)):
        for sentence in sentences(plain(line.markdown)):
            if quote and len(quote) + len(sentence) > _MAX_QUOTE_CHARS:
                return quote
            quote = f"{quote} {sentence[:_MAX_QUOTE_CHARS]}".strip()
    return quote


def _is_prose(line: Line) -> bool:
    """Neither code nor data such as `Severity: P3`."""
    field = _FIELD.match(line.markdown)
    is_data = field is not None and role_of(field[1]) in {*TELLING, "name"} - {"step"}
    return not (line.is_code or is_data or _NO_PROSE.fullmatch(line.markdown))
