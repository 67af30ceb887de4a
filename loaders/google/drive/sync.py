"""Plans which documents to load, keep and remove.

The plan comes from the change feed, or from a full listing when the feed is not enough. A cursor
stores the position of each feed and the files that existed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from config.errors import LoadError
from loaders.google.drive.calls import Changes, DriveCalls, DriveChange, DriveFile, DrivePlaces
from loaders.google.drive.listing import LOCKED, Skipped, in_parallel, list_source, load_error
from loaders.google.errors import GoogleRefused
from loaders.source import IndexedDocument

VERSION = 2
"""A new version lists everything again, so that stricter rules apply to files read earlier."""


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """The state of the last run. Valid for one source and one account only."""

    source: str
    """Account, host and configured ids. When one changes, everything is listed again."""
    tokens: Mapping[str, str] = field(default_factory=dict)
    """Shared drive's id, or empty for the account's own feed → its page token.

    An empty token means that the account may not read the drive's feed."""
    folders: frozenset[str] = frozenset()
    shortcuts: Mapping[str, str] = field(default_factory=dict)
    """Shortcut's id → its target's id."""
    files: frozenset[str] = frozenset()
    """Ids of the documents that existed, loaded or not."""

    def to_text(self) -> str:
        """One line of JSON. Sets become sorted lists."""
        stored = {"cursor": VERSION, **vars(self)}
        return json.dumps(stored, separators=(",", ":"), default=sorted)


def name_source(source: DrivePlaces, *, account: str, host: str) -> str:
    return " ".join([account, host, *sorted(source.folders), "/", *sorted(source.documents)])


