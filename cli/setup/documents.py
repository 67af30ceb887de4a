"""`oncall init`: the locations of the documents, and the key for Google Drive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.setup.checks import counted, drive_to_check
from cli.setup.files import EnvFile
from cli.setup.prompts import InitOptions, Prompter, ToBeTold, settled
from config.checks import Finding, bare, fine, wrong
from config.errors import ConfigError
from config.settings import Settings
from loaders.registry import KINDS
from loaders.sources.google_drive import GoogleDriveSource

SERVICE_ACCOUNT = "https://console.cloud.google.com/iam-admin/serviceaccounts"


def documents_step(
    asker: Prompter, settings: Settings, env_file: EnvFile, options: InitOptions
) -> tuple[dict[str, Any], Settings]:
    """Ask for readable documents of any source. Returns `sources` of the domain file."""
    asker.heading("Documents")
    has_key = False

    def look_at(text: str) -> tuple[Finding, dict[str, Any] | None]:
        nonlocal settings, has_key
        key, value = _recognized(text, settings, options)
        if key == "google_drive":
            if not has_key:  # only the first place in Drive needs to ask for it
                settings = key_step(asker, settings, env_file, options)
                has_key = True
            finding = _in_drive(value, settings)
        elif key == "files":
            finding = _on_this_machine(text)
        else:
            finding = fine("", f"{text}: {key}")
        return finding, {key: value} if finding.state == "ok" else None

    answers = [("--folder", one) for one in options.folders] + [
        ("--files", one) for one in options.files
    ]
    sources: dict[str, Any] = {}
    kinds = [kind for kind in KINDS.values() if kind.proposal]
    proposals = [one.proposal for one in kinds if one.key != "loader" or settings.loaders]
    for told_by, text in answers or [("--folder or --files", "")]:
        prompt = ", or ".join(proposals)
        question = ToBeTold(prompt=prompt[0].upper() + prompt[1:], told_by=told_by)
        for key, value in settled(asker, question, text, look_at).items():
            sources[key] = _merged(sources[key], value) if key in sources else value
    return sources, settings


def _recognized(text: str, settings: Settings, options: InitOptions) -> tuple[str, Any]:
    """The key of the source that is meant, and its value. Raises ConfigError for none."""
    text = bare(text)
    if text in options.folders and re.fullmatch(r"[A-Za-z0-9_-]+", text):
        return "google_drive", {"folders": [text]}
    for key, kind in KINDS.items():
        if text in options.files and key != "files":
            continue
        if (value := kind.recognize(text, settings)) is not None:
            return key, value
    raise ConfigError(
        f"{text} is neither in Google Drive nor on this machine",
        remedy=f"paste the folder's link, or write a path from {Path.cwd()}",
    )


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, list):
        return [*one, *other]
    return {key: [*one.get(key, ()), *other.get(key, ())] for key in {**one, **other}}


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


def _in_drive(value: dict[str, list[str]], settings: Settings) -> Finding:
    with drive_to_check(settings) as drive:
        reports = drive.check(GoogleDriveSource.model_validate(value))
    bad = next((report for report in reports if report.in_the_way("channel")), None)
    if bad:
        return wrong("", f"{bad.kind} {bad.name or bad.id}: {bad.problem}", bad.remedy)
    return fine("", f"{reports[0].name}: {counted(reports)}")


def _on_this_machine(text: str) -> Finding:
    from loaders.files.local import find_files

    files: Sequence[Path] = find_files([str(Path(text).expanduser())], Path.cwd()).paths
    if not files:
        return wrong("", f"{text}: there is nothing in it that we read", "name another")
    return fine("", f"{text}: {'1 file' if len(files) == 1 else f'{len(files)} files'}")
