"""Decides who may see and decide a draft, and sends the direct messages that show it: posted once,
found again after a crash, updated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from bot.access.gate import EntryPoint, Gate
from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage
from bot.feature import DocumentOwners, PublishedIndex
from bot.features.owner_drafts.store import (
    MAX_MESSAGES_PER_DAY,
    REMINDER,
    DraftMessage,
    DraftStore,
    OwnerDraft,
)
from bot.features.owner_drafts.views import DraftVisibility, draft_message, erased_message
from bot.posting.posts import metadata_of, post_with_fallback
from bot.slack.client import (
    MAX_WAIT,
    SlackBusy,
    SlackClient,
    SlackRefused,
    SlackUnsure,
    backoff,
)
from config.domain import Domain
from config.errors import CopilotError
from index.permissions.rules import IdentitiesOf, visible_to
from index.search import Snapshot

DRIVE_ROLES = frozenset({"owner", "editor", "manager"})
"""Roles in Drive: these people may read the document."""


@dataclass(frozen=True, kw_only=True)
class DraftRights:
    """Every method raises SlackBusy or SlackUnsure where Slack doesn't answer."""

    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    identities: IdentitiesOf
    published: PublishedIndex | None

    def is_colleague(self, user: str) -> bool:
        return bool(user) and self.gate.people.member(user).standing == "member"

    def may_decide(self, user: str, draft: OwnerDraft) -> bool:
        """Its addressee, or an admin of its domain; a button may reach others."""
        domain = self.domains().get(draft.domain)
        is_named = user == draft.addressee or bool(domain and user in domain.admins)
        return is_named and self.is_colleague(user)

    def sees_words(self, user: str, draft: OwnerDraft) -> bool:
        """Words from a thread are for those who may see its channel."""
        if user == draft.by or draft.kind == "review":  # nobody's words
            return True
        if draft.channel:
            return self.gate.may_see(user, draft.channel)
        domain = self.domains().get(draft.domain)
        if domain is None:
            return False
        return user in domain.admins or bool(self.gate.open_to(EntryPoint.HOME, user, [domain]))

    def reads(self, user: str, draft: OwnerDraft) -> bool:
        """Whether they may read the document, and so its name and headings."""
        if not draft.document or (user == draft.addressee and draft.role in DRIVE_ROLES):
            return True
        domain = self.domains().get(draft.domain)
        if domain is None:
            return False
        if domain.access.audience == "channel":
            return user in domain.admins or bool(self.gate.open_to(EntryPoint.HOME, user, [domain]))
        snapshot = self.snapshot_for(user, domain)
        return bool(snapshot and draft.document in snapshot.documents)

    def is_public(self, draft: OwnerDraft) -> bool:
        """Whether every colleague may read the words where they were written."""
        return bool(draft.channel) and self.gate.channels.is_public(draft.channel)

    def is_file(self, draft: OwnerDraft) -> bool:
        """Whether the document is a local file: it names a team as owner, and takes no comments."""
        domain = self.domains().get(draft.domain)
        if domain is None or self.published is None:
            return False
        try:
            whole = visible_to(self.published.snapshot(domain.domain), None)
            card = whole.documents.get(draft.document)
        except CopilotError:
            return False
        return bool(card and card.source == "file")

    def snapshot_for(self, user: str, domain: Domain) -> Snapshot | None:
        """The documents that this person may read; None where they can't be determined."""
        if self.published is None:
            return None
        try:
            snapshot = self.published.snapshot(domain.domain)
            if domain.access.audience == "channel":
                return snapshot
            person = self.gate.people.person(user)
            return visible_to(snapshot, self.identities(domain, person))
        except CopilotError:
            return None


log = structlog.get_logger()

DRAFT_EVENT = "oncall_owner_draft"
SEARCH_LIMIT = 50
"""Messages of a conversation that are searched for one whose reply was lost."""


