"""Direct messages that show drafts: posted once, found again after a crash, kept true.

Who may see what of a draft, and who decides on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from bot.access.gate import EntryPoint, Gate
from bot.blocks.kit import Json
from bot.blocks.render import SlackMessage
from bot.feature import DocumentOwners, PublishedIndex
from bot.features.owner_drafts.store import (
    MOST_A_DAY,
    REMINDER,
    DraftMessage,
    DraftStore,
    OwnerDraft,
)
from bot.features.owner_drafts.views import DraftVisibility, draft_message, gone_message
from bot.posting.posts import metadata_of, post_with_fallback
from bot.slack.client import (
    LONGEST_WAIT,
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

OF_DRIVE = frozenset({"owner", "editor", "manager"})
"""Roles by which Drive itself names somebody: they may read the document."""


@dataclass(frozen=True, kw_only=True)
class DraftRights:
    """Raises SlackBusy or SlackUnsure where nobody can tell; nothing is shown meanwhile."""

    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    identities: IdentitiesOf
    published: PublishedIndex | None

    def is_colleague(self, user: str) -> bool:
        return bool(user) and self.gate.people.known(user).standing == "member"

    def may_decide(self, user: str, draft: OwnerDraft) -> bool:
        """Its addressee, or an admin of its domain; a button may reach others."""
        domain = self.domains().get(draft.domain)
        named = user == draft.addressee or bool(domain and user in domain.admins)
        return named and self.is_colleague(user)

    def sees_words(self, user: str, draft: OwnerDraft) -> bool:
        """What was said in a thread is for those who may see its channel."""
        if user == draft.by or draft.kind == "review":  # nobody's words
            return True
        if draft.channel:
            return self.gate.may_see(user, draft.channel)
        domain = self.domains().get(draft.domain)
        if domain is None:
            return False
        return user in domain.admins or bool(self.gate.open_to(EntryPoint.HOME, user, [domain]))

    def reads(self, user: str, draft: OwnerDraft) -> bool:
        """Whether they may read the document, and so how it and its headings are called."""
        if not draft.document or (user == draft.addressee and draft.role in OF_DRIVE):
            return True
        domain = self.domains().get(draft.domain)
        if domain is None:
            return False
        if domain.access.audience == "channel":
            return user in domain.admins or bool(self.gate.open_to(EntryPoint.HOME, user, [domain]))
        snapshot = self.snapshot_for(user, domain)
        return bool(snapshot and draft.document in snapshot.documents)

    def said_in_public(self, draft: OwnerDraft) -> bool:
        """Whether every colleague may read the words where they were said."""
        return bool(draft.channel) and self.gate.channels.is_public(draft.channel)

    def is_file(self, draft: OwnerDraft) -> bool:
        """Of the operator's own files, which name a team as their owner and take no comments."""
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
        """The documents as this person may read them; None where nobody can tell."""
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
LOOKED_THROUGH = 50
"""Messages of a conversation among which a lost one is looked for: it is among the last."""


@dataclass(frozen=True, kw_only=True)
class DraftPosts:
    web: SlackClient
    drafts: DraftStore
    rights: DraftRights
    desk: DocumentOwners | None
    domains: Callable[[], Mapping[str, Domain]]

    def sight(self, user: str, draft: OwnerDraft) -> DraftVisibility:
        domain = self.domains().get(draft.domain)
        return DraftVisibility(
            words=self.rights.sees_words(user, draft),
            place=self.rights.reads(user, draft),
            public=self.rights.said_in_public(draft),
            comments=bool(self.desk and self.desk.comments_are_on),
            domain=domain.title if domain else draft.domain,
        )

    def post(self, draft: OwnerDraft, part: int) -> bool:
        """Post a draft to its addressee, or its reminder; False where too many were today. Safe to
        repeat. Raises SlackRefused, SlackBusy and SlackUnsure."""
        known = self.drafts.messages(draft.key).get(part)
        if known and known.ts:
            return True
        count = self.drafts.claim(draft, part)
        if not count:
            return False
        found = self._find(draft, part) if known else None
        channel, ts = found or self._post(draft, part, last=count == MOST_A_DAY)
        self.drafts.posted(draft.key, part, channel, ts)
        return True

    def show(self, draft: OwnerDraft) -> None:
        """What is known of it now, on all its messages."""
        for part, message in self.drafts.messages(draft.key).items():
            if message.ts:
                sight = self.sight(message.addressee, draft)
                shown = draft_message(draft, sight, reminder=part == REMINDER)
                self._update(message, shown)

    def withdraw(self, key: str, part: int) -> None:
        """Show no words that were erased."""
        message, draft = self.drafts.messages(key).get(part), self.drafts.get(key)
        if message is None:
            return
        if draft is None:
            self._update(message, gone_message())
        else:
            sight = self.sight(message.addressee, draft)
            self._update(message, draft_message(draft, sight, reminder=part == REMINDER))
        self.drafts.withdraw(key, part)

    def _post(self, draft: OwnerDraft, part: int, *, last: bool) -> tuple[str, str]:
        """Channel and timestamp."""
        sight = self.sight(draft.addressee, draft)
        message = draft_message(draft, sight, reminder=part == REMINDER, last=last)
        arguments = {
            "channel": draft.addressee,  # Slack takes a user's id for their direct messages
            "metadata": metadata_of(DRAFT_EVENT, draft.key, part=part),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        pauses = backoff(LONGEST_WAIT)
        while True:
            try:
                posted = post_with_fallback(
                    self.web, self.web.once, "chat.postMessage", message, arguments
                )
                return str(posted.get("channel") or ""), str(posted["ts"])
            except SlackBusy as busy:
                self.web.wait(pauses, exactly=busy.after, cause=busy)
            except SlackUnsure as unsure:
                self.web.wait(pauses, cause=unsure)
                if found := self._find(draft, part):
                    return found

    def _find(self, draft: OwnerDraft, part: int) -> tuple[str, str] | None:
        """A message whose reply was lost. Of somebody who never had one the conversation isn't
        known: better the same draft twice than none."""
        channel = self.drafts.conversation_with(draft.addressee)
        if not channel:
            return None
        try:
            page = self.web.call(
                "conversations.history",
                channel=channel,
                limit=LOOKED_THROUGH,
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

    def _update(self, message: DraftMessage, shown: SlackMessage) -> None:
        if not message.ts:
            return
        arguments: Json = {
            "channel": message.channel,
            "ts": message.ts,
            "metadata": metadata_of(DRAFT_EVENT, message.key, part=message.part),
        }
        try:
            post_with_fallback(self.web, self.web.call, "chat.update", shown, arguments)
        except SlackRefused as refused:
            log.info("a draft's message could not be changed", reason=refused.code)
