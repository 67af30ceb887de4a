"""The forms behind a draft's buttons. Pure."""

from __future__ import annotations

from bot.message.blockkit import Json, context, section, short
from bot.message.modal import input_block, modal, submitted, text_input
from bot.owner_drafts.draft_view import Sight, asked, audience_note, place_of
from bot.owner_drafts.drafts_on_record import OwnerDraft

EDIT_VIEW = "owner_draft_words"
DISMISS_VIEW = "owner_draft_reason"
LONGEST_HEADING = 300


def words_form(draft: OwnerDraft, sight: Sight) -> Json:
    """The words and the heading, to be accepted."""
    words = draft.words if sight.words else ""
    heading = draft.heading if sight.place else ""
    blocks = [section(f"For {place_of(draft, sight)}")]
    if sight.words and draft.question:
        blocks.append(asked(draft))
    blocks += [
        input_block("words", "Words", text_input(multiline=True, initial=words), optional=False),
        input_block(
            "heading",
            "Heading",
            {
                **text_input(multiline=False, initial=short(heading, LONGEST_HEADING)),
                "max_length": LONGEST_HEADING,
            },
            hint="The place in the document; leave it empty for the whole of it.",
        ),
        context([audience_note(draft, sight)]),
    ]
    return modal(
        EDIT_VIEW, "Suggestion", blocks, remember=draft.key, submit="Accept", close="Cancel"
    )


def reason_form(draft: OwnerDraft, sight: Sight) -> Json:
    blocks = [
        section(f"For {place_of(draft, sight)}"),
        input_block("reason", "Why?", text_input(multiline=True)),
    ]
    return modal(
        DISMISS_VIEW,
        "Dismiss the suggestion",
        blocks,
        remember=draft.key,
        submit="Dismiss",
        close="Cancel",
    )


def told_in_a_form(text: str) -> Json:
    """Something to read, where a form would be out of place."""
    return {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Suggestion"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [section(text)],
    }


def submitted_words(view: Json) -> dict[str, str]:
    return {
        "key": str(view.get("private_metadata") or ""),
        "words": submitted(view, "words").strip(),
        "heading": short(submitted(view, "heading"), LONGEST_HEADING),
    }


def submitted_reason(view: Json) -> dict[str, str]:
    key = str(view.get("private_metadata") or "")
    return {"key": key, "reason": submitted(view, "reason").strip()}
