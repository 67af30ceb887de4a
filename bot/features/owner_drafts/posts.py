"""Decides who may see and decide a draft, and sends the direct messages that show it: posted once,
found again after a crash, updated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage
from bot.feature import DocumentOwners, FeatureContext
from bot.features.owner_drafts.store import (
    MAX_MESSAGES_PER_DAY,
    REMINDER,
    DraftStore,
    OwnerDraftRow,
    OwnerMessageRow,
)
from bot.features.owner_drafts.views import DraftVisibility, draft_message, erased_message
from bot.posting.posts import metadata_of, post_once, post_with_fallback
from bot.showing import Showing
from bot.slack.client import SlackRefused
from bot.slack.messages import part_of, question_id
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway
from index.permissions.acts import Act
from index.permissions.rules import visible_to
from index.permissions.words import visible_text
from index.search import Snapshot

DRIVE_ROLES = frozenset({"owner", "editor", "manager"})
"""Roles in Drive: these people may read the document."""

PreviewDraft = Callable[[str, str, str, str], str]
"""(domain, document, heading, words) → what would change, in numbers. Raises CopilotError."""


@dataclass(frozen=True)
class DraftRights:
    """Every method raises SlackBusy or SlackUnsure where Slack doesn't answer."""

    context: FeatureContext
    drafts: DraftStore

    def is_colleague(self, user: str) -> bool:
        return bool(user) and self.context.gate.people.member(user).kind == "member"

    def may_decide(self, user: str, draft: OwnerDraftRow) -> bool:
        """Its addressee, or an admin of its domain; a button may reach others."""
        domain = self.context.domains().get(draft.domain)
        if domain is None or user not in (draft.addressee, *domain.admins):
            return False
        return bool(self.context.gate.open_to(Act.DRAFT, user, [domain]))

    def sees_words(self, user: str, draft: OwnerDraftRow) -> bool:
        """Whether they may see all that it says."""
        words = replace(self.drafts.words(draft).words, text="-")  # also of a draft without words
        return bool(visible_text(words, self.context.readers.person(user)))

    def reads(self, user: str, draft: OwnerDraftRow, role: str = "") -> bool:
        """Whether they may read the document. `role`: of a person it isn't addressed to yet."""
        if not role and user == draft.addressee:
            role = draft.role
        if not draft.document or role in DRIVE_ROLES:
            return True
        return self.context.readers.person(user).reads(draft.domain, (draft.document,))

    def is_public(self, draft: OwnerDraftRow) -> bool:
        """Whether every colleague may read the words where they were written."""
        if self.drafts.words(draft).words.private:
            return False
        return bool(draft.channel) and self.context.gate.channels.is_public(draft.channel)

    def is_file(self, draft: OwnerDraftRow) -> bool:
        """Whether the document is a local file: it names a team as owner, and takes no comments."""
        domain = self.context.domains().get(draft.domain)
        if domain is None:
            return False
        try:
            whole = visible_to(self.context.snapshot(domain.domain), None)
            card = whole.documents.get(draft.document)
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError:
            return False
        return bool(card and card.source not in ("", "google_drive"))

    def snapshot_for(self, user: str, domain: Domain) -> Snapshot | None:
        """The documents that this person may read; None where they can't be determined."""
        try:
            snapshot = self.context.snapshot(domain.domain)
            if domain.access.audience == "channel":
                return snapshot
            person = self.context.gate.people.person(user)
            return visible_to(snapshot, self.context.identities(domain, person))
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError:
            return None


log = structlog.get_logger()

DRAFT_EVENT = "oncall_owner_draft"
DOOR = "owner_draft"
"""In the audit log."""
SEARCH_LIMIT = 50
"""Messages of a conversation that are searched for one whose reply was lost."""


