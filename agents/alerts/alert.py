"""One alert, as a message tells of it, and when two names are the same."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agents.alerts.amounts import Amount

AlertStatus = Literal["", "firing", "resolved"]

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.:/][A-Za-z0-9]+)*")
SHORT_NAME = re.compile(r"[A-Z][A-Z0-9]{1,5}")
"""`DGO`: known only where the documents say what it stands for."""
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_CODE_BEFORE = re.compile(r"[A-Z]{1,6}-?\d{1,5}[.:)]?\s+(?=\S)")
_APART = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_SIGNS = re.compile(r"[^\w<>%+=&]|_")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, kw_only=True)
class Alert:
    names: tuple[str, ...]
    """What its name may be, the likeliest first; never empty."""
    status: AlertStatus = ""
    severity: str = ""
    """As written: `critical`, `P2`."""
    labels: tuple[tuple[str, str], ...] = ()
    """Key and value; the key is empty where a message gives the value alone."""
    link: str = ""
    """Of the alert itself, where it was raised."""
    amounts: tuple[Amount, ...] = ()
    """How much it says that something is."""
    certain: bool = True
    """By a product's own form; False: a person may have meant the words otherwise."""
    title: str = ""
    """The words in which a documented name is looked for; '' where a field gives the name."""
    only_if_known: bool = False
    """Words that are an alert only where documents know its name."""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def where(self) -> str:
        """What it fired on: `pod checkout-7f9`; empty where it doesn't say."""
        known = {key.casefold(): (key, value) for key, value in self.labels if key}
        found = next((known[key] for key in INSTANCE_KEYS if key in known), None)
        return " ".join(found) if found else ""


INSTANCE_KEYS = (
    "pod", "instance", "host", "hostname", "node", "container", "device", "exported_instance",
    "target", "endpoint", "url", "path", "id", "uid", "job",
)  # fmt: skip
"""Labels that name one thing among many alike, the most telling first."""


def is_identifier(word: str) -> bool:
    """A name that nobody writes by chance: `KeyOverdue`, `disk-full`, `HTTP_5XX`, `Disk95`."""
    if not _IDENTIFIER.fullmatch(word) or len(word) < 4:
        return False
    parts = [part for part in re.split(r"[-_.:/]", word) if part]
    mixed = any(c.isdigit() for c in word) and sum(c.isalpha() for c in word) >= 3
    return len(parts) > 1 or bool(_HUMP.search(word)) or mixed


@lru_cache(maxsize=20_000)
def exact_key(name: str) -> str:
    """Case, spaces at the ends and code signs aside."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().strip(" `*_\"'“”.:").split())


@lru_cache(maxsize=20_000)
def name_key(name: str) -> str:
    """The same for `DiskAlmostFull`, `disk-almost-full` and `Disk almost full`; `Disk9` and
    `Disk95`, `9-5` and `95` stay apart, and so do `> 90%` and `< 90%`."""
    return _SIGNS.sub("", _APART.sub("=", exact_key(name)))


def uncoded(heading: str) -> str:
    """Its words behind a code that numbers it: `OPS-12 Disk full` → `Disk full`; '' without one."""
    code = _CODE_BEFORE.match(heading)
    return heading[code.end() :] if code else ""


def spelled_out(name: str) -> str:
    """Its words: `DiskAlmostFull` → `Disk Almost Full`."""
    return " ".join(re.sub(r"[-_./:]+", " ", _CAMEL.sub(" ", name)).split())
