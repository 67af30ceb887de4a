"""The current domain files. A valid edit takes effect within seconds, a broken one never does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock

import structlog

from config.domain import Domain
from config.domain_files import Check, check_domains, domain_paths, load_domains, no_checks
from config.errors import ConfigError

LOOK_EVERY_SECONDS = 2.0

log = structlog.get_logger()


class LiveDomains:
    """Returns the current domains when called. Only the constructor raises ConfigError."""

    def __init__(
        self,
        config_dir: Path,
        *,
        also: Check = no_checks,
        on_problems: Callable[[list[str]], None] = lambda problems: None,
    ) -> None:
        """`on_problems` gets the problems of an edit once; the last valid files stay in force.
        `also`: see `check_domains`."""
        self._also = also
        self._config_dir = config_dir
        self.on_problems = on_problems
        self._lock = Lock()
        self._stamp_read = self._stamp()
        self._domains: Mapping[str, Domain] = load_domains(config_dir, also)
        self._checked_at = time.monotonic()

    def __call__(self) -> Mapping[str, Domain]:
        problems: list[str] = []
        with self._lock:
            if time.monotonic() - self._checked_at >= LOOK_EVERY_SECONDS:
                problems = self._check()
            domains = self._domains
        if problems:  # outside the lock: the callback may call this object
            self.on_problems(problems)
        return domains

    def _check(self) -> list[str]:
        """Reads changed files again and returns the problems of the edit."""
        self._checked_at = time.monotonic()
        stamp = self._stamp()
        if stamp == self._stamp_read:
            return []
        self._stamp_read = stamp
        try:
            domains, problems = check_domains(self._config_dir, self._also)
            messages = [str(problem) for problem in problems]
        except ConfigError as error:
            domains, messages = {}, [str(error)]
        if messages:
            log.error(
                "domain files are invalid; the last valid ones stay in force", problems=messages
            )
            return messages
        # A domain with equal content keeps its object, so caches by identity stay valid.
        same = {n: d for n, d in self._domains.items() if domains.get(n) == d}
        self._domains = {**domains, **same}
        log.info("domain files reloaded", domains=sorted(domains))
        return []

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        files = (path for path in domain_paths(self._config_dir) if path.is_file())
        return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
