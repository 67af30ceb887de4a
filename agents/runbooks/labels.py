"""What an alert says of itself, in the spelling of tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from agents.alerts.alert import Label
from agents.runbooks.alert_names import bare
from agents.runbooks.amounts import Amount
from agents.runbooks.words import (
    WORDS,
    alike,
    group_of,
    is_key,
    kind_of,
    normal_key,
    spelled,
    spelled_glossary,
)
from enrichment.language.words import STOP_WORDS
from enrichment.names import stem_and_number

_FIELD = re.compile(r"([^\W\d]\w+)(?:\s?[:=]\s?|(?= [A-Z\d]| \S*\d) )([^\s,;()\[\]|:=]+)")
_PART = re.compile(r"[^\W_]+")
_POSTED_FOR = "Service"
"""Of the product that posts: a name of its own for whom it tells."""
_HOST = re.compile(r"^[^\W\d][\w.-]*(?:\d:\d{2,5}|[a-z][-.]?\d+[\w.-]*)$")
_TWO_NAMES = re.compile(r"(\S+) [(\[](?:IP\W+)?([^()\[\]]+)[)\]]", re.IGNORECASE)
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_WORD = re.compile(r"[^\W\d][\w.:/-]*")
_COUNTRY_DOMAIN = re.compile(r"(?<=\w)\.[a-z]{2}(?=$|[/:])")
_PARTICLES = STOP_WORDS.union(WORDS["articles"])
_MAX_VALUE, _MAX_PARTS, _MAX_RUN = 300, 14, 6
WHOLE, PART = 2, 1
"""How well a value fits: it is all that a label says, or a part of it."""


@dataclass(frozen=True)
class AlertValue:
    """A label's value, or (`key` is '') a word of the message."""

    key: str
    """Normalized."""
    text: str
    glossary: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    is_label: bool = True

    @cached_property
    def whole(self) -> tuple[str, ...]:
        """All of it; of `db-4 [10.0.0.4]` both names."""
        text = self.text[:_MAX_VALUE].strip()
        both = _TWO_NAMES.fullmatch(text)
        return both.groups() if both else (bare(text),)

    @cached_property
    def runs(self) -> dict[str, int]:
        """Its parts and runs of them → whether it is the whole: `fw-prod-euw1-01` → …, `prod`,
        `euw1`. A run that is a region or an environment, `non-prod`, is not taken apart."""
        runs = {one.casefold(): WHOLE for one in self.whole}
        text = _COUNTRY_DOMAIN.sub("", self.text[:_MAX_VALUE])
        spans = [match.span() for match in _PART.finditer(text)][:_MAX_PARTS]
        closed = set[tuple[int, int]]()
        for size in range(min(_MAX_RUN, len(spans)), 0, -1):
            for at in range(len(spans) - size + 1):
                run = text[spans[at][0] : spans[at + size - 1][1]].casefold()
                if any(first <= at and at + size <= last for first, last in closed):
                    continue
                if size > 1 and kind_of(run):
                    closed.add((at, at + size))
                if len(run) > 1 and not (run.isdecimal() and len(run) < 5):
                    runs.setdefault(run, PART)
        return runs

    @cached_property
    def spellings(self) -> dict[str, int]:
        fits: dict[str, int] = {}
        for run, fit in self.runs.items():
            for same in alike(run, self.glossary):
                fits[same] = max(fit, fits.get(same, 0))
        return fits

    @cached_property
    def kinds(self) -> set[str]:
        return {kind for one in self.spellings if (kind := kind_of(one))}

    def fit(self, own: int) -> int:
        """Of a whole label 4, of a whole word 3, of a part of a label 2, of a word 1."""
        return 2 * own - (not self.is_label)

    def fits_name(self, name: str) -> int:
        """`WHOLE`, `PART` or 0."""
        return self.spellings.get(spelled(name), 0)

    def fits_glob(self, glob: str) -> int:
        return max((fit for run, fit in self.runs.items() if fnmatchcase(run, glob)), default=0)

    def number_of(self, stem: str) -> int | None:
        """The number of its part that has this stem: 7 of `hv-a07-03` for `a`."""
        numbered = filter(None, map(stem_and_number, self.runs))
        return next((number for own, number in numbered if own == stem), None)


