"""What a draft looks like, waiting and decided. Pure.

The forms behind a draft's buttons. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.blocks.kit import (
    Json,
    actions,
    button,
    context,
    input_block,
    link,
    modal,
    section,
    short,
    submitted,
    text_input,
)
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import sanitize_mrkdwn, strip_invisible
from bot.features.owner_drafts.store import OwnerDraft
from bot.slack.messages import ERASED, mention

ACCEPT = "owner_draft_accept"
EDIT = "owner_draft_edit"
DISMISS = "owner_draft_dismiss"
LONGEST = 1_200
"""Characters of what somebody said; the form shows more."""
LONGEST_COPY = 2_800

_WHAT = {
    "answer": "A human answered what {place} doesn't say.",
    "outdated": "Somebody says that {place} is out of date.",
    "step": "Somebody says that a step is wrong in {place}.",
    "contradiction": "Something that a human chose to keep says otherwise than {place}.",
    "review": "{place} is due to be looked over.",
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
    """What whoever looks may see, and what deciding leads to."""

    words: bool
    place: bool
    """Which document it is, and the headings in it."""
    public: bool
    """The words were said where every colleague may read them."""
    comments: bool
    """What is accepted becomes a comment."""
    domain: str
    """Title."""


def draft_message(
    draft: OwnerDraft, sight: DraftVisibility, *, reminder: bool = False, last: bool = False
) -> SlackMessage:
    """`last`: no other will come today."""
    if not draft.waits:
        return _decided(draft, sight)
    headline = _headline(draft, sight)
    blocks = [section(headline)]
    if reminder:
        since = f"{draft.made_at:%B} {draft.made_at.day}"
        told = f":hourglass: This has waited since {since}. I won't remind you again; it stays in "
        blocks.insert(0, context([f"{told}my *Home* tab."]))
    blocks += _said(draft, sight)
    blocks.append(context([*_notes(draft, sight), *_about(draft, sight, last=last)]))
    blocks.append(actions(buttons(draft, sight)))
    return SlackMessage(text=headline, blocks=blocks)


def buttons(draft: OwnerDraft, sight: DraftVisibility) -> list[Json]:
    dismiss = button("Dismiss…", DISMISS, draft.key)
    if not (sight.words and draft.words):
        return [button("Write…", EDIT, draft.key), dismiss]
    if not (sight.public and sight.place):
        # Who reads a document may be more than who reads a channel: the form says so first.
        return [button("Review…", EDIT, draft.key, style="primary"), dismiss]
    accept = button("Accept", ACCEPT, draft.key, style="primary")
    return [accept, button("Edit…", EDIT, draft.key), dismiss]


def gone_message() -> SlackMessage:
    """In place of a draft whose question was erased."""
    text = "A suggestion stood here. What it was about is no longer kept."
    return SlackMessage(text=text, blocks=[section(text)])


def audience_note(draft: OwnerDraft, sight: DraftVisibility) -> str:
    """Who will read what is accepted; a sentence or two."""
    if not draft.document:
        return "Nobody knows which document this belongs to: accept it, and copy the words."
    if not sight.comments:
        return "If you accept it, you get the words to copy into the document."
    who = "Everybody who can read the document will see what you accept, as a comment."
    if sight.words and not sight.public:
        return f":lock: These words come from a conversation that isn't public. {who}"
    return who


def place_of(draft: OwnerDraft, sight: DraftVisibility) -> str:
    """mrkdwn: the document and the heading, as far as they may be named."""
    if not draft.document:
        return f"*{sanitize_mrkdwn(sight.domain)}*"
    if not sight.place:
        return f"a document of {sanitize_mrkdwn(sight.domain)} that you may not read"
    title = short(draft.title or draft.document, 150)
    heading = short(draft.final_heading or draft.heading, 150)
    return f"*{link(draft.url, f'{title} › {heading}' if heading else title)}*"


def asked(draft: OwnerDraft) -> Json:
    title = "Why" if draft.kind == "review" else "Asked"
    return section(f"*{title}*\n{quoted(draft.question)}")


def home_line(draft: OwnerDraft, sight: DraftVisibility) -> str:
    return _headline(draft, sight)


def _headline(draft: OwnerDraft, sight: DraftVisibility) -> str:
    told = _WHAT.get(draft.kind, "Somebody suggests a change to {place}.")
    return told.replace("{place}", place_of(draft, sight))


def _said(draft: OwnerDraft, sight: DraftVisibility) -> Iterator[Json]:
    if not sight.words:
        yield section(
            "_It comes from a conversation that you can't see, so its words aren't shown._"
        )
        return
    if draft.question:
        yield asked(draft)
    if draft.words:
        yield section(f"*Suggested words*, from {mention(draft.by)}\n{quoted(draft.words)}")
    elif draft.by == ERASED:
        yield section("_Whoever suggested this had their words erased._")


def _notes(draft: OwnerDraft, sight: DraftVisibility) -> Iterator[str]:
    if draft.role in _WHY:
        yield _WHY[draft.role].format(domain=sanitize_mrkdwn(sight.domain))
    yield audience_note(draft, sight)


def _about(draft: OwnerDraft, sight: DraftVisibility, *, last: bool) -> Iterator[str]:
    if sight.words and draft.permalink:
        yield link(draft.permalink, "Open the conversation")
    if last:
        yield "This is the last message of today: whatever else comes waits in my *Home* tab."


def _decided(draft: OwnerDraft, sight: DraftVisibility) -> SlackMessage:
    who, at = mention(draft.decided_by) if draft.decided_by else "", when(draft.decided_at)
    place = place_of(draft, sight)
    headline = {
        "accepted": f":white_check_mark: Accepted by {who}, {at}: {place}",
        "dismissed": f":no_entry_sign: Dismissed by {who}, {at}: {place}",
        "gone": f":wastebasket: The document is deleted, or no longer shared with me: {place}",
    }[draft.state]
    blocks = [section(headline)]
    if draft.state == "dismissed" and draft.reason and sight.words:
        blocks.append(section(f"*Reason*\n{quoted(draft.reason)}"))
    elif draft.state != "dismissed":
        blocks += _accepted(draft, sight)
    return SlackMessage(text=headline, blocks=blocks)


def _accepted(draft: OwnerDraft, sight: DraftVisibility) -> Iterator[Json]:
    words = draft.final_words or (draft.words if draft.state == "gone" else "")
    if not (sight.words and words):
        if outcome := _outcome(draft):
            yield section(outcome)
        return
    if draft.comment == "made":
        yield section(quoted(words))
        yield context([_outcome(draft)])
        return
    yield section(f"{_outcome(draft)}\n*Copy this:*".strip())
    yield copied(words)


def _outcome(draft: OwnerDraft) -> str:
    """What became of the comment."""
    reason = f" ({sanitize_mrkdwn(draft.comment_why)})" if draft.comment_why else ""
    return {
        "made": "The words stand as a comment on the document.",
        "off": "I don't write comments here: please put the words into the document.",
        "refused": f"I could not write the comment{reason}: please put the words there yourself.",
        "later": "Google doesn't take the comment at the moment. I keep trying.",
    }.get(draft.comment, "")


def copied(words: str) -> Json:
    """As they are, to be copied: Slack makes neither links nor pings of a preformatted text."""
    text = strip_invisible(words)[:LONGEST_COPY]
    part = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [part]}


def quoted(text: str) -> str:
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "\n".join(f"> {sanitize_mrkdwn(line)}" for line in shown.splitlines())[:2_900]


def when(at: datetime | None) -> str:
    """In the reader's own time zone, by Slack."""
    if at is None:
        return "earlier"
    utc = at.replace(tzinfo=UTC)
    fallback = f"{utc:%B} {utc.day} at {utc:%H:%M} UTC"
    return f"<!date^{int(utc.timestamp())}^{{date_short_pretty}} at {{time}}|{fallback}>"


EDIT_VIEW = "owner_draft_words"
DISMISS_VIEW = "owner_draft_reason"
LONGEST_HEADING = 300


def words_form(draft: OwnerDraft, sight: DraftVisibility) -> Json:
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


def reason_form(draft: OwnerDraft, sight: DraftVisibility) -> Json:
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
