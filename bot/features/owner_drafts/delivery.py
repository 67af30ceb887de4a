"""From a suggestion to a draft in somebody's direct messages: found whose it is, sent, reminded.

Whom a draft goes to: the document's owner where they may see the words, else an admin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog

from bot.bus.events import SuggestionMade
from bot.bus.timers import TimerStore
from bot.db import now
from bot.feature import DocumentOwners
from bot.features.owner_drafts.posts import DraftPosts, DraftRights
from bot.features.owner_drafts.store import DAY, REMINDER, DraftStore, OwnerDraft
from bot.slack.messages import ERASED
from config.errors import CopilotError
from index.search import Snapshot
from loaders.google.owners import OwnersFound

MOST_ASKED_FOR = 8
"""Addresses that Slack is asked about; a shared drive may have dozens of managers."""


@dataclass(frozen=True, kw_only=True)
class Addressee:
    user: str
    """Slack user id."""
    role: str


def addressee_of(draft: OwnerDraft, owners: OwnersFound, rights: DraftRights) -> Addressee | None:
    """The first who may see the words and read the document; else the first who may at least know
    which document it is; None when there is nobody at all.

    Raises SlackBusy or SlackUnsure when Slack can't say who somebody is."""
    fallback: Addressee | None = None
    last: Addressee | None = None
    for one in _candidates(draft, owners, rights):
        mine = replace(draft, addressee=one.user, role=one.role)
        if rights.reads(one.user, mine):
            if rights.sees_words(one.user, mine):
                return one
            fallback = fallback or one
        last = last or one
    return fallback or last


def _candidates(draft: OwnerDraft, owners: OwnersFound, rights: DraftRights) -> Iterator[Addressee]:
    """Colleagues who are in Slack now, whoever should be asked first."""
    for email, role in owners.people[:MOST_ASKED_FOR]:
        known = rights.gate.people.known_by_email(email)
        if known.standing == "member":
            yield Addressee(user=known.person.slack_user, role=role)
    domain = rights.domains().get(draft.domain)
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
REMIND_AFTER = timedelta(days=7)
ASK_DRIVE_AGAIN = timedelta(minutes=10)
NOBODY_KNOWN = OwnersFound()


@dataclass(frozen=True, kw_only=True)
class DraftDelivery:
    """Every method is safe to repeat."""

    drafts: DraftStore
    posts: DraftPosts
    desk: DocumentOwners | None
    timers: TimerStore
    gone: Callable[[str], None]
    """Called with the key of a draft whose document is."""

    def suggested(self, event_id: str, event: SuggestionMade) -> None:
        self.send(self.drafts.add(event.suggestion))

    def send(self, key: str) -> None:
        """To its addressee; later, where nobody can tell yet who that is, or they had enough."""
        draft = self.drafts.get(key)
        if draft is None or not draft.waits:
            return
        if not self._is_there(draft):
            owners = self._owners(draft)
            if owners.later and now() - draft.made_at < DAY:
                self._later(SEND, key, ASK_DRIVE_AGAIN)
                return
            found = self._found(draft, owners)
            if found is None:
                self._later(SEND, key, DAY)
                return
            draft = found
        if not self.posts.post(draft, part=0):
            self._later(SEND, key, DAY)
            return
        self.timers.set(REMIND, key, draft.made_at.replace(tzinfo=UTC) + REMIND_AFTER, keep=True)
        after = self.drafts.get(key)
        if after and not after.waits:  # decided at Home meanwhile
            self.posts.show(after)

    def remind(self, key: str) -> None:
        """Once, or whoever has to decide now, where its addressee has left; after that it waits in
        Home."""
        draft = self.drafts.get(key)
        if draft is None or draft.state not in {"waiting", "gone"}:
            return
        owners = self._owners(draft)
        if draft.state == "gone" or (draft.document and owners.gone):
            self.gone(key)
            return
        known = draft if self._is_there(draft) else self._found(draft, owners)
        if known is None or not self.posts.post(known, part=REMINDER):
            self._later(REMIND, key, DAY)

    def _owners(self, draft: OwnerDraft) -> OwnersFound:
        """Nobody, where the document isn't one of Drive's: a file names a team, no address."""
        if not draft.document or self.desk is None or self.posts.rights.is_file(draft):
            return NOBODY_KNOWN
        try:
            return self.desk.owners(draft.document)
        except CopilotError as error:
            log.error("drive doesn't say whose a document is", reason=str(error))
            return OwnersFound(later=True)

    def _is_there(self, draft: OwnerDraft) -> bool:
        """Whether its addressee is known, and has neither left nor been erased since."""
        known = draft.addressee and draft.addressee != ERASED
        return bool(known) and self.posts.rights.is_colleague(draft.addressee)

    def _found(self, draft: OwnerDraft, owners: OwnersFound) -> OwnerDraft | None:
        """Addressed to whoever should decide now; None while there is nobody."""
        found = addressee_of(draft, owners, self.posts.rights)
        if found is None:
            log.warning("a suggestion waits for somebody to decide on it", domain=draft.domain)
            return None
        return self._addressed(draft, found, owners)

    def _addressed(self, draft: OwnerDraft, found: Addressee, owners: OwnersFound) -> OwnerDraft:
        """With what is known of the document now."""
        domain = self.posts.domains().get(draft.domain)
        snapshot = self.posts.rights.snapshot_for(found.user, domain) if domain else None
        card = snapshot.documents.get(draft.document) if snapshot else None
        title = owners.title or (card.title if card else "")
        url = _url(snapshot, draft) or owners.url or (card.url if card else "")
        document = "" if owners.gone else draft.document
        self.drafts.note(
            draft.key, addressee=found.user, role=found.role, title=title, url=url,
            document=document,
        )  # fmt: skip
        return self.drafts.get(draft.key) or draft

    def _later(self, kind: str, key: str, after: timedelta) -> None:
        self.timers.set(kind, key, datetime.now(UTC) + after)


def _url(snapshot: Snapshot | None, draft: OwnerDraft) -> str:
    """Opens the heading meant; empty where no section is called so."""
    if snapshot is None or not draft.heading or draft.document not in snapshot.documents:
        return ""
    sections = snapshot.chunks(draft.document)
    return next((one.url for one in sections if one.heading == draft.heading), "")
