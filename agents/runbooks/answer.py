"""What somebody on call is told of an alert: the first step first, then whom to call, and where it
stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agents.alerts.alert import Alert
from agents.answer import Answer, Citation
from agents.extractive.relevance import citation
from agents.runbooks.entries import RunbookEntry, unlinked
from agents.runbooks.matching import RunbookMatch
from agents.runbooks.sections import has_steps, is_runbook
from enrichment.chunk import Chunk
from index.search import Snapshot

FOUND = 0.95
LEFT_OPEN = 0.8
"""One row, whose scope the labels don't speak of."""
SEVERAL = 0.7
NAMED_IN_INTRODUCTION = 0.85
NO_RUNBOOK = 0.9
"""How sure it is that the documents name no such alert."""
MOST_TOLD = 5
"""Kinds of alerts in one answer."""
_STEP_NUMBER = re.compile(r"\bstep (\d+)", re.IGNORECASE)
_OUTER_STEP = re.compile(r"^\d+[.)]\s+(\S.*)$", re.MULTILINE)
MOST_STEPS = 3
"""Of a section; the rest stand behind its link, and in the checklist."""
_NUMBERED = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)
_ANY = re.compile(r"(?:all|any|every\w*|n/?a|none|[-–—]|\*|)", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]{4,}")


@dataclass
class _Writing:
    snapshot: Snapshot
    citations: list[Citation] = field(default_factory=list)

    def cite(self, chunk: Chunk, quote: str) -> int:
        for known in self.citations:
            if known.chunk_id == chunk.id and known.quote == quote:
                return known.number
        documents = {card.id: card for card in self.snapshot.cards([chunk.document_id])}
        self.citations.append(citation(chunk, len(self.citations) + 1, quote, documents))
        return self.citations[-1].number


def runbook_answer(
    matches: Sequence[RunbookMatch], snapshot: Snapshot, titles: Sequence[str]
) -> Answer:
    """For the alerts of one message. `titles`: of the domains that were looked into."""
    matches = _each_once(matches)
    writing = _Writing(snapshot)
    shown = [one for one in matches if one.outcome in {"found", "several"}][:MOST_TOLD]
    parts = [_told(one, writing) for one in shown]
    without = [one for one in matches if one.outcome in {"other_scope", "none"}]
    parts += [_not_told(one, titles) for one in without[:MOST_TOLD]]
    if more := len(matches) - len(shown) - len(without[:MOST_TOLD]):
        parts.append(f"And {more} more kinds of alerts in this message: ask me for them by name.")
    others = [entry for one in without for entry in one.entries]
    if not shown:
        beside = _Writing(snapshot)
        for entry in others[:3]:
            beside.cite(entry.chunk, entry.quote)
        return Answer(
            text="\n\n".join(parts), path="no_answer_found", confidence=NO_RUNBOOK,
            nearest=tuple(beside.citations), refusal="nothing_found",
            generation=snapshot.generation, standalone_question=_asked(matches),
        )  # fmt: skip
    return Answer(
        text="\n\n".join(parts), path="company_specific_rag_success",
        confidence=min(map(_confidence, shown)), citations=tuple(writing.citations),
        documents=frozenset(entry.chunk.document_id for one in shown for entry in one.entries),
        generation=snapshot.generation, standalone_question=_asked(matches),
    )  # fmt: skip


def no_runbook(name: str, titles: Sequence[str]) -> str:
    listed = ", ".join(titles[:-1]) + (" or " if titles[:-1] else "") + "".join(titles[-1:])
    return f"No runbook for {_code(name)} in {listed or 'these documents'}."


def _each_once(matches: Sequence[RunbookMatch]) -> list[RunbookMatch]:
    """Alerts of one kind are told of once, though each fired somewhere else."""
    kinds: dict[str, RunbookMatch] = {}
    for one in matches:
        kinds.setdefault(f"{one.key}/{'' if one.entries else one.alert.name}", one)
    return list(kinds.values())


def _asked(matches: Sequence[RunbookMatch]) -> str:
    """The alerts, as a line that says the same again."""
    first = matches[0].alert
    labels = " ".join(f"{key}={value}" for key, value in first.labels if key and " " not in value)
    return " ".join(filter(None, (first.name, labels)))[:300]


def _confidence(found: RunbookMatch) -> float:
    if found.outcome == "several":
        return SEVERAL
    entry = found.entries[0]
    if entry.kind == "introduction":
        return NAMED_IN_INTRODUCTION
    if not found.sure and _conditions(entry):
        return LEFT_OPEN
    return FOUND if entry.exact and entry.in_force else 0.9


