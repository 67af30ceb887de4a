"""Who may see what of a draft, and who decides on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.access.doors import Door
from bot.access.gate import Gate
from bot.feature_tools import PublishedDomains
from bot.owner_drafts.drafts_on_record import OwnerDraft
from config.domain import Domain
from config.errors import CopilotError
from index.permissions.rules import IdentitiesOf, as_read_by
from index.search import Snapshot

OF_DRIVE = frozenset({"owner", "editor", "manager"})
"""Roles by which Drive itself names somebody: they may read the document."""


@dataclass(frozen=True, kw_only=True)
class DraftRights:
    """Raises SlackBusy or SlackUnsure where nobody can tell; nothing is shown meanwhile."""

    gate: Gate
    domains: Callable[[], Mapping[str, Domain]]
    identities: IdentitiesOf
    published: PublishedDomains | None

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
        return user in domain.admins or bool(self.gate.open_to(Door.HOME, user, [domain]))

    def reads(self, user: str, draft: OwnerDraft) -> bool:
        """Whether they may read the document, and so how it and its headings are called."""
        if not draft.document or (user == draft.addressee and draft.role in OF_DRIVE):
            return True
        domain = self.domains().get(draft.domain)
        if domain is None:
            return False
        if domain.access.audience == "channel":
            return user in domain.admins or bool(self.gate.open_to(Door.HOME, user, [domain]))
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
            whole = as_read_by(self.published.snapshot(domain.domain), None)
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
            return as_read_by(snapshot, self.identities(domain, person))
        except CopilotError:
            return None
