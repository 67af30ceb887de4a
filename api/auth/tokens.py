"""`api_tokens.yaml`: the API's tokens by name, as hashes, and the callers they identify.

The file is read again when it changes."""

from __future__ import annotations

import fcntl
import hmac
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Annotated, Literal, Self

import structlog
import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from config.domain_files import nearest, problem_at
from config.errors import ConfigError, UsageError
from config.parsing.fields import ADDRESS, DomainId, Switch
from config.parsing.strict_yaml import UnreadableFileError, misread, read_mapping, read_text
from index.permissions.rules import address_of


@dataclass(frozen=True, kw_only=True)
class Caller:
    name: str
    """The token's name, for logs and limits."""
    domains: frozenset[str] | None
    """Accessible domains; None: all, including future ones."""
    identity: str = ""
    """E-mail of the person whose token it is; empty: a program's."""
    slack_user: str = ""
    """Who signed in with Slack; the only one who has no token."""
    slack_teams: frozenset[str] = frozenset()
    """The workspace and the organization of that account."""
    speaks_for_people: bool = False
    """Whether its `asker_email` is trusted; the person's rules then apply."""
    metrics: bool = False
    local: bool = False
    """The operator at this machine: no rate limits, and full error messages."""
    fingerprint: str = ""
    """Differs between two tokens that had the same name."""

    def opens(self, domain: str) -> bool:
        return self.domains is None or domain in self.domains


THIS_MACHINE = Caller(
    name="this machine", domains=None, speaks_for_people=True, metrics=True, local=True
)
OPERATOR = Caller(name="ONCALL_API_TOKEN", domains=None, metrics=True)
"""The caller with the operator's token: every domain, no identity."""


FILE = "api_tokens.yaml"
PREFIX = "oncall_"
"""Prefix by which scanners for leaked secrets recognize a token."""
_HEAD = "# Written by `oncall token`, which keeps no comments. Hashes: no token can be read here.\n"
_REMEDY = "correct it, or make tokens with `oncall token create`"


ADDRESS_OR_NONE = f"^({ADDRESS})?$"
TWO_KINDS = "a token is a person's or speaks for people"


class TokenEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    domains: Literal["all"] | list[DomainId]
    identity: Annotated[str, Field(pattern=ADDRESS_OR_NONE, max_length=320)] = ""
    speaks_for_people: Switch = False
    metrics: Switch = False
    created: str = ""

    def caller(self) -> Caller:
        return Caller(
            name=self.name,
            domains=None if self.domains == "all" else frozenset(self.domains),
            # Normalized: questions, records and erasure use the same form.
            identity=address_of(self.identity),
            speaks_for_people=self.speaks_for_people,
            metrics=self.metrics,
            fingerprint=self.sha256[:16],
        )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.identity and self.speaks_for_people:
            raise PydanticCustomError("two_kinds", TWO_KINDS)
        return self


class _Tokens(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tokens: list[TokenEntry]


def hash_of(token: bytes) -> str:
    # A slow, salted hash protects passwords, which can be guessed. A token has 256 random bits,
    # which cannot be guessed at any speed, so a fast hash is enough and costs requests nothing.
    return sha256(token).hexdigest()


def read_tokens(config_dir: Path) -> list[TokenEntry]:
    """Returns no tokens without a file. Raises ConfigError with the line of the problem."""
    path = config_dir / FILE
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    if mode & 0o022:
        raise ConfigError(f"{path}: others may write it", remedy=f"chmod 600 {path}")
    try:
        root, values = read_mapping(read_text(path))
    except UnreadableFileError as error:
        where = f"{path}:{error.line}:{error.column}"
        raise ConfigError(f"{where}: {error.message}", remedy=_REMEDY) from None
    for node, message in misread(root):
        mark = node.start_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}"
        raise ConfigError(f"{where}: {message}", remedy=_REMEDY)
    try:
        entries = _Tokens.model_validate(values).tokens
    except ValidationError as error:
        detail = error.errors(include_input=False, include_url=False)[0]
        location = [part for part in detail["loc"] if part not in {"literal['all']"}]
        reason = f"{'.'.join(map(str, location))}: {detail['msg'].lower()}"
        of_key = detail["type"] == "extra_forbidden"
        problem = problem_at(path, location, reason, want_key=of_key)
        raise ConfigError(str(problem), remedy=_REMEDY) from None
    _check_unique(path, entries)
    return entries


def _check_unique(path: Path, entries: Sequence[TokenEntry]) -> None:
    for key in ("name", "sha256"):
        values = [getattr(entry, key) for entry in entries]
        for place, value in enumerate(values):
            if value in values[:place]:
                problem = problem_at(path, ["tokens", place, key], f"the same {key} stands above")
                raise ConfigError(str(problem), remedy=_REMEDY)


