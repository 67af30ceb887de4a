"""*Flag outdated* and its form, and contradictions in App Home. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.answer import Answer
from agents.freshness.cited_places import CitedSection
from bot.blocks.body import place_name
from bot.blocks.kit import (
    Json,
    actions,
    button,
    header,
    input_block,
    link,
    modal,
    radio_buttons,
    section,
    short,
    text_input,
    text_object,
)
from bot.blocks.sanitize.text import sanitize_mrkdwn, sanitize_plain
from bot.feature import StoredAnswer
from bot.features.freshness.contradictions import Sides
from bot.features.freshness.flags import MAX_FLAGS_PER_DAY
from config.domain import Domain

KEEP = "settle_contradiction"
_MAX_SIDE_CHARS, _MAX_FIELD_CHARS = 700, 2_000
"""Characters of a document's text, and of a section's field, in which `&` counts as five."""
_LABELS = {"one": "Keep A", "other": "Keep B", "none": "No contradiction"}


def contradiction_blocks(domain: Domain, pairs: Sequence[Sides]) -> Iterator[Json]:
    """Blocks for App Home: each pair side by side, with the buttons that settle it."""
    if not pairs:
        return
    yield header(f"{sanitize_plain(domain.title)}: sources that say different things")
    for pair in pairs:
        times = "once" if pair.met == 1 else f"{pair.met} times"
        about = sanitize_mrkdwn(short(pair.about, 200)) or "The same subject"
        fields = [
            text_object(_side("A", pair.one, pair.one_url, pair.one_says)),
            text_object(_side("B", pair.other, pair.other_url, pair.other_says)),
        ]
        yield {
            **section(f"{about} · met {times}"),
            "fields": fields,
            "block_id": f"contradiction_{pair.id}",
        }
        yield actions(
            [
                button(label, f"{KEEP}_{choice}", f"{choice} {pair.id} {pair.seen}")
                for choice, label in _LABELS.items()
            ],
            block_id=f"settle_{pair.id}",
        )


def _side(letter: str, place: CitedSection, url: str, says: str) -> str:
    name = short(place.name, 150)
    head = f"*{letter}* {link(url, name)}\n"
    if len(head) > _MAX_FIELD_CHARS // 2:
        head = f"*{letter}* {sanitize_mrkdwn(name)}\n"
    limit = _MAX_SIDE_CHARS
    text = sanitize_mrkdwn(short(says, limit))
    while len(text) > _MAX_FIELD_CHARS - len(head):
        limit = limit * 9 // 10
        text = sanitize_mrkdwn(short(says, limit))
    return head + text


FLAG = "flag_outdated"
FLAG_VIEW = "flag_outdated_form"
THANKS = "Thank you. The owner of the document hears of it."
NOT_YOURS = (
    "I can't take a flag from you here: only who may ask about these documents can flag them."
)
ENOUGH = (
    f"You have flagged {MAX_FLAGS_PER_DAY} places in 24 hours, and the owners hear of all of them. "
    "Please tell them of others yourself."
)
AGAIN = "The form did not open; please press the button again."
_MAX_SOURCES = 10
_TO_OWNER = "The document's owner is told, with your name and your words."
_PRIVATELY = (
    "The document's owner is told which place it is. As this was answered to you alone, your name, "
    "your words and your question stay here."
)


def flag_button(answer: Answer, question_id: str) -> tuple[Json, ...]:
    """None below an answer that cites no document."""
    if not any(one.document for one in answer.citations):
        return ()
    return (button("Flag outdated", FLAG, question_id),)


def flag_view(target: StoredAnswer, remember: str) -> Json:
    sources = [one for one in target.answer.citations if one.document][:_MAX_SOURCES]
    which = radio_buttons(
        {str(one.number): sanitize_plain(f"[{one.number}] {place_name(one)}") for one in sources}
    )
    words = input_block(
        "words",
        "What is out of date?",
        text_input(multiline=True),
        optional=False,
        hint=_PRIVATELY if target.private else _TO_OWNER,
    )
    return modal(
        FLAG_VIEW,
        "Flag outdated",
        [input_block("source", "Which source?", which, optional=False), words],
        remember=remember,
        submit="Flag",
        close="Cancel",
    )
