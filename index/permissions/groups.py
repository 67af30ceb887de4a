"""The groups of a person, for permissions that name groups."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock

from config.domain import Domain
from config.errors import PermissionsUnknown
from config.parsing.schedules import GROUP
from index.permissions.rules import EVERYONE, Person, address_of, identities

FRESH_SECONDS = 600.0
SERVED_SECONDS = 1_200.0
"""While the directory is unavailable, cached members of up to this age still count."""
REST_SECONDS = 15.0

logger = logging.getLogger(__name__)

Members = frozenset[str]
"""E-mail addresses in lower case, or Slack user ids."""
FetchMembers = Callable[[Collection[str]], Mapping[str, Members | str]]
"""Groups → the members of each, nested groups included, or the reason why they are unknown.

The result omits groups that could not be read now. Raises PermissionsUnknown when none could."""


def no_directory(reason: str) -> FetchMembers:
    """A source without access: every group gets `reason`."""
    return lambda groups: dict.fromkeys(groups, reason)


class CachedMembers:
    """Members by group, from one source, fetched again after ten minutes. Thread-safe."""

    def __init__(self, fetch: FetchMembers, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._asking = Lock()
        self._cached: dict[str, tuple[float, Members | str]] = {}
        self._rests_until = float("-inf")

    def __call__(self, groups: Collection[str]) -> Mapping[str, Members | str]:
        """Returns the members of every group, see `FetchMembers`. Fetches stale groups in one call.

        Raises PermissionsUnknown when a cached entry is too old to use."""
        if self._old(groups):
            with self._asking:  # a thread that waited here finds fresh entries
                self._ask(self._old(groups))
        return {group: self._cached[group][1] for group in groups}

    def _ask(self, old: Collection[str]) -> None:
        began, cause = self._clock(), "the directory of groups did not answer"
        if old and began >= self._rests_until:
            try:
                fetched_members = self._fetch(old)
            except PermissionsUnknown as error:
                self._rests_until = began + REST_SECONDS
                cause = error.cause
                logger.warning("members of groups could not be read: %s", cause)
            else:
                for group, members in fetched_members.items():
                    self._save(group, members, began)
        if any(began - self._at(group) >= SERVED_SECONDS for group in old):
            raise PermissionsUnknown(cause)

    def _save(self, group: str, members: Members | str, began: float) -> None:
        before = self._cached.get(group)
        if isinstance(members, str) and (before is None or before[1] != members):
            logger.warning("group %s grants no access: %s", group, members)
        self._cached[group] = (began, members)

    def _old(self, groups: Collection[str]) -> list[str]:
        oldest = self._clock() - FRESH_SECONDS
        return [group for group in groups if self._at(group) <= oldest]

    def _at(self, group: str) -> float:
        return self._cached[group][0] if group in self._cached else float("-inf")


@dataclass(frozen=True, kw_only=True)
class Groups:
    """A person's own identities and their groups, see `rules.IdentitiesOf`.

    The domain file's groups have the members that it lists. The directory supplies the members of
    other groups, and only of groups that documents of the domain are shared with."""

    shared_groups: Callable[[str], frozenset[str]]
    """Domain → the groups that its documents are shared with."""
    directory: CachedMembers
    slack: CachedMembers

    def __call__(self, domain: Domain, person: Person) -> frozenset[str]:
        """Raises PermissionsUnknown while a group's members can't be read."""
        own = identities(person.email)
        if own == EVERYONE and not person.slack_user:
            return own
        names = {address_of(person.email), person.slack_user} - {""}
        return own | {group for group, members in self._members(domain).items() if names & members}

    def closed(self, domain: Domain, shared: Collection[str]) -> Mapping[str, str]:
        """Shared groups whose members are unknown → the reason. They give nobody access.

        `shared`: the groups that its documents are shared with."""
        configured = _configured(domain)
        addresses = set(shared) - configured.keys()
        members = dict(self.directory(addresses))
        members |= self.slack(_slack_groups(configured.values()))
        return {group: why for group, why in sorted(members.items()) if isinstance(why, str)}

    def _members(self, domain: Domain) -> Mapping[str, Members]:
        names = self.shared_groups(domain.domain)
        configured = {group: who for group, who in _configured(domain).items() if group in names}
        in_slack = self.slack(_slack_groups(configured.values()))
        by_group = {group: _spread(who, in_slack) for group, who in configured.items()}
        for group, members in self.directory(names - configured.keys()).items():
            by_group[group] = frozenset() if isinstance(members, str) else members
        return by_group


def _configured(domain: Domain) -> Mapping[str, Members]:
    """The domain file's groups: addresses, and ids of Slack users and user groups."""
    return {
        group.lower(): frozenset(one.lower() if "@" in one else one for one in who)
        for group, who in domain.access.groups.items()
    }


def _slack_groups(member_lists: Iterable[Members]) -> frozenset[str]:
    return frozenset(one for members in member_lists for one in members if _in_slack(one))


def _spread(who: Members, in_slack: Mapping[str, Members | str]) -> Members:
    """Replaces each Slack user group with its users."""
    users = (in_slack[one] for one in who if one in in_slack)
    return (who - in_slack.keys()).union(*(one for one in users if not isinstance(one, str)))


def _in_slack(member: str) -> bool:
    return re.fullmatch(GROUP, member) is not None
