"""Writes the answer to an alert: the first step, then whom to call, and where the runbook is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agents.alerts.alert import Alert
from agents.answer import Answer, Citation
from agents.extractive.relevance import citation
from agents.runbooks.entries import RunbookEntry, without_links
from agents.runbooks.narrowing import RunbookMatch
from agents.runbooks.sections import has_steps, is_runbook
from enrichment.chunk import Chunk
from enrichment.references import linked_path
from index.search import Snapshot

CONFIDENCE_ONE_ENTRY = 0.95
CONFIDENCE_UNKNOWN_SCOPE = 0.8
"""One row whose scope the labels neither confirm nor exclude."""
CONFIDENCE_SEVERAL_ENTRIES = 0.7
CONFIDENCE_INTRODUCTION = 0.85
CONFIDENCE_NO_RUNBOOK = 0.9
"""Confidence that the documents name no such alert."""
MAX_ALERTS = 5
"""Kinds of alerts that one answer covers."""
_STEP_NUMBER = re.compile(r"\bstep (\d+)", re.IGNORECASE)
_OUTER_STEP = re.compile(r"^\d+[.)]\s+(\S.*)$", re.MULTILINE)
MAX_STEPS = 3
"""Steps of a section that the answer shows; its link and the checklist hold the rest."""
_NUMBERED_LINE = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)
_ANY = re.compile(r"(?:all|any|every\w*|n/?a|none|[-–—]|\*|)", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]{4,}")


@dataclass
class _Draft:
    snapshot: Snapshot
    citations: list[Citation] = field(default_factory=list)

    def cite(self, chunk: Chunk, quote: str) -> int:
        for existing in self.citations:
            if existing.chunk_id == chunk.id and existing.quote == quote:
                return existing.number
        documents = {card.id: card for card in self.snapshot.cards([chunk.document_id])}
        self.citations.append(citation(chunk, len(self.citations) + 1, quote, documents))
        return self.citations[-1].number


def runbook_answer(
    matches: Sequence[RunbookMatch], snapshot: Snapshot, titles: Sequence[str]
) -> Answer:
    """The answer for the alerts of one message. `titles`: titles of the searched domains."""
    matches = _distinct_matches(matches)
    draft = _Draft(snapshot)
    answerable = [one for one in matches if one.outcome in {"found", "several"}][:MAX_ALERTS]
    parts = [_alert_text(one, draft) for one in answerable]
    unanswered = [one for one in matches if one.outcome in {"other_scope", "none"}]
    parts += [_no_runbook_text(one, titles) for one in unanswered[:MAX_ALERTS]]
    if more := len(matches) - len(answerable) - len(unanswered[:MAX_ALERTS]):
        parts.append(f"And {more} more kinds of alerts in this message: ask me for them by name.")
    other_entries = [entry for one in unanswered for entry in one.entries]
    if not answerable:
        nearest = _Draft(snapshot)
        for entry in other_entries[:3]:
            nearest.cite(entry.chunk, entry.quote)
        return Answer(
            text="\n\n".join(parts), path="no_answer_found", confidence=CONFIDENCE_NO_RUNBOOK,
            nearest=tuple(nearest.citations), refusal="nothing_found",
            generation=snapshot.generation, standalone_question=_question_text(matches),
            restated_from=frozenset(),
        )  # fmt: skip
    return Answer(
        text="\n\n".join(parts), path="company_specific_rag_success",
        confidence=min(map(_confidence, answerable)), citations=tuple(draft.citations),
        documents=frozenset(entry.chunk.document_id for one in answerable for entry in one.entries),
        generation=snapshot.generation, standalone_question=_question_text(matches),
            restated_from=frozenset(),
    )  # fmt: skip


def no_runbook(name: str, titles: Sequence[str]) -> str:
    names = ", ".join(titles[:-1]) + (" or " if titles[:-1] else "") + "".join(titles[-1:])
    return f"No runbook for `{_plain_name(name)}` in {names or 'these documents'}."


def _distinct_matches(matches: Sequence[RunbookMatch]) -> list[RunbookMatch]:
    """One match per kind of alert, although each alert fired somewhere else."""
    kinds: dict[str, RunbookMatch] = {}
    for one in matches:
        kinds.setdefault(f"{one.key}/{'' if one.entries else one.alert.name}", one)
    return list(kinds.values())


def _question_text(matches: Sequence[RunbookMatch]) -> str:
    """The first alert's name and labels as a question that finds the same runbook."""
    first = matches[0].alert
    labels = " ".join(f"{key}={value}" for key, value in first.labels if key and " " not in value)
    return " ".join(filter(None, (first.name, labels)))[:300]


