"""Which token a request bears, by the file as it is now."""

from __future__ import annotations

import hmac
from pathlib import Path
from threading import Lock

import structlog
from pydantic import SecretStr

from api.doors.caller import OPERATOR, Caller
from api.doors.token_file import FILE, hash_of, read_tokens
from config.errors import ConfigError

log = structlog.get_logger()


class LiveTokens:
    """The operator's token and those of `api_tokens.yaml`. A revoked one ends with the next
    request; an edit that can't be read leaves the last good file in force, as with domains.

    Raises ConfigError for the first reading alone."""

    def __init__(self, config_dir: Path | None, operator: SecretStr | None = None) -> None:
        """Without `config_dir` there is no file."""
        self._config_dir = config_dir
        self._fixed = (
            [(hash_of(operator.get_secret_value().encode()), OPERATOR)] if operator else []
        )
        self._lock = Lock()
        self._seen = self._stamp()
        self._named = self._read()
        self._demanded = bool(self._fixed or self._named)

    def demanded(self) -> bool:
        """Nobody comes in without one. It stays so when the last token is revoked: the server
        may be listening to more than this machine by then."""
        self._look()
        return self._demanded

    def bearer(self, given: bytes) -> Caller | None:
        self._look()
        theirs = hash_of(given)
        found = None
        for ours, caller in (*self._fixed, *self._named):
            if hmac.compare_digest(theirs, ours):
                found = caller
        return found

    def _look(self) -> None:
        with self._lock:
            if (stamp := self._stamp()) == self._seen:
                return
            self._seen = stamp
            try:
                self._named = self._read()
            except ConfigError as error:
                log.error("the API's tokens can't be read; the last good ones stay in force",
                          problem=str(error))  # fmt: skip
                return
            self._demanded = self._demanded or bool(self._named)
            log.info("the API's tokens were read again", names=[c.name for _, c in self._named])

    def _read(self) -> list[tuple[str, Caller]]:
        if self._config_dir is None:
            return []
        return [(entry.sha256, entry.caller()) for entry in read_tokens(self._config_dir)]

    def _stamp(self) -> tuple[int, ...]:
        if self._config_dir is None:
            return ()
        try:
            found = (self._config_dir / FILE).stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode
