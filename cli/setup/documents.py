"""`oncall init`: the locations of the documents, and the key for Google Drive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.setup.checks import counted, drive_to_check
from cli.setup.files import EnvFile
from cli.setup.prompts import InitOptions, Prompter, ToBeTold, settled
from config.checks import Finding, drive_id_in, fine, wrong
from config.settings import Settings
from loaders.sources.google_drive import GoogleDriveSource

_OF_DRIVE = re.compile(r"https?://(drive|docs)\.google\.com/")
_ONE_DOCUMENT = re.compile(r"/(document|spreadsheets|presentation|file)/d/")
_LIKELY_ID = re.compile(r"(?=.*[0-9_-])[A-Za-z0-9_-]{10,}")
SERVICE_ACCOUNT = "https://console.cloud.google.com/iam-admin/serviceaccounts"


@dataclass(frozen=True, kw_only=True)
class Documents:
    """Values for `sources` of a domain file."""

    folders: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def documents_step(
    asker: Prompter, settings: Settings, env_file: EnvFile, options: InitOptions
) -> tuple[Documents, Settings]:
    """Ask for readable documents, in Drive or on this machine."""
    asker.heading("Documents")
    has_key = False

    def look_at(text: str) -> tuple[Finding, Documents | None]:
        nonlocal settings, has_key
        if text in options.files or not (text in options.folders or is_of_drive(text)):
            return _on_this_machine(text)
        if not has_key:  # only the first place in Drive needs to ask for it
            settings = key_step(asker, settings, env_file, options)
            has_key = True
        return _in_drive(text, settings)

    sources = [("--folder", one) for one in options.folders] + [
        ("--files", one) for one in options.files
    ]
    documents = Documents()
    for told_by, text in sources or [("--folder or --files", "")]:
        question = ToBeTold(
            prompt="Google Drive folder (its link), or a folder or file on this machine",
            told_by=told_by,
        )
        more = settled(asker, question, text, look_at)
        documents = Documents(
            folders=(*documents.folders, *more.folders),
            documents=(*documents.documents, *more.documents),
            files=(*documents.files, *more.files),
        )
    return documents, settings


def is_of_drive(text: str) -> bool:
    """Whether it is a Drive link, or an id that is no path on this machine."""
    if _OF_DRIVE.match(text):
        return True
    return bool(_LIKELY_ID.fullmatch(text)) and not Path(text).expanduser().exists()


def key_step(
    asker: Prompter, settings: Settings, env_file: EnvFile, options: InitOptions
) -> Settings:
    """Ask for a working service account key. Prints its address, for sharing folders."""
    key_file = options.google_key or settings.google_credentials
    if key_file is None and asker.asks:
        asker.say(f"  A service account reads them. Make one: {SERVICE_ACCOUNT}")
        asker.say("  (it needs no role), then Keys › Add key › JSON; and switch on the Google Docs")
        asker.say("  and Google Drive APIs under APIs & Services › Library.")

    def key(text: str) -> tuple[Finding, Settings | None]:
        path = Path(text).expanduser()
        tried = settings.model_copy(update={"google_credentials": path})
        with drive_to_check(tried) as drive:
            drive.reach()
            return fine("", f"{drive.account}: share the folder with this address"), tried

    question = ToBeTold(
        prompt="Google key file (JSON of a service account)",
        told_by="--google-key or GOOGLE_APPLICATION_CREDENTIALS",
    )
    settings = settled(asker, question, str(key_file or ""), key)
    env_file.keep("GOOGLE_APPLICATION_CREDENTIALS", str(settings.google_credentials))
    return settings


def _in_drive(text: str, settings: Settings) -> tuple[Finding, Documents | None]:
    drive_id = drive_id_in(text)
    if not drive_id:
        return wrong("", "no folder's id is in that", "copy the folder's link from Drive"), None
    one = bool(_ONE_DOCUMENT.search(text))
    source = (
        GoogleDriveSource(documents=[drive_id]) if one else GoogleDriveSource(folders=[drive_id])
    )
    with drive_to_check(settings) as drive:
        reports = drive.check(source)
    bad = next((report for report in reports if report.in_the_way("channel")), None)
    if bad:
        return wrong("", f"{bad.kind} {bad.name or bad.id}: {bad.problem}", bad.remedy), None
    chosen = Documents(documents=(drive_id,)) if one else Documents(folders=(drive_id,))
    return fine("", f"{reports[0].name}: {counted(reports)}"), chosen


def _on_this_machine(text: str) -> tuple[Finding, Documents | None]:
    from loaders.files.local import find_files

    path = str(Path(text).expanduser())
    if not (Path(path).exists() or any(mark in path for mark in "*?[")):
        problem = f"{text} is neither in Google Drive nor on this machine"
        return wrong(
            "", problem, f"paste the folder's link, or write a path from {Path.cwd()}"
        ), None
    files: Sequence[Path] = find_files([path], Path.cwd())[0]
    if not files:
        return wrong("", f"{text}: there is nothing in it that we read", "name another"), None
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return fine("", f"{text}: {count}"), Documents(files=(text,))