@dataclass(frozen=True, kw_only=True)
class DraftPosts:
    context: FeatureContext
    drafts: DraftStore
    rights: DraftRights
    owners: DocumentOwners | None
    preview: PreviewDraft | None = None
    """None: no draft can be tried."""

    def visibility(self, draft: OwnerDraftRow, showing: Showing) -> DraftVisibility:
        domain, user = self.context.domains().get(draft.domain), showing.user
        place = self.rights.reads(user, draft)
        if place and draft.document:
            showing.note(draft.domain, (draft.document,))
        words = self.rights.sees_words(user, draft)
        if words and draft.words:
            showing.text(self.drafts.words(draft).words)
        return DraftVisibility(
            words=words,
            question=showing.text(self.drafts.words(draft).question) if words else "",
            place=place,
            public=self.rights.is_public(draft),
            comments=bool(self.owners and self.owners.comments_are_on),
            domain=domain.title if domain else draft.domain,
            can_preview=bool(
                self.preview and domain and domain.evaluation.preview_drafts
                and words and draft.words and place and draft.document
            ),
        )  # fmt: skip

    def showing(self, user: str) -> Showing:
        readers = self.context.readers
        return readers.showing(readers.person(user), DOOR)

    def _message(
        self, draft: OwnerDraftRow, message: OwnerMessageRow | None, **more: bool
    ) -> SlackMessage:
        """Its message to one person, which the audit log has now. `message`: of an update."""
        showing = self.showing(message.addressee if message else draft.addressee)
        content = draft_message(draft, self.visibility(draft, showing), **more)
        part = message.part if message else "new"
        showing.record(f"draft/{draft.key}/{part}/{showing.user}/{draft.state}")
        return content

    def post(self, draft: OwnerDraftRow, part: int) -> bool:
        """Post a draft to its addressee, or its reminder; False at the daily limit. Safe to repeat.
        Raises SlackRefused, SlackBusy and SlackUnsure."""
        claimed = self.drafts.messages(draft.key).get(part)
        if claimed and claimed.ts:
            return True
        count = self.drafts.claim(draft, part)
        if not count:
            return False
        placed: list[str] = []
        ts = self._find(draft, part) if claimed else None
        if ts is None:
            last = count == MAX_MESSAGES_PER_DAY
            ts = post_once(
                self.context.web,
                self._message(draft, None, reminder=part == REMINDER, last=last),
                channel=draft.addressee,  # Slack takes a user's id for their direct messages
                metadata=metadata_of(DRAFT_EVENT, draft.key, part=part),
                find=lambda: self._find(draft, part),
                on_placed=placed.append,
            )
        channel = placed[0] if placed else self.drafts.channel_with(draft.addressee)
        self.drafts.set_posted(draft.key, part, channel, ts)
        return True

    def update(self, draft: OwnerDraftRow) -> None:
        """Show its present state on all its messages.

        Once more where it changed meanwhile: the slower of two updates may show what is over."""
        state: tuple[str, str] | None = None
        latest = self.drafts.get(draft.key)
        while latest and (latest.state, latest.comment) != state:
            state = latest.state, latest.comment
            for part, message in self.drafts.messages(latest.key).items():
                if message.ts:
                    content = self._message(latest, message, reminder=part == REMINDER)
                    self._update(message, content)
            latest = self.drafts.get(draft.key)

    def update_decided(self, key: str) -> None:
        """Show a decision that was made before the timestamp of a message was stored."""
        draft = self.drafts.get(key)
        if draft and not draft.waits:
            self.update(draft)

    def withdraw(self, key: str, part: int) -> None:
        """Remove erased words from a message."""
        message, draft = self.drafts.messages(key).get(part), self.drafts.get(key)
        if message is None:
            return
        if draft is None:
            self._update(message, erased_message())
        else:
            self._update(message, self._message(draft, message, reminder=part == REMINDER))
        self.drafts.withdraw(key, part)

    def _find(self, draft: OwnerDraftRow, part: int) -> str | None:
        """Timestamp of a message whose reply was lost. Before the first message to a person nothing
        can be searched: better the same draft twice than none."""
        channel = self.drafts.channel_with(draft.addressee)
        if not channel:
            return None
        try:
            page = self.context.web.call(
                "conversations.history",
                channel=channel,
                limit=SEARCH_LIMIT,
                include_all_metadata=True,
                patience=60.0,
            )
        except SlackRefused:
            return None
        for message in page.get("messages") or ():
            if question_id(message, DRAFT_EVENT) == draft.key and part_of(message) == part:
                return str(message["ts"])
        return None

    def _update(self, message: OwnerMessageRow, content: SlackMessage) -> None:
        if not message.ts:
            return
        arguments: Json = {
            "channel": message.channel,
            "ts": message.ts,
            "metadata": metadata_of(DRAFT_EVENT, message.key, part=message.part),
        }
        try:
            web = self.context.web
            post_with_fallback(web, web.call, "chat.update", content, arguments)
        except SlackRefused as refused:
            log.info("draft message could not be updated", reason=refused.code)
