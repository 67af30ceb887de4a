"""An Answer as Slack messages. Pure: never talks to Slack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agents.answer import Answer
from agents.confidence.confidence_levels import in_words
from bot.message.blockkit import Json, actions, button, context, section
from bot.message.body_blocks import bodies, body_blocks, grid_of, words_said
from bot.message.defang import defang
from bot.message.harmless.harmless_words import mrkdwn
from bot.message.harmless.web_address import Links, links_to
from bot.message.mrkdwn_text import as_mrkdwn
from bot.message.passage_blocks import passage_blocks
from bot.message.slack_markdown import aligned, excerpt, fitting
from bot.message.source_lines import source_lines

FALLBACK_LIMIT = 1_500
SECTION_LIMIT = 2_900

FEEDBACK = "answer_feedback"
ASK_HUMAN = "ask_human"
CLARIFY = "clarify"
LOOK_IN = "look_in"


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
    now: datetime | None = None,
) -> list[Outgoing]:
    """The messages of an answer, in order; sources and buttons close the last one.

    `lead`: mrkdwn for a line above it, where it isn't plain what was asked."""
    now = now or datetime.now(UTC)
    beside = (passage.citation for one in answer.beside for passage in one.passages)
    cited = (*answer.citations, *answer.nearest, *beside)
    links = links_to([citation.url for citation in cited], allowed_hosts)
    if answer.passages:
        parts = list(bodies(passage_blocks(answer, links, now)))
        said = excerpt(answer.text, FALLBACK_LIMIT)
        texts = [fallback(said if part == 0 else answer.lead) for part in range(len(parts))]
    else:
        parts = list(bodies(body_blocks(defang(answer.text, links), links)))
        texts = [fallback(words_said(part)) for part in parts]
    if lead:
        parts[0].insert(0, context([lead], block_id="oncall_lead"))
    parts[-1] += [
        *_sources(answer, now),
        *_context(answer, notes),
        *_buttons(answer, question_id),
    ]
    return [
        Outgoing(text=text, blocks=part, links=links)
        for text, part in zip(texts, parts, strict=True)
    ]


def plain_version(message: Outgoing) -> Outgoing:
    """The same message without the newer block types, for a workspace that refuses them."""
    blocks = [plain for block in message.blocks for plain in _plain_block(block, message.links)]
    return Outgoing(text=message.text, blocks=blocks, links=message.links)


def fallback(text: str) -> str:
    text = mrkdwn(text.strip())
    return text if len(text) <= FALLBACK_LIMIT else text[: FALLBACK_LIMIT - 1] + "…"


def placeholder(status: str) -> Outgoing:
    text = f"_{mrkdwn(status)[:300]}_"
    return Outgoing(text=text, blocks=[context([text], block_id="oncall_status")])


def apology(reference: str, *, question_id: str) -> Outgoing:
    """Something broke: say so, and give operators what to search their logs for."""
    text = (
        "Sorry, I couldn't answer this: something went wrong on my side. "
        f"Please try again later, or ask a human. Reference: `{reference}`"
    )
    return Outgoing(text=text, blocks=[section(text), actions([_ask_human(question_id)])])


def said(text: str) -> Outgoing:
    """A plain sentence of the bot."""
    return Outgoing(text=text, blocks=[section(text)])


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
    if answer.from_title and not answer.beside:
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


def _buttons(answer: Answer, question_id: str) -> Iterator[Json]:
    if answer.options:
        yield actions(
            [button(o, f"{CLARIFY}_{n}", o) for n, o in enumerate(answer.options[:5])],
            block_id="oncall_options",
        )
    if answer.beside:
        yield actions(
            [
                button(f"Ask {one.title}", f"{LOOK_IN}_{n}", f"{one.domain} {question_id}")
                for n, one in enumerate(answer.beside[:5])
            ],
            block_id="oncall_beside",
        )
    if answer.path == "small_talk":
        return
    if answer.path != "ambiguous_query":
        yield _verdict(question_id)
    style = {"style": "primary"} if answer.unsure else {}
    yield actions([_ask_human(question_id, **style)], block_id="oncall_human")


def _verdict(question_id: str) -> Json:
    return {
        "type": "context_actions",
        "block_id": "oncall_feedback",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": FEEDBACK,
                "positive_button": _feedback("Helpful", "helpful", question_id),
                "negative_button": _feedback("Not helpful", "unhelpful", question_id),
            }
        ],
    }


def _feedback(text: str, verdict: str, question_id: str) -> Json:
    return {
        "text": {"type": "plain_text", "text": text},
        "accessibility_label": f"Mark this answer as {text.lower()}",
        "value": f"{verdict} {question_id}",
    }


def _ask_human(question_id: str, **more: str) -> Json:
    return button("Ask a human", ASK_HUMAN, question_id, **more)


def _sections(markdown: str, links: Links) -> Iterator[Json]:
    def older(cut: str) -> str:
        return as_mrkdwn(defang(cut, links), links)

    for piece in fitting(markdown, SECTION_LIMIT, older):
        yield section(piece)


def _plain_block(block: Json, links: Links) -> Iterator[Json]:
    kind = block["type"]
    if kind == "markdown":
        yield from _sections(block["text"], links)
    elif kind == "table":
        yield from _sections(aligned(grid_of(block)), links)
    elif kind == "context_actions":
        pair = block["elements"][0]
        yield actions(
            [
                button(side["text"]["text"], f"{FEEDBACK}_{name}", side["value"])
                for name, side in (
                    ("helpful", pair["positive_button"]),
                    ("unhelpful", pair["negative_button"]),
                )
            ]
        )
    else:
        yield block
