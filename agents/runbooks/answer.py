"""Answers an alert from its runbook entry: first step, whom to call, where it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile, pairwise
from textwrap import shorten

from agents.alerts.reader import alerts_in
from agents.answer import Answer, Ask, AskWrapper, Citation, Question
from agents.extractive.relevance import citation
from agents.runbooks.choice import choose_entries
from agents.runbooks.entries import RunbookEntry, plain, without_links
from agents.runbooks.matching import RunbookMatch, introducing, match_alerts, worth_answering
from agents.runbooks.step import lines_in
from agents.runbooks.words import group_of, normal_key
from agents.steps import Progress
from config.domain import Domain
from config.models import ChatModel
from enrichment.chunk import Chunk
from enrichment.references import linked_path
from index.permissions.rules import visible_to
from index.search import Snapshot

CONFIDENCE_ONE_ENTRY, CONFIDENCE_SEVERAL_ENTRIES = 0.95, 0.7
CONFIDENCE_UNSURE = 0.8
"""Of one entry, whose scope the labels neither confirm nor exclude, or that a model chose."""
CONFIDENCE_NO_RUNBOOK = 0.9
"""Confidence that the documents name no such alert."""
MAX_ALERTS = 5
"""Kinds of alerts that one answer covers."""
MAX_STEPS, MAX_PERHAPS, MAX_LABELS = 3, 3, 6
MAX_CODE = 500
"""Characters of the code below a step; longer code is left to the link."""
MAX_QUOTE = 240
"""Characters of prose for each of several entries."""
_ANY = re.compile(r"(?:all|any|every\w*|n/?a|none|[-–—]|\*|)", re.IGNORECASE)


def with_runbook_lookup(
    domain: Domain, snapshot: Callable[[], Snapshot], model: ChatModel | None = None
) -> AskWrapper:
    """Alerts are answered from their runbook entry, other questions by the agents.

    `snapshot` as in `agents.graph.build_ask`; its errors are raised. `model` chooses where labels
    leave several entries open, or where no entry has the alert's name."""
    choose = choose_entries(domain, model)

    def wrap(ask: Ask) -> Ask:
        def run(question: Question, progress: Progress | None = None) -> Answer:
            alerts = alerts_in(question.text, by_bot=question.by_bot)
            if not alerts:
                return ask(question, progress)
            started = time.perf_counter()
            visible = visible_to(snapshot(), question.readers)
            choice = choose(question.text, match_alerts(alerts, visible, domain))
            if worth_answering(choice.value):
                answer = runbook_answer(choice.value, visible, [domain.title])
                total = {"total": (time.perf_counter() - started) * 1000}
                answer = replace(answer, timings_ms=total)
            else:
                answer = ask(question, progress)
            failed = tuple(one.node for one in choice.fallbacks)
            return replace(
                answer, usage=answer.usage + choice.usage,
                fallbacks=(*choice.fallbacks, *answer.fallbacks),
                degraded=(*failed, *answer.degraded),
            )  # fmt: skip

        return run

    return wrap


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
    # One match per kind of alert, although each alert fired somewhere else.
    kinds = {f"{one.key}/{'' if one.entries else one.alert.name}": one for one in matches[::-1]}
    ordered = list(kinds.values())[::-1]
    answerable = [one for one in ordered if one.outcome in {"found", "several"}][:MAX_ALERTS]
    unanswered = [one for one in ordered if one.outcome in {"other_scope", "none"}][:MAX_ALERTS]
    draft, nearest = _Draft(snapshot), _Draft(snapshot)
    parts = [_entries_text(one, draft) for one in answerable]
    parts += [_no_runbook_text(one, titles, nearest) for one in unanswered]
    if more := len(kinds) - len(answerable) - len(unanswered):
        parts.append(f"And {more} more kinds of alerts in this message: ask me for them by name.")
    # The first alert's name and labels find the same runbook again.
    alert = matches[0].alert
    labels = (f"{key}={value}" for key, value in alert.labels if key and " " not in value)
    answer = Answer(
        text="\n\n".join(parts), path="no_answer_found", refusal="nothing_found",
        confidence=CONFIDENCE_NO_RUNBOOK, nearest=tuple(nearest.citations),
        generation=snapshot.generation, restated_from=frozenset(),
        standalone_question=" ".join(filter(None, (alert.name, *labels)))[:300],
    )  # fmt: skip
    if not answerable:
        return answer
    documents = frozenset(entry.chunk.document_id for one in answerable for entry in one.entries)
    return replace(
        answer, path="company_specific_rag_success", refusal="", documents=documents,
        confidence=min(map(_confidence, answerable)), citations=tuple(draft.citations),
    )  # fmt: skip


