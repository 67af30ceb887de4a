"""The exceptions and their handling.

CopilotError
├── UsageError            the command line is wrong               → exit 2
├── ConfigError           settings or a domain file are wrong     → exit 2
├── StorageFailed         a disk is full, a database damaged       → exit 1, or the work waits
│   ├── DiskFull          there is no room                        → the work waits
│   └── DatabaseAway      it can't be asked at the moment          → the work waits; 503, try again
│       └── DatabaseRefused  until somebody corrects the access     → the same, and admins are told
├── LoadError             one document can't be read              → reported, the job goes on
├── IndexUnavailable      no usable generation to answer from     → exit 1, or an honest reply
│   └── IndexStoreAway    it can't be fetched at the moment        → the work waits; 503, try again
├── PermissionsUnknown    permissions can't be checked now        → an honest reply, no answer
├── PeopleUnknown         Slack can't be asked who somebody is     → 503, try again
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
"""Kinds of failed model calls, also a metrics label, so there are only a few."""


class CopilotError(Exception):
    """A failure reported to users: what failed, where, and the remedy."""

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
    """A disk is full, or a database is damaged or can't be used."""

    passes = False
    """Whether the same may work later: then the work waits for it."""


class DiskFull(StorageFailed):
    """There is no room to write."""

    passes = True
    retry_after = 60
    """Seconds."""


class DatabaseAway(StorageFailed):
    """The database can't be asked at the moment, and nothing about its content is known.

    `durable.failures.storage_failure` makes it from the errors of drivers."""

    passes = True
    retry_after = 5
    """Seconds."""

    def __init__(self, problem: str, *, remedy: str = "", words: str = "") -> None:
        """`words`: of the driver or server, for operators: they may name hosts and users."""
        self.words = words
        super().__init__(problem, remedy=remedy)

    def __str__(self) -> str:
        problem = f"{self.problem} ({self.words})" if self.words else self.problem
        return f"{problem}; {self.remedy}" if self.remedy else problem


class DatabaseRefused(DatabaseAway):
    """The database takes neither this user nor password, or there is no such database: it stays
    so until somebody corrects the access."""


class LoadError(CopilotError):
    """One document can't be read. The job reports it and continues.

    `document`: Google id or path; `place`: position in the document, if known. `refused`: its
    source did not hand it out, and nothing of it was seen. `temporary`: the source says nothing
    about it at the moment, such as while it limits requests."""

    def __init__(
        self,
        document: str,
        reason: str,
        *,
        place: str = "",
        remedy: str = "",
        refused: bool = False,
        temporary: bool = False,
    ) -> None:
        self.refused = refused
        self.temporary = temporary
        self.document = document
        self.reason = reason
        self.place = place
        where = f"{document} at {place}" if place else document
        super().__init__(f"could not load {where}: {reason}", remedy=remedy)


class IndexUnavailable(CopilotError):
    """The domain has no usable generation. The database, which would know, has answered."""


class NothingPublished(IndexUnavailable):
    """Nothing was ever published for the domain."""

    def __init__(self, domain: str) -> None:
        super().__init__(
            f"nothing has been published for {domain!r}", remedy=f"run `oncall ingest {domain}`"
        )


class IndexStoreAway(IndexUnavailable, StorageFailed):
    """The generation is published, and its files can't be fetched at the moment."""

    passes = True
    retry_after = 5
    """Seconds."""


class GenerationReplaced(IndexUnavailable):
    """A newer generation was published while this one was being read: asked again, it answers."""

    def __init__(self, domain: str, number: int) -> None:
        super().__init__(
            f"generation {number} of {domain!r} was replaced while it was being read",
            remedy="ask again",
        )


class PermissionsUnknown(CopilotError):
    """Permissions can't be checked now, and the last check is too old to use."""

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"I can't check who may read these documents right now ({cause})",
            remedy="ask again in a few minutes",
        )


class PeopleUnknown(CopilotError):
    """Slack can't be asked now who somebody is, or which channels they are in."""

    def __init__(self, retry_after: int) -> None:
        """`retry_after`: seconds."""
        self.retry_after = retry_after
        super().__init__(
            "Slack can't be asked now who this person is and what they may ask",
            remedy=f"try again in {retry_after} seconds",
        )


class PublishError(CopilotError):
    """A new generation could not be published. The last one keeps serving."""


class AnotherRun(PublishError):
    """Another run is publishing the domain."""


class ModelError(CopilotError):
    """A call to a language or embedding model failed."""

    usually: ModelFailure = "unavailable"

    def __init__(self, problem: str, *, remedy: str = "", kind: ModelFailure | None = None) -> None:
        self.kind: ModelFailure = kind or self.usually
        super().__init__(problem, remedy=remedy)


class ModelUnavailable(ModelError):
    """The model did not answer: timeout, rate limit, 5xx, no network, none configured."""

    retry_after: float | None = None
    """Seconds to wait before the next request, if the server names a time."""


class InvalidModelOutput(ModelError):
    """The model's reply doesn't have the requested form, even after one repair."""

    usually: ModelFailure = "invalid"


def new_reference() -> str:
    """A random id, shown in an error reply and logged, to find the log entry of a reply."""
    return secrets.token_hex(4)