def _told(found: RunbookMatch, writing: _Writing) -> str:
    if found.outcome == "several":
        return _several(found, writing)
    entry = found.entries[0]
    lines = [
        _heading(found.alert, entry),
        _first_steps(entry, writing) or _first_step(entry, writing),
    ]
    if steps := _steps(found, entry, writing.snapshot):
        lines.append(_where(steps, writing))
    lines += _whom(entry, writing.snapshot)
    for label, text in _conditions(entry):
        unsure = "" if found.sure else " (the alert doesn't say whether that is so)"
        lines.append(f"**{label}:** {text}{unsure}")
    lines += _also(found, entry, steps, writing)
    return "\n".join(f"{line}  " for line in lines).rstrip()


def _several(found: RunbookMatch, writing: _Writing) -> str:
    on = " and ".join(f"**{one}**" for one in found.on)
    says = f"which one holds depends on {on}, and the alert doesn't say" if on else (
        "the alert doesn't say which one holds"
    )  # fmt: skip
    lines = [
        f"**{_plain(found.alert.name)}**{_state(found.alert)} has {len(found.entries)} entries: "
        f"{says}.", ""
    ]  # fmt: skip
    for entry in found.entries:
        said = [text for _, text in _conditions(entry, of=found.on)]
        for_whom = "; ".join(said) or entry.chunk.place
        rated = entry.first("severity")
        step = entry.first("step") or entry.quote
        number = writing.cite(entry.chunk, entry.quote)
        escalation = entry.first("escalation")
        more = f" If not cleared: {escalation}." if escalation else ""
        told = f"**{for_whom}**{f' · {rated}' if rated else ''}: {_sentence(step)}{more} [{number}]"
        lines.append(f"- {told}")
    return "\n".join(lines)


def _heading(alert: Alert, entry: RunbookEntry) -> str:
    rated = entry.first("severity") or alert.severity
    return f"**{_plain(entry.name)}**{f' · {rated}' if rated else ''}{_state(alert)}"


def _state(alert: Alert) -> str:
    """That it fires is said by the message above, and isn't true for ever."""
    return f" · {alert.status}" if alert.status not in {"", "firing"} else ""


def _first_step(entry: RunbookEntry, writing: _Writing) -> str:
    number = writing.cite(entry.chunk, entry.quote)
    if step := entry.first("step"):
        return f"**First step:** {_sentence(step)} [{number}]"
    return f"{entry.quote} [{number}]"


def _first_steps(entry: RunbookEntry, writing: _Writing) -> str:
    """Of a section that is a numbered list; '' where it is anything else, or a single step."""
    path, step = entry.chunk.heading_path, entry.first("step")
    if entry.kind != "section" or not step:
        return ""
    chunks = writing.snapshot.chunks(entry.chunk.document_id)
    inside = (one for one in chunks if one.heading_path[: len(path)] == path and has_steps(one))
    chunk = next(inside, None)
    listed = _OUTER_STEP.findall(chunk.text) if chunk else []
    if chunk is None or len(listed) < 2 or unlinked(listed[0]) not in {step, f"{step}."}:
        return ""
    number, most = writing.cite(entry.chunk, entry.quote), _length(chunk)
    of = f" of {most}" if most > MOST_STEPS else ""
    told = "\n".join(
        f"{at}. {unlinked(one)}" for at, one in enumerate(listed[:MOST_STEPS], start=1)
    )
    return f"**First steps{of}:** [{number}]\n\n{told}\n"


def _where(steps: Chunk, writing: _Writing) -> str:
    """The steps that it leads to, and the first of them."""
    quote = next((line for line in steps.text.splitlines() if line[:2] in {"1.", "1)"}), "")
    number = writing.cite(steps, quote or steps.text[:200])
    first = unlinked(quote)
    return f"**Steps:** {steps.place}{f': {first}' if first else ''} [{number}]"


def _whom(entry: RunbookEntry, snapshot: Snapshot) -> Iterator[str]:
    step = entry.first("step")
    for cell in entry.cells:
        if cell.role == "escalation" and cell.text and cell.text != step:
            yield f"**{cell.label.strip(' :') or 'Then'}:** {cell.text}"
    owner = entry.first("owner") or _owner_of(entry, snapshot)
    if owner:
        yield f"**Owner:** {owner}"


def _owner_of(entry: RunbookEntry, snapshot: Snapshot) -> str:
    return next((card.owner for card in snapshot.cards([entry.chunk.document_id])), "")