def _confidence(match: RunbookMatch) -> float:
    if match.outcome == "several":
        return CONFIDENCE_SEVERAL_ENTRIES
    return CONFIDENCE_UNSURE if match.chosen or match.unknown else CONFIDENCE_ONE_ENTRY


def no_runbook(name: str, titles: Sequence[str]) -> str:
    names = ", ".join(titles[:-1]) + (" or " if titles[:-1] else "") + "".join(titles[-1:])
    return f"No runbook for `{_plain_name(name)}` in {names or 'these documents'}."


def _entries_text(match: RunbookMatch, draft: _Draft) -> str:
    alert, entry = match.alert, match.entries[0]
    # A firing alert needs no word: the message above says so, and it does not stay true.
    state = f" · {alert.status}" if alert.status == "resolved" else ""
    if match.outcome == "several":
        on = " and ".join(f"**{one}**" for one in match.on)
        says = f"which one holds depends on {on}, and the alert doesn't say" if on else (
            "the alert doesn't say which one holds"
        )  # fmt: skip
        title = f"**{_plain_name(alert.name)}**{state} has {len(match.entries)} entries: {says}."
        for_whom = _differences(match.entries, match.on)
        lines = [_entry_line(*each, draft) for each in zip(match.entries, for_whom, strict=True)]
        return "\n".join((title, "", *lines))
    severity = entry.first("severity") or alert.severity
    lines = [f"**{_plain_name(entry.name)}**{f' · {severity}' if severity else ''}{state}"]
    if match.chosen and alert.named:
        name = _plain_name(alert.name)
        lines.append(f"No entry is named `{name}`; by its words this one is for it.")
    lines.append(_first_steps(entry, draft))
    if steps := _linked_steps(match, draft.snapshot):
        chunk, step = steps
        lines.append(f"**Steps:** {chunk.place}: {without_links(step)} [{draft.cite(chunk, step)}]")
    lines += _contact_lines(entry, draft.snapshot)
    for label, text in _conditions(entry):
        unsure = " (the alert doesn't say whether that is so)" if label in match.unknown else ""
        lines.append(f"**{label}:** {text}{unsure}")
    if (also := match.also) and (steps is None or also.chunk.id != steps[0].id):
        step, number = _sentence(also.first("step")), draft.cite(also.chunk, also.quote)
        lines.append(f"**Also:** {step} {_place(also)} [{number}]".replace("  ", " "))
    return "\n".join(f"{line}  " for line in lines).rstrip()


def _differences(entries: Sequence[RunbookEntry], on: Sequence[str]) -> list[str]:
    """What tells each of several entries from the others: the columns that decide, else its place,
    else the cells in which they differ."""
    places = ["; ".join(text for _, text in _conditions(one, on)) or _place(one) for one in entries]
    if len(set(places)) == len(entries):
        return places
    cells = [
        [cell.text for cell in one.cells if cell.role not in {"step", "name"}] for one in entries
    ]
    same = set(cells[0]).intersection(*cells)
    own = ["; ".join(text for text in texts if text and text not in same) for texts in cells]
    return [text or place for text, place in zip(own, places, strict=True)]


def _entry_line(entry: RunbookEntry, for_whom: str, draft: _Draft) -> str:
    """One of several entries, with what it is for."""
    severity, escalation = entry.first("severity"), entry.first("escalation")
    rating = f" · {severity}" if severity and severity not in for_whom else ""
    more = f" If not cleared: {escalation}." if escalation and escalation not in for_whom else ""
    number = draft.cite(entry.chunk, entry.quote)
    step = _sentence(entry.first("step") or shorten(entry.quote, MAX_QUOTE, placeholder=" …"))
    return f"- **{for_whom}**{rating}: {step}{more} [{number}]"


def _first_steps(entry: RunbookEntry, draft: _Draft) -> str:
    """The first step, or the first steps of a section whose list begins with it."""
    number, step = draft.cite(entry.chunk, entry.quote), entry.first("step")
    if not step:
        return f"{entry.quote} [{number}]"
    items = _items("" if entry.kind == "row" else entry.chunk.text)
    steps = list(dropwhile(lambda item: item[1].rstrip(".") != step.rstrip("."), items))
    if len(steps) < 2:
        return f"**First step:** {_sentence(step)} [{number}]{steps[0][2] if steps else ''}"
    total = max(len(steps), *(run.total for run in entry.chunk.runs if run.what == "items"), 0)
    of = f" of {total}" if total > MAX_STEPS else ""
    lines = "\n".join(f"{mark} {text}{code}" for mark, text, code in steps[:MAX_STEPS])
    return f"**First steps{of}:** [{number}]\n\n{lines}\n"


