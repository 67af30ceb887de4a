"""Everything that can go wrong, and who handles it.

CopilotError
├── UsageError            the command line is wrong               → exit 2
├── ConfigError           settings or a domain file are wrong     → exit 2
├── StorageFailed         a disk is full, a database damaged       → exit 1, or what needs it waits
├── LoadError             one document can't be read              → reported, the job goes on
├── IndexUnavailable      no usable generation to answer from     → exit 1, or an honest reply
├── PermissionsUnknown    nobody can say now who may read         → an honest reply, no answer
├── PublishError          a generation can't be published         → the last one keeps serving
└── ModelError            a model call failed                     → the deterministic agent answers
    ├── ModelUnavailable  timeout, rate limit, 5xx, no network
    └── InvalidModelOutput  the reply doesn't fit, even after one repair
"""

from __future__ import annotations

import secrets
from typing import Literal

ModelFailure = Literal[
    "timeout", "unreachable", "rate_limited", "refused", "not_found", "server_error", "paused",
    "broke_off", "too_long", "invalid", "unavailable",
]  # fmt: skip
"""Kinds of failed model calls: few, so that metrics can count by them."""


class CopilotError(Exception):
    """A failure that a user can read: what, where, and what to do about it."""

    exit_code = 1

    def __init__(self, problem: str, *, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}; {remedy}" if remedy else problem)


class UsageError(CopilotError):
    """The command line asks for something that doesn't exist."""

    exit_code = 2


class ConfigError(CopilotError):
    """A setting or a domain file is missing or wrong. Nothing was started."""

    exit_code = 2


class StorageFailed(CopilotError):
    """A disk is full, a database is damaged or can't be used. Nothing was lost by saying so."""


class LoadError(CopilotError):
    """One document can't be read. The job reports it and carries on.

    `document` names it (Google id or path); `place` says where inside, when known."""

    def __init__(self, document: str, reason: str, *, place: str = "", remedy: str = "") -> None:
        self.document = document
        self.reason = reason
        self.place = place
        where = f"{document} at {place}" if place else document
        super().__init__(f"could not load {where}: {reason}", remedy=remedy)


class IndexUnavailable(CopilotError):
    """There is no usable generation of this domain."""


class NothingPublished(IndexUnavailable):
    """There never was one."""

    def __init__(self, domain: str) -> None:
        super().__init__(
            f"nothing has been published for {domain!r}", remedy=f"run `oncall ingest {domain}`"
        )


class PermissionsUnknown(CopilotError):
    """Who may read can't be checked now, and what is known of it is too old to go by."""

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"I can't check who may read these documents right now ({cause})",
            remedy="ask again in a few minutes",
        )


class PublishError(CopilotError):
    """A new generation could not be published. The last one keeps serving."""


class AnotherRun(PublishError):
    """The domain is being published by somebody else."""


class ModelError(CopilotError):
    """A call to a language or embedding model failed."""

    usually: ModelFailure = "unavailable"

    def __init__(self, problem: str, *, remedy: str = "", kind: ModelFailure | None = None) -> None:
        self.kind: ModelFailure = kind or self.usually
        super().__init__(problem, remedy=remedy)


class ModelUnavailable(ModelError):
    """The model did not answer: timeout, rate limit, 5xx, no network, none configured."""

    retry_after: float | None = None
    """Seconds that the server asks to be left alone, where it says so."""


class InvalidModelOutput(ModelError):
    """The model answered, but not in the form that was asked for, even after one repair."""

    usually: ModelFailure = "invalid"


def new_reference() -> str:
    """What an apology shows and the log holds, to bring the two together."""
    return secrets.token_hex(4)
