"""Reports what the credentials can and can't read, folder by folder, with the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from loaders.google.drive.calls import (
    DOCUMENT,
    EXPORTS,
    FOLDER,
    GOOGLE,
    DriveCalls,
    DriveFile,
    DrivePlaces,
)
from loaders.google.drive.listing import Listing, in_parallel, list_source
from loaders.google.errors import GoogleRefused


@dataclass(frozen=True, kw_only=True)
class AccessReport:
    """One folder with its direct children, or one document."""

    kind: Literal["folder", "document"]
    id: str
    name: str
    """Empty when the account can't see it."""
    readable: bool
    account: str
    """The account that reads it. Files must be shared with this address."""
    documents: Mapping[str, int] = field(default_factory=dict)
    """Kind of document, e.g. `Google Docs` or `PDF` → number of loadable files."""
    unsupported: Mapping[str, int] = field(default_factory=dict)
    """Media type without a loader → number of files."""
    problem: str = ""
    remedy: str = ""
    hides_readers: bool = False
    """The problem is that Drive doesn't list the other readers."""

    def in_the_way(self, audience: Literal["channel", "asker"]) -> bool:
        """Whether the problem matters to a domain with this `access.audience`.

        Hidden readers matter only when answers depend on what each asker may read."""
        return bool(self.problem) and not (self.hides_readers and audience == "channel")


_SWITCH_ON = "switch on the Google Docs API: Google Cloud console › APIs & Services › Library"


def check_access(source: DrivePlaces, calls: DriveCalls) -> list[AccessReport]:
    """Reports on configured folders with their subfolders, then on configured documents.

    Raises ConfigError when Google rejects the credentials."""
    listing = list_source(source, calls)
    reports = [
        _unreadable(kind, file_id, listing, calls.account)
        for kind, ids in (("folder", source.folders), ("document", source.documents))
        for file_id in ids
        if file_id not in listing.folders and file_id not in listing.files
    ]
    unopened = _unopened(listing, calls)
    reports += [_folder(folder, listing, calls, unopened) for folder in listing.folders.values()]
    documents = [listing.files[each] for each in source.documents if each in listing.files]
    return reports + [_document(document, calls) for document in documents]


def _unreadable(kind: str, file_id: str, listing: Listing, account: str) -> AccessReport:
    label = f"{kind} {file_id}"
    error = next((each for each in listing.failed if each.document == label), None)
    skipped = listing.skipped.get(file_id)
    return AccessReport(
        kind="folder" if kind == "folder" else "document",
        id=file_id,
        name=skipped.file.name if skipped else "",
        readable=False,
        account=account,
        problem=error.reason if error else skipped.reason if skipped else "it was not found",
        remedy=error.remedy if error else "",
    )


def _folder(
    folder: DriveFile, listing: Listing, calls: DriveCalls, unopened: Mapping[str, str]
) -> AccessReport:
    inside = [file for file in listing.files.values() if folder.id in file.parents]
    skipped = [each.file for each in listing.skipped.values() if folder.id in each.file.parents]
    error = next((e for e in listing.failed if e.document.startswith(f"folder {folder.id} ")), None)
    problem, remedy = (error.reason, error.remedy) if error else ("", "")
    has_subfolders = any(folder.id in each.parents for each in listing.folders.values())
    if not problem and not inside and not has_subfolders:
        problem, remedy = "there is nothing in it that we read", "check the folder's id"
    if not problem and (closed := next((f for f in inside if f.id in unopened), None)):
        problem, remedy = f"{closed.name!r} can't be opened: {unopened[closed.id]}", _SWITCH_ON
    hidden = ("", "") if problem else _hidden_readers(inside[:1], calls)
    problem, remedy = (problem, remedy) if problem else hidden
    return AccessReport(
        kind="folder",
        id=folder.id,
        name=folder.name,
        readable=error is None,
        account=calls.account,
        documents=Counter(describe(file) for file in inside),
        unsupported=Counter(file.mime_type for file in skipped),
        problem=problem,
        remedy=remedy,
        hides_readers=any(hidden),
    )


def _document(document: DriveFile, calls: DriveCalls) -> AccessReport:
    problem, remedy = _hidden_readers([document], calls)
    return AccessReport(
        kind="document",
        id=document.id,
        name=document.name,
        readable=True,
        account=calls.account,
        documents={describe(document): 1},
        problem=problem,
        remedy=remedy,
        hides_readers=bool(problem),
    )


def _unopened(listing: Listing, calls: DriveCalls) -> Mapping[str, str]:
    """Tries to read one Google Doc. Returns its id → the reason when it can't be read.

    Listing uses the Drive API, but reading uses the Docs API, which a project enables separately.
    """
    docs = [file for file in listing.files.values() if file.mime_type == DOCUMENT][:1]
    answers = in_parallel(calls.client.document, [file.id for file in docs])
    return {
        file_id: answer.in_words()
        for file_id, answer in answers
        if isinstance(answer, GoogleRefused)
    }


def _hidden_readers(sample: list[DriveFile], calls: DriveCalls) -> tuple[str, str]:
    """Returns (problem, remedy) when Drive doesn't list the readers; else two empty strings.

    Callers pass one document, because the others in its folder are shared the same way."""
    answers = in_parallel(calls.permissions, [file.id for file in sample])
    if all(not isinstance(each, GoogleRefused) and each != calls.only_us for _, each in answers):
        return "", ""
    return (
        "Drive does not tell who may read it",
        f"for `access: {{audience: asker}}` make {calls.account} an editor, "
        "or a content manager of the shared drive",
    )


def describe(file: DriveFile) -> str:
    """`Google Docs`, `Google Sheets`, `PDF`, …"""
    labels = {DOCUMENT: "Google Docs", FOLDER: "folder"}
    labels |= {kind: f"Google {kind.removeprefix(GOOGLE)}s" for kind in EXPORTS}
    return labels.get(file.mime_type) or file.suffix.removeprefix(".").upper() or file.mime_type
