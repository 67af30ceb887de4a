"""Runbook entries outside tables: sections whose heading or field names an alert, list items that
begin with it, and runbooks that name it in their introduction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agents.alerts.alert import is_identifier, without_code
from agents.runbooks.entries import Role, RunbookCell, RunbookEntry, rating_in, role_of
from agents.runbooks.tables import match_name, remark_after, rows_for
from enrichment.chunk import Chunk, DocumentCard
from enrichment.language.words import STOP_WORDS, sentences, tokens

_NUMBER = re.compile(r"^(?:(?:step|section|chapter)\s+)?\d+(?:\.\d+)*[.)]?\s+", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:[:|—–(]|\s-\s)\s*")
_FIELD = re.compile(
    r"\s*(?:[-*•+]|\d+[.)])?\s*\**`?([A-Za-z][^:*`|]{0,40}?)`?\**\s*:\s*\**\s*(\S.*)"
)
_INLINE = re.compile(
    r"(?<![\w`/.*-])\*{0,2}([A-Z][A-Za-z-]{1,20}(?: [a-z-]{1,15}){0,2})\*{0,2}:\*{0,2}\s+"
)
_FIELD_ROLES = frozenset[Role](("severity", "owner", "step", "escalation"))
_ITEM = re.compile(r"\s*(?:[-*•+]|\d+[.)])\s+(.*)|(\*\*.*)")
_LEAD = re.compile(r"(?:\*\*|`)+(.+?)(?:\*\*|`)+\s*(.*)|([\w.:/-]+)\s*(?:[:—–]|\s-\s)\s*(.*)")
_STEP = re.compile(r"^\s*1[.)]\s+(.*)", re.MULTILINE)
_BULLET = re.compile(r"^\s*[-*•+]\s+(.*)", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
_RUNBOOK = re.compile(r"runbook|playbook|procedure|response|recovery|failover", re.IGNORECASE)
_NOT_FOR = re.compile(
    r"\b(?:not|no longer|never|except|excluding|unlike|instead of|other than|retired|n't)\b",
    re.IGNORECASE,
)
_APPLIES = re.compile(
    r"\b(?:applies (?:only )?(?:to|for|in)|only (?:for|in|on))\s+`?([^.;,`]{2,60}?)`?(?: only)?"
    r"(?=[.;,`]|$)|\bfor\s+`?([^.;,`]{2,60}?)`? only\b",
    re.IGNORECASE,
)
_LIMITATION = re.compile(
    r"\W*only \w+(?: \w+)? (?:in|on|of|from|at) `?([^.;,`]{2,60}?)`? (?:are|is|count)\b"
    r"|\W*for (?:[a-z]+ ){0,3}(`[^.;:\n]{2,60})[.;:]",
    re.IGNORECASE,
)
"""The limit of a section: `Only jobs in economy are watched`, ``For pods named `gs-*`.``"""
_OF_ALERT = re.compile(r"alert|alarm|\bfire[sd]?\b|\bpage[sd]?\b|monitor|trigger", re.IGNORECASE)
_OF_ALERTS = re.compile(
    r"alert|alarm|runbook|playbook|monitor|on-?call|incident|pag(?:er|ing)\b|trouble|respon",
    re.IGNORECASE,
)
_ALERT_FIELD = re.compile(
    r"^\W*(?:alerts?|alarms?|monitors?)(?: names?)?\W*:", re.IGNORECASE | re.MULTILINE
)
_STATES_NAME = re.compile(
    r"^\W*(?:alerts?|alarms?|monitors?)(?: names?)?\W*:|\bsame as\b|\baka\b|\balias|"
    r"^\W*(?:alerts?|alarms?|monitors?)(?:'s)?(?: names?)? (?:is|are)\b|"
    r"^\W*(?:this|that|it|here) is (?:the |our |an? )?(?:alert|alarm|monitor|page)\b|"
    r"^\W*(?:when|if|once) \S+ (?:fires|triggers|alerts|pages)\b|"
    r"\b(?:fire[sd]?|alerts?|page[sd]?|raised|known|called|named|reported|shows? up)\s+(?:as|by)\b",
    re.IGNORECASE,
)
_SAYS = re.compile(r"(?:means?|says|tells|is raised|fires|warns|pages|alerts)\b")
_GENERIC = STOP_WORDS | frozenset(
    """
    runbook runbooks alert alerts alarm alarms monitor playbook procedure respond responding
    response handling handle firing fires fired page pages paged steps step action actions incident
    troubleshooting troubleshoot guide critical warning section react reaction fix fixing check rule
    """.split()  # noqa: SIM905 - shorter than a list of strings
)
_MAX_CELL_CHARS = 600


def section_entries(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[RunbookEntry]:
    """Entries of one document. `names`: one alert's names, in any spelling."""
    covered: set[tuple[str, ...]] = set()
    for path in dict.fromkeys(chunk.heading_path for chunk in chunks):
        for size in range(1, len(path) + 1):
            part = path[:size]
            if part in covered:
                break
            if heading_match := match_heading(part[-1], names):
                covered.add(part)
                section = [one for one in chunks if one.heading_path[:size] == part]
                yield from _section(part, section, heading_match)
                break
    for path in dict.fromkeys(one.heading_path for one in chunks if one.heading_path[1:]):
        section = [one for one in chunks if one.heading_path == path]
        is_covered = any(path[: len(part)] == part for part in covered)
        if not is_covered and (name := _name_in_beginning(section, names)):
            covered.add(path)
            yield from _section(path, section, (name, True, ""))
    rest = [
        one for one in chunks
        if not any(one.heading_path[: len(path)] == path for path in covered)
    ]  # fmt: skip
    for chunk in rest:
        if chunk.kind == "text":
            yield from _by_field(chunk, names)
            yield from _by_item(chunk, names)


