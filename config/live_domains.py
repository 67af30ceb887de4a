"""The domain files as they are now: an edit takes effect at once, a broken one never does."""

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
    """Call it for the current domains. Raises ConfigError only for the first reading."""

    def __init__(
        self,
        config_dir: Path,
        *,
        also: Check = no_checks,
        on_problems: Callable[[list[str]], None] = lambda problems: None,
    ) -> None:
        """`on_problems` hears once what is wrong with an edit; the last good one stays in force.
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
        if problems:  # told outside the lock: whoever hears it may ask for the domains
            self.on_problems(problems)
        return domains

    def _check(self) -> list[str]:
        """What is wrong with an edit, if anything."""
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
                "domain files are broken; the last good ones stay in force", problems=messages
            )
            return messages
        # A domain whose file says the same stays the same object: what was built from it holds.
        same = {n: d for n, d in self._domains.items() if domains.get(n) == d}
        self._domains = {**domains, **same}
        log.info("domain files read again", domains=sorted(domains))
        return []

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        files = (path for path in domain_paths(self._config_dir) if path.is_file())
        return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
