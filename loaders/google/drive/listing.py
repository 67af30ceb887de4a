"""Lists a whole source. Visits subfolders, follows shortcuts and lists each file once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from config.errors import ConfigError, LoadError
from loaders.google.drive.calls import FOLDER, SHORTCUT, DriveCalls, DriveFile, DrivePlaces
from loaders.google.errors import OF_FILE, GoogleRefused

CALLS_AT_ONCE = 6
MAX_FOLDERS = 20_000
LOCKED = "it is not read: its readers may not download, print or copy it"

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Skipped:
    file: DriveFile
    reason: str

    def __str__(self) -> str:
        return f"{self.file.name}: {self.reason}"


@dataclass
class Listing:
    """A source's current content."""

    files: dict[str, DriveFile] = field(default_factory=dict)
    """Readable documents, by id."""
    folders: dict[str, DriveFile] = field(default_factory=dict)
    shortcuts: dict[str, str] = field(default_factory=dict)
    """Shortcut's id → its target's id."""
    skipped: dict[str, Skipped] = field(default_factory=dict)
    """Files without a loader, locked files and broken shortcuts, by id."""
    failed: list[LoadError] = field(default_factory=list)
    lost: dict[str, LoadError] = field(default_factory=dict)
    """Folders and documents that are not shared any more, by their name in reports."""
    complete: bool = True
    """False when Google did not respond for a part of the source."""

    def drive_ids(self) -> set[str]:
        """Ids of the shared drives that hold its files and folders."""
        parts = (*self.folders.values(), *self.files.values())
        return {each.drive_id for each in parts if each.drive_id}


def list_source(
    source: DrivePlaces,
    calls: DriveCalls,
    *,
    entering: Callable[[str], None] = lambda drive_id: None,
) -> Listing:
    """Lists the source level by level. Calls `entering` before it lists a shared drive.

    Folders and documents that the account can't see are in `failed`, and `files` holds nothing of
    them. Raises ConfigError for more than MAX_FOLDERS folders."""
    listing = Listing()
    level = [
        *_look_up(source.folders, "folder", calls, listing),
        *_look_up(source.documents, "document", calls, listing),
    ]
    while level:
        folders, targets = _sort_in(level, listing)
        for drive_id in sorted({folder.drive_id for folder in folders} - {""}):
            entering(drive_id)
        level = _children(folders, calls, listing)
        level += _follow(targets, calls, listing)
        if len(listing.folders) > MAX_FOLDERS:
            raise ConfigError(
                f"sources.google_drive: there are more than {MAX_FOLDERS:,} folders",
                remedy="name folders further down",
            )
    return listing


def _sort_in(
    files: Iterable[DriveFile], listing: Listing
) -> tuple[list[DriveFile], list[DriveFile]]:
    """Returns folders to list and shortcuts to follow. Adds documents to the listing."""
    folders, shortcuts = [], []
    for file in files:
        if file.trashed:
            continue
        if file.mime_type == FOLDER and file.id not in listing.folders:
            listing.folders[file.id] = file
            folders.append(file)
        elif file.mime_type == SHORTCUT and file.id not in listing.shortcuts:
            listing.shortcuts[file.id] = file.target_id
            shortcuts.append(file)
        elif file.is_document and file.locked:
            listing.skipped[file.id] = Skipped(file, LOCKED)
        elif file.is_document:
            listing.files[file.id] = file
        elif not file.is_container:
            listing.skipped[file.id] = Skipped(file, f"no loader reads {file.mime_type}")
    return folders, shortcuts


def _look_up(ids: Sequence[str], kind: str, calls: DriveCalls, listing: Listing) -> list[DriveFile]:
    files: list[DriveFile] = []
    for file_id, answer in in_parallel(calls.file, ids):
        if isinstance(answer, GoogleRefused):
            _note_failure(f"{kind} {file_id}", answer, calls.account, listing)
        elif answer.trashed:
            error = LoadError(f"{kind} {file_id}", "it is in the trash", remedy="restore it")
            listing.failed.append(error)
        else:
            files.append(answer)
    return files


def _children(folders: Sequence[DriveFile], calls: DriveCalls, listing: Listing) -> list[DriveFile]:
    children: list[DriveFile] = []
    for folder, answer in in_parallel(calls.children, folders):
        if isinstance(answer, GoogleRefused):
            _note_failure(f"folder {folder.id} ({folder.name})", answer, calls.account, listing)
        else:
            children += answer
    return children


def _follow(shortcuts: Sequence[DriveFile], calls: DriveCalls, listing: Listing) -> list[DriveFile]:
    files: list[DriveFile] = []
    for shortcut, answer in in_parallel(lambda file: calls.file(file.target_id), shortcuts):
        if not isinstance(answer, GoogleRefused):
            files.append(answer)
        elif answer.temporary:
            _note_failure(f"shortcut {shortcut.name}", answer, calls.account, listing)
        else:
            listing.skipped[shortcut.id] = Skipped(shortcut, f"its target: {answer.in_words()}")
    return files


def _note_failure(name: str, refused: GoogleRefused, account: str, listing: Listing) -> None:
    error = load_error(name, refused, account)
    listing.complete &= not error.temporary
    listing.failed.append(error)
    if not error.temporary:
        listing.lost[name] = error


def load_error(name: str, refused: GoogleRefused, account: str) -> LoadError:
    """An error for reports: the file, the reason, and the account to share it with."""
    remedy = f"share it with {account}" if refused.no_access else ""
    return LoadError(
        name, refused.in_words(), remedy=remedy, refused=refused.reason not in OF_FILE,
        temporary=refused.passes,
    )  # fmt: skip


def in_parallel(
    ask: Callable[[Argument], Answer], arguments: Sequence[Argument]
) -> list[tuple[Argument, Answer | GoogleRefused]]:
    """Pairs of argument and response, with a GoogleRefused for each request that failed."""

    def attempt(argument: Argument) -> tuple[Argument, Answer | GoogleRefused]:
        try:
            return argument, ask(argument)
        except GoogleRefused as refused:
            return argument, refused

    if len(arguments) < 2:
        return [attempt(each) for each in arguments]
    with ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="drive") as pool:
        return list(pool.map(attempt, arguments))