def introduction_entry(
    card: DocumentCard, chunks: Sequence[Chunk], names: Sequence[str]
) -> RunbookEntry | None:
    """An entry for a runbook whose introduction names this alert."""
    if not is_runbook(card) or not chunks:
        return None
    first = chunks[0].heading_path
    for chunk in chunks:
        if chunk.heading_path != first or chunk.kind != "text":
            break
        for sentence in sentences(chunk.text):
            name = next((one for one in names if _stands_in(one, sentence)), "")
            if name and _OF_ALERT.search(sentence) and not _NOT_FOR.search(sentence):
                step = next((one for one in map(_first_step, chunks) if one), "")
                cells = [RunbookCell(label="", text=name, role="name")]
                if step:
                    cells.append(RunbookCell(label="First step", text=step, role="step"))
                return RunbookEntry(
                    kind="introduction", name=name, exact=True, chunk=chunk,
                    group=card.id, cells=tuple(cells), quote=sentence,
                )  # fmt: skip
    return None


def match_heading(heading: str, names: Sequence[str]) -> tuple[str, bool, str] | None:
    """(name as written, whether its spelling is exact, the rest of the heading)."""
    text = _NUMBER.sub("", heading.strip(" `*#")).replace("`", "")
    if match := match_name(text, names):
        remark = remark_after(text)
        return *match, "" if match[0] in remark else remark
    between = _BETWEEN.search(text)
    if between:
        before, right = text[: between.start()], text[between.end() :].strip()
        if match := match_name(before, names):
            return *match, right.strip(" )")
        if between[0].strip() != "(" and _is_generic(before):
            return match_heading(right, names)
    for name in names:
        if _stands_in(name, text):
            rest = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
            if _is_generic(rest):
                return name, True, ""
    return match_heading(rest, names) if (rest := without_code(text)) else None


def is_runbook(card: DocumentCard) -> bool:
    return bool(_RUNBOOK.search(f"{card.title} {card.document_type}"))


def has_steps(chunk: Chunk) -> bool:
    """Whether the chunk holds a numbered list."""
    return bool(_STEP.search(chunk.text))


