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
)
from agents.runbooks.scopes import read_scope
from agents.runbooks.words import is_key
from enrichment.chunk import Chunk, says_retired
from enrichment.language.words import sentences
from enrichment.names import NamePlace, is_naming

_FIELD = re.compile(
    r"(?:^|(?<=[.;|,*] ))[\s>*_•+-]*([^\W\d_][\w-]{1,20}(?: [\w-]{1,15}){0,3})[*_`]*:[*_`]*\s+",
    re.MULTILINE,
)
_NUMBERED = re.compile(r"^1[.)]\s+(\S.*)", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:[-*•+]|\d+[.)])\s+(\S.*)")
_LEAD_LINE = re.compile(r"\s*(?:[*_]{2}([^*_]+)[*_]{2}\W*|(\w[^.:|]{2,40}):)\s*")
_ONLY_LINKS = re.compile(
    r"(?:\W*[^\W\d_][\w -]{0,40}:)?(?:\W*(?:\[[^\[\]]*\]\([^()\s]*\)|https?://\S+))+\W*"
)
_MAX_QUOTE_CHARS = 500
EXPLAINING = frozenset[Role](("meaning", "related", "link", *TELLING)) - {"step", "scope"}
"""Roles of headings below which nothing says what to do."""


@dataclass(frozen=True)
class Passage:
    """The text below a heading, or below a line such as `**Next steps**`."""

    chunk: Chunk
    role: Role
    text: str


def section_entry(chunks: Sequence[Chunk], size: int, place: NamePlace) -> RunbookEntry:
    """The entry of a section or page. Its step is a field's, else that of a heading such as
    *Mitigation*, else its first list item.

    `size`: length of the section's heading path; 0 for a page."""
    passages = passages_of(chunks, size)
    fields = [(one.chunk, cell) for one in passages for cell in _labeled(one)]
    cells = [*name_cells(place.text, place.remark), *(cell for _, cell in fields)]
    source = next((chunk for chunk, cell in fields if cell.role == "step"), None)
    own = [one for one in passages if one.role == "step"]
    step = _first_step(own)
    own = own or own_passages(passages)
    step = step or _first_step(own)
    if step and not source:
        source = step[0]
        cells.append(RunbookCell(label="First step", text=step[1][:MAX_CELL_CHARS], role="step"))
    source = source or own[0].chunk
    heading = chunks[0].heading_path[size - 1] if 0 < size <= len(chunks[0].heading_path) else ""
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
    roles = (role_of(one) or ("step" if _NUMBERED.match(one) else "") for one in headings)
    return next(filter(None, roles), "")


def passages_of(chunks: Sequence[Chunk], size: int) -> list[Passage]:
    """`size`: length of the section's heading path."""
    passages: list[Passage] = []
    for _, section in groupby(chunks, key=lambda one: one.heading_path):
        role: Role | None = None
        for chunk in section:
            lines, role = list[str](), role or role_below(chunk.heading_path[size:])
            for line in chunk.text.splitlines():
                lead = _LEAD_LINE.fullmatch(line) if chunk.kind == "text" else None
                if lead and (its_role := role_of(lead[1] or lead[2])):
                    passages.append(Passage(chunk, role, "\n".join(lines)))
                    lines, role = [], its_role
                else:
                    lines.append(line)
            passages.append(Passage(chunk, role, "\n".join(lines)))
    return [one for one in passages if one.text.strip()] or passages


def own_passages(passages: Sequence[Passage]) -> list[Passage]:
    """What does not merely explain the alert, else its diagnosis, else all of it."""
    own = [one for one in passages if one.role not in EXPLAINING]
    diagnosis = [one for one in passages if IS_DIAGNOSIS.search(" ".join(one.chunk.heading_path))]
    return own or diagnosis or list(passages)


def has_numbered_steps(passages: Sequence[Passage]) -> bool:
    return any(_NUMBERED.search(one.text) for one in passages)


def _labeled(passage: Passage) -> Iterator[RunbookCell]:
    """Cells by a heading, by `Severity: P3. Owner: Checkout.`, or by a table of two columns."""
    chunk, role = passage.chunk, passage.role
    is_cell = role in {"escalation", "owner", "severity"}
    if is_cell and (step := _first_step([replace(passage, role="step")])):
        yield RunbookCell(label=chunk.heading, text=step[1][:MAX_CELL_CHARS], role=role)
    if chunk.table and len(chunk.table.header) == 2:
        rows = (chunk.table.header, *chunk.table.rows)
        yield from (_field(label, text) for label, text in rows if role_of(label) in TELLING)
    head = chunk.text.strip().partition("\n\n")[0]
    is_read = chunk.kind == "text" and role not in EXPLAINING
    for line in passage.text.splitlines() if is_read else ():
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


def _first_step(passages: Sequence[Passage]) -> tuple[Chunk, str] | None:
    """The first item, of a numbered list before others; below a heading of steps, also the first
    sentence or command. Of the first section that has one."""
    for _, group in groupby(passages, key=lambda one: (one.chunk.heading_path, one.role)):
        section = list(group)
        for one in section:
            if numbered := _NUMBERED.search(one.text):
                return one.chunk, plain(numbered[1])
        for one, line in ((part, line) for part in section for line in _lines(part.text)):
            item = _ITEM.match(line)
            if item or (one.role == "step" and not line.endswith(":")):
                text = plain(item[1] if item else line)
                return one.chunk, text if item else next(iter(sentences(text)), "")
        for one in section:
            if one.role == "step" and (command := _first_command(one.text)):
                return one.chunk, command
    return None


def _first_command(text: str) -> str:
    """The first command of a block, after the comments above it."""
    words: list[str] = []
    block = "\n".join(text.split("```")[1:2]).partition("\n")[2]
    for line in filter(str.strip, block.splitlines()):
        if not line.lstrip().startswith("#"):
            return " ".join((*words, f"`{line.strip()}`"))
        words.append(line.strip(" #"))
    return ""


def _prose(passages: Sequence[Passage]) -> str:
    """Whole sentences from the beginning, without code and data."""
    quote = ""
    for line in (line for one in passages for line in _lines(one.text)):
        for sentence in sentences(plain(line)):
            if quote and len(quote) + len(sentence) > _MAX_QUOTE_CHARS:
                return quote
            quote = f"{quote} {sentence[:_MAX_QUOTE_CHARS]}".strip()
    return quote


def _lines(text: str) -> Iterator[str]:
    """Paragraphs and list items, without fences, tables, links alone and fields such as
    `Severity: P3`."""
    is_code, paragraph = False, ""
    for line in (*text.splitlines(), ""):
        fence = line.lstrip().startswith(("```", "~~~"))
        is_code ^= fence
        field = _FIELD.match(line)
        is_data = field is not None and role_of(field[1]) in {*TELLING, "name"} - {"step"}
        is_data |= bool(_ONLY_LINKS.fullmatch(line))
        starts = bool(_ITEM.match(line)) or not re.search(r"\w", line) or is_data
        if paragraph and (starts or fence):
            yield paragraph
            paragraph = ""
        if not (is_code or fence or is_data or line.lstrip().startswith("|")) and line.strip():
            paragraph = f"{paragraph} {line.strip()}" if paragraph else line
