"""Messages of drafts, waiting and decided, and the forms behind their buttons. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.blocks.kit import (
    Json,
    actions,
    button,
    context,
    input_block,
    link,
    local_date_time,
    modal,
    section,
    short,
    submitted_value,
    text_input,
)
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn, strip_invisible
from bot.features.owner_drafts.store import OwnerDraftRow
from bot.slack.messages import ERASED, mention

ACCEPT = "owner_draft_accept"
EDIT = "owner_draft_edit"
PREVIEW = "owner_draft_preview"
DISMISS = "owner_draft_dismiss"
MAX_QUOTE_CHARS = 1_200
"""The form shows more."""
MAX_COPY_CHARS = 2_800

_WHAT = {
    "answer": "A human answered what {place} doesn't say.",
    "outdated": "Somebody says that {place} is out of date.",
    "step": "Somebody says that a step is wrong in {place}.",
    "steps": "The checklists of {place} suggest a change to one step.",
    "contradiction": "Something that a human chose to keep says otherwise than {place}.",
    "review": "{place} is due to be looked over.",
    "drill": "A drill of the runbooks found what to mend in {place}.",
}
_WHY = {
    "owner": "You get this because you own the document in Drive.",
    "editor": "You get this because you edited the document last: on a shared drive it has no "
    "owner.",
    "manager": "You get this because you manage the shared drive of the document.",
    "admin": "You get this as an admin of {domain}: no owner could be asked.",
    "escalation": "You get this because you are called for {domain}: it has no owner or admin to "
    "ask.",
}


@dataclass(frozen=True, kw_only=True)
class DraftVisibility:
    """The parts of a draft that a viewer may see, and the effects of a decision."""

    words: bool
    question: str = ""
    """As much of it as they may see."""
    place: bool
    """The document's name and headings."""
    public: bool
    """Every colleague may read the words where they were written."""
    comments: bool
    """Accepted words become a comment."""
    domain: str
    """Title."""
    can_preview: bool = False
    """They may try what the words would change."""


def draft_message(
    draft: OwnerDraftRow, visibility: DraftVisibility, *, reminder: bool = False, last: bool = False
) -> SlackMessage:
    """`last`: no other comes today."""
    if not draft.waits:
        return _decision_message(draft, visibility)
    text = headline(draft, visibility)
    blocks: list[Json] = []
    if reminder:
        since = f"{draft.made_at:%B} {draft.made_at.day}"
        waits = f":hourglass: This has waited since {since}. I won't remind you again; it stays in "
        blocks.append(context([f"{waits}my *Home* tab."]))
    blocks += [section(text), *_suggestion_blocks(draft, visibility)]
    blocks.append(context([*_notes(draft, visibility, last=last)]))
    blocks.append(actions(buttons(draft, visibility)))
    return SlackMessage(text=text, blocks=blocks)


def buttons(draft: OwnerDraftRow, visibility: DraftVisibility) -> list[Json]:
    dismiss = button("Dismiss…", DISMISS, draft.key)
    if not (visibility.words and draft.words):
        return [button("Write…", EDIT, draft.key), dismiss]
    preview = button("What would this change?", PREVIEW, draft.key)
    others = [preview, dismiss] if visibility.can_preview else [dismiss]
    if not (visibility.public and visibility.place):
        # More people may read a document than a channel: the form says so first.
        return [button("Review…", EDIT, draft.key, style="primary"), *others]
    accept = button("Accept", ACCEPT, draft.key, style="primary")
    return [accept, button("Edit…", EDIT, draft.key), *others]


def erased_message() -> SlackMessage:
    """In place of a draft whose question was erased."""
    text = "A suggestion stood here. What it was about is no longer kept."
    return SlackMessage(text=text, blocks=[section(text)])


def audience_note(draft: OwnerDraftRow, visibility: DraftVisibility) -> str:
    """A sentence or two about the future readers of the accepted words."""
    if not draft.document:
        return "Nobody knows which document this belongs to: accept it, and copy the words."
    if not visibility.comments:
        return "If you accept it, you get the words to copy into the document."
    who = "Everybody who can read the document will see what you accept, as a comment."
    if visibility.words and not visibility.public:
        return f":lock: These words come from a conversation that isn't public. {who}"
    return who


def place_of(draft: OwnerDraftRow, visibility: DraftVisibility) -> str:
    """mrkdwn: the document and the heading, as far as they may be named."""
    if not draft.document:
        return f"*{sanitize_mrkdwn(visibility.domain)}*"
    if not visibility.place:
        return f"a document of {sanitize_mrkdwn(visibility.domain)} that you may not read"
    title = short(draft.title or draft.document, 150)
    heading = short(draft.final_heading or draft.heading, 150)
    return f"*{link(draft.url, f'{title} › {heading}' if heading else title)}*"


def question_section(draft: OwnerDraftRow, visibility: DraftVisibility) -> Json:
    title = "Why" if draft.kind in {"review", "steps", "drill"} else "Asked"
    return section(f"*{title}*\n{quote(visibility.question)}")


def headline(draft: OwnerDraftRow, visibility: DraftVisibility) -> str:
    text = _WHAT.get(draft.kind, "Somebody suggests a change to {place}.")
    return text.replace("{place}", place_of(draft, visibility))


