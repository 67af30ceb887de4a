"""Sections whose heading or field names an alert, items that begin with it, and runbooks that name
it in their introduction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agents.alerts.alert import is_identifier, without_code
from agents.runbooks.entries import Role, RunbookCell, RunbookEntry, rating_in, role_of
from agents.runbooks.tables import remark_beside, rows_for, spelled
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
_TOLD_IN_LINE = frozenset[Role](("severity", "owner", "step", "escalation"))
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
_LIMITED = re.compile(
    r"\W*only \w+(?: \w+)? (?:in|on|of|from|at) `?([^.;,`]{2,60}?)`? (?:are|is|count)\b"
    r"|\W*for (?:[a-z]+ ){0,3}(`[^.;:\n]{2,60})[.;:]",
    re.IGNORECASE,
)
"""`Only jobs in economy are watched`, ``For pods named `gs-*`.``: what a section is limited to."""
_OF_ALERT = re.compile(r"alert|alarm|\bfire[sd]?\b|\bpage[sd]?\b|monitor|trigger", re.IGNORECASE)
_OF_ALERTS = re.compile(
    r"alert|alarm|runbook|playbook|monitor|on-?call|incident|pag(?:er|ing)\b|trouble|respon",
    re.IGNORECASE,
)
_ALERT_FIELD = re.compile(
    r"^\W*(?:alerts?|alarms?|monitors?)(?: names?)?\W*:", re.IGNORECASE | re.MULTILINE
)
_CALLED = re.compile(
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
_LONGEST_CELL = 600


def section_entries(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[RunbookEntry]:
    """Of one document. `names`: of one alert, in any spelling."""
    headed: set[tuple[str, ...]] = set()
    for path in dict.fromkeys(chunk.heading_path for chunk in chunks):
        for size in range(1, len(path) + 1):
            part = path[:size]
            if part in headed:
                break
            if found := names_heading(part[-1], names):
                headed.add(part)
                inside = [one for one in chunks if one.heading_path[:size] == part]
                yield from _section(part, inside, found)
                break
    for path in dict.fromkeys(one.heading_path for one in chunks if one.heading_path[1:]):
        inside = [one for one in chunks if one.heading_path == path]
        known = any(path[: len(part)] == part for part in headed)
        if not known and (name := _also_called(inside, names)):
            headed.add(path)
            yield from _section(path, inside, (name, True, ""))
    rest = [
        one for one in chunks
        if not any(one.heading_path[: len(path)] == path for path in headed)
    ]  # fmt: skip
    for chunk in rest:
        if chunk.kind == "text":
            yield from _by_field(chunk, names)
            yield from _by_item(chunk, names)


def introduced(
    card: DocumentCard, chunks: Sequence[Chunk], names: Sequence[str]
) -> RunbookEntry | None:
    """A runbook whose first words say that it is for this alert."""
    if not is_runbook(card) or not chunks:
        return None
    first = chunks[0].heading_path
    for chunk in chunks:
        if chunk.heading_path != first or chunk.kind != "text":
            break
        for sentence in sentences(chunk.text):
            found = next((one for one in names if _stands_in(one, sentence)), "")
            if found and _OF_ALERT.search(sentence) and not _NOT_FOR.search(sentence):
                step = next((one for one in map(_first_step, chunks) if one), "")
                cells = [RunbookCell(label="", text=found, role="name")]
                if step:
                    cells.append(RunbookCell(label="First step", text=step, role="step"))
                return RunbookEntry(
                    kind="introduction", name=found, exact=True, chunk=chunk,
                    group=card.id, cells=tuple(cells), quote=sentence,
                )  # fmt: skip
    return None


def names_heading(heading: str, names: Sequence[str]) -> tuple[str, bool, str] | None:
    """Name as written, whether exactly so, and what the heading says beside it."""
    text = _NUMBER.sub("", heading.strip(" `*#")).replace("`", "")
    if found := spelled(text, names):
        remark = remark_beside(text)
        return *found, "" if found[0] in remark else remark
    between = _BETWEEN.search(text)
    if between:
        left, right = text[: between.start()], text[between.end() :].strip()
        if found := spelled(left, names):
            return *found, right.strip(" )")
        if between[0].strip() != "(" and _is_generic(left):
            return names_heading(right, names)
    for name in names:
        if _stands_in(name, text):
            rest = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
            if _is_generic(rest):
                return name, True, ""
    return names_heading(rest, names) if (rest := without_code(text)) else None


def is_runbook(card: DocumentCard) -> bool:
    return bool(_RUNBOOK.search(f"{card.title} {card.document_type}"))


def has_steps(chunk: Chunk) -> bool:
    """Whether it holds a numbered list."""
    return bool(_STEP.search(chunk.text))


def _section(
    path: tuple[str, ...], inside: Sequence[Chunk], found: tuple[str, bool, str]
) -> Iterator[RunbookEntry]:
    cells = [RunbookCell(label="", text=found[0], role="name")]
    only, remark = _only_for(inside), found[2]
    if only and remark and not rating_in(remark):
        only = f"{only}, {remark}"  # said twice, in the heading and below
    elif remark:
        cells.append(RunbookCell(label="", text=remark, role="scope"))
    if only:
        cells.append(RunbookCell(label="Applies to", text=only, role="scope"))
    cells += [cell for chunk in inside for cell in _cells(chunk, below=len(path))]
    if not any(cell.role == "severity" for cell in cells) and (rated := rating_in(found[2])):
        cells.append(RunbookCell(label="", text=rated, role="severity"))
    if not any(cell.role == "step" for cell in cells):
        cells += _unlabelled_step(inside)
    if not any(cell.role == "step" for cell in cells):
        scopes = tuple(cell for cell in cells if cell.role == "scope")
        rows = [
            replace(row, cells=(*row.cells, *scopes))
            for row in rows_for(inside, found[0], found[1])
        ]
        if rows:
            yield from rows
            return
    chunk = inside[0]
    told = {cell.role for cell in cells if cell.label} & {"step", "severity", "escalation", "owner"}
    words = " ".join((*path, chunk.document_title))
    if not told and not any(map(has_steps, inside)) and not _OF_ALERTS.search(words):
        return  # what it is about may be called so, too
    yield RunbookEntry(
        kind="section", name=found[0], exact=found[1], chunk=chunk, group=chunk.document_id,
        cells=tuple(cells), quote=_beginning(chunk), links=_links(inside),
    )  # fmt: skip


def _only_for(inside: Sequence[Chunk]) -> str:
    """What the section says in its first words that it is for alone."""
    beginning = _beginning(inside[0])
    found = _APPLIES.search(beginning) or _LIMITED.match(beginning)
    if found is None:
        return ""
    said = next(filter(None, found.groups()))
    return f"only {said.replace('`', '').strip()}"


def _also_called(inside: Sequence[Chunk], names: Sequence[str]) -> str:
    """The name that the section says in its first words that its alert has."""
    fields = sum(len(_ALERT_FIELD.findall(one.text)) for one in inside)
    if fields > 1:
        return ""  # each of them begins another alert's
    for sentence in sentences(_beginning(inside[0])):
        name = next((one for one in names if _stands_in(one, sentence)), "")
        called = name and (_CALLED.search(sentence) or _begins_with(name, sentence))
        if called and not _NOT_FOR.search(sentence):
            return name
    return ""


def _begins_with(name: str, sentence: str) -> bool:
    """`AcarsBacklog means that messages wait`."""
    rest = sentence.strip(" `*")
    said = rest[: len(name)].casefold() == name.casefold() and rest[len(name) :].lstrip(" `*")
    return bool(said and _SAYS.match(said))


def _cells(chunk: Chunk, *, below: int) -> Iterator[RunbookCell]:
    """What it tells under labels: of fields, of a table of pairs, or as a heading below."""
    role = role_of(chunk.heading) if len(chunk.heading_path) > below else ""
    if role in {"step", "severity", "escalation", "owner"} and chunk.kind == "text":
        text = _first_step(chunk) or _beginning(chunk)
        yield RunbookCell(label=chunk.heading, text=text, role=role)
        return
    if chunk.table is not None:
        yield from _pairs_of(chunk)
    elif chunk.kind == "text":
        for line in chunk.text.splitlines():
            yield from _in_line(line)


def _in_line(line: str) -> Iterator[RunbookCell]:
    """`Severity: P3. Owner: Checkout.`, each up to the next."""
    labels = [one for one in _INLINE.finditer(line) if role_of(one[1]) in _TOLD_IN_LINE]
    for at, found in enumerate(labels, start=1):
        end = labels[at].start() if at < len(labels) else len(line)
        text = _plain(line[found.end() : end]).strip(" .;*")
        yield RunbookCell(label=found[1], text=text[:_LONGEST_CELL], role=role_of(found[1]))
    if not labels and (field := _FIELD.fullmatch(line)) and role_of(field[1].strip()):
        label, text = field[1].strip(), _plain(field[2])
        yield RunbookCell(label=label, text=text[:_LONGEST_CELL], role=role_of(label))


def _pairs_of(chunk: Chunk) -> Iterator[RunbookCell]:
    table = chunk.table
    if table is None:
        return
    if len(table.header) == 2:
        head = (
            [table.header]
            if role_of(table.header[0]) and role_of(table.header[0]) != "name"
            else []
        )
        for label, text in (*head, *table.rows):
            yield RunbookCell(label=label, text=text, role=role_of(label))
    elif len(table.rows) == 1 == table.total_rows:
        for label, text in zip(table.header, table.rows[0], strict=False):
            yield RunbookCell(label=label, text=text, role=role_of(label))


def _by_field(chunk: Chunk, names: Sequence[str]) -> Iterator[RunbookEntry]:
    """`Alert: DiskFull` below a heading of other words: its fields, up to the next one's."""
    found: tuple[str, bool] | None = None
    cells: list[RunbookCell] = []
    for line in (*chunk.text.splitlines(), "Alert name: ."):
        field = _FIELD.fullmatch(line)
        if not field:
            continue
        role, text = role_of(field[1]), _plain(field[2])
        if role == "name":
            if found:
                yield _of_chunk(chunk, found, cells)
            found = spelled(text, names)
            cells = [RunbookCell(label=field[1], text=text, role="name")] if found else []
        elif found:
            cells.append(RunbookCell(label=field[1], text=text[:_LONGEST_CELL], role=role))