def read_cursor(text: str, source: str) -> Cursor | None:
    """Parses a cursor. None when it is invalid, or of another version or source."""
    try:
        stored = json.loads(text)
        if stored["cursor"] != VERSION or stored["source"] != source:
            return None
        return Cursor(
            source=source,
            tokens=dict(stored["tokens"]),
            folders=frozenset(stored["folders"]),
            shortcuts=dict(stored["shortcuts"]),
            files=frozenset(stored["files"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


Indexed = Mapping[str, IndexedDocument]


@dataclass(frozen=True, kw_only=True)
class SyncPlan:
    """What changed in a source since the last run."""

    changed: tuple[DriveFile, ...] = ()
    """Files to load: new, edited, renamed, shared differently, or requested again."""
    unchanged: tuple[str, ...] = ()
    """Ids whose indexed version is current."""
    removed: tuple[str, ...] = ()
    """Ids of indexed documents that are deleted, trashed, moved away or no longer shared."""
    moved_away: frozenset[str] = frozenset()
    """Those among them that Drive still shows, as trashed or elsewhere."""
    cursor: str = ""
    """The cursor for the next run. Store it only together with what this run publishes."""
    skipped: tuple[str, ...] = ()
    """Files that are not read, one line each, with the reason.

    Only full listings report files without a loader."""
    lost: Mapping[str, LoadError] = field(default_factory=dict)
    """Configured folders and documents that are not shared any more, and folders in them."""
    failed: tuple[LoadError, ...] = ()
    """Errors of folders and documents that can't be read."""
    complete: bool = True
    """False when Google did not respond for a part. Then nothing counts as removed."""


class _ListAgain(Exception):
    """The change feed is not enough to plan the run."""


def plan_from_listing(
    source: DrivePlaces,
    calls: DriveCalls,
    *,
    name: str,
    indexed: Indexed,
    reload: Collection[str],
) -> SyncPlan:
    """Lists everything and compares it with the index, including readers.

    Sharing a folder changes the readers of its files, but not the files."""
    tokens: dict[str, str] = {}

    def note_token(drive_id: str) -> None:
        """Fetches the token before the listing, so that no change made meanwhile is missed."""
        if drive_id in tokens:
            return
        try:
            tokens[drive_id] = calls.start_token(drive_id)
        except GoogleRefused as refused:
            if refused.temporary or not drive_id:
                raise
            tokens[drive_id] = ""

    note_token("")
    listing = list_source(source, calls, entering=note_token)
    for drive_id in listing.drive_ids():
        note_token(drive_id)
    files = listing.files
    same = [file for file in files.values() if _stands(file, indexed, reload)]
    moved = _with_other_readers(same, indexed, calls)
    unchanged = tuple(file.id for file in same if file.id not in moved)
    standing = frozenset(unchanged)
    changed = tuple(file for file in files.values() if file.id not in standing)
    cursor = Cursor(
        source=name,
        tokens=tokens,
        folders=frozenset(listing.folders),
        shortcuts=listing.shortcuts,
        files=frozenset(files),
    )
    return SyncPlan(
        changed=changed,
        unchanged=unchanged,
        removed=tuple(sorted(indexed.keys() - files.keys())) if listing.complete else (),
        cursor=cursor.to_text() if listing.complete else "",
        skipped=tuple(map(str, listing.skipped.values())),
        failed=tuple(listing.failed),
        lost=listing.lost,
        complete=listing.complete,
    )


def plan_from_changes(
    source: DrivePlaces,
    calls: DriveCalls,
    *,
    last: Cursor,
    indexed: Indexed,
    reload: Collection[str],
) -> SyncPlan | None:
    """Follows the change feeds since `last`. Returns None when a full listing is needed.

    Raises GoogleRefused when Google does not respond."""
    try:
        changes, tokens = _read_feeds(calls, last)
        scope = _Scope(source, last)
        present, absent = scope.sort(changes)
        locked = [one.file for one in changes if one.file and one.file.locked and one.id in absent]
    except _ListAgain:
        return None
    # Documents that the last run did not load, and those to reload.
    again = ((last.files - indexed.keys()) | (set(reload) & last.files)) - present.keys() - absent
    failed: list[LoadError] = []
    for file_id, answer in in_parallel(calls.file, sorted(again)):
        if not isinstance(answer, GoogleRefused) and not answer.locked:
            present[file_id] = answer
        elif not isinstance(answer, GoogleRefused) or answer.no_access:
            absent.add(file_id)
        else:
            failed.append(load_error(file_id, answer, calls.account))
    changed = [file for file in present.values() if not _stands(file, indexed, reload)]
    files = (last.files | present.keys()) - absent
    loading = {file.id for file in changed}
    return SyncPlan(
        changed=tuple(changed),
        unchanged=tuple(sorted((files & indexed.keys()) - loading)),
        removed=tuple(sorted(indexed.keys() & absent)),
        moved_away=frozenset(one.id for one in changes if one.file) & indexed.keys() & absent,
        skipped=tuple(str(Skipped(file, LOCKED)) for file in locked if scope.is_ours(file)),
        cursor=replace(last, tokens=tokens, files=frozenset(files)).to_text(),
        failed=tuple(failed),
    )


@dataclass(frozen=True)
class _Scope:
    source: DrivePlaces
    last: Cursor

    def sort(self, changes: Iterable[DriveChange]) -> tuple[dict[str, DriveFile], set[str]]:
        """Returns existing documents by id, and ids of the absent ones. Raises _ListAgain."""
        present: dict[str, DriveFile] = {}
        absent: set[str] = set()
        for change in changes:
            if self._moves_others(change):
                raise _ListAgain
            file = change.file
            if file is not None and self.is_ours(file) and not file.locked:
                present[change.id] = file
            else:
                absent.add(change.id)
        return present, absent

    def _moves_others(self, change: DriveChange) -> bool:
        """Whether a folder or shortcut of the source changed, which affects other files too."""
        if change.id in self.last.folders or change.id in self.last.shortcuts:
            return True
        if change.file is None or not change.file.is_container:
            return False
        return self._contains(change.file)

    def is_ours(self, file: DriveFile) -> bool:
        """Whether it is a document of the source, readable or not."""
        return self._contains(file) and file.is_document

    def _contains(self, file: DriveFile) -> bool:
        is_configured = file.id in self.source.documents or file.id in self.source.folders
        linked = file.id in self.last.shortcuts.values()
        inside = not self.last.folders.isdisjoint(file.parents)
        return not file.trashed and (is_configured or linked or inside)


def _read_feeds(calls: DriveCalls, last: Cursor) -> tuple[list[DriveChange], dict[str, str]]:
    """Returns the last change of each file over all feeds, and the new token of each feed.

    A file that moved between drives is removed in one feed and present in another. Then its
    current state is fetched from Drive."""
    changes: dict[str, DriveChange] = {}
    tokens: dict[str, str] = {}
    disputed: set[str] = set()
    for drive_id, token in last.tokens.items():
        feed = _read_feed(calls, drive_id, token)
        tokens[drive_id] = feed.next_token
        for change in feed.changes:
            other = changes.setdefault(change.id, change)
            if (other.file is None) is not (change.file is None):
                disputed.add(change.id)
    for file_id, answer in in_parallel(calls.file, sorted(disputed)):
        if not isinstance(answer, GoogleRefused):
            changes[file_id] = DriveChange(file_id, answer)
        elif answer.no_access:
            changes[file_id] = DriveChange(file_id, None)
        else:
            raise answer
    return list(changes.values()), tokens


def _read_feed(calls: DriveCalls, drive_id: str, token: str) -> Changes:
    if not token:
        raise _ListAgain
    try:
        feed = calls.changes(token, drive_id)
    except GoogleRefused as refused:
        if refused.temporary:
            raise
        raise _ListAgain from refused
    if feed.drives_changed:
        raise _ListAgain
    return feed


def _stands(file: DriveFile, indexed: Indexed, reload: Collection[str]) -> bool:
    """Whether the index holds this version under this URL, and no reload is requested."""
    document = indexed.get(file.id)
    return (
        document is not None
        and file.id not in reload
        and (document.version, document.modified_at) == (file.version, file.modified_at)
        and document.url == file.url
    )


def _with_other_readers(
    files: Iterable[DriveFile], indexed: Indexed, calls: DriveCalls
) -> frozenset[str]:
    """Ids of documents whose readers differ from those in the index.

    Includes documents whose readers Google did not list; loading them reports the reason."""
    answers = in_parallel(calls.permissions, [file.id for file in files])
    return frozenset(
        file_id
        for file_id, answer in answers
        if isinstance(answer, GoogleRefused) or set(answer) != set(indexed[file_id].permissions)
    )
