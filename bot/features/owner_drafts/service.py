"""Decisions on drafts: the first one counts, and its consequences happen once. And drafts that are
tried: only numbers are posted, below the draft, in a message that a second press updates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import structlog

from bot.blocks.kit import context, section
from bot.blocks.render import SlackMessage, text_message
from bot.bus.events import Event, SlackEvent, SuggestionDecided
from bot.feature import DocumentOwners, FeatureContext
from bot.features.owner_drafts.posts import DraftPosts, PreviewDraft
from bot.features.owner_drafts.store import DraftStore, OwnerDraftRow, OwnerMessageRow
from bot.posting.posts import metadata_of, post_once, post_with_fallback
from bot.slack.messages import fetch, question_id, whisper
from config.errors import CopilotError, DatabaseAway, ModelUnavailable, UsageError
from durable.database import now
from loaders.google.owners import Commented

log = structlog.get_logger()

COMMENT = "owner_draft_comment"
RETRY_DELAY = timedelta(minutes=10)
MAX_RETRY_TIME = timedelta(days=2)
NOT_YOURS = "This suggestion is for somebody else to decide on."
REVIEW_FIRST = "Please open it at my *Home* tab and review it there before you accept it."


_PING = re.compile(r"(?<![\w.%+-])([+@\uff0b\uff20])(?=[\w.%+-]+[@\uff20])")


def without_pings(text: str) -> str:
    """The text with a space after a `+` or `@` before an address, which in a comment of Google's
    notifies whoever has the address, also outside the organization."""
    return _PING.sub(r"\1 ", text)


@dataclass(frozen=True, kw_only=True)
class DraftAccepted(Event):
    """The suggestion was accepted unchanged, by its button."""

    kind: ClassVar[str] = "owner_accepted"
    key: str
    user: str
    channel: str = ""


@dataclass(frozen=True, kw_only=True)
class DraftEdited(Event):
    """Accepted in other words."""

    kind: ClassVar[str] = "owner_edited"
    key: str
    words: str
    heading: str
    user: str


@dataclass(frozen=True, kw_only=True)
class DraftDismissed(Event):
    kind: ClassVar[str] = "owner_dismissed"
    key: str
    reason: str
    user: str


@dataclass(frozen=True, kw_only=True)
class DraftDecisions:
    """Every method is safe to repeat under the same event id."""

    context: FeatureContext
    drafts: DraftStore
    posts: DraftPosts
    owners: DocumentOwners | None

    def accept(self, event_id: str, event: DraftAccepted) -> None:
        draft, user = self._draft_for(event.key, event.user, event.channel), event.user
        if draft is None:
            return
        if draft.waits and not self._may_accept_unreviewed(user, draft):
            if event.channel:
                whisper(self.context.web, user, event.channel, "", REVIEW_FIRST)
            return
        self._decide(
            event_id, draft, user, "accepted",
            final_words=draft.words, final_heading=draft.heading, final_by=draft.by,
        )  # fmt: skip

    def accept_edited(self, event_id: str, event: DraftEdited) -> None:
        draft, user = self._draft_for(event.key, event.user), event.user
        if draft is None:
            return
        # Edited text still belongs to its first author; a user who saw no text wrote their own.
        is_edit = draft.words and self.posts.rights.sees_words(user, draft)
        self._decide(
            event_id, draft, user, "accepted", final_words=event.words,
            final_heading=event.heading, final_by=draft.by if is_edit else user,
        )  # fmt: skip

    def dismiss(self, event_id: str, event: DraftDismissed) -> None:
        draft = self._draft_for(event.key, event.user)
        if draft is not None:
            self._decide(event_id, draft, event.user, "dismissed", reason=event.reason)

    def retry_comment(self, key: str) -> None:
        """Write the comment again after an error of Google."""
        draft = self.drafts.get(key)
        if draft and draft.state == "accepted" and draft.comment == "later":
            self._follow_up(draft)

    def close(self, key: str) -> None:
        """Its document is deleted, or no longer shared with us."""
        self.drafts.decide(key, "gone")
        draft = self.drafts.get(key)
        if draft and draft.state == "gone":
            self._follow_up(draft)

    def _draft_for(self, key: str, user: str, channel: str = "") -> OwnerDraftRow | None:
        """None where there is none, or this person may not decide it."""
        draft = self.drafts.get(key)
        if draft and not self.posts.rights.may_decide(user, draft):
            if channel:
                whisper(self.context.web, user, channel, "", NOT_YOURS)
            return None
        return draft

    def _may_accept_unreviewed(self, user: str, draft: OwnerDraftRow) -> bool:
        """Without the form, which says who will read it: only public words that they see."""
        visibility = self.posts.visibility(draft, self.posts.showing(user))
        return bool(draft.words and visibility.words and visibility.place and visibility.public)

    def _decide(
        self, event_id: str, draft: OwnerDraftRow, user: str, state: str, **values: str
    ) -> None:
        event = event_id[:160]
        self.drafts.decide(draft.key, state, decided_by=user, decided_event=event, **values)
        latest = self.drafts.get(draft.key)
        if latest is None:
            return
        if latest.decided_event == event:
            self._follow_up(latest)
        else:
            self.posts.update(latest)  # another user was first; this message may not say so yet
        # Their App Home no longer lists it.
        opened = {"type": "app_home_opened", "tab": "home", "user": user}
        home = SlackEvent(event=opened, team=self.context.identity.team)
        self.context.put(f"home-{event_id}", home)

    def _follow_up(self, draft: OwnerDraftRow) -> None:
        if draft.state == "accepted" and draft.comment in {"", "later"}:
            draft = self._write_comment(draft)
        self.posts.update(draft)
        if draft.comment != "later":
            self._publish_outcome(draft)

    def _write_comment(self, draft: OwnerDraftRow) -> OwnerDraftRow:
        result = self._comment(draft)
        if result.outcome == "later" and now() - (draft.decided_at or now()) >= MAX_RETRY_TIME:
            result = Commented(outcome="refused", why=result.why)
        if result.outcome == "later":
            self.context.timers.set(COMMENT, draft.key, datetime.now(UTC) + RETRY_DELAY)
        state = "gone" if result.outcome == "gone" else "accepted"
        self.drafts.set(
            draft.key, state=state, comment=result.outcome, comment_why=result.why[:500]
        )
        return self.drafts.get(draft.key) or draft

    def _comment(self, draft: OwnerDraftRow) -> Commented:
        if not draft.document or self.owners is None or self.posts.rights.is_file(draft):
            return Commented(outcome="off")
        try:
            return self.owners.comment(
                draft.document,
                mark=draft.mark,
                content=without_pings(self._content(draft)),
                quoted=without_pings(draft.final_heading),
            )
        except CopilotError as error:
            return Commented(outcome="refused", why=error.problem)

    def _content(self, draft: OwnerDraftRow) -> str:
        place = f'For "{draft.final_heading}":\n\n' if draft.final_heading else ""
        is_public = self.posts.rights.is_public(draft)
        source = f" {draft.permalink}" if draft.permalink and is_public else ""
        day = f"{draft.decided_at:%Y-%m-%d}" if draft.decided_at else "today"
        return f"{place}{draft.final_words}\n\nAccepted in Slack, {day}.{source} {draft.mark}"

    def _publish_outcome(self, draft: OwnerDraftRow) -> None:
        event = SuggestionDecided(
            id=draft.id, outcome=draft.state, by=draft.decided_by,
            document=draft.document, heading=draft.final_heading or draft.heading,
            words=draft.final_words, words_by=draft.final_by,
        )  # fmt: skip
        self.context.put(f"outcome-{draft.id}", event)


PREVIEW_EVENT = "oncall_draft_preview"
ASKING = ":hourglass_flowing_sand: I ask last month's questions again, with these words…"
NO_BUDGET = "I could not try it: no language model is available for it today. Please press later."
CLOSED = "I can't try it: the document is gone, or not everyone may read it."
FAILED = "I could not try it. Please press the button again later."
HOW = (
    "Asked for everyone, with the words as a paragraph at the end of their section. Nothing was "
    "published."
)


@dataclass(frozen=True, kw_only=True)
class DraftPreviewRequested(Event):
    kind: ClassVar[str] = "owner_preview"
    key: str
    user: str


@dataclass(frozen=True, kw_only=True)
class DraftPreviews:
    posts: DraftPosts

    def answer(self, _: str, event: DraftPreviewRequested) -> None:
        """Safe to repeat: it then asks again, and updates the same message."""
        draft = self.posts.drafts.get(event.key)
        if draft is None or not draft.waits or not self.posts.rights.may_decide(event.user, draft):
            return
        if not self.posts.visibility(draft, self.posts.showing(event.user)).can_preview:
            return
        messages = self.posts.drafts.messages(draft.key)
        theirs = [one for one in messages.values() if one.ts and one.addressee == event.user]
        if theirs and self.posts.preview:
            self._answer_below(theirs[0], draft, self.posts.preview)

    def _answer_below(
        self, message: OwnerMessageRow, draft: OwnerDraftRow, preview: PreviewDraft
    ) -> None:
        def find() -> str | None:
            thread = fetch(web, message.channel, message.ts)
            own = (one for one in thread if question_id(one, PREVIEW_EVENT) == draft.key)
            return next((str(one["ts"]) for one in own), None)

        web, metadata = self.posts.context.web, metadata_of(PREVIEW_EVENT, draft.key)
        asking = text_message(ASKING)
        ts = find() or post_once(
            web,
            asking,
            channel=message.channel,
            thread_ts=message.ts,
            metadata=metadata,
            find=find,
        )
        arguments = {"channel": message.channel, "ts": ts, "metadata": metadata}
        post_with_fallback(web, web.call, "chat.update", _outcome(draft, preview), arguments)


def _outcome(draft: OwnerDraftRow, preview: PreviewDraft) -> SlackMessage:
    try:
        numbers = preview(draft.domain, draft.document, draft.heading, draft.words)
    except DatabaseAway:
        raise  # whoever handles the event tries again
    except CopilotError as error:
        log.info("draft not previewed", draft=draft.key, reason=type(error).__name__)
        refusals = {ModelUnavailable: NO_BUDGET, UsageError: CLOSED}
        return text_message(refusals.get(type(error), FAILED))
    text = f"*With these words, in the last 30 days:* {numbers}"
    return SlackMessage(text=text, blocks=[section(text), context([HOW])])