def _confidence(match: RunbookMatch) -> float:
    if match.outcome == "several":
        return CONFIDENCE_SEVERAL_ENTRIES
    entry = match.entries[0]
    if entry.kind == "introduction":
        return CONFIDENCE_INTRODUCTION
    if not match.sure and _conditions(entry):
        return CONFIDENCE_UNKNOWN_SCOPE
    return CONFIDENCE_ONE_ENTRY if entry.exact and entry.in_force else 0.9


def _alert_text(match: RunbookMatch, draft: _Draft) -> str:
    if match.outcome == "several":
        return _several_text(match, draft)
    entry = match.entries[0]
    lines = [_heading(match.alert, entry), _first_steps(entry, draft) or _first_step(entry, draft)]
    if steps := _steps(match, entry, draft.snapshot):
        lines.append(_steps_line(steps, draft))
    lines += _contact_lines(entry, draft.snapshot)
    for label, text in _conditions(entry):
        unsure = "" if match.sure else " (the alert doesn't say whether that is so)"
        lines.append(f"**{label}:** {text}{unsure}")
    lines += _also_lines(match, entry, steps, draft)
    return "\n".join(f"{line}  " for line in lines).rstrip()


def _several_text(match: RunbookMatch, draft: _Draft) -> str:
    on = " and ".join(f"**{one}**" for one in match.on)
    says = "the alert doesn't say which one holds"
    if on:
        says = f"which one holds depends on {on}, and the alert doesn't say"
    title = f"**{_plain_name(match.alert.name)}**{_state(match.alert)}"
    lines = [f"{title} has {len(match.entries)} entries: {says}.", ""]
    for entry in match.entries:
        conditions = [text for _, text in _conditions(entry, of=match.on)]
        for_whom = "; ".join(conditions) or entry.chunk.place
        severity = entry.first("severity")
        rating = f" · {severity}" if severity else ""
        step = entry.first("step") or entry.quote
        number = draft.cite(entry.chunk, entry.quote)
        escalation = entry.first("escalation")
        more = f" If not cleared: {escalation}." if escalation else ""
        lines.append(f"- **{for_whom}**{rating}: {_sentence(step)}{more} [{number}]")
    return "\n".join(lines)


def _heading(alert: Alert, entry: RunbookEntry) -> str:
    severity = entry.first("severity") or alert.severity
    return f"**{_plain_name(entry.name)}**{f' · {severity}' if severity else ''}{_state(alert)}"


def _state(alert: Alert) -> str:
    """The status unless it is firing: the message above says so, and it does not stay true."""
    return f" · {alert.status}" if alert.status not in {"", "firing"} else ""


def _first_step(entry: RunbookEntry, draft: _Draft) -> str:
    number = draft.cite(entry.chunk, entry.quote)
    if step := entry.first("step"):
        return f"**First step:** {_sentence(step)} [{number}]"
    return f"{entry.quote} [{number}]"


def _first_steps(entry: RunbookEntry, writing: _Draft) -> str:
    """The first steps of a section with a numbered list of several steps; '' for any other."""
    path, step = entry.chunk.heading_path, entry.first("step")
    if entry.kind != "section" or not step:
        return ""
    chunks = writing.snapshot.chunks(entry.chunk.document_id)
    section = (one for one in chunks if one.heading_path[: len(path)] == path and has_steps(one))
    chunk = next(section, None)
    steps = _OUTER_STEP.findall(chunk.text) if chunk else []
    if chunk is None or len(steps) < 2 or without_links(steps[0]) not in {step, f"{step}."}:
        return ""
    number, total = writing.cite(entry.chunk, entry.quote), _length(chunk)
    of = f" of {total}" if total > MAX_STEPS else ""
    text = "\n".join(
        f"{at}. {without_links(one)}" for at, one in enumerate(steps[:MAX_STEPS], start=1)
    )
    return f"**First steps{of}:** [{number}]\n\n{text}\n"


def _steps_line(steps: Chunk, draft: _Draft) -> str:
    """A line with the place of the steps and the first of them."""
    quote = next((line for line in steps.text.splitlines() if line[:2] in {"1.", "1)"}), "")
    number = draft.cite(steps, quote or steps.text[:200])
    first = without_links(quote)
    return f"**Steps:** {steps.place}{f': {first}' if first else ''} [{number}]"


def _contact_lines(entry: RunbookEntry, snapshot: Snapshot) -> Iterator[str]:
    step = entry.first("step")
    for cell in entry.cells:
        if cell.role == "escalation" and cell.text and cell.text != step:
            yield f"**{cell.label.strip(' :') or 'Then'}:** {cell.text}"
    of_document = (card.owner for card in snapshot.cards([entry.chunk.document_id]))
    if owner := entry.first("owner") or next(of_document, ""):
        yield f"**Owner:** {owner}"


