"""Answers an alert from its runbook entry: first step, whom to call, where it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile
from textwrap import dedent, shorten

from agents.alerts.reader import alerts_in
from agents.answer import Answer, Ask, AskWrapper, Citation, Question
from agents.extractive.relevance import citation
from agents.runbooks.choice import choose_entries
from agents.runbooks.entries import RunbookEntry, plain, without_links
from agents.runbooks.matching import (
    RunbookMatch,
    introducing,
    match_alerts,
    worth_answering,
)
from agents.steps import Progress
from config.domain import Domain
from config.models import ChatModel
from enrichment.chunk import Chunk
from enrichment.references import linked_path
from index.permissions.rules import visible_to
from index.search import Snapshot

CONFIDENCE_ONE_ENTRY = 0.95
CONFIDENCE_NO_RUNBOOK = 0.9
"""Confidence that the documents name no such alert."""
CONFIDENCE_CHOSEN = 0.85
"""A model chose the entry among those with other names."""
CONFIDENCE_UNKNOWN_SCOPE = 0.8
"""One entry whose scope the labels neither confirm nor exclude."""
CONFIDENCE_SEVERAL_ENTRIES = 0.7
MAX_ALERTS = 5
"""Kinds of alerts that one answer covers."""
MAX_STEPS = 3
"""Steps that the answer shows; its link and the checklist hold the rest."""
MAX_PERHAPS = 3
MAX_CODE = 500
"""Characters of a block of commands that a step introduces; a longer one is left to the link."""
MAX_QUOTE = 240
"""Characters of prose for each of several entries."""
_STEP_NUMBER = re.compile(r"\bstep (\d+)", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*\d+[.)]\s+(\S.*)$", re.MULTILINE)
_ITEM = re.compile(r"^(\d+[.)]|[-*•])\s+(\S.*)$", re.MULTILINE)
_CODE = re.compile(r"\s*\n *```[^\n]*\n(.*?)\n *```", re.DOTALL)
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
    kinds = _kinds(matches)
    answerable = [one for one in kinds if one.outcome in {"found", "several"}][:MAX_ALERTS]
    unanswered = [one for one in kinds if one.outcome in {"other_scope", "none"}]
    draft, nearest = _Draft(snapshot), _Draft(snapshot)
    parts = [_entries_text(one, draft) for one in answerable]
    parts += [_no_runbook_text(one, titles, nearest) for one in unanswered[:MAX_ALERTS]]
    if more := len(kinds) - len(answerable) - len(unanswered[:MAX_ALERTS]):
        parts.append(f"And {more} more kinds of alerts in this message: ask me for them by name.")
    answer = Answer(
        text="\n\n".join(parts), path="no_answer_found", refusal="nothing_found",
        confidence=CONFIDENCE_NO_RUNBOOK, nearest=tuple(nearest.citations),
        generation=snapshot.generation, standalone_question=_question_text(matches),
        restated_from=frozenset(),
    )  # fmt: skip
    if not answerable:
        return answer
    documents = frozenset(entry.chunk.document_id for one in answerable for entry in one.entries)
    return replace(
        answer, path="company_specific_rag_success", refusal="", documents=documents,
        confidence=min(map(_confidence, answerable)), citations=tuple(draft.citations),
    )  # fmt: skip


def no_runbook(name: str, titles: Sequence[str]) -> str:
    names = ", ".join(titles[:-1]) + (" or " if titles[:-1] else "") + "".join(titles[-1:])
    return f"No runbook for `{_plain_name(name)}` in {names or 'these documents'}."


def _kinds(matches: Sequence[RunbookMatch]) -> list[RunbookMatch]:
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
    if match.chosen:
        return CONFIDENCE_CHOSEN
    return CONFIDENCE_UNKNOWN_SCOPE if match.unknown else CONFIDENCE_ONE_ENTRY


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
        return "\n".join((title, "", *(_entry_line(one, match.on, draft) for one in match.entries)))
    severity = entry.first("severity") or alert.severity
    lines = [f"**{_plain_name(entry.name)}**{f' · {severity}' if severity else ''}{state}"]
    if match.chosen and alert.named:
        name = _plain_name(alert.name)
        lines.append(f"No entry is named `{name}`; by its words this one is for it.")
    steps = _linked_steps(match, draft.snapshot)
    lines.append(_first_steps(entry, draft))
    if steps:
        first = _NUMBERED.search(steps.text)
        quote = first[0].strip() if first else steps.text[:200]
        number = draft.cite(steps, quote)
        lines.append(f"**Steps:** {steps.place}: {without_links(quote)} [{number}]")
    lines += _contact_lines(entry, draft.snapshot)
    for label, text in _conditions(entry):
        unsure = " (the alert doesn't say whether that is so)" if label in match.unknown else ""
        lines.append(f"**{label}:** {text}{unsure}")
    if (also := match.also) and (steps is None or also.chunk.id != steps.id):
        step, number = _sentence(also.first("step")), draft.cite(also.chunk, also.quote)
        lines.append(f"**Also:** {step} {also.place} [{number}]".replace("  ", " "))
    return "\n".join(f"{line}  " for line in lines).rstrip()


def _entry_line(entry: RunbookEntry, on: Sequence[str], draft: _Draft) -> str:
    """One of several entries, with what it is for."""
    for_whom = "; ".join(text for _, text in _conditions(entry, of=on)) or entry.place
    severity, escalation = entry.first("severity"), entry.first("escalation")
    rating = f" · {severity}" if severity else ""
    more = f" If not cleared: {escalation}." if escalation else ""
    number = draft.cite(entry.chunk, entry.quote)
    step = _sentence(entry.first("step") or shorten(entry.quote, MAX_QUOTE, placeholder=" …"))
    return f"- **{for_whom}**{rating}: {step}{more} [{number}]"


def _first_steps(entry: RunbookEntry, draft: _Draft) -> str:
    """The first step, or the first steps of a section whose list begins with it."""
    number, step = draft.cite(entry.chunk, entry.quote), entry.first("step")
    if not step:
        return f"{entry.quote} [{number}]"
    text = "" if entry.kind == "row" else entry.chunk.text
    items = ((one[1], plain(one[2]), _code_after(text, one.end())) for one in _ITEM.finditer(text))
    steps = list(dropwhile(lambda item: item[1] not in {step, f"{step}."}, items))
    if len(steps) < 2:
        return f"**First step:** {_sentence(step)} [{number}]{steps[0][2] if steps else ''}"
    total = max(len(steps), *(run.total for run in entry.chunk.runs if run.what == "items"), 0)
    of = f" of {total}" if total > MAX_STEPS else ""
    lines = "\n".join(f"{mark} {item}{code}" for mark, item, code in steps[:MAX_STEPS])
    return f"**First steps{of}:** [{number}]\n\n{lines}\n"


def _code_after(text: str, end: int) -> str:
    """The block of code that an item introduces, on lines of its own; '' without one."""
    block = _CODE.match(text, end) if text[:end].rstrip(" *").endswith(":") else None
    return f"\n```\n{dedent(block[1])}\n```" if block and len(block[1]) <= MAX_CODE else ""


def _contact_lines(entry: RunbookEntry, snapshot: Snapshot) -> Iterator[str]:
    step = entry.first("step")
    for cell in entry.cells:
        if cell.role == "escalation" and cell.text and cell.text != step:
            yield f"**{cell.label.strip(' :') or 'Then'}:** {cell.text}"
    of_document = (card.owner for card in snapshot.cards([entry.chunk.document_id]))
    if owner := entry.first("owner") or next(of_document, ""):
        yield f"**Owner:** {owner}"


def _linked_steps(match: RunbookMatch, snapshot: Snapshot) -> Chunk | None:
    """The numbered list that the entry links to, or of the runbook that mentions the alert: at the
    link's anchor, else the first that has the step number of the entry's first step."""
    entry = match.entries[0]
    number = _STEP_NUMBER.search(entry.first("step"))
    here = entry.chunk.document_id
    own = next(iter(snapshot.cards([here])), None)
    targets = entry.links or filter(None, [introducing(match.name, snapshot, but=here)])
    for target in targets:
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
            if len(_NUMBERED.findall(chunk.text)) >= (int(number[1]) if number else 1):
                return chunk
    return None


def _conditions(entry: RunbookEntry, of: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(label, text) of each scope that does not cover everything; with `of`, of these columns."""
    cells = (
        cell for cell in entry.cells
        if (cell.label in of if of else cell.role == "scope")
        and not _ANY.fullmatch(cell.text.strip())
    )  # fmt: skip
    return [(cell.label.split("›")[-1].strip(" :") or "For", cell.display_text) for cell in cells]


def _no_runbook_text(match: RunbookMatch, titles: Sequence[str], nearest: _Draft) -> str:
    text = no_runbook(match.alert.name, titles)
    for entry in (*match.entries, *match.perhaps)[:MAX_PERHAPS]:
        nearest.cite(entry.chunk, entry.quote)
    if match.outcome == "other_scope":
        whose = dict.fromkeys(f"{a}: {b}" for one in match.entries for a, b in _conditions(one))
        where = f"Its entry there is for others: {'; '.join(whose)}." if whose else ""
        return f"{text[:-1]} with these labels. {where}".rstrip()
    if match.entries:
        retired = dict.fromkeys(one.place.split(" › ")[0] for one in match.entries)
        text = f"{text} What {' and '.join(retired)} says of it holds no more."
    if match.perhaps:
        places = dict.fromkeys(
            f"**{_plain_name(one.name)}** ({one.place})" for one in match.perhaps[:MAX_PERHAPS]
        )
        text = f"{text} Perhaps: {'; '.join(places)}."
    return text


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?:" else f"{text}."


def _plain_name(name: str) -> str:
    return " ".join(name.replace("`", "").replace("*", "").split())[:120]
