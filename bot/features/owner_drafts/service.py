"""What a human decides on a draft: the first decision counts, and what follows happens once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import structlog

from bot.bus.events import Enqueue, Event, SlackEvent, SuggestionDecided
from bot.bus.timers import TimerStore
from bot.connection import Identity
from bot.db import now
from bot.feature import DocumentOwners
from bot.features.owner_drafts.posts import DraftPosts
from bot.features.owner_drafts.store import DraftStore, OwnerDraft
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from config.errors import CopilotError
from loaders.google.owners import Commented

log = structlog.get_logger()

COMMENT = "owner_draft_comment"
TRY_AGAIN = timedelta(minutes=10)
GIVE_UP = timedelta(days=2)
NOT_YOURS = "This suggestion is for somebody else to decide on."
REVIEW_FIRST = "Please open it at my *Home* tab and review it there before you accept it."


@dataclass(frozen=True, kw_only=True)
class DraftAccepted(Event):
    """As suggested, by its button."""

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

    web: SlackClient
    drafts: DraftStore
    posts: DraftPosts
    desk: DocumentOwners | None
    timers: TimerStore
    put: Enqueue
    identity: Identity

    def accept(self, event_id: str, event: DraftAccepted) -> None:
        draft, user = self._of(event.key, event.user, event.channel), event.user
        if draft is None:
            return
        if draft.waits and not self._may_accept_unseen(user, draft):
            self._whisper(user, event.channel, REVIEW_FIRST)
            return
        self._decide(
            event_id, draft, user, "accepted",
            final_words=draft.words, final_heading=draft.heading, final_by=draft.by,
        )  # fmt: skip

    def accept_edited(self, event_id: str, event: DraftEdited) -> None:
        draft, user = self._of(event.key, event.user), event.user
        if draft is None:
            return
        # Words that were suggested and then edited are still mostly theirs who said them; who was
        # shown none wrote their own.
        edited = draft.words and self.posts.rights.sees_words(user, draft)
        self._decide(
            event_id, draft, user, "accepted", final_words=event.words,
            final_heading=event.heading, final_by=draft.by if edited else user,
        )  # fmt: skip

    def dismiss(self, event_id: str, event: DraftDismissed) -> None:
        draft = self._of(event.key, event.user)
        if draft is not None:
            self._decide(event_id, draft, event.user, "dismissed", reason=event.reason)

    def comment_again(self, key: str) -> None:
        """After Google did not take it."""
        draft = self.drafts.get(key)
        if draft and draft.state == "accepted" and draft.comment == "later":
            self._follow_up(draft)

    def gone(self, key: str) -> None:
        """Its document is deleted, or no longer shared with us."""
        self.drafts.decide(key, "gone")
        draft = self.drafts.get(key)
        if draft and draft.state == "gone":
            self._follow_up(draft)

    def _of(self, key: str, user: str, channel: str = "") -> OwnerDraft | None:
        """None where there is none, or it is not theirs to decide on."""
        draft = self.drafts.get(key)
        if draft and not self.posts.rights.may_decide(user, draft):
            self._whisper(user, channel, NOT_YOURS)
            return None
        return draft

    def _may_accept_unseen(self, user: str, draft: OwnerDraft) -> bool:
        """Without the form, which says who will read it: only what they see, of words that were
        said in public."""
        sight = self.posts.sight(user, draft)
        return bool(draft.words and sight.words and sight.place and sight.public)

    def _decide(
        self, event_id: str, draft: OwnerDraft, user: str, state: str, **values: str
    ) -> None:
        event = event_id[:160]
        self.drafts.decide(draft.key, state, decided_by=user, decided_event=event, **values)
        decided = self.drafts.get(draft.key)
        if decided is None:
            return
        if decided.decided_event == event:
            self._follow_up(decided)
        else:
            self.posts.show(decided)  # somebody was first, and this message may not say so yet
        self._refresh_home(event_id, user)

    def _follow_up(self, draft: OwnerDraft) -> None:
        if draft.state == "accepted" and draft.comment in {"", "later"}:
            draft = self._commented(draft)
        self.posts.show(draft)
        if draft.comment != "later":
            self._tell_outcome(draft)

    def _commented(self, draft: OwnerDraft) -> OwnerDraft:
        result = self._comment(draft)
        if result.outcome == "later" and now() - (draft.decided_at or now()) >= GIVE_UP:
            result = Commented(outcome="refused", why=result.why)
        if result.outcome == "later":
            self.timers.set(COMMENT, draft.key, datetime.now(UTC) + TRY_AGAIN)
        state = "gone" if result.outcome == "gone" else "accepted"
        self.drafts.note(
            draft.key, state=state, comment=result.outcome, comment_why=result.why[:500]
        )
        return self.drafts.get(draft.key) or draft

    def _comment(self, draft: OwnerDraft) -> Commented:
        if not draft.document or self.desk is None or self.posts.rights.is_file(draft):
            return Commented(outcome="off")
        try:
            return self.desk.comment(
                draft.document,
                mark=draft.mark,
                content=self._content(draft),
                quoted=draft.final_heading,
            )
        except CopilotError as error:
            return Commented(outcome="refused", why=error.problem)

    def _content(self, draft: OwnerDraft) -> str:
        place = f'For "{draft.final_heading}":\n\n' if draft.final_heading else ""
        public = self.posts.rights.said_in_public(draft)
        source = f" {draft.permalink}" if draft.permalink and public else ""
        day = f"{draft.decided_at:%Y-%m-%d}" if draft.decided_at else "today"
        return f"{place}{draft.final_words}\n\nAccepted in Slack, {day}.{source} {draft.mark}"

    def _tell_outcome(self, draft: OwnerDraft) -> None:
        event = SuggestionDecided(
            id=draft.id, outcome=draft.state, by=draft.decided_by,
            document=draft.document, heading=draft.final_heading or draft.heading,
            words=draft.final_words, words_by=draft.final_by,
        )  # fmt: skip
        self.put(f"outcome-{draft.id}", event)

    def _refresh_home(self, event_id: str, user: str) -> None:
        """As if they had just opened it: what they decided no longer waits there."""
        opened = {"type": "app_home_opened", "tab": "home", "user": user}
        self.put(f"home-{event_id}", SlackEvent(event=opened, team=self.identity.team))

    def _whisper(self, user: str, channel: str, text: str) -> None:
        if not channel:
            return
        try:
            self.web.once("chat.postEphemeral", channel=channel, user=user, text=text)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.debug("a note was not shown", reason=str(error))
