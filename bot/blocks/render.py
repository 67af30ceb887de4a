"""An Answer as Slack messages. Pure: never talks to Slack.

What an answer offers to press: choices, a verdict, a human. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile

from agents.answer import Answer
from agents.confidence import confidence_level
from bot.blocks.body import (
    around_tables,
    bodies,
    body_blocks,
    part_name,
    passage_blocks,
    source_lines,
    words_said,
)
from bot.blocks.kit import BUTTON_TEXT, Json, actions, button, context, section, short
from bot.blocks.markdown import excerpt
from bot.blocks.plan import ProgressPlan, current_status, plan_block
from bot.blocks.sanitize.markdown import sanitize_markdown
from bot.blocks.sanitize.text import Links, links_to, sanitize_mrkdwn, sanitize_plain
from bot.blocks.tables import About

FEEDBACK = "answer_feedback"
ASK_HUMAN = "ask_human"
CLARIFY = "clarify"
LOOK_IN = "look_in"
MOST_CHOICES = 5
SEEN_AT_ONCE = 30
"""Characters of a button on a phone."""


def buttons(answer: Answer, question_id: str, more: Sequence[Json] = ()) -> Iterator[Json]:
    """`more`: elements beside *Ask a human*, where that is offered."""
    if answer.options:
        yield actions(list(_options(answer.options[:MOST_CHOICES])), block_id="oncall_options")
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
    """What each is called beside the others: whole where all are short, else what differs."""
    words = [" ".join(option.split()).rstrip("?.!:;, ").split() for option in options]
    if any(len(" ".join(one)) > SEEN_AT_ONCE for one in words):
        words = _without_common(words)
        if any(len(" ".join(one)) > SEEN_AT_ONCE for one in words):
            words = [one[::-1] for one in _without_common([one[::-1] for one in words])]
    told = [
        _upper_first(" ".join(one)) or option for one, option in zip(words, options, strict=True)
    ]
    return _told_apart(told)


def _without_common(options: list[list[str]]) -> list[list[str]]:
    """Without the words that all begin with; each keeps one."""
    if len(options) < 2:
        return options
    folded = [[word.casefold() for word in option] for option in options]
    shared = min(_shared(folded), *(max(0, len(option) - 1) for option in options))
    return [option[shared:] for option in options]


def _told_apart(told: list[str]) -> list[str]:
    """Cut to a button's length; where that makes two alike, each begins where they differ."""
    cut = [short(one, BUTTON_TEXT) for one in told]
    for at, label in enumerate(cut):
        alike = [told[other] for other in range(len(cut)) if cut[other] == label]
        if len(set(alike)) > 1:
            begins = told[at].rfind(" ", 0, _shared(alike)) + 1
            cut[at] = short(f"…{told[at][begins:]}", BUTTON_TEXT)
    return cut


def _shared(options: Sequence[Sequence[str]]) -> int:
    """Words, or characters, that all begin with."""
    alike = takewhile(lambda each: len(set(each)) == 1, zip(*options, strict=False))
    return sum(1 for _ in alike)


def _upper_first(text: str) -> str:
    """A label begins like a sentence, where its first word is written like any other."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.islower() and first.isalpha() else text


def _options(options: Sequence[str]) -> Iterator[Json]:
    for number, (option, label) in enumerate(zip(options, labels(options), strict=True)):
        yield button(label, f"{CLARIFY}_{number}", option, **_spoken(option, label))


def _domains(answer: Answer, question_id: str) -> Iterator[Json]:
    offered = answer.beside[:MOST_CHOICES]
    titles = labels([one.title for one in offered])
    asked = "" if answer.path == "ambiguous_query" else "Ask "
    for number, (one, title) in enumerate(zip(offered, titles, strict=True)):
        whole, label = f"Ask {one.title}", f"{asked}{title}"
        value = f"{one.domain} {question_id}"
        yield button(label, f"{LOOK_IN}_{number}", value, **_spoken(whole, label))


def _spoken(whole: str, label: str) -> dict[str, str]:
    """For screen readers, where the label is less than what it stands for."""
    said = sanitize_plain(" ".join(whole.split()))
    return {"accessibility_label": said} if said != label and 0 < len(said) <= BUTTON_TEXT else {}


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
) -> list[SlackMessage]:
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
        text = sanitize_markdown(answer.text, links)
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
        SlackMessage(text=text, blocks=part, links=links)
        for text, part in zip(texts, parts, strict=True)
    ]


def fallback(text: str) -> str:
    text = sanitize_mrkdwn(text.strip())
    return text if len(text) <= FALLBACK_LIMIT else text[: FALLBACK_LIMIT - 1] + "…"


def working(plan: ProgressPlan) -> SlackMessage:
    """What stands where the answer will be."""
    block = plan_block(plan)
    return SlackMessage(text=f"_{sanitize_mrkdwn(current_status(block))[:300]}_", blocks=[block])


def apology(reference: str, *, question_id: str) -> SlackMessage:
    """Something broke: say so, and give operators what to search their logs for."""
    text = (
        "Sorry, I couldn't answer this: something went wrong on my side. "
        f"Please try again later, or ask a human. Reference: `{reference}`"
    )
    return SlackMessage(text=text, blocks=[section(text), actions([ask_human(question_id)])])


def text_message(text: str) -> SlackMessage:
    """A plain sentence of the bot."""
    return SlackMessage(text=text, blocks=[section(text)])


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
    said = [sanitize_mrkdwn(note)[:500] for note in notes]
    if answer.degraded and not answer.passages:  # their lead says it
        said.append(f":warning: {_degraded(answer)}")
    if answer.path == "general_llm_knowledge" and "general knowledge" not in answer.text.lower():
        said.append(":warning: General knowledge, not from your team's documents.")
    told = answer.citations or answer.beside or answer.found_nothing
    if answer.from_title and not told:
        said.append(f"From *{sanitize_mrkdwn(answer.from_title)}*")
    if answer.from_documents:
        said.append(f"Confidence: {confidence_level(answer.confidence)}")
    if said:
        yield context(said, block_id="oncall_notes")


def _degraded(answer: Answer) -> str:
    if answer.found_nothing:
        return "The language model wasn't available. With it, I may find more: ask again later."
    if "answer" in answer.degraded:
        return "The language model wasn't available, so this is quoted from the documents."
    return "The language model wasn't always available, so something may be missing here."