@dataclass(frozen=True, kw_only=True)
class DraftPosts:
    web: SlackClient
    drafts: DraftStore
    rights: DraftRights
    owners: DocumentOwners | None
    domains: Callable[[], Mapping[str, Domain]]

    def visibility(self, user: str, draft: OwnerDraft) -> DraftVisibility:
        domain = self.domains().get(draft.domain)
        return DraftVisibility(
            words=self.rights.sees_words(user, draft),
            place=self.rights.reads(user, draft),
            public=self.rights.is_public(draft),
            comments=bool(self.owners and self.owners.comments_are_on),
            domain=domain.title if domain else draft.domain,
        )

    def post(self, draft: OwnerDraft, part: int) -> bool:
        """Post a draft to its addressee, or its reminder; False at the daily limit. Safe to repeat.
        Raises SlackRefused, SlackBusy and SlackUnsure."""
        claimed = self.drafts.messages(draft.key).get(part)
        if claimed and claimed.ts:
            return True
        count = self.drafts.claim(draft, part)
        if not count:
            return False
        location = self._find(draft, part) if claimed else None
        channel, ts = location or self._post(draft, part, last=count == MAX_MESSAGES_PER_DAY)
        self.drafts.set_posted(draft.key, part, channel, ts)
        return True

    def update(self, draft: OwnerDraft) -> None:
        """Show its present state on all its messages."""
        for part, message in self.drafts.messages(draft.key).items():
            if message.ts:
                visibility = self.visibility(message.addressee, draft)
                self._update(message, draft_message(draft, visibility, reminder=part == REMINDER))

    def withdraw(self, key: str, part: int) -> None:
        """Remove erased words from a message."""
        message, draft = self.drafts.messages(key).get(part), self.drafts.get(key)
        if message is None:
            return
        if draft is None:
            self._update(message, erased_message())
        else:
            visibility = self.visibility(message.addressee, draft)
            self._update(message, draft_message(draft, visibility, reminder=part == REMINDER))
        self.drafts.withdraw(key, part)

    def _post(self, draft: OwnerDraft, part: int, *, last: bool) -> tuple[str, str]:
        """Channel and timestamp."""
        visibility = self.visibility(draft.addressee, draft)
        message = draft_message(draft, visibility, reminder=part == REMINDER, last=last)
        arguments = {
            "channel": draft.addressee,  # Slack takes a user's id for their direct messages
            "metadata": metadata_of(DRAFT_EVENT, draft.key, part=part),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        pauses = backoff(MAX_WAIT)
        while True:
            try:
                reply = post_with_fallback(
                    self.web, self.web.once, "chat.postMessage", message, arguments
                )
                return str(reply.get("channel") or ""), str(reply["ts"])
            except SlackBusy as busy:
                self.web.wait(pauses, exactly=busy.after, cause=busy)
            except SlackUnsure as unsure:
                self.web.wait(pauses, cause=unsure)
                if location := self._find(draft, part):
                    return location

    def _find(self, draft: OwnerDraft, part: int) -> tuple[str, str] | None:
        """Channel and timestamp of a message whose reply was lost. Before the first message to a
        person nothing can be searched: better the same draft twice than none."""
        channel = self.drafts.channel_with(draft.addressee)
        if not channel:
            return None
        try:
            page = self.web.call(
                "conversations.history",
                channel=channel,
                limit=SEARCH_LIMIT,
                include_all_metadata=True,
                patience=60.0,
            )
        except SlackRefused:
            return None
        for message in page.get("messages") or ():
            metadata = message.get("metadata") or {}
            payload = metadata.get("event_payload") or {}
            mine = payload.get("question_id") == draft.key and payload.get("part") == part
            if metadata.get("event_type") == DRAFT_EVENT and mine:
                return channel, str(message["ts"])
        return None

    def _update(self, message: DraftMessage, content: SlackMessage) -> None:
        if not message.ts:
            return
        arguments: Json = {
            "channel": message.channel,
            "ts": message.ts,
            "metadata": metadata_of(DRAFT_EVENT, message.key, part=message.part),
        }
        try:
            post_with_fallback(self.web, self.web.call, "chat.update", content, arguments)
        except SlackRefused as refused:
            log.info("draft message could not be updated", reason=refused.code)
