"""An alert's labels in the words of tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agents.alerts.alert import Label
from agents.runbooks.amounts import Amount
from agents.runbooks.words import (
    WORDS,
    alike,
    group_of,
    is_key,
    kind_of,
    larger_regions,
    normal_key,
    spelled,
    without_port,
)
from enrichment.language.words import STOP_WORDS
from enrichment.names import stem_and_number

_POSTED_FOR = "Service"
"""Of the product that posts: a name of its own for whom it tells."""
_FIELD = re.compile(r"([^\W\d]\w+)\s?[:=]\s?([^\s,;()\[\]|:=]+)")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_ADDRESS = re.compile(r"(?<=\w)\s*[(\[](?i:IP\W+)?((?:\d+\.){3}\d+|[\da-f]*:[\da-f:]+)[)\]]$")
"""After the name of a host."""
_WORD = re.compile(r"[^\W\d][\w.:/-]*")
_PARTICLES = STOP_WORDS.union(WORDS["articles"])
_WITH_PARTS = frozenset(("host", "pod", "region", "environment"))
"""Keys of values whose beginning is one too: `cart-7f9`, `eu-west-1a`."""


@dataclass(frozen=True)
class AlertLabel:
    key: str
    """Normalized; for a value alone, what kind of value it is, else ''. `word`: may be any word."""
    value: str
    spellings: frozenset[str]
    """The value, what means the same, and what it is a part of."""


@dataclass(frozen=True, kw_only=True)
class AlertFacts:
    labels: Sequence[Label]
    words: Sequence[str] = ()
    """Words of the title around the name, and runs of them."""
    amounts: Sequence[Amount] = ()
    glossary: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def read_labels(self) -> tuple[AlertLabel, ...]:
        # In a title, `in` and `de` are no countries.
        pairs = [*self.labels, *(("word", one) for one in self.words if one not in _PARTICLES)]
        return tuple(
            AlertLabel(_label_key(key, name), name, self._spellings(key, value))
            for key, value in pairs
            for name in _ADDRESS.split(value)[:1]
        )

    def under(self, keys: Collection[str]) -> list[AlertLabel]:
        """The labels of one of these keys, else of one with the same meaning."""
        groups = set(map(group_of, keys))
        same = [one for one in self.read_labels if one.key in keys]
        return same or [one for one in self.read_labels if group_of(one.key) in groups]

    @cached_property
    def elsewhere(self) -> list[AlertLabel]:
        """The labels that may be of any key."""
        return [one for one in self.read_labels if group_of(one.key) not in {"severity", "team"}]

    def _spellings(self, key: str, value: str) -> frozenset[str]:
        whole, *address = map(without_port, _ADDRESS.split(value[:300]))
        names = [whole, *address, *re.split(r"\s*[,;]\s*", whole)]
        if group_of(normal_key(key)) in _WITH_PARTS and "//" not in whole:
            names += [whole[: match.start()] for match in re.finditer(r"[-_./:]", whole)]
        same = alike(set(map(spelled, names)), self.glossary)
        return frozenset(same | larger_regions(same)) - {""}


def labels_in(text: str) -> list[Label]:
    """Fields within lines, by a key that tables use or a value as of an environment or region:
    `97 % used (plateforme : production)`."""
    fields = _FIELD.findall(text[:4_000])
    return [(key, value) for key, value in fields if is_key(key) or kind_of([value])]


def bracketed(title: str) -> list[Label]:
    """The values in a title's brackets, `(checkout-api prod critical)`; none of a sentence."""
    groups = [one.split() for one in _BRACKETS.findall(title)]
    listed = [
        one for one in groups if all(map(_WORD.fullmatch, one)) and _PARTICLES.isdisjoint(one)
    ]
    return [("", word) for words in listed for word in words]


def _label_key(key: str, value: str) -> str:
    is_word = key in {"word", _POSTED_FOR} or (not normal_key(key) and stem_and_number(value))
    if normal_key(key) and not is_word:
        return normal_key(key)
    kind = "severity" if spelled(value) in WORDS["ratings"] else kind_of([value])
    return "host" if without_port(value) != value else kind or ("word" if is_word else "")
