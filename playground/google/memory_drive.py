"""A Drive in memory: files and folders that can be edited, and the log of what changed."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from playground.google.docs_writer.demo_source import split_front_matter

FOLDER = "application/vnd.google-apps.folder"
DOCUMENT = "application/vnd.google-apps.document"
SHEET = "application/vnd.google-apps.spreadsheet"
SLIDES = "application/vnd.google-apps.presentation"
SHORTCUT = "application/vnd.google-apps.shortcut"
ROOT = "demo"

OWNERS: Mapping[str, str] = {
    "Security Engineering": "ines.okafor@tidewater.example",
    "Platform Reliability": "dana.whitlock@tidewater.example",
    "Head of Platform": "dana.whitlock@tidewater.example",
    "Privacy": "marek.vos@tidewater.example",
    "DPO": "marek.vos@tidewater.example",
}
"""Team of the demo → whose account its documents are in."""
ANYONE_AT_TIDEWATER: Mapping[str, Any] = {
    "id": "domain-tidewater",
    "type": "domain",
    "role": "reader",
    "domain": "tidewater.example",
}


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file or folder. Drive never shows `content` as it is: documents.get and exports do."""

    id: str
    name: str
    mime_type: str = DOCUMENT
    parents: tuple[str, ...] = ()
    content: str | bytes | Mapping[str, Any] = ""
    """Google Doc: Markdown, or a whole documents.get response. Sheet: CSV, title → CSV of several
    sheets, or the bytes that any export gives. Slides: the bytes that any export gives. Else the
    file's own bytes."""
    modified: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    owner: str = ""
    owner_email: str = ""
    """Empty: made of the owner's name."""
    last_editor: str = ""
    """Address of whoever edited it last; Drive doesn't always tell."""
    account_role: Literal["reader", "commenter", "writer"] = "commenter"
    """What it is shared with the service account as."""
    properties: Mapping[str, str] = field(default_factory=dict)
    app_properties: Mapping[str, str] = field(default_factory=dict)
    permissions: tuple[Mapping[str, Any], ...] = (ANYONE_AT_TIDEWATER,)
    can_list_permissions: bool = True
    """Drive refuses `permissions.list` to plain readers of a file."""
    locked: bool = False
    """Readers may not download, print or copy it."""
    drive_id: str = ""
    """Shared drive that holds the file."""
    shortcut_to: str = ""
    version: int = 0
    """Set by the Drive."""
    trashed: bool = False
    revoked: bool = False
    """The service account may not see it any more."""

    def as_bytes(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else str(self.content).encode()


class MemoryDrive:
    """All files by id. Every change goes to the end of the log, which changes.list pages through.

    Safe to use from several threads."""

    def __init__(self, files: Iterable[StoredFile] = ()) -> None:
        self._lock = threading.RLock()
        self._files: dict[str, StoredFile] = {}
        self._log: list[str] = []
        self._homes: dict[str, str] = {}
        for file in files:
            self._files[file.id] = replace(file, version=file.version or _fingerprint(file))
        marks = sorted(f"{file.id}:{file.version}" for file in self._files.values())
        # Page tokens carry it: a token from a Drive that began with other files is refused.
        self.origin = int(hashlib.sha256("\n".join(marks).encode()).hexdigest()[:6], 16)

    def put(self, file: StoredFile) -> StoredFile:
        """Add a file, or replace the one with its id."""
        return self._store(file)

    def edit(
        self, file_id: str, content: str | bytes | Mapping[str, Any], *, modified: datetime
    ) -> StoredFile:
        return self._store(replace(self[file_id], content=content, modified=modified))

    def rename(self, file_id: str, name: str) -> StoredFile:
        return self._store(replace(self[file_id], name=name))

    def move(self, file_id: str, *parents: str) -> StoredFile:
        return self._store(replace(self[file_id], parents=parents))

    def share(self, file_id: str, *permissions: Mapping[str, Any]) -> StoredFile:
        return self._store(replace(self[file_id], permissions=permissions))

    def inherit(self, file_id: str, *permissions: Mapping[str, Any]) -> None:
        """New readers by way of its folder: the file itself does not change."""
        with self._lock:
            self._files[file_id] = replace(self[file_id], permissions=permissions)

    def trash(self, file_id: str) -> StoredFile:
        return self._store(replace(self[file_id], trashed=True))

    def restore(self, file_id: str) -> StoredFile:
        """Take out of the trash, or give access back."""
        return self._store(replace(self[file_id], trashed=False, revoked=False))

    def revoke(self, file_id: str) -> StoredFile:
        """Take away the service account's access to a file, or to a folder with all it holds."""
        return self._store(replace(self[file_id], revoked=True))

    def delete(self, file_id: str) -> None:
        with self._lock:
            self._homes[file_id] = self._files.pop(file_id).drive_id
            self._log.append(file_id)

    def __getitem__(self, file_id: str) -> StoredFile:
        with self._lock:
            return self._files[file_id]

    def visible(self, file_id: str) -> StoredFile | None:
        """The file as the service account sees it; None when it is gone or not shared."""
        with self._lock:
            file = self._files.get(file_id)
            if file is None or any(each.revoked for each in self._with_ancestors(file)):
                return None
            trashed = any(each.trashed for each in self._with_ancestors(file))
            return replace(file, trashed=trashed)

    def all_visible(self) -> list[StoredFile]:
        """In a stable order: folders and files as they were added."""
        with self._lock:
            return [file for each in self._files if (file := self.visible(each)) is not None]

    def home(self, file_id: str) -> str:
        """The shared drive that holds or held the file; empty for My Drive."""
        with self._lock:
            file = self._files.get(file_id)
            return file.drive_id if file else self._homes.get(file_id, "")

    def position(self) -> int:
        """Length of the log: where the next change will stand."""
        with self._lock:
            return len(self._log)

    def changed_since(self, position: int) -> list[tuple[int, str]]:
        """Position in the log and file id; a file that changed twice stands at its last change."""
        with self._lock:
            last = {each: at for at, each in enumerate(self._log)}
            return sorted((at, each) for each, at in last.items() if at >= position)

    def _store(self, file: StoredFile) -> StoredFile:
        with self._lock:
            known = self._files.get(file.id)
            version = known.version + 1 if known else file.version or _fingerprint(file)
            self._files[file.id] = replace(file, version=version)
            self._log.append(file.id)
            return self._files[file.id]

    def _with_ancestors(self, file: StoredFile) -> list[StoredFile]:
        found, waiting = {file.id: file}, list(file.parents)
        while waiting:
            parent = self._files.get(waiting.pop())
            if parent is not None and parent.id not in found:
                found[parent.id] = parent
                waiting.extend(parent.parents)
        return list(found.values())


def _fingerprint(file: StoredFile) -> int:
    """First version: the same for the same file in another process, so an index stays valid."""
    parts = (file.name, file.mime_type, file.modified, file.properties, file.content)
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:7], 16) + 1


