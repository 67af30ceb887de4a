"""Sends a draft to one person, and reminds them once: the document's owner where they may see the
words, else an admin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from bot.bus.events import SuggestionMade
from bot.bus.timers import TimerStore
from bot.feature import DocumentOwners
from bot.features.owner_drafts.posts import DraftPosts, DraftRights
from bot.features.owner_drafts.store import DAY, REMINDER, DraftStore, OwnerDraftRow
from bot.slack.messages import ERASED
from config.errors import CopilotError
from durable.database import now
from index.search import Snapshot
from loaders.google.owners import OwnersFound

MAX_LOOKUPS = 8
"""Addresses that are looked up in Slack; a shared drive may have dozens of managers."""


@dataclass(frozen=True, kw_only=True)
class Addressee:
    user: str
    """Slack user id."""
    role: str


def addressee_of(
    draft: OwnerDraftRow, owners: OwnersFound, rights: DraftRights
) -> Addressee | None:
    """The first who may see the words and read the document; else the first who may at least know
    which document it is; None when there is nobody at all.

    Raises SlackBusy or SlackUnsure when Slack can't say who someone is."""
    fallback: Addressee | None = None
    last: Addressee | None = None
    for one in _candidates(draft, owners, rights):
        if rights.reads(one.user, draft, one.role):
            if rights.sees_words(one.user, draft):
                return one
            fallback = fallback or one
        last = last or one
    return fallback or last


def _candidates(
    draft: OwnerDraftRow, owners: OwnersFound, rights: DraftRights
) -> Iterator[Addressee]:
    """Colleagues who are in Slack now, in the order of preference."""
    for email, role in owners.people[:MAX_LOOKUPS]:
        member = rights.context.gate.people.member_by_email(email)
        if member.kind == "member":
            yield Addressee(user=member.person.slack_user, role=role)
    domain = rights.context.domains().get(draft.domain)
    if domain is None:
        return
    for user in domain.admins:
        if rights.is_colleague(user):
            yield Addressee(user=user, role="admin")
    if rights.is_colleague(domain.escalation.user):
        yield Addressee(user=domain.escalation.user, role="escalation")


log = structlog.get_logger()

SEND = "owner_draft_send"
REMIND = "owner_draft_remind"
REMINDER_DELAY = timedelta(days=7)
DRIVE_RETRY_DELAY = timedelta(minutes=10)
NO_OWNERS = OwnersFound()


@dataclass(frozen=True, kw_only=True)
class DraftDelivery:
    """Every method is safe to repeat."""

    drafts: DraftStore
    posts: DraftPosts
    owners: DocumentOwners | None
    timers: TimerStore
    close: Callable[[str], None]
    """Called with the key of a draft whose document is deleted."""

    def receive(self, event_id: str, event: SuggestionMade) -> None:
        self.send(self.drafts.add(event.suggestion))

    def send(self, key: str) -> None:
        """Send it to its addressee; later while nobody is known, or at their daily limit."""
        draft = self.drafts.get(key)
        if draft is None or not draft.waits:
            return
        if not self._has_addressee(draft):
            owners = self._owners(draft)
            if owners.later and now() - draft.made_at < DAY:
                self._retry(SEND, key, DRIVE_RETRY_DELAY)
                return
            addressed = self._assign(draft, owners)
            if addressed is None:
                self._retry(SEND, key, DAY)
                return
            draft = addressed
        if not self.posts.post(draft, part=0):
            self._retry(SEND, key, DAY)
            return
        self.timers.set(REMIND, key, draft.made_at.replace(tzinfo=UTC) + REMINDER_DELAY, keep=True)
        self.posts.update_decided(key)

    def remind(self, key: str) -> None:
        """Remind the addressee, or their successor, once; after that it waits in App Home."""
        draft = self.drafts.get(key)
        if draft is None or draft.state not in {"waiting", "gone"}:
            return
        owners = self._owners(draft)
        if draft.state == "gone" or (draft.document and owners.deleted):
            self.close(key)
            return
        addressed = draft if self._has_addressee(draft) else self._assign(draft, owners)
        if addressed is None or not self.posts.post(addressed, part=REMINDER):
            self._retry(REMIND, key, DAY)
            return
        self.posts.update_decided(key)

    def _owners(self, draft: OwnerDraftRow) -> OwnersFound:
        """None where the document isn't in Drive: a local file names a team, no address."""
        if not draft.document or self.owners is None or self.posts.rights.is_file(draft):
            return NO_OWNERS
        try:
            return self.owners.owners(draft.document)
        except CopilotError as error:
            log.error("document owner lookup in drive failed", reason=str(error))
            return OwnersFound(later=True)

    def _has_addressee(self, draft: OwnerDraftRow) -> bool:
        """Who has neither left nor been erased since."""
        return draft.addressee not in ("", ERASED) and self.posts.rights.is_colleague(
            draft.addressee
        )

    def _assign(self, draft: OwnerDraftRow, owners: OwnersFound) -> OwnerDraftRow | None:
        """Store who should decide, and the document's title and address; None without anybody."""
        addressee = addressee_of(draft, owners, self.posts.rights)
        if addressee is None:
            log.warning("draft has nobody who may decide on it", domain=draft.domain)
            return None
        domain = self.posts.context.domains().get(draft.domain)
        snapshot = self.posts.rights.snapshot_for(addressee.user, domain) if domain else None
        card = snapshot.documents.get(draft.document) if snapshot else None
        title = owners.title or (card.title if card else "")
        url = _url(snapshot, draft) or owners.url or (card.url if card else "")
        document = "" if owners.deleted else draft.document
        self.drafts.set(
            draft.key, addressee=addressee.user, role=addressee.role, title=title, url=url,
            document=document,
        )  # fmt: skip
        return self.drafts.get(draft.key) or draft

    def _retry(self, kind: str, key: str, after: timedelta) -> None:
        self.timers.set(kind, key, datetime.now(UTC) + after)


def _url(snapshot: Snapshot | None, draft: OwnerDraftRow) -> str:
    """Opens the section with the draft's heading; empty where there is none."""
    if snapshot is None or not draft.heading or draft.document not in snapshot.documents:
        return ""
    sections = snapshot.chunks(draft.document)
    return next((one.url for one in sections if one.heading == draft.heading), "")