def _also(
    found: RunbookMatch, entry: RunbookEntry, steps: Chunk | None, writing: _Writing
) -> Iterator[str]:
    """What else is told of the alert."""
    also = found.also
    if also and also.chunk.id != entry.chunk.id and (steps is None or also.chunk.id != steps.id):
        number = writing.cite(also.chunk, also.quote)
        said = also.first("step") or also.first("meaning")
        yield f"**Also:** {f'{_sentence(said)} ' if said else ''}{also.chunk.place} [{number}]"


def _steps(found: RunbookMatch, entry: RunbookEntry, snapshot: Snapshot) -> Chunk | None:
    """The numbered steps of what it links to, or of the runbook that names it."""
    for target in entry.links:
        if chunk := _linked(target, entry, snapshot):
            return chunk
    if entry.kind == "section" and has_steps(entry.chunk):
        return None  # they are what is cited already
    runbook = found.steps or (entry if entry.kind == "introduction" else None)
    if runbook is None:
        return None
    return _numbered(snapshot.chunks(runbook.chunk.document_id), entry.first("step"))


def _linked(target: str, entry: RunbookEntry, snapshot: Snapshot) -> Chunk | None:
    """The steps behind a link; None where it leads to something else than steps."""
    where, _, anchor = target.removeprefix("doc:").partition("#")
    here = entry.chunk.document_id
    cards = snapshot.documents.values()
    card = next(
        (one for one in cards if where in {one.id, one.url.partition("#")[0]}), None
    ) if where else next(iter(snapshot.cards([here])), None)  # fmt: skip
    if card is None or (card.id == here and not anchor):
        return None
    chunks, hint = snapshot.chunks(card.id), entry.first("step")
    named = [one for one in chunks if anchor and one.url.partition("#")[2] == anchor]
    if not named and not (is_runbook(card) or _STEP_NUMBER.search(hint)):
        named = [one for one in chunks if _in_common(hint, one.heading)]
        return _numbered(named, hint)
    return _numbered(named or chunks, hint)


def _numbered(chunks: Sequence[Chunk], hint: str) -> Chunk | None:
    """The first numbered list that is as long as the step says, of the section that it names where
    it names one."""
    step = _STEP_NUMBER.search(hint)
    least = int(step[1]) if step else 1
    numbered = [one for one in chunks if has_steps(one) and _length(one) >= min(least, 20)]
    near = [(_in_common(hint, one.heading), -at) for at, one in enumerate(numbered)]
    if not near or (least > 1 and len(numbered) > 1 and not max(near)[0]):
        return None  # nobody can tell which list's third step is meant
    return numbered[-max(near)[1]]


def _length(chunk: Chunk) -> int:
    """Of its numbered list, or of the whole that it is a part of."""
    whole = (run.total for run in chunk.runs if run.what == "items")
    return max((len(_NUMBERED.findall(chunk.text)), *whole))


def _in_common(hint: str, heading: str) -> int:
    said, headed = (
        {word.casefold().rstrip("s") for word in _WORDS.findall(text)} for text in (hint, heading)
    )
    return len((said & headed) - _SAID_OF_ALL)


_SAID_OF_ALL = frozenset(("runbook", "step", "section", "first", "guide", "standard"))


def _conditions(entry: RunbookEntry, of: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Label and text of what it is for, where it isn't for all; `of` these columns, where they are
    named."""
    wanted = (
        cell for cell in entry.cells
        if (cell.label in of if of else cell.role == "scope")
        and not _ANY.fullmatch(cell.text.strip())
    )  # fmt: skip
    return [(cell.label.split("›")[-1].strip(" :") or "For", cell.shown) for cell in wanted]


def _not_told(found: RunbookMatch, titles: Sequence[str]) -> str:
    said = no_runbook(found.alert.name, titles)
    if found.outcome == "none":
        old = dict.fromkeys(one.chunk.place.split(" › ")[0] for one in found.entries)
        return f"{said} What {' and '.join(old)} says of it holds no more." if old else said
    whose = dict.fromkeys(f"{a}: {b}" for one in found.entries for a, b in _conditions(one))
    where = f"Its entry there is for others: {'; '.join(whose)}." if whose else ""
    return f"{said[:-1]} with these labels. {where}".rstrip()


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?:" else f"{text}."


def _code(name: str) -> str:
    return f"`{_plain(name)}`"


def _plain(name: str) -> str:
    return " ".join(name.replace("`", "").replace("*", "").split())[:120]
