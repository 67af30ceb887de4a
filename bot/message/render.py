"""An Answer as Slack messages. Pure: never talks to Slack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agents.answer import Answer
from agents.confidence import in_words
from bot.message.blockkit import Json, actions, context, section
from bot.message.body_blocks import around_tables, bodies, body_blocks, words_said
from bot.message.buttons import ask_human, buttons
from bot.message.defang import defang
from bot.message.growing.work_plan import WorkPlan, plan_block, told_of
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.harmless.web_address import Links, links_to
from bot.message.passage_blocks import passage_blocks
from bot.message.slack_markdown import excerpt
from bot.message.source_lines import part_name, source_lines
from bot.message.tables.asked_column import About

FALLBACK_LIMIT = 1_500


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """One Slack message."""

    text: str
    """Fallback for notifications and screen readers."""
    blocks: list[Json] = field(default_factory=list)
    links: Links = field(default_factory=Links)
    """What it may link to."""


def render(
    answer: Answer,
    *,
    question_id: str,
    allowed_hosts: Sequence[str] = (),
    notes: Sequence[str] = (),
    lead: str = "",
    more: Sequence[Json] = (),
    now: datetime | None = None,
) -> list[Outgoing]:
    """The messages of an answer, in order; sources and buttons close the last one.

    `lead`: mrkdwn for a line above it, where it isn't plain what was asked. `more`: elements beside
    *Ask a human*."""
    now = now or datetime.now(UTC)
    beside = (passage.citation for one in answer.beside for passage in one.passages)
    cited = (*answer.citations, *answer.nearest, *beside)
    links = links_to([citation.url for citation in cited], allowed_hosts)
    if answer.passages:
        parts = list(bodies(passage_blocks(answer, links, now)))
        said = excerpt(answer.text, FALLBACK_LIMIT)
        texts = [fallback(said if part == 0 else answer.lead) for part in range(len(parts))]
    else:
        text = defang(answer.text, links)
        parts = list(bodies(body_blocks(text, links, _about(answer, text))))
        texts = [fallback(words_said(part)) for part in parts]
    if lead:
        parts[0].insert(0, context([lead], block_id="oncall_lead"))
    parts[-1] += [
        *_sources(answer, now),
        *_context(answer, notes),
        *buttons(answer, question_id, more),
    ]
    return [
        Outgoing(text=text, blocks=part, links=links)
        for text, part in zip(texts, parts, strict=True)
    ]


def fallback(text: str) -> str:
    text = mrkdwn(text.strip())
    return text if len(text) <= FALLBACK_LIMIT else text[: FALLBACK_LIMIT - 1] + "…"


def working(plan: WorkPlan) -> Outgoing:
    """What stands where the answer will be."""
    block = plan_block(plan)
    return Outgoing(text=f"_{mrkdwn(told_of(block))[:300]}_", blocks=[block])


def apology(reference: str, *, question_id: str) -> Outgoing:
    """Something broke: say so, and give operators what to search their logs for."""
    text = (
        "Sorry, I couldn't answer this: something went wrong on my side. "
        f"Please try again later, or ask a human. Reference: `{reference}`"
    )
    return Outgoing(text=text, blocks=[section(text), actions([ask_human(question_id)])])


def said(text: str) -> Outgoing:
    """A plain sentence of the bot."""
    return Outgoing(text=text, blocks=[section(text)])


def _about(answer: Answer, text: str) -> About:
    return About(
        question=answer.standalone_question,
        said=around_tables(text),
        quotes=tuple(one.quote for one in answer.citations),
        places={str(one.number): part_name(one) for one in answer.citations},
    )


def _sources(answer: Answer, now: datetime) -> Iterator[Json]:
    lines = source_lines(answer, now)
    if lines and not answer.passages:  # whose titles are the links
        yield section("\n".join(lines), block_id="oncall_sources")


def _context(answer: Answer, notes: Sequence[str]) -> Iterator[Json]:
    said = [mrkdwn(note)[:500] for note in notes]
    if answer.degraded and not answer.passages:  # their lead says it
        said.append(f":warning: {_degraded(answer)}")
    if answer.path == "general_llm_knowledge" and "general knowledge" not in answer.text.lower():
        said.append(":warning: General knowledge, not from your team's documents.")
    told = answer.citations or answer.beside or answer.found_nothing
    if answer.from_title and not told:
        said.append(f"From *{mrkdwn(answer.from_title)}*")
    if answer.from_documents:
        said.append(f"Confidence: {in_words(answer.confidence)}")
    if said:
        yield context(said, block_id="oncall_notes")


def _degraded(answer: Answer) -> str:
    if answer.found_nothing:
        return "The language model wasn't available. With it, I may find more: ask again later."
    if "answer" in answer.degraded:
        return "The language model wasn't available, so this is quoted from the documents."
    return "The language model wasn't always available, so something may be missing here."
