"""Files on this machine, by path, folder or glob."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from config.errors import ConfigError
from config.parsing.fields import NonBlank, invalid
from config.sections import Section
from loaders.document import Permission
from loaders.source import EVERYBODY, DomainFile, IndexedDocument, SourceKind, Wrong

if TYPE_CHECKING:
    from config.settings import Settings
    from loaders.files.local import FileSource
    from loaders.pictures.document_pictures import PictureCollector


def _web_folder(value: str) -> str:
    """An address that a path can be appended to."""
    if value and (problem := _problem_of_base(value)):
        raise invalid(f"{value!r} {problem}")
    return value


def _problem_of_base(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in {"http", "https"} or re.search(r"\s", url):
        return "is no web address; write it in full, as in https://wiki.example.com/docs"
    if parts.username or parts.password:
        return "holds a name or password, which readers would see; leave it out"
    if parts.query or parts.fragment:
        return "has a `?` or `#`, behind which no path can be added; leave that part out"
    return ""


class FileEntry(Section):
    """Where files are. A text alone is `path`."""

    path: NonBlank
    """A file, folder or glob, relative to the domain file or working directory"""
    base_url: Annotated[str, AfterValidator(_web_folder)] = Field(
        "", json_schema_extra={"examples": ["https://github.com/example/handbook/blob/main/docs"]}
    )
    """Where people read the files: a document's link is this address and its path below `path`"""


def _path_alone(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


Files = list[
    Annotated[FileEntry, BeforeValidator(_path_alone, json_schema_input_type=str | FileEntry)]
]


class FileKind(SourceKind[list[FileEntry]]):
    key = "files"
    stored_as = "file"
    section = Files
    empty: ClassVar[list[FileEntry]] = []
    description = "Files, folders or globs, relative to the domain file or working directory"
    example = "[handbook/*.md]"
    tells_changes = "content"
    told_readers = "`access.files`"
    proposal = "a folder or file on this machine"

    def open(
        self, domain: DomainFile, settings: Settings, pictures: PictureCollector | None
    ) -> FileSource:
        from loaders.files.local import FileSource

        return FileSource(domain, pictures, settings.document_folders())

    def recognize(self, text: str, settings: Settings) -> list[str] | None:
        is_pattern = "://" not in text and any(mark in text for mark in "*?[")
        return [text] if is_pattern or Path(text).expanduser().exists() else None

    def problems(self, domain: DomainFile, settings: Settings | None) -> Iterator[Wrong]:
        from loaders.files.local import find_files

        allowed = settings.document_folders() if settings else None
        for place, entry in enumerate(self.of(domain)):
            try:
                find_files([entry.path], domain.path.absolute().parent, allowed)
            except ConfigError as error:
                yield (place,), str(error)
        access = domain.access
        if access.audience == "asker" and "files" not in access.model_fields_set:
            yield (
                (),
                "files answer nobody with `access: {audience: asker}`; write `access.files: "
                "everyone` if everyone who may ask may read them, or `nobody` if that is meant",
            )

    def readers(self, domain: DomainFile, document: IndexedDocument) -> tuple[Permission, ...]:
        return EVERYBODY if domain.access.files == "everyone" else ()


SOURCE = FileKind()
