"""A team's own files: domain file, its schema, the manifest, and settings in `.env`.

Other lines of `.env` stay unchanged, and only its owner can read it."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from dotenv import dotenv_values, set_key

from config.checks import is_demo
from config.domain import Domain
from config.domain_files import check_domains, domain_paths, read_domain
from config.errors import ConfigError
from config.parsing.secret_files import OTHERS, SUFFIX, private_file
from config.settings import Settings


class EnvFile:
    """The `.env` file. Each setting is written as soon as it is validated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was_open = path.exists() and bool(path.stat().st_mode & OTHERS)
        self._added: list[str] = []
        self._replaced: list[str] = []
        self._overruled: list[str] = []

    def keep(self, variable: str, value: str) -> None:
        """Save a setting, unless it is already there or comes from its own file (`…_FILE`).

        Raises ConfigError if the file can't be written."""
        if os.environ.get(f"{variable}{SUFFIX}"):
            return
        if os.environ.get(variable, value) not in {value, ""}:
            self._overruled.append(variable)
        try:
            before = dotenv_values(self._path).get(variable) if self._path.exists() else None
            if before == value:
                self._close()
                return
            private_file(self._path)
            self._close()
            set_key(self._path, variable, value, quote_mode="auto", follow_symlinks=True)
            self._close()
        except OSError as error:
            raise ConfigError(
                f"{self._path} can't be written: {error.strerror or error}",
                remedy="mend that, and run `oncall init` again",
            ) from error
        (self._replaced if before else self._added).append(variable)

    def lines(self) -> Iterator[str]:
        """Describes the changes to the file; secrets appear by name only."""
        if self._added:
            yield f"{self._path}: {', '.join(self._added)}; only you can read it"
        if self._replaced:
            yield f"{self._path}: {', '.join(self._replaced)} replaced; all else is as it was"
        if self._was_open:
            yield f"{self._path} was readable by others, and is no longer"
        for variable in self._overruled:
            yield (
                f"{variable} in this shell's environment is another one, and wins over "
                f"{self._path}: unset {variable}"
            )

    def _close(self) -> None:
        self._path.chmod(stat.S_IMODE(self._path.stat().st_mode) & ~OTHERS)


APART = Path("team")
"""Folder for a team's files if the usual folder contains the demo's."""
SCHEMA = "domain.schema.json"
MANIFEST = "slack-manifest.yaml"


@dataclass(frozen=True)
class TeamPlace:
    """Folders of a team's files and data."""

    config_dir: Path
    data_dir: Path
    domains: tuple[Domain, ...] = ()
    """The team's existing domains."""
    apart: bool = False
    """Whether the folders differ from the settings."""

    def applied(self, settings: Settings) -> Settings:
        return settings.model_copy(
            update={"config_dir": self.config_dir, "data_dir": self.data_dir}
        )


def place_for(settings: Settings) -> TeamPlace:
    """Returns the folders of the settings, or separate ones if only the demo's domains are there.

    Raises a ConfigError that lists the problems of domain files."""
    own, demo = _own_domains(settings.config_dir)
    if own or not demo:
        return TeamPlace(settings.config_dir, settings.data_dir, own)
    return TeamPlace(APART, APART / "var", _own_domains(APART)[0], apart=True)


def _own_domains(config_dir: Path) -> tuple[tuple[Domain, ...], bool]:
    """Returns the team's own domains, and whether the demo's are present."""
    if not domain_paths(config_dir):
        return (), False
    domains, problems = check_domains(config_dir)
    if problems:
        raise ConfigError(
            "\n".join(map(str, problems)), remedy="correct the domain file, or take it away"
        )
    own = tuple(domain for domain in domains.values() if not is_demo(domain))
    return own, len(own) < len(domains)


@dataclass(frozen=True, kw_only=True)
class DomainDraft:
    """Values for a new domain file."""

    domain: str
    title: str
    channel: str
    channel_name: str
    admin: str = ""
    """Slack member id."""
    sources: Mapping[str, Any]
    """As YAML has them."""


_ESCALATION = "# whom *Ask a human* calls; or usergroup: S…, or rota: a calendar"
"""One person is listed until a group is named: *Ask a human* needs someone to call."""


def domain_text(draft: DomainDraft) -> str:
    """Renders a short file: omitted keys have defaults, which editors read from the schema."""
    channel = " ".join(draft.channel_name.split())
    lines = [
        f"# yaml-language-server: $schema=../{SCHEMA}",
        f"# What the copilot answers in #{channel}. After an edit: oncall config check",
        f"domain: {draft.domain}",
        f"title: {_quoted(draft.title)}",
        f"channels: [{draft.channel}]",
        *([f"admins: [{draft.admin}]"] if draft.admin else []),
        "sources:",
        *(f"  {key}: {_flow(value)}" for key, value in draft.sources.items()),
        *([f"escalation: {{user: {draft.admin}}}    {_ESCALATION}"] if draft.admin else []),
        '# refresh: "0 3 * * *"    # when `oncall jobs run` reads what changed',
    ]
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """On one line. Ids and keys need no quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items() if one) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    is_word = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", value) and yaml.safe_load(value) == value
    return value if is_word else _quoted(value)


def _quoted(text: str) -> str:
    """Quote as JSON: JSON strings are valid YAML."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def write_domain(config_dir: Path, draft: DomainDraft) -> Path:
    """Write a new file and its schema. Raises ConfigError if the file exists."""
    path = config_dir / "domains" / f"{draft.domain}.yaml"
    if path.exists():
        raise ConfigError(f"{path} is there already", remedy="edit it, or choose another name")
    schema = json.dumps(Domain.model_json_schema(), indent=2, ensure_ascii=False) + "\n"
    write_shared(config_dir / SCHEMA, schema)
    write_shared(path, domain_text(draft))
    _, problems = read_domain(path)
    if problems:
        raise ConfigError("\n".join(map(str, problems)), remedy="correct it, then go on")
    return path


def write_shared(path: Path, text: str) -> bool:
    """Write a world-readable file without secrets. Returns False if it has this text already.

    Raises ConfigError."""
    try:
        with suppress(FileNotFoundError):
            if path.read_text(encoding="utf-8") == text:
                return False
        for folder in (*reversed(path.parent.parents), path.parent):
            if not folder.exists():
                folder.mkdir()
                folder.chmod(0o755)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be written: {error}", remedy="mend that first") from error
    return True


def as_written(file: str, config_dir: Path) -> str:
    """Returns a path or pattern for the domain file.

    It is relative if it is next to the configuration folder, so that both can move together."""
    absolute = os.path.abspath(Path(file).expanduser())  # noqa: PTH100 - must not resolve links
    home = config_dir.absolute().parent
    if Path(absolute).is_relative_to(home):
        return os.path.relpath(absolute, config_dir.absolute() / "domains")
    return absolute