def _suggestion_blocks(draft: OwnerDraftRow, visibility: DraftVisibility) -> Iterator[Json]:
    if not visibility.words:
        yield section(
            "_It comes from a conversation that you can't see, so its words aren't shown._"
        )
        return
    if visibility.question:
        yield question_section(draft, visibility)
    if draft.words:
        yield section(f"*Suggested words*, from {mention(draft.by)}\n{quote(draft.words)}")
    elif draft.by == ERASED:
        yield section("_Whoever suggested this had their words erased._")


def _notes(draft: OwnerDraftRow, visibility: DraftVisibility, *, last: bool) -> Iterator[str]:
    if draft.role in _WHY:
        yield _WHY[draft.role].format(domain=sanitize_mrkdwn(visibility.domain))
    yield audience_note(draft, visibility)
    if visibility.words and draft.permalink:
        yield link(draft.permalink, "Open the conversation")
    if last:
        yield "This is the last message of today: whatever else comes waits in my *Home* tab."


def _decision_message(draft: OwnerDraftRow, visibility: DraftVisibility) -> SlackMessage:
    who = mention(draft.decided_by) if draft.decided_by else ""
    at = local_date_time(draft.decided_at)
    place = place_of(draft, visibility)
    text = {
        "accepted": f":white_check_mark: Accepted by {who}, {at}: {place}",
        "dismissed": f":no_entry_sign: Dismissed by {who}, {at}: {place}",
        "gone": f":wastebasket: The document is deleted, or no longer shared with me: {place}",
    }[draft.state]
    blocks = [section(text)]
    if draft.state == "dismissed" and draft.reason and visibility.words:
        blocks.append(section(f"*Reason*\n{quote(draft.reason)}"))
    elif draft.state != "dismissed":
        blocks += _accepted_blocks(draft, visibility)
    return SlackMessage(text=text, blocks=blocks)


def _accepted_blocks(draft: OwnerDraftRow, visibility: DraftVisibility) -> Iterator[Json]:
    words = draft.final_words or (draft.words if draft.state == "gone" else "")
    if not (visibility.words and words):
        if outcome := _outcome(draft):
            yield section(outcome)
        return
    if draft.comment == "made":
        yield section(quote(words))
        yield context([_outcome(draft)])
        return
    yield section(f"{_outcome(draft)}\n*Copy this:*".strip())
    yield copy_block(words)


def _outcome(draft: OwnerDraftRow) -> str:
    """What happened to the comment."""
    reason = f" ({sanitize_mrkdwn(draft.comment_why)})" if draft.comment_why else ""
    return {
        "made": "The words stand as a comment on the document.",
        "off": "I don't write comments here: please put the words into the document.",
        "refused": f"I could not write the comment{reason}: please put the words there yourself.",
        "later": "Google doesn't take the comment at the moment. I keep trying.",
    }.get(draft.comment, "")


def copy_block(words: str) -> Json:
    """Text to copy: Slack makes neither links nor mentions of preformatted text."""
    text = strip_invisible(words)[:MAX_COPY_CHARS]
    part = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [part]}


def quote(text: str) -> str:
    cut = text if len(text) <= MAX_QUOTE_CHARS else f"{text[: MAX_QUOTE_CHARS - 1]}…"
    return "\n".join(f"> {sanitize_mrkdwn(line)}" for line in cut.splitlines())[:2_900]


EDIT_VIEW = "owner_draft_words"
DISMISS_VIEW = "owner_draft_reason"
MAX_HEADING_CHARS = 300


def words_form(draft: OwnerDraftRow, visibility: DraftVisibility) -> Json:
    """The words and the heading, to be accepted."""
    words = draft.words if visibility.words else ""
    heading = draft.heading if visibility.place else ""
    blocks = [section(f"For {place_of(draft, visibility)}")]
    if visibility.question:
        blocks.append(question_section(draft, visibility))
    blocks += [
        input_block("words", "Words", text_input(multiline=True, initial=words), optional=False),
        input_block(
            "heading",
            "Heading",
            {
                **text_input(multiline=False, initial=short(heading, MAX_HEADING_CHARS)),
                "max_length": MAX_HEADING_CHARS,
            },
            hint="The place in the document; leave it empty for the whole of it.",
        ),
        context([audience_note(draft, visibility)]),
    ]
    return modal(
        EDIT_VIEW, "Suggestion", blocks, remember=draft.key, submit="Accept", close="Cancel"
    )


def reason_form(draft: OwnerDraftRow, visibility: DraftVisibility) -> Json:
    blocks = [
        section(f"For {place_of(draft, visibility)}"),
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


def message_modal(text: str) -> Json:
    """Instead of a form that can't be used."""
    return {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Suggestion"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [section(text)],
    }


def submitted_words(view: Json) -> dict[str, str]:
    return {
        "key": str(view.get("private_metadata") or ""),
        "words": submitted_value(view, "words").strip(),
        "heading": short(submitted_value(view, "heading"), MAX_HEADING_CHARS),
    }


def submitted_reason(view: Json) -> dict[str, str]:
    key = str(view.get("private_metadata") or "")
    return {"key": key, "reason": submitted_value(view, "reason").strip()}