@dataclass(frozen=True, kw_only=True)
class AlertFacts:
    labels: Sequence[Label]
    words: Sequence[str] = ()
    """Of its title and lines, and runs of them."""
    amounts: Sequence[Amount] = ()
    glossary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _under: dict[tuple[str, ...], list[AlertValue]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def values(self) -> tuple[AlertValue, ...]:
        """Labels, then words."""
        same = spelled_glossary(self.glossary)
        labels = [(normal_key(key), value) for key, value in self.labels if key != _POSTED_FOR]
        words = [value for key, value in self.labels if key == _POSTED_FOR]
        hosted = any(group_of(key) == "host" for key, _ in labels)

        def key_of(word: str) -> str:
            return "host" if not hosted and _HOST.search(word) else ""

        read = [AlertValue(key or key_of(value), value, same) for key, value in labels]
        read += [
            AlertValue(key_of(one), one, same, is_label=False)
            for one in (*words, *self.words) if may_be_value(one)
        ]  # fmt: skip
        return tuple(dict.fromkeys(read))

    @cached_property
    def elsewhere(self) -> list[AlertValue]:
        """What may be of any key."""
        return [one for one in self.values if group_of(one.key) not in {"severity", "team"}]

    def under(self, keys: Collection[str]) -> list[AlertValue]:
        """The labels of one of these keys, else of one with the same meaning."""
        sought = tuple(keys)
        if sought not in self._under:
            self._under[sought] = self._labels_under(sought)
        return self._under[sought]

    def _labels_under(self, keys: Collection[str]) -> list[AlertValue]:
        same = [one for one in self.values if one.key and one.key in keys]
        groups, last = (set(map(of, keys)) for of in (group_of, _last_word))
        for of, sought in ((group_of, groups), (_last_word, last)):
            same = same or [one for one in self.values if one.key and of(one.key) in sought]
        return same

    @cached_property
    def names(self) -> dict[str, int]:
        """Spelling → how well it fits what may be of any key, see `fit`: a table may list many."""
        fits: dict[str, int] = {}
        for value in self.elsewhere:
            for name, own in value.spellings.items():
                fits[name] = max(value.fit(own), fits.get(name, 0))
        return fits

    @cached_property
    def kinds(self) -> set[str]:
        return set().union(*(one.kinds for one in self.values))

    @cached_property
    def names_place(self) -> bool:
        """Whether it says on what it fired: by a label, or by a word such as `web-3.ams1`."""
        return self.names_owner or any(_HOST.search(one.text) for one in self.elsewhere)

    @cached_property
    def names_owner(self) -> bool:
        """Whether a label says whose alert it is: a service, a tenant … no host."""
        labels = (one for one in self.elsewhere if one.is_label)
        return any(
            one.kinds != {"severity"} and group_of(one.key) not in {"host", "pod"} for one in labels
        )


def _last_word(key: str) -> str:
    return key.rpartition("_")[2]


def may_be_value(word: str) -> bool:
    """In a title, `in` and `de` are no countries."""
    return word not in _PARTICLES and len(word) > 1 and not (len(word) == 2 and word.islower())


def labels_in(text: str) -> list[Label]:
    """Fields within lines, by a key that tables use or a value as of an environment or region:
    `97 % used (plateforme : production)`."""
    fields = _FIELD.findall(text[:4_000])
    return [(key, value) for key, value in fields if is_key(key) or kind_of(value)]


def bracketed(title: str) -> list[Label]:
    """The values in a title's brackets, `(checkout-api prod critical)`; none of a sentence."""
    groups = [one.split() for one in _BRACKETS.findall(title)]
    listed = [
        one for one in groups if all(map(_WORD.fullmatch, one)) and _PARTICLES.isdisjoint(one)
    ]
    return [("", word) for words in listed for word in words]
