"""What an alert's message says, in the words of tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agents.alerts.alert import Label
from agents.runbooks.amounts import Amount
from agents.runbooks.words import WORDS, group_of, is_key, kind_of, meanings, normal_key, spelled
from enrichment.language.words import STOP_WORDS

_POSTED_FOR = "Service"
"""Of the product that posts: a name of its own for whom it tells."""
_FIELD = re.compile(r"([^\W\d]\w+)\s?[:=]\s?([^\s,;()\[\]|:=]+)")
_GROUP = re.compile(r"[^()\[\]{}|@,;]+")
_WORD = re.compile(r"/?[^\W\d][\w.:/-]*")
_TOKEN = re.compile(r"[^\s,;()\[\]{}|@\"'“”<>=]+")
_PARTICLES = STOP_WORDS.union(WORDS["articles"])
_MAX_TEXT, _MAX_RUN = 3_000, 4


@dataclass(frozen=True)
class Mention:
    """A label, or the whole text."""

    key: str
    """Normalized; of a value alone, what kind of value it is, else ''."""
    value: str
    words: frozenset[str]
    """Its words and their runs as spelled, what means the same, and what they are a part of."""
    names: tuple[str, ...]
    """Its words as written."""


@dataclass(frozen=True, kw_only=True)
class AlertFacts:
    labels: Sequence[Label]
    text: str = ""
    """The title without the name, and all lines and labels."""
    amounts: Sequence[Amount] = ()
    glossary: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def mentions(self) -> list[Mention]:
        """The labels. A part of a value counts as it, `orders` in `orders-prod-eu`, except where
        the whole is one of a kind: `non-prod`."""
        return [
            Mention(_label_key(key, value), value, self._words([value], parts), names)
            for key, value in self.labels
            for names in [tuple(_tokens(value))]
            for parts in [[] if kind_of([value]) else re.findall(r"[^\W_]+", value[:300])]
        ]

    @cached_property
    def whole(self) -> Mention:
        """The text. In it, small words are no values: `in` and `de` are no countries."""
        tokens = _tokens(self.text[:_MAX_TEXT])
        words = self._words((), tokens) - {spelled(one) for one in tokens if _is_small(one)}
        return Mention("", "", words, tuple(tokens))

    def under(self, keys: Collection[str]) -> list[Mention]:
        """The labels of one of these keys, else of one with the same meaning."""
        groups = set(map(group_of, keys))
        same = [one for one in self.mentions if one.key in keys]
        return same or [one for one in self.mentions if group_of(one.key) in groups]

    def alone(self, key: str) -> list[Mention]:
        """The values without a key that may be of this one, but no environment or region; of a key
        that is not known, also those of such a key."""
        if group_of(key) in WORDS["values"]:
            return []
        return [
            one for one in self.mentions
            if not one.key or not (is_key(one.key) or is_key(key))
        ]  # fmt: skip

    @cached_property
    def elsewhere(self) -> list[Mention]:
        """The labels that may be of any key."""
        return [one for one in self.mentions if group_of(one.key) not in {"severity", "team"}]

    def _words(self, whole: Sequence[str], parts: Sequence[str]) -> frozenset[str]:
        spans = (
            "".join(parts[at : at + size])
            for size in range(1, _MAX_RUN + 1) for at in range(len(parts) - size + 1)
        )  # fmt: skip
        words = set(map(spelled, (*whole, *spans)))
        for short, long in self.glossary.items():
            same = set(map(spelled, (short, *long)))
            words |= same if same & words else set()
        return frozenset(words.union(*map(meanings, words))) - {""}


def labels_in(text: str) -> list[Label]:
    """Fields within lines, by a key that tables use or a value as of an environment or region:
    `97 % used (plateforme : production)`."""
    fields = _FIELD.findall(text[:_MAX_TEXT])
    return [(key, value) for key, value in fields if is_key(key) or kind_of([value])]


def values_in(title: str) -> list[Label]:
    """The values that a title lists, `(checkout-api prod critical)`; none of a sentence."""
    groups = [one.split() for one in _GROUP.findall(title)]
    listed = [
        one for one in groups if all(map(_WORD.fullmatch, one)) and _PARTICLES.isdisjoint(one)
    ]
    return [("", word) for words in listed for word in words]


def _tokens(text: str) -> list[str]:
    return [one for one in (each.strip(".:!?*`") for each in _TOKEN.findall(text)) if one]


def _is_small(token: str) -> bool:
    return len(token) == 1 or token in _PARTICLES or token.isdecimal()


def _label_key(key: str, value: str) -> str:
    own = "sender" if key == _POSTED_FOR else normal_key(key)
    return own or kind_of([value]) or ("host" if re.search(r"\w:\d{2,5}$", value) else "")
