"""An answer as Slack messages, with its buttons: choices, feedback, *Ask a human*. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile

from agents.answer import Answer
from agents.confidence import confidence_level
from bot.blocks.body import (
    bodies,
    body_blocks,
    body_text,
    part_name,
    passage_blocks,
    prose_of,
    source_lines,
)
from bot.blocks.kit import BUTTON_TEXT, Json, actions, button, context, section, short
from bot.blocks.markdown import excerpt
from bot.blocks.plan import ProgressPlan, current_status, plan_block
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links, links_to, sanitize_mrkdwn, sanitize_plain
from bot.blocks.tables import TableContext
from config.errors import DatabaseAway, IndexStoreAway, StorageFailed

FEEDBACK = "answer_feedback"
ASK_HUMAN = "ask_human"
CLARIFY = "clarify"
LOOK_IN = "look_in"
MAX_CHOICES = 5
MAX_PHONE_CHARS = 30
"""Visible characters of a button on a phone."""


def buttons(answer: Answer, question_id: str, more: Sequence[Json] = ()) -> Iterator[Json]:
    """`more`: elements next to *Ask a human*, where that is offered."""
    if answer.options:
        yield actions(list(_options(answer.options[:MAX_CHOICES])), block_id="oncall_options")
    if answer.beside:
        yield actions(list(_domains(answer, question_id)), block_id="oncall_beside")
    if answer.path == "small_talk":
        return
    if answer.path != "ambiguous_query":
        yield _verdict(question_id)
    style = {"style": "primary"} if answer.unsure else {}
    yield actions([ask_human(question_id, **style), *more], block_id="oncall_human")


def ask_human(question_id: str, **more: str) -> Json:
    return button("Ask a human", ASK_HUMAN, question_id, **more)


def labels(options: Sequence[str]) -> list[str]:
    """Button labels: the whole options where all are short, else the parts that differ."""
    words = [" ".join(option.split()).rstrip("?.!:;, ").split() for option in options]
    if any(len(" ".join(one)) > MAX_PHONE_CHARS for one in words):
        words = _without_common(words)
        if any(len(" ".join(one)) > MAX_PHONE_CHARS for one in words):
            words = [one[::-1] for one in _without_common([one[::-1] for one in words])]
    texts = [
        _upper_first(" ".join(one)) or option for one, option in zip(words, options, strict=True)
    ]
    return _distinct(texts)


def _without_common(options: list[list[str]]) -> list[list[str]]:
    """Without the common first words; each keeps at least one word."""
    if len(options) < 2:
        return options
    folded = [[word.casefold() for word in option] for option in options]
    shared = min(_shared(folded), *(max(0, len(option) - 1) for option in options))
    return [option[shared:] for option in options]


def _distinct(texts: list[str]) -> list[str]:
    """Cut to a button's length; labels that would be equal begin where they differ."""
    cut = [short(one, BUTTON_TEXT) for one in texts]
    for at, label in enumerate(cut):
        alike = [texts[other] for other in range(len(cut)) if cut[other] == label]
        if len(set(alike)) > 1:
            begins = texts[at].rfind(" ", 0, _shared(alike)) + 1
            cut[at] = short(f"…{texts[at][begins:]}", BUTTON_TEXT)
    return cut


def _shared(options: Sequence[Sequence[str]]) -> int:
    """The number of common first words, or characters."""
    alike = takewhile(lambda each: len(set(each)) == 1, zip(*options, strict=False))
    return sum(1 for _ in alike)


