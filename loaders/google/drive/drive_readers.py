"""Who may read documents now, asked of Drive for many at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from config.errors import ConfigError, PermissionsUnknown
from config.settings import Settings
from loaders.document import Permission
from loaders.google.drive.drive_calls import DriveCalls, read_readers
from loaders.google.drive.drive_files import read_file
from loaders.google.drive.google_drive import open_drive
from loaders.google.google_errors import GoogleRefused

ATTEMPTS = 2
TIMEOUT = 10.0
"""Seconds; somebody waits for an answer."""

Readers = tuple[Permission, ...]


def open_readers(settings: Settings) -> Callable[[Collection[str]], Mapping[str, Readers]]:
    """See `index.access.CheckReaders`. Raises ConfigError for a missing or unreadable key."""
    drive = open_drive(settings, attempts=ATTEMPTS, timeout=TIMEOUT)
    return lambda documents: current_readers(documents, drive.calls)


def current_readers(documents: Collection[str], calls: DriveCalls) -> Mapping[str, Readers]:
    """Document ids → who may read each: nobody one that is deleted, in the trash, no longer shared
    with us, or locked against downloads. Those that Drive did not tell are left out.

    Two requests for each, 100 in a call. Raises PermissionsUnknown."""
    ids = list(documents)
    try:
        requests = [calls.file_request(each) for each in ids]
        requests += [calls.permission_request(each) for each in ids]
        answers = calls.client.batch(calls.client.drive, requests)
        files, first_pages = answers[: len(ids)], answers[len(ids) :]
        listings = _all_pages(requests[len(ids) :], first_pages, calls)
    except (GoogleRefused, ConfigError) as error:
        raise PermissionsUnknown("Google does not answer") from error
    read = {
        each: _readers(file, listing, calls)
        for each, file, listing in zip(ids, files, listings, strict=True)
    }
    found = {each: readers for each, readers in read.items() if readers is not None}
    if ids and not found:
        raise PermissionsUnknown("Google does not tell who may read")
    return found


def _all_pages(
    requests: list[Any], first_pages: list[Any], calls: DriveCalls
) -> list[list[Any] | GoogleRefused]:
    """Listings followed to their ends, all of them a page further at each call."""
    listings: list[list[Any] | GoogleRefused] = [
        page if isinstance(page, GoogleRefused) else [page] for page in first_pages
    ]
    permissions = calls.client.permissions
    waiting = dict(enumerate(requests))
    while waiting:
        following: dict[int, Any] = {}
        for place, request in waiting.items():
            listing = listings[place]
            if not isinstance(listing, GoogleRefused):
                following[place] = permissions.list_next(request, listing[-1])
        waiting = {place: request for place, request in following.items() if request is not None}
        pages = calls.client.batch(calls.client.drive, list(waiting.values()))
        for place, page in zip(waiting, pages, strict=True):
            listing = listings[place]
            if isinstance(page, GoogleRefused):
                listings[place] = page
            elif not isinstance(listing, GoogleRefused):
                listing.append(page)
    return listings


def _readers(file: Any, listing: list[Any] | GoogleRefused, calls: DriveCalls) -> Readers | None:
    """None: Drive did not tell."""
    for answer in (file, listing):
        if isinstance(answer, GoogleRefused) and answer.of_account:
            return None
    if isinstance(file, GoogleRefused):
        return ()
    known = read_file(file)
    if known.trashed or known.locked:
        return ()
    if isinstance(listing, GoogleRefused):
        return calls.only_us if listing.may_not_ask else ()
    return read_readers(listing)