def _by_item(chunk: Chunk, names: Sequence[str]) -> Iterator[RunbookEntry]:
    """`- **DiskFull** (P2): delete old logs.`"""
    for line in chunk.text.splitlines():
        item = _ITEM.fullmatch(line)
        lead = _LEAD.match((item[1] or item[2]) if item else "")
        if not lead:
            continue
        found = spelled((lead[1] or lead[3]).strip(" :—–-"), names)
        rest = _plain(lead[2] or lead[4] or "").strip(" :—–-")
        if not found or len(rest) < 8 or role_of(lead[1] or lead[3]) == "name":
            continue
        cells = [RunbookCell(label="", text=found[0], role="name")]
        remark = re.match(r"\(([^()]*)\)\s*[:—–-]*\s*", rest)
        if remark:
            rest = rest[remark.end() :]
            rated = bool(rating_in(remark[1]))
            cells.append(
                RunbookCell(label="", text=remark[1], role="severity" if rated else "scope")
            )
        elif rating := rating_in(rest):
            cells.append(RunbookCell(label="", text=rating, role="severity"))
        cells.append(RunbookCell(label="First step", text=rest[:_LONGEST_CELL], role="step"))
        yield _of_chunk(chunk, found, cells, quote=_plain(line).strip(" -*•+"), line=line)