def _upper_first(text: str) -> str:
    """Capitalizes the first word, unless its spelling is special."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.islower() and first.isalpha() else text


def _options(options: Sequence[str]) -> Iterator[Json]:
    for number, (option, label) in enumerate(zip(options, labels(options), strict=True)):
        yield button(label, f"{CLARIFY}_{number}", option, **_accessibility(option, label))


def _domains(answer: Answer, question_id: str) -> Iterator[Json]:
    offered = answer.beside[:MAX_CHOICES]
    titles = labels([one.title for one in offered])
    verb = "" if answer.path == "ambiguous_query" else "Ask "
    for number, (one, title) in enumerate(zip(offered, titles, strict=True)):
        whole, label = f"Ask {one.title}", f"{verb}{title}"
        value = f"{one.domain} {question_id}"
        yield button(label, f"{LOOK_IN}_{number}", value, **_accessibility(whole, label))


def _accessibility(whole: str, label: str) -> dict[str, str]:
    """The whole text for screen readers, where the label is shorter."""
    text = sanitize_plain(" ".join(whole.split()))
    return {"accessibility_label": text} if text != label and 0 < len(text) <= BUTTON_TEXT else {}


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


FALLBACK_LIMIT = 1_500


@dataclass(frozen=True, kw_only=True)
class SlackMessage:
    """One Slack message."""

    text: str
    """Fallback for notifications and screen readers."""
    blocks: list[Json] = field(default_factory=list)
    links: Links = field(default_factory=Links)
    """URLs that the message may link to."""


def render(
    answer: Answer,
    *,
    question_id: str,
    allowed_hosts: Sequence[str] = (),
    notes: Sequence[str] = (),
    lead: str = "",
    more: Sequence[Json] = (),
    now: datetime | None = None,
) -> list[SlackMessage]:
    """The messages of an answer, in order; the last one ends with sources and buttons.

    `lead`: mrkdwn for a line above the answer, where the question isn't obvious. `more`: elements
    next to *Ask a human*."""
    now = now or datetime.now(UTC)
    alternatives = (passage.citation for one in answer.beside for passage in one.passages)
    cited = (*answer.citations, *answer.nearest, *alternatives)
    links = links_to([citation.url for citation in cited], allowed_hosts)
    if answer.passages:
        parts = list(bodies(passage_blocks(answer, links, now)))
        first = excerpt(answer.text, FALLBACK_LIMIT)
        texts = [fallback(first if part == 0 else answer.lead) for part in range(len(parts))]
    else:
        text = sanitize_markdown(answer.text, links)
        parts = list(bodies(body_blocks(text, links, _about(answer, text))))
        texts = [fallback(body_text(part)) for part in parts]
    if lead:
        parts[0].insert(0, context([lead], block_id="oncall_lead"))
    parts[-1] += [
        *_sources(answer, now),
        *_context(answer, notes),
        *buttons(answer, question_id, more),
    ]
    return [
        SlackMessage(text=text, blocks=part, links=links)
        for text, part in zip(texts, parts, strict=True)
    ]


def fallback(text: str) -> str:
    text = sanitize_mrkdwn(text.strip())
    return text if len(text) <= FALLBACK_LIMIT else text[: FALLBACK_LIMIT - 1] + "…"


def working(plan: ProgressPlan) -> SlackMessage:
    """The placeholder for an answer."""
    block = plan_block(plan)
    return SlackMessage(text=f"_{sanitize_mrkdwn(current_status(block))[:300]}_", blocks=[block])


def waiting_line(failure: StorageFailed) -> str:
    """What a question waits for, in place of its steps."""
    if isinstance(failure, DatabaseAway):
        reason = "My database doesn't answer"
    elif isinstance(failure, IndexStoreAway):
        reason = "The documents can't be fetched"
    else:
        reason = "I can't store anything"
    return f"{reason} at the moment. I go on as soon as that is over…"


def apology(
    reference: str, *, question_id: str, reason: str = "something went wrong on my side"
) -> SlackMessage:
    """The message after an error; operators find `reference` in their logs."""
    text = (
        f"Sorry, I couldn't answer this: {reason}. "
        f"Please try again later, or ask a human. Reference: `{reference}`"
    )
    return SlackMessage(text=text, blocks=[section(text), actions([ask_human(question_id)])])


def text_message(text: str) -> SlackMessage:
    """A plain sentence of the bot."""
    return SlackMessage(text=text, blocks=[section(text)])


def _about(answer: Answer, text: str) -> TableContext:
    return TableContext(
        question=answer.standalone_question,
        prose=prose_of(text),
        quotes=tuple(one.quote for one in answer.citations),
        places={str(one.number): part_name(one) for one in answer.citations},
    )


def _sources(answer: Answer, now: datetime) -> Iterator[Json]:
    lines = source_lines(answer, now)
    if lines and not answer.passages:  # whose titles are the links
        yield section("\n".join(lines), block_id="oncall_sources")


def _context(answer: Answer, notes: Sequence[str]) -> Iterator[Json]:
    lines = [sanitize_mrkdwn(note)[:500] for note in notes]
    lines += [f":warning: {sanitize_mrkdwn(notice)}" for notice in answer.notices]
    if answer.degraded and not (answer.spent or answer.passages):  # their lead says it
        lines.append(f":warning: {_degraded(answer)}")
    if answer.path == "general_llm_knowledge" and "general knowledge" not in answer.text.lower():
        lines.append(":warning: General knowledge, not from your team's documents.")
    is_named = answer.citations or answer.beside or answer.found_nothing
    if answer.from_title and not is_named:
        lines.append(f"From *{sanitize_mrkdwn(answer.from_title)}*")
    if answer.from_documents:
        lines.append(f"Confidence: {confidence_level(answer.confidence)}")
    if lines:
        yield context(lines, block_id="oncall_notes")


def _degraded(answer: Answer) -> str:
    if answer.found_nothing:
        return "The language model wasn't available. With it, I may find more: ask again later."
    if "answer" in answer.degraded:
        return "The language model wasn't available, so this is quoted from the documents."
    return "The language model wasn't always available, so something may be missing here."