def _also_lines(
    match: RunbookMatch, entry: RunbookEntry, steps: Chunk | None, draft: _Draft
) -> Iterator[str]:
    """A line for another entry about the alert, if there is one."""
    also = match.also
    if also and also.chunk.id != entry.chunk.id and (steps is None or also.chunk.id != steps.id):
        number = draft.cite(also.chunk, also.quote)
        text = also.first("step") or also.first("meaning")
        yield f"**Also:** {f'{_sentence(text)} ' if text else ''}{also.chunk.place} [{number}]"


def _steps(match: RunbookMatch, entry: RunbookEntry, snapshot: Snapshot) -> Chunk | None:
    """The chunk with the steps that the entry links to, or of the runbook that names it."""
    for target in entry.links:
        if chunk := _linked_steps(target, entry, snapshot):
            return chunk
    if entry.kind == "section" and has_steps(entry.chunk):
        return None  # the answer cites these steps already
    runbook = match.steps or (entry if entry.kind == "introduction" else None)
    if runbook is None:
        return None
    return _numbered_list(snapshot.chunks(runbook.chunk.document_id), entry.first("step"))


def _linked_steps(target: str, entry: RunbookEntry, snapshot: Snapshot) -> Chunk | None:
    """The steps behind a link; None where the target holds no steps."""
    where, _, anchor = target.removeprefix("doc:").partition("#")
    here = entry.chunk.document_id
    own = next(iter(snapshot.cards([here])), None)
    file = linked_path(where, own.path) if own else ""
    card = next(
        (
            one
            for one in snapshot.documents.values()
            if where in {one.id, one.url.partition("#")[0]} or (file and file == one.path)
        ),
        None,
    ) if where else own  # fmt: skip
    if card is None or (card.id == here and not anchor):
        return None
    chunks, hint = snapshot.chunks(card.id), entry.first("step")
    candidates = [one for one in chunks if anchor and one.url.partition("#")[2] == anchor]
    if not candidates and not (is_runbook(card) or _STEP_NUMBER.search(hint)):
        candidates = [one for one in chunks if _common_words(hint, one.heading)]
        return _numbered_list(candidates, hint)
    return _numbered_list(candidates or chunks, hint)


def _numbered_list(chunks: Sequence[Chunk], hint: str) -> Chunk | None:
    """The first numbered list that has the step number of the hint, in the section whose heading
    the hint names, if it names one."""
    step = _STEP_NUMBER.search(hint)
    min_steps = int(step[1]) if step else 1
    lists = [one for one in chunks if has_steps(one) and _length(one) >= min(min_steps, 20)]
    near = [(_common_words(hint, one.heading), -at) for at, one in enumerate(lists)]
    if not near or (min_steps > 1 and len(lists) > 1 and not max(near)[0]):
        return None  # it is unclear which list's step is meant
    return lists[-max(near)[1]]


def _length(chunk: Chunk) -> int:
    """Number of steps in the chunk's list, or in the whole list that the chunk holds a part of."""
    whole = (run.total for run in chunk.runs if run.what == "items")
    return max((len(_NUMBERED_LINE.findall(chunk.text)), *whole))


def _common_words(hint: str, heading: str) -> int:
    hint_words, heading_words = (
        {word.casefold().rstrip("s") for word in _WORDS.findall(text)} for text in (hint, heading)
    )
    return len((hint_words & heading_words) - _GENERIC_WORDS)


_GENERIC_WORDS = frozenset(("runbook", "step", "section", "first", "guide", "standard"))


def _conditions(entry: RunbookEntry, of: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(label, text) of each scope that does not cover everything; with `of`, of these columns."""
    cells = (
        cell for cell in entry.cells
        if (cell.label in of if of else cell.role == "scope")
        and not _ANY.fullmatch(cell.text.strip())
    )  # fmt: skip
    return [(cell.label.split("›")[-1].strip(" :") or "For", cell.display_text) for cell in cells]


def _no_runbook_text(match: RunbookMatch, titles: Sequence[str]) -> str:
    text = no_runbook(match.alert.name, titles)
    if match.outcome == "none":
        old = dict.fromkeys(one.chunk.place.split(" › ")[0] for one in match.entries)
        return f"{text} What {' and '.join(old)} says of it holds no more." if old else text
    whose = dict.fromkeys(f"{a}: {b}" for one in match.entries for a, b in _conditions(one))
    where = f"Its entry there is for others: {'; '.join(whose)}." if whose else ""
    return f"{text[:-1]} with these labels. {where}".rstrip()


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?:" else f"{text}."


def _plain_name(name: str) -> str:
    return " ".join(name.replace("`", "").replace("*", "").split())[:120]