def _of_chunk(
    chunk: Chunk,
    found: tuple[str, bool],
    cells: Sequence[RunbookCell],
    quote: str = "",
    line: str = "",
) -> RunbookEntry:
    return RunbookEntry(
        kind="section", name=found[0], exact=found[1], chunk=chunk,
        group=chunk.document_id, cells=tuple(cells), quote=quote or _beginning(chunk),
        links=tuple(target for _, target in _LINK.findall(line)),
    )  # fmt: skip


def _unlabelled_step(inside: Sequence[Chunk]) -> list[RunbookCell]:
    texts = [one for one in inside if one.kind == "text"]
    step = next((found for found in map(_first_step, texts) if found), "")
    if not step:
        for one in texts:
            bullet = next(
                (m[1] for m in _BULLET.finditer(one.text) if not _FIELD.fullmatch(m[0])), ""
            )
            step = step or _plain(bullet)
    return [RunbookCell(label="First step", text=step[:_LONGEST_CELL], role="step")] if step else []


def _first_step(chunk: Chunk) -> str:
    found = _STEP.search(chunk.text)
    return _plain(found[1]) if found else ""


def _beginning(chunk: Chunk) -> str:
    return _plain(chunk.text.strip().split("\n\n")[0])[:300]


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("**", "").strip()


def _links(inside: Sequence[Chunk]) -> tuple[str, ...]:
    return tuple(target for one in inside for _, target in _LINK.findall(one.text))


def _stands_in(name: str, text: str) -> bool:
    """As a word of its own."""
    if not is_identifier(name) and len(name.split()) < 2:
        return False
    found = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE)
    return bool(found)


def _is_generic(text: str) -> bool:
    return {word.casefold() for word in tokens(text)} <= _GENERIC
