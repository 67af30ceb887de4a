"""Whom a draft goes to: the document's owner where they may see the words, else an admin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bot.owner_drafts.draft_rights import DraftRights
from bot.owner_drafts.drafts_on_record import OwnerDraft
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