def _section(
    path: tuple[str, ...], chunks: Sequence[Chunk], heading: tuple[str, bool, str]
) -> Iterator[RunbookEntry]:
    cells = [RunbookCell(label="", text=heading[0], role="name")]
    only, remark = _limited_to(chunks), heading[2]
    if only and remark and not rating_in(remark):
        only = f"{only}, {remark}"  # the heading and the text below it each state a limit
    elif remark:
        cells.append(RunbookCell(label="", text=remark, role="scope"))
    if only:
        cells.append(RunbookCell(label="Applies to", text=only, role="scope"))
    cells += [cell for chunk in chunks for cell in _cells(chunk, below=len(path))]
    if not any(cell.role == "severity" for cell in cells) and (rated := rating_in(heading[2])):
        cells.append(RunbookCell(label="", text=rated, role="severity"))
    if not any(cell.role == "step" for cell in cells):
        cells += _unlabeled_step(chunks)
    if not any(cell.role == "step" for cell in cells):
        scopes = tuple(cell for cell in cells if cell.role == "scope")
        rows = [
            replace(row, cells=(*row.cells, *scopes))
            for row in rows_for(chunks, heading[0], heading[1])
        ]
        if rows:
            yield from rows
            return
    chunk = chunks[0]
    has_roles = any(cell.label and cell.role in _FIELD_ROLES for cell in cells)
    words = " ".join((*path, chunk.document_title))
    if not has_roles and not any(map(has_steps, chunks)) and not _OF_ALERTS.search(words):
        return  # the section may be about something else of that name
    links = tuple(target for one in chunks for _, target in _LINK.findall(one.text))
    yield RunbookEntry(
        kind="section", name=heading[0], exact=heading[1], chunk=chunk,
        group=chunk.document_id, cells=tuple(cells), quote=_beginning(chunk), links=links,
    )  # fmt: skip


def _limited_to(chunks: Sequence[Chunk]) -> str:
    """The limit that the section's first paragraph states: `only …`; '' without one."""
    beginning = _beginning(chunks[0])
    match = _APPLIES.search(beginning) or _LIMITATION.match(beginning)
    if match is None:
        return ""
    scope = next(filter(None, match.groups()))
    return f"only {scope.replace('`', '').strip()}"


def _name_in_beginning(chunks: Sequence[Chunk], names: Sequence[str]) -> str:
    """The alert's name as the section's first paragraph states it; '' where it states none."""
    fields = sum(len(_ALERT_FIELD.findall(one.text)) for one in chunks)
    if fields > 1:
        return ""  # each of these fields begins another alert
    for sentence in sentences(_beginning(chunks[0])):
        name = next((one for one in names if _stands_in(one, sentence)), "")
        states_name = name and (_STATES_NAME.search(sentence) or _begins_with(name, sentence))
        if states_name and not _NOT_FOR.search(sentence):
            return name
    return ""


def _begins_with(name: str, sentence: str) -> bool:
    """`AcarsBacklog means that messages wait` begins with the name and a verb of meaning."""
    rest = sentence.strip(" `*")
    follows_name = rest[: len(name)].casefold() == name.casefold() and rest[len(name) :].lstrip(
        " `*"
    )
    return bool(follows_name and _SAYS.match(follows_name))


def _cells(chunk: Chunk, *, below: int) -> Iterator[RunbookCell]:
    """Labeled cells of a chunk: from fields, a table of pairs, or a subheading."""
    role = role_of(chunk.heading) if len(chunk.heading_path) > below else ""
    if role in _FIELD_ROLES and chunk.kind == "text":
        text = _first_step(chunk) or _beginning(chunk)
        yield RunbookCell(label=chunk.heading, text=text, role=role)
        return
    if chunk.table is not None:
        yield from _pairs_of(chunk)
    elif chunk.kind == "text":
        for line in chunk.text.splitlines():
            yield from _inline_fields(line)


def _inline_fields(line: str) -> Iterator[RunbookCell]:
    """Fields of one line: `Severity: P3. Owner: Checkout.`"""
    labels = [one for one in _INLINE.finditer(line) if role_of(one[1]) in _FIELD_ROLES]
    for at, match in enumerate(labels, start=1):
        end = labels[at].start() if at < len(labels) else len(line)
        text = _plain_text(line[match.end() : end]).strip(" .;*")
        yield RunbookCell(label=match[1], text=text[:_MAX_CELL_CHARS], role=role_of(match[1]))
    if not labels and (field := _FIELD.fullmatch(line)) and role_of(field[1].strip()):
        label, text = field[1].strip(), _plain_text(field[2])
        yield RunbookCell(label=label, text=text[:_MAX_CELL_CHARS], role=role_of(label))


