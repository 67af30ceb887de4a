"""What an edit of a domain file changes, and whether answers can change by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.domain import Domain
from config.domain_files import check_domains, read_domain
from config.errors import ConfigError

OF_THE_INDEX = ("sources", "chunks")
"""Keys by which documents are indexed: an index of its own is needed to see what they do."""
WITHOUT_EFFECT = (
    *("channels", "admins", "escalation", "limits", "access", "retention", "evaluation"),
    *("answer.when", "answer.follow_ups", "answer.alert_bots", "answer.cache"),
    *("answer.link_previews", "answer.earlier_threads", "retrieval.top_k", "tools"),
)
"""Keys that change who is answered, when, how often, and with what beside it, but no answer to a
golden question: for an edit that nobody has merged, no tool is asked."""


@dataclass(frozen=True, kw_only=True)
class ConfigChange:
    key: str
    """Dotted."""
    before: object
    after: object

    @property
    def of_the_index(self) -> bool:
        return _within(self.key, OF_THE_INDEX)

    @property
    def has_effect(self) -> bool:
        """On answers to golden questions."""
        return not _within(self.key, WITHOUT_EFFECT)


def _within(key: str, keys: tuple[str, ...]) -> bool:
    return any(key == one or key.startswith(f"{one}.") for one in keys)


def config_changes(old: Domain, new: Domain) -> list[ConfigChange]:
    """Keys whose values differ, defaults filled in."""
    return list(_changed(old.model_dump(mode="json"), new.model_dump(mode="json"), ""))


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], above: str) -> Iterator[ConfigChange]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _changed(before, after, f"{above}{key}.")
        elif before != after:
            yield ConfigChange(key=f"{above}{key}", before=before, after=after)


def edited_domains(old: Path, new: Path) -> dict[str, tuple[Domain | None, Domain | None]]:
    """Domain → how it was and how it is, of two domain files or two config folders; only those
    that differ. Files that the old one names are looked for where the new one lives: it may be a
    copy that git wrote anywhere.

    Raises ConfigError for a file that isn't right."""
    before, after = _read(old), _read(new)
    if old.is_file() and new.is_file():  # one domain, even if the edit gives it another name
        before = dict(zip(after, before.values(), strict=True))
    found: dict[str, tuple[Domain | None, Domain | None]] = {}
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was and now:
            if config_changes(was, now):
                found[name] = (was.read_from(now.path), now)
        else:
            found[name] = (was, now)
    return found


def _read(path: Path) -> Mapping[str, Domain]:
    if path.is_dir():
        domains, problems = check_domains(path)
    else:
        domain, problems = read_domain(path)
        domains = {domain.domain: domain} if domain else {}
    if problems:
        raise ConfigError("\n".join(map(str, problems)), remedy="correct the domain file")
    return domains