def create_token(
    config_dir: Path,
    name: str,
    *,
    domains: Sequence[str] | None = None,
    identity: str = "",
    speaks_for_people: bool = False,
    metrics: bool = False,
) -> str:
    """Returns the new token; only its hash is stored. `domains` None: all of them.

    Raises UsageError for an existing name, an invalid name or address, or a token that would be a
    person's and speak for others."""
    if identity and speaks_for_people:
        raise UsageError(TWO_KINDS, remedy="leave out --identity, or make two")
    token = PREFIX + secrets.token_urlsafe(32)
    try:
        entry = TokenEntry(
            name=name,
            sha256=hash_of(token.encode()),
            domains="all" if domains is None else list(dict.fromkeys(domains)),
            identity=identity.strip(),
            speaks_for_people=speaks_for_people,
            metrics=metrics,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    except ValidationError as error:
        wrong = error.errors(include_input=False)[0]["loc"][0]
        remedies = {
            "name": "use letters, digits, `.`, `_` and `-`, at most 63",
            "identity": "give an e-mail address",
        }
        remedy = remedies.get(str(wrong), "")
        raise UsageError(f"this is no {wrong} of a token", remedy=remedy) from None
    with _alone(config_dir):
        entries = read_tokens(config_dir)
        if any(one.name == name for one in entries):
            raise UsageError(
                f"there is a token {name!r} already", remedy="revoke it first, or choose a name"
            )
        _write(config_dir, [*entries, entry])
    return token


def revoke_token(config_dir: Path, name: str) -> None:
    """Raises UsageError for an unknown name."""
    with _alone(config_dir):
        entries = read_tokens(config_dir)
        remaining = [entry for entry in entries if entry.name != name]
        if len(remaining) == len(entries):
            suggestion = nearest(name, [entry.name for entry in entries])
            raise UsageError(f"no token {name!r}{suggestion}")
        _write(config_dir, remaining)


@contextmanager
def _alone(config_dir: Path) -> Iterator[None]:
    """Lock the file: concurrent writers would undo each other's revocations."""
    try:
        opened = os.open(config_dir, os.O_RDONLY)
    except OSError as error:
        raise ConfigError(
            f"{config_dir} can't be opened: {error.strerror}",
            remedy="set ONCALL_CONFIG_DIR to the folder that holds domains/",
        ) from error
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _write(config_dir: Path, entries: Sequence[TokenEntry]) -> None:
    """Replace the file atomically, readable by its owner only."""
    tokens = {"tokens": [entry.model_dump() for entry in entries]}
    text = _HEAD + yaml.safe_dump(tokens, sort_keys=False, allow_unicode=True)
    draft = config_dir / f".{FILE}.{secrets.token_hex(4)}"
    try:
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(config_dir / FILE)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise ConfigError(f"{config_dir / FILE} can't be written: {error.strerror}") from error


log = structlog.get_logger()


class LiveTokens:
    """The operator's token and those of `api_tokens.yaml`.

    A revoked token fails at the next request. If an edited file is invalid, the last valid one
    stays in use. Only the first read raises ConfigError."""

    def __init__(self, config_dir: Path | None, operator: SecretStr | None = None) -> None:
        """`config_dir` None: no token file."""
        self._config_dir = config_dir
        fixed = [operator.get_secret_value().encode()] if operator else []
        self._fixed = [(hash_of(token), OPERATOR) for token in fixed]
        self._lock = Lock()
        self._last_stamp = self._stamp()
        self._named = self._read()
        self._demanded = bool(self._fixed or self._named)

    def demanded(self) -> bool:
        """Whether every caller needs a token.

        This stays true after the last token is revoked: the server may be reachable from other
        machines."""
        self._look()
        return self._demanded

    def bearer(self, token: bytes) -> Caller | None:
        self._look()
        theirs = hash_of(token)
        holder = None
        for ours, caller in (*self._fixed, *self._named):
            if hmac.compare_digest(theirs, ours):
                holder = caller
        return holder

    def _look(self) -> None:
        with self._lock:
            if (stamp := self._stamp()) == self._last_stamp:
                return
            self._last_stamp = stamp
            try:
                self._named = self._read()
            except ConfigError as error:
                log.error("API tokens can't be read; the last valid ones stay in force",
                          problem=str(error))  # fmt: skip
                return
            self._demanded = self._demanded or bool(self._named)
            log.info("API tokens reloaded", names=[c.name for _, c in self._named])

    def _read(self) -> list[tuple[str, Caller]]:
        if self._config_dir is None:
            return []
        return [(entry.sha256, entry.caller()) for entry in read_tokens(self._config_dir)]

    def _stamp(self) -> tuple[int, ...]:
        if self._config_dir is None:
            return ()
        try:
            status = (self._config_dir / FILE).stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode
