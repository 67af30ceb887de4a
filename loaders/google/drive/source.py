"""Google Drive as a source of documents.

    with open_drive(settings) as drive:
        plan = drive.sync(source, cursor=cursor, indexed=indexed)
        for file in plan.changed:
            document = drive.load(file)      # thread-safe
        # publish, then store plan.cursor

Changes come from the change feed: docs/decisions/010-drive-changes-feed.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from config.errors import LoadError
from config.settings import Settings
from loaders.assemble import Metadata
from loaders.docs.response import parse_document
from loaders.document import Document, check_size
from loaders.files.local import load_bytes
from loaders.google.client import ATTEMPTS, TIMEOUT, GoogleClient
from loaders.google.drive.access import AccessReport, check_access
from loaders.google.drive.calls import (
    DOCUMENT,
    EXPORTS,
    SMALL_EXPORTS,
    DriveCalls,
    DriveFile,
    DrivePlaces,
)
from loaders.google.drive.listing import load_error
from loaders.google.drive.sync import (
    SyncPlan,
    name_source,
    plan_from_changes,
    plan_from_listing,
    read_cursor,
)
from loaders.google.errors import TOO_BIG, GoogleRefused
from loaders.google.services import read_credentials
from loaders.pictures.document_pictures import Fetch, PictureCollector
from loaders.source import IndexedDocument, SourceChanges


def open_drive(
    settings: Settings,
    *,
    attempts: int = ATTEMPTS,
    timeout: float = TIMEOUT,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> GoogleDrive:
    """Opens Drive with the configured service account. Sends no request yet.

    Raises ConfigError for a missing or unreadable key."""
    api_url = settings.google_api_url or ""
    delegate = settings.google_delegate or ""
    credentials = read_credentials(settings.google_credentials, delegate=delegate, api_url=api_url)
    client = GoogleClient(
        credentials,
        api_url=api_url,
        reads_per_minute=settings.google_reads_per_minute,
        attempts=attempts,
        timeout=timeout,
        clock=clock,
        sleep=sleep,
    )
    account = delegate or str(credentials.service_account_email)
    return GoogleDrive(DriveCalls(client, account), host=api_url)


class GoogleDrive:
    """Drive for one account. Thread-safe. Close it, or use it as a context manager."""

    def __init__(self, calls: DriveCalls, *, host: str = "") -> None:
        self.calls = calls
        """Drive's requests, for callers that need them directly."""
        self._host = host

    @property
    def account(self) -> str:
        """The e-mail address to share folders with."""
        return self.calls.account

    def sync(
        self,
        source: DrivePlaces,
        *,
        cursor: str,
        indexed: Mapping[str, IndexedDocument],
        reload: Collection[str] = (),
    ) -> SyncPlan:
        """Returns what changed since the run that returned `cursor`. An empty one lists everything.

        `indexed`: this source's indexed documents, by id. `reload`: ids to load again even if
        unchanged. The plan contains Google's failures. Raises ConfigError when Google rejects the
        credentials."""
        name = name_source(source, account=self.account, host=self._host)
        last = read_cursor(cursor, name)
        try:
            plan = last and plan_from_changes(
                source, self.calls, last=last, indexed=indexed, reload=reload
            )
            return plan or plan_from_listing(
                source, self.calls, name=name, indexed=indexed, reload=reload
            )
        except GoogleRefused as refused:
            error = load_error("google_drive", refused, self.account)
            return SyncPlan(cursor=cursor, failed=(error,), complete=False)

    def load(self, file: DriveFile) -> Document:
        """Loads a document with its Drive metadata. Raises LoadError, which names the document."""
        name = f"{file.id} ({file.name})"
        try:
            permissions = self.calls.permissions(file.id)
            metadata = Metadata(
                id=file.id,
                title=file.name,
                mime_type=file.mime_type,
                source="google_drive",
                modified_at=file.modified_at,
                version=file.version,
                owner=file.owner,
                status=file.status,
                permissions=permissions,
            )
            if file.mime_type == DOCUMENT:
                response = self.calls.client.document(file.id)
                return parse_document(response, url=file.url, **metadata)
            return self._load_other(file, metadata)
        except GoogleRefused as refused:
            raise load_error(name, refused, self.account) from refused

    def sheet(self, file_id: str) -> bytes:
        """Returns the first sheet of a spreadsheet as CSV. Raises LoadError."""
        request = self.calls.client.files.export(fileId=file_id, mimeType="text/csv")
        try:
            return bytes(self.calls.client.call(request))
        except GoogleRefused as refused:
            raise load_error(file_id, refused, self.account) from refused

    def reach(self) -> None:
        """Sends Drive a small request. Raises ConfigError when Google rejects the key.

        Raises LoadError when Drive rejects the request or doesn't respond."""
        request = self.calls.client.files.list(pageSize=1, fields="files(id)")
        try:
            self.calls.client.call(request)
        except GoogleRefused as refused:
            raise load_error("Google Drive", refused, self.account) from refused

    def check(self, source: DrivePlaces) -> list[AccessReport]:
        """Reports what the account can and can't read, folder by folder."""
        return check_access(source, self.calls)

    def close(self) -> None:
        """Closes the connections of all threads."""
        self.calls.client.close()

    def __enter__(self) -> GoogleDrive:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def _load_other(self, file: DriveFile, metadata: Metadata) -> Document:
        warning = ""
        if file.mime_type in EXPORTS:
            data, suffix, warning = self._export(file)
        elif suffix := file.suffix:
            check_size(f"{file.id} ({file.name})", file.size)
            request = self.calls.client.files.get_media(fileId=file.id, supportsAllDrives=True)
            data = self.calls.client.call(request)
        else:
            raise LoadError(file.id, f"no loader reads {file.mime_type}")
        document = load_bytes(data, suffix=suffix, url=file.url, **metadata)
        warnings = (*document.warnings, warning) if warning else document.warnings
        return replace(document, id=file.id, title=file.name, warnings=warnings)

    def _export(self, file: DriveFile) -> tuple[bytes, str, str]:
        """Bytes, suffix of the loader, and a warning when Google exports a part only."""
        client = self.calls.client
        media_type, suffix = EXPORTS[file.mime_type]
        try:
            request = client.files.export(fileId=file.id, mimeType=media_type)
            return client.call(request), suffix, ""
        except GoogleRefused as refused:
            if refused.reason != TOO_BIG:
                raise
            media_type, suffix, missing = SMALL_EXPORTS[file.mime_type]
            request = client.files.export(fileId=file.id, mimeType=media_type)
            return client.call(request), suffix, f"{refused.in_words()}: {missing}"


class DriveSource:
    """Loads the folders and documents of `sources.google_drive`."""

    name = "google_drive"

    def __init__(
        self,
        source: DrivePlaces,
        drive: GoogleDrive,
        pictures: PictureCollector | None = None,
        fetch: Fetch | None = None,
    ) -> None:
        """`fetch`: downloads pictures from Google for `pictures`. Both are set, or both None."""
        self._source = source
        self._drive = drive
        self._pictures, self._fetch = pictures, fetch

    def changes(
        self, *, cursor: str, indexed: Mapping[str, IndexedDocument], settled: Collection[str]
    ) -> SourceChanges:
        plan = self._drive.sync(
            self._source, cursor=cursor, indexed=indexed, reload=indexed.keys() - set(settled)
        )
        return SourceChanges(
            changed={file.id: partial(self._load, file) for file in plan.changed},
            unchanged=frozenset(plan.unchanged),
            failed=plan.failed,
            skipped=plan.skipped,
            moved_away=plan.moved_away,
            lost=plan.lost,
            cursor=plan.cursor,
            complete=plan.complete,
        )

    def _load(self, file: DriveFile) -> Document:
        document = self._drive.load(file)
        if self._pictures is None or self._fetch is None:
            return document
        return self._pictures(document, self._fetch)