def _pairs_of(chunk: Chunk) -> Iterator[RunbookCell]:
    table = chunk.table
    if table is None:
        return
    if len(table.header) == 2:
        head = [] if role_of(table.header[0]) in {"", "name"} else [table.header]
        for label, text in (*head, *table.rows):
            yield RunbookCell(label=label, text=text, role=role_of(label))
    elif len(table.rows) == 1 == table.total_rows:
        for label, text in zip(table.header, table.rows[0], strict=False):
            yield RunbookCell(label=label, text=text, role=role_of(label))


def _by_field(chunk: Chunk, names: Sequence[str]) -> Iterator[RunbookEntry]:
    """Entries from fields: `Alert: DiskFull`, then its fields up to the next alert's."""
    match: tuple[str, bool] | None = None
    cells: list[RunbookCell] = []
    for line in (*chunk.text.splitlines(), "Alert name: ."):
        field = _FIELD.fullmatch(line)
        if not field:
            continue
        role, text = role_of(field[1]), _plain_text(field[2])
        if role == "name":
            if match:
                yield _chunk_entry(chunk, match, cells)
            match = match_name(text, names)
            cells = [RunbookCell(label=field[1], text=text, role="name")] if match else []
        elif match:
            cells.append(RunbookCell(label=field[1], text=text[:_MAX_CELL_CHARS], role=role))


def _by_item(chunk: Chunk, names: Sequence[str]) -> Iterator[RunbookEntry]:
    """Entries from items: `- **DiskFull** (P2): delete old logs.`"""
    for line in chunk.text.splitlines():
        item = _ITEM.fullmatch(line)
        lead = _LEAD.match((item[1] or item[2]) if item else "")
        if not lead:
            continue
        match = match_name((lead[1] or lead[3]).strip(" :—–-"), names)
        rest = _plain_text(lead[2] or lead[4] or "").strip(" :—–-")
        if not match or len(rest) < 8 or role_of(lead[1] or lead[3]) == "name":
            continue
        cells = [RunbookCell(label="", text=match[0], role="name")]
        remark = re.match(r"\(([^()]*)\)\s*[:—–-]*\s*", rest)
        if remark:
            rest = rest[remark.end() :]
            rated = bool(rating_in(remark[1]))
            cells.append(
                RunbookCell(label="", text=remark[1], role="severity" if rated else "scope")
            )
        elif rating := rating_in(rest):
            cells.append(RunbookCell(label="", text=rating, role="severity"))
        cells.append(RunbookCell(label="First step", text=rest[:_MAX_CELL_CHARS], role="step"))
        yield _chunk_entry(chunk, match, cells, quote=_plain_text(line).strip(" -*•+"), line=line)


def _chunk_entry(
    chunk: Chunk,
    match: tuple[str, bool],
    cells: Sequence[RunbookCell],
    quote: str = "",
    line: str = "",
) -> RunbookEntry:
    return RunbookEntry(
        kind="section", name=match[0], exact=match[1], chunk=chunk,
        group=chunk.document_id, cells=tuple(cells), quote=quote or _beginning(chunk),
        links=tuple(target for _, target in _LINK.findall(line)),
    )  # fmt: skip


def _unlabeled_step(chunks: Sequence[Chunk]) -> list[RunbookCell]:
    texts = [one for one in chunks if one.kind == "text"]
    step = next((step_text for step_text in map(_first_step, texts) if step_text), "")
    if not step:
        for one in texts:
            bullets = (m[1] for m in _BULLET.finditer(one.text) if not _FIELD.fullmatch(m[0]))
            step = step or _plain_text(next(bullets, ""))
    cell = RunbookCell(label="First step", text=step[:_MAX_CELL_CHARS], role="step")
    return [cell] if step else []


def _first_step(chunk: Chunk) -> str:
    match = _STEP.search(chunk.text)
    return _plain_text(match[1]) if match else ""


def _beginning(chunk: Chunk) -> str:
    return _plain_text(chunk.text.strip().split("\n\n")[0])[:300]


def _plain_text(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("**", "").strip()


def _stands_in(name: str, text: str) -> bool:
    """Whether the text contains the name as a whole word."""
    if not is_identifier(name) and len(name.split()) < 2:
        return False
    match = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE)
    return bool(match)


def _is_generic(text: str) -> bool:
    return {word.casefold() for word in tokens(text)} <= _GENERIC