def _items(text: str) -> Iterator[tuple[str, str, str]]:
    """Marker and text of each outermost item, and the block of code directly below it."""
    for line, below in pairwise([*lines_in(text), None]):
        if line and line.item and not line.indent:
            code = below.markdown if below and below.is_code else ""
            block = f"\n```\n{code}\n```" if 0 < len(code) <= MAX_CODE else ""
            yield line.item["marker"], plain(line.text), block


def _contact_lines(entry: RunbookEntry, snapshot: Snapshot) -> Iterator[str]:
    for cell in entry.cells:
        if cell.role == "escalation" and cell.text not in {"", entry.first("step")}:
            yield f"**{cell.label.strip(' :') or 'Then'}:** {cell.text}"
    of_document = (card.owner for card in snapshot.cards([entry.chunk.document_id]))
    if owner := entry.first("owner") or next(of_document, ""):
        yield f"**Owner:** {owner}"


def _linked_steps(match: RunbookMatch, snapshot: Snapshot) -> tuple[Chunk, str] | None:
    """The first numbered list at the link of the entry, or in the runbook that mentions the alert,
    and its first item."""
    entry, here = match.entries[0], match.entries[0].chunk.document_id
    own = next(iter(snapshot.cards([here])), None)
    runbook = None if entry.links else introducing(match.name, snapshot, but=here)
    for target in entry.links or ((runbook.card.id,) if runbook else ()):
        where, _, anchor = target.removeprefix("doc:").partition("#")
        file = linked_path(where, own.path) if own else ""
        documents = (
            one.id for one in snapshot.documents.values()
            if where in {one.id, one.url.partition("#")[0]} or (file and file == one.path)
        )  # fmt: skip
        document = next(documents, "") if where else here
        if not document or (document == here and not anchor):
            continue
        chunks = snapshot.chunks(document)
        at_anchor = [one for one in chunks if anchor and one.url.partition("#")[2] == anchor]
        for chunk in at_anchor or chunks:
            for line in lines_in(chunk.text):
                if line.number:
                    return chunk, line.markdown.strip()
    return None


def _conditions(entry: RunbookEntry, of: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(label, text) of each scope that does not cover everything; with `of`, of these columns."""
    cells = (
        cell for cell in entry.cells
        if (cell.label in of if of else cell.role == "scope")
        and not _ANY.fullmatch(cell.text.strip())
    )  # fmt: skip
    return [(cell.label.split("›")[-1].strip(" :") or "For", cell.text) for cell in cells]


def _no_runbook_text(match: RunbookMatch, titles: Sequence[str], nearest: _Draft) -> str:
    text = no_runbook(match.alert.name, titles)
    for entry in (*match.entries, *match.perhaps)[:MAX_PERHAPS]:
        nearest.cite(entry.chunk, entry.quote)
    if match.outcome == "other_scope":
        conditions = dict.fromkeys(pair for one in match.entries for pair in _conditions(one))
        keys = {group_of(normal_key(label)) for label, _ in conditions}
        labels = [
            f"`{_plain_name('='.join(filter(None, label)))}`" for label in match.alert.labels
            if not label[0] or group_of(normal_key(label[0])) in keys
        ]  # fmt: skip
        whose = "; ".join(f"{label}: {text}" for label, text in conditions)
        where = f" Its entry there is for others: {whose}." if whose else ""
        return f"{text[:-1]} with {', '.join(labels[:MAX_LABELS]) or 'these labels'}.{where}"
    if match.entries:
        retired = dict.fromkeys(one.place.split(" › ")[0] for one in match.entries)
        text = f"{text} What {' and '.join(retired)} says of it holds no more."
    near = (f"**{_plain_name(one.name)}** ({_place(one)})" for one in match.perhaps[:MAX_PERHAPS])
    return f"{text} Perhaps: {'; '.join(dict.fromkeys(near))}." if match.perhaps else text


def _place(entry: RunbookEntry) -> str:
    """Once where the heading is the title."""
    return " › ".join(dict.fromkeys(entry.place.split(" › ")))


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?:" else f"{text}."


def _plain_name(name: str) -> str:
    return " ".join(name.replace("`", "").replace("*", "").split())[:120]