def read_folder(folder: Path) -> list[StoredFile]:
    """Markdown files below a folder; every subfolder that has some is a Drive folder.

    `security/` gets the id `demo-security`; a document's id, title, owner and modified time come
    from its front matter."""
    files = [StoredFile(id=ROOT, name="Tidewater Pay", mime_type=FOLDER)]
    for subfolder in sorted({path.parent for path in folder.rglob("*.md")}):
        path = subfolder.relative_to(folder)
        if path.parts:
            files.append(_folder(path))
    for file in sorted(folder.rglob("*.md")):
        path = file.relative_to(folder)
        files.append(_document(file.read_text(encoding="utf-8"), path))
    return files


def _folder_id(path: Path) -> str:
    return "-".join((ROOT, *path.parts))


def _folder(path: Path) -> StoredFile:
    return StoredFile(
        id=_folder_id(path),
        name=path.name.capitalize(),
        mime_type=FOLDER,
        parents=(_folder_id(path.parent),),
    )


def _address_of(owner: str) -> str:
    """Of the person whose account owns what a team of the demo answers for."""
    return next((OWNERS[team] for team in OWNERS if owner.startswith(team)), "")


def _document(text: str, path: Path) -> StoredFile:
    keys, body = split_front_matter(text)
    modified = datetime.fromisoformat(keys.get("modified", "2026-01-01"))
    return StoredFile(
        id=keys.get("id", path.stem),
        name=keys.get("title", path.stem),
        parents=(_folder_id(path.parent),),
        content=body,
        modified=modified.replace(tzinfo=modified.tzinfo or UTC),
        owner=keys.get("owner", ""),
        owner_email=_address_of(keys.get("owner", "")),
        properties={name: keys[name] for name in ("status", "domain") if name in keys},
    )
