"""What a hand-off looks like in Slack. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.answer import Answer
from bot.blockkit import Json, actions, button, context, link, section
from bot.codec import decode
from bot.defang import mrkdwn
from bot.feedback import input_block, text_input
from bot.records import Record
from bot.reply import Outgoing, confidence_words
from config.domain import Domain

TAKE = "handoff_take"
RESOLVE = "handoff_resolve"
RESOLVE_VIEW = "handoff_resolution"


@dataclass(frozen=True, kw_only=True)
class Handoff:
    """The hand-off of one question, as far as it got."""

    question_id: str
    channel: str
    card_ts: str
    called: str
    requested_by: str
    taken_by: str
    resolved_by: str
    resolution: str


def card(record: Record, handoff: Handoff, domain: Domain | None) -> Outgoing:
    """The question, what was tried and cited, and who is on it."""
    answer = decode(record.answer) if record.answer else None
    private = bool(domain and domain.access.audience == "asker")
    called = (
        f"{_mention(handoff.called)} can you help here?"
        if handoff.called
        else "Nobody is configured to be called here; can somebody help?"
    )
    message = domain.escalation.message if domain else ""
    asker = record.asker or handoff.requested_by
    blocks = [
        section(f":raising_hand: {called}" + (f"\n{mrkdwn(message)}" if message else "")),
        section(f"*Question* from <@{asker}>\n{_quote(record.text)}"),
        section(_tried(answer, private=private)),
    ]
    if progress := _progress(handoff):
        blocks.append(context([progress]))
    if not handoff.resolved_by:
        buttons = [button("Resolved", RESOLVE, record.id)]
        if not handoff.taken_by:
            buttons.insert(0, button("I'll take it", TAKE, record.id, style="primary"))
        blocks.append(actions(buttons))
    return Outgoing(text=f"{called} {mrkdwn(record.text)[:300]}", blocks=blocks)


def resolution_view(question_id: str, suggestion: str = "") -> Json:
    """The modal behind *Resolved*."""
    return {
        "type": "modal",
        "callback_id": RESOLVE_VIEW,
        "private_metadata": question_id,
        "title": {"type": "plain_text", "text": "Resolved"},
        "submit": {"type": "plain_text", "text": "Done"},
        "close": {"type": "plain_text", "text": "Cancel"},
        "blocks": [
            input_block(
                "resolution",
                "What was the answer? It helps me next time.",
                text_input(multiline=True, initial=suggestion),
            )
        ],
    }


def _tried(answer: Answer | None, *, private: bool) -> str:
    if answer is None:
        return "*What I tried*\nI could not answer at all."
    if private:
        return "*What I tried*\nI answered the asker alone: not everyone may read the sources."
    text = mrkdwn(" ".join(answer.text.split()))
    lines = ["*What I tried*", text if len(text) <= 600 else f"{text[:599]}…"]
    lines.extend(_cited(answer))
    lines.append(f"Confidence: {confidence_words(answer.confidence)} ({answer.confidence:.0%})")
    return "\n".join(lines)


def _cited(answer: Answer) -> Sequence[str]:
    citations = answer.citations or answer.nearest
    names = [f"{c.title} › {c.heading}" if c.heading else c.title for c in citations[:4]]
    return [
        f"• {link(c.url, n[:150])}"
        for c, n in zip(citations, names, strict=False)
        if len(c.url) < 500
    ]


def _quote(text: str) -> str:
    shown = text if len(text) <= 1_500 else f"{text[:1_499]}…"
    return "\n".join(f"> {mrkdwn(line)}" for line in shown.splitlines())


def _mention(who: str) -> str:
    return f"<!subteam^{who}>" if who.startswith("S") else f"<@{who}>"


def _progress(handoff: Handoff) -> str:
    if handoff.resolved_by:
        return f":white_check_mark: Resolved by <@{handoff.resolved_by}>"
    return f":eyes: <@{handoff.taken_by}> is on it" if handoff.taken_by else ""
