"""The runbook behind an answer, and whether it has changed since; as everyone may read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from agents.answer import Answer
from agents.context.linked_section import find
from agents.runbooks.cited_steps import StepSection, cited_steps, section_steps
from agents.runbooks.step import RunbookStep
from bot.features.checklists.progress import Checklist, Runbook
from config.errors import CopilotError, DatabaseAway
from index.search import Snapshot
from loaders.text.plain import markdown_parser

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class RunbookRef:
    document: str
    runbook: Runbook
    generation: int


def runbook_of(
    answer: Answer, domain: str, snapshot_of: Callable[[str], Snapshot]
) -> RunbookRef | None:
    """None where the answer cites no steps, or steps that not everyone may read."""
    if not answer.citations:
        return None
    try:
        snapshot = snapshot_of(domain)

        def section_of(url: str) -> tuple[str, str] | None:
            linked = find(snapshot, url)
            return (linked.card.id, linked.heading) if linked else None

        section = cited_steps(answer, snapshot, section_of)
        if section is None:
            return None
        return RunbookRef(
            document=section.first.document_id,
            runbook=_runbook(section, snapshot),
            generation=snapshot.generation,
        )
    except DatabaseAway:
        raise  # whoever handles the event tries again
    except CopilotError as error:
        log.info("no checklist offered", reason=str(error), domain=domain)
        return None


def runbook_change(
    checklist: Checklist, snapshot_of: Callable[[str], Snapshot]
) -> tuple[int, str] | None:
    """(generation, '' | changed | gone); None where the index is unavailable, or nothing was
    published since the last comparison."""
    try:
        snapshot = snapshot_of(checklist.domain)
        if snapshot.generation == checklist.generation:
            return None
        runbook = checklist.runbook
        now = section_steps(snapshot, checklist.document, runbook.heading_path, runbook.tab)
    except CopilotError as error:
        log.info("runbook could not be checked for changes", reason=str(error))
        return None
    if now is None:
        return snapshot.generation, "gone"
    same = _text(now.steps) == _text(runbook.steps)
    return snapshot.generation, "" if same else "changed"


def _runbook(section: StepSection, snapshot: Snapshot) -> Runbook:
    first = section.first
    card = next(iter(snapshot.cards([first.document_id])), None)
    url = first.url or (card.url if card else "")
    links = {url for url in _links(section.steps) if find(snapshot, url)}
    return Runbook(
        title=first.document_title,
        heading=first.heading,
        heading_path=first.heading_path,
        tab=first.tab,
        url=url,
        modified_at=card.modified_at if card else None,
        steps=section.steps,
        links=tuple(sorted(links)),
    )


def _links(steps: Sequence[RunbookStep]) -> set[str]:
    tokens = (
        token
        for step in steps
        for block in markdown_parser().parse(step.text)
        for token in block.children or ()
    )
    return {str(one.attrs.get("href", "")) for one in tokens if one.type == "link_open"}


def _text(steps: Sequence[RunbookStep]) -> list[tuple[str, ...]]:
    """The words that are compared: markup may change with a release."""
    return [(step.number, *step.text.split()) for step in steps]
