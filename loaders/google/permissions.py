"""Current permissions: the readers of a document in Drive, and the members of Google groups.

Members come from the Workspace directory (Admin SDK, members.list)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from config.errors import ConfigError, PermissionsUnknown
from config.settings import Settings
from loaders.document import Permission
from loaders.google.client import GoogleClient
from loaders.google.drive.calls import DriveCalls, read_file, read_readers
from loaders.google.drive.source import open_drive
from loaders.google.errors import GoogleRefused
from loaders.google.services import GROUP_MEMBERS, read_credentials

ATTEMPTS = 2
TIMEOUT = 10.0
"""Seconds. Short, because a person is waiting for an answer."""

Readers = tuple[Permission, ...]


def open_readers(settings: Settings) -> Callable[[Collection[str]], Mapping[str, Readers]]:
    """Returns a `CheckReaders`. Raises ConfigError for a missing or unreadable key."""
    drive = open_drive(settings, attempts=ATTEMPTS, timeout=TIMEOUT)
    return lambda documents: current_readers(documents, drive.calls)


def current_readers(documents: Collection[str], calls: DriveCalls) -> Mapping[str, Readers]:
    """Document ids → current readers of each.

    A document has no readers when it is deleted, in the trash, locked against downloads, or no
    longer shared with the account. Documents for which Drive gave no answer are left out.

    Sends two requests per document, 100 per call. Raises PermissionsUnknown."""
    ids = list(documents)
    client = calls.client
    try:
        requests = [calls.permission_request(each) for each in ids]
        answers = client.batch(client.drive, [*map(calls.file_request, ids), *requests])
        files, first_pages = answers[: len(ids)], answers[len(ids) :]
        listings = client.batch_pages(client.drive, client.permissions, requests, first_pages)
    except (GoogleRefused, ConfigError) as error:
        raise PermissionsUnknown("Google does not answer") from error
    readers_by_id = {
        each: readers
        for each, file, listing in zip(ids, files, listings, strict=True)
        if (readers := _readers(file, listing, calls)) is not None
    }
    if ids and not readers_by_id:
        raise PermissionsUnknown("Google does not tell who may read")
    return readers_by_id


def _readers(file: Any, listing: list[Any] | GoogleRefused, calls: DriveCalls) -> Readers | None:
    """A file's readers; None when Drive gave no answer about the file."""
    for answer in (file, listing):
        if isinstance(answer, GoogleRefused) and answer.of_account:
            return None
    if isinstance(file, GoogleRefused):
        return ()
    drive_file = read_file(file)
    if drive_file.trashed or drive_file.locked:
        return ()
    if isinstance(listing, GoogleRefused):
        return calls.only_us if listing.may_not_ask else ()
    return read_readers(listing)


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
    directory = client.directory
    members = directory.members()
    requests = {
        group: members.list(groupKey=group, includeDerivedMembership=True, maxResults=PAGE)
        for group in groups
    }
    try:
        first_pages = client.batch(directory, list(requests.values()))
        listings = client.batch_pages(directory, members, list(requests.values()), first_pages)
    except ConfigError as error:
        return dict.fromkeys(groups, str(error))
    except GoogleRefused as refused:
        if refused.temporary:
            raise PermissionsUnknown("Google's directory does not answer") from refused
        return dict.fromkeys(groups, _denial(refused))
    members_by_group: dict[str, Members | str] = {}
    for group, listing in zip(requests, listings, strict=True):
        if not isinstance(listing, GoogleRefused):
            members_by_group[group] = frozenset(
                str(member["email"]).lower()
                for page in listing
                for member in page.get("members") or []
                if member.get("email") and member.get("status", "ACTIVE") == "ACTIVE"
            )
        elif listing.status == 404:
            members_by_group[group] = "the directory knows no such group"
        elif not listing.temporary:
            members_by_group[group] = _denial(listing)
    if groups and not members_by_group:
        raise PermissionsUnknown("Google's directory does not tell who is in a group")
    return members_by_group


def _denial(refused: GoogleRefused) -> str:
    return f"the directory refuses: {refused.in_words()}; {ADMIN_ROLE}"
