"""Members of Google groups, from the Workspace directory (Admin SDK, members.list)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from config.errors import ConfigError, PermissionsUnknown
from config.settings import Settings
from loaders.google.client import GoogleClient
from loaders.google.errors import GoogleRefused
from loaders.google.services import GROUP_MEMBERS, read_credentials

ATTEMPTS = 2
TIMEOUT = 10.0
PAGE = 200

Members = frozenset[str]
ADMIN_ROLE = "GOOGLE_GROUPS_ADMIN has to be an administrator who may read groups"


def open_groups(settings: Settings) -> Callable[[Collection[str]], Mapping[str, Members | str]]:
    """Returns a `FetchMembers`. Raises ConfigError for a missing or unreadable key."""
    api_url = settings.google_api_url or ""
    credentials = read_credentials(
        settings.google_credentials,
        scope=GROUP_MEMBERS,
        delegate=settings.google_groups_admin or "",
        api_url=api_url,
    )
    client = GoogleClient(credentials, api_url=api_url, attempts=ATTEMPTS, timeout=TIMEOUT)
    return lambda groups: group_members(groups, client)


def group_members(groups: Collection[str], client: GoogleClient) -> Mapping[str, Members | str]:
    """Group addresses → addresses of their members, in lower case, or the directory's refusal.

    Includes members of nested groups. Groups for which the directory gave no answer are left out.
    A group of the whole organization has no member list and counts as empty.
    Raises PermissionsUnknown when the directory does not respond."""
    members_by_group: dict[str, Members | str] = dict.fromkeys(groups, frozenset())
    members = client.directory.members()
    waiting = {
        group: members.list(groupKey=group, includeDerivedMembership=True, maxResults=PAGE)
        for group in groups
    }
    while waiting:
        pages = _pages(waiting, client)
        if isinstance(pages, str):
            return dict.fromkeys(groups, pages)
        following: dict[str, Any] = {}
        for group, page in pages.items():
            if isinstance(page, GoogleRefused):
                _refuse(members_by_group, group, page)
            else:
                members_by_group[group] = frozenset(members_by_group[group]) | _active(page)
                following[group] = members.list_next(waiting[group], page)
        waiting = {group: request for group, request in following.items() if request is not None}
    if groups and not members_by_group:
        raise PermissionsUnknown("Google's directory does not tell who is in a group")
    return members_by_group


def _pages(waiting: Mapping[str, Any], client: GoogleClient) -> Mapping[str, Any] | str:
    """The next page of each group, or the reason why the directory refuses all requests."""
    try:
        answers = client.batch(client.directory, list(waiting.values()))
    except ConfigError as error:
        return str(error)
    except GoogleRefused as refused:
        if refused.temporary:
            raise PermissionsUnknown("Google's directory does not answer") from refused
        return f"the directory refuses: {refused.in_words()}; {ADMIN_ROLE}"
    return dict(zip(waiting, answers, strict=True))


def _refuse(members: dict[str, Members | str], group: str, refused: GoogleRefused) -> None:
    if refused.temporary:
        del members[group]
    elif refused.status == 404:
        members[group] = "the directory knows no such group"
    else:
        members[group] = f"the directory refuses: {refused.in_words()}; {ADMIN_ROLE}"


def _active(page: Mapping[str, Any]) -> Members:
    return frozenset(
        str(member["email"]).lower()
        for member in page.get("members") or []
        if member.get("email") and member.get("status", "ACTIVE") == "ACTIVE"
    )
