"""The names of systems that an alert gives, and where a text has them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import yaml

from agents.alerts.alert import Alert
from agents.alerts.forms import WORDS as ALERT_WORDS
from agents.runbooks.alert_names import bare, runs
from agents.runbooks.words import WORDS, group_of, is_name, kind_of, normal_key
from enrichment.language.words import STOP_WORDS
from enrichment.names import as_words, is_identifier, name_key

Documented = Callable[[Collection[str]], Collection[str]]
"""Keys (`enrichment.names.name_key`) → those that the documents have as names."""

_NO_SYSTEMS = frozenset(
    ("severity", "team", "environment", "region", "provider", "class", "tier", "channel")
)
"""Groups of label keys that say where, how bad and whose, but not what."""
_SUBJECTS = frozenset(map(group_of, WORDS["subjects"]))
_SAYING_NOTHING = STOP_WORDS.union(
    *(ALERT_WORDS[key] for key in ("levels", "quiet_levels", "fillers", "notices")),
    *ALERT_WORDS["states"].values(),
)
_PART = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[-_./: ]")
"""What may stand between two parts of a name."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Of scripts without spaces between words."""
_SPLIT = re.compile(r"[/,;|()\[\]]+")
_PORT = re.compile(r":\d+$")
_REVISION = re.compile(r"v?\d\w*|[0-9a-f]{7,40}")
# Kubernetes ends a pod's name with a number, or with a hash of the template and one of the pod.
# Source: SafeEncodeString in apimachinery/pkg/util/rand.
_POD_END = re.compile(
    r"(?:(?:-[bcdfghjklmnpqrstvwxz2456789]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}|-\d+)$"
)
_MAX_WORDS, _MAX_PARTS = 4, 8
ENOUGH = 10
"""Messages from which on *most of them* says something."""


@dataclass(frozen=True, kw_only=True)
class SystemName:
    text: str
    """As the alert or the glossary writes it."""
    is_subject: bool
    """The alert is about it, by a label such as `service` or by its own name."""

    @property
    def key(self) -> str:
        return name_key(self.text)

    @cached_property
    def words(self) -> list[str]:
        return _folded(as_words(self.text)).split()


def systems_of(
    alerts: Sequence[Alert], glossary: Mapping[str, Sequence[str]], documented: Documented
) -> tuple[SystemName, ...]:
    """The names in labels, and those words of the alerts' names that the documents have as names,
    the alerts' names themselves, and what the glossary calls them otherwise. One of each key."""
    names: dict[str, SystemName] = {}
    for name in (one for alert in alerts for one in _of_alert(alert, documented)):
        names.setdefault(name.key, name)
    for short, meanings in glossary.items():
        same = {name_key(one): one for one in (short, *meanings)}
        if own := next((names[key] for key in same if key in names), None):
            for key, text in same.items():
                if _may_name(text):
                    names.setdefault(key, SystemName(text=text, is_subject=own.is_subject))
    return tuple(names.values())


def _of_alert(alert: Alert, documented: Documented) -> Iterator[SystemName]:
    for key, value in alert.labels:
        group = group_of(normal_key(key))
        if group not in _NO_SYSTEMS:
            for text in filter(_may_name, _forms(value, group)):
                yield SystemName(text=text, is_subject=group in _SUBJECTS)
    words = f"{as_words(alert.name)} {alert.title}"
    in_words = {name_key(one): one for one in runs(words, _MAX_WORDS) if _may_name(one)}
    keys = documented(in_words.keys())
    texts = [one for key, one in in_words.items() if key in keys]
    texts += [alert.name] if len(_PART.findall(as_words(alert.name))) > 1 else []
    coined = filter(is_identifier, map(bare, alert.title.split()))
    texts += [form for one in coined for form in _forms(one, "")]
    yield from (SystemName(text=one, is_subject=True) for one in filter(_may_name, texts))


def _forms(value: str, group: str) -> Iterator[str]:
    """`checkout-7f9c8d6b5-x2x4z` and `checkout-prod` → `checkout`; `web-3.ams1:9100` → `web-3`;
    several words only together."""
    value = value.strip()
    if " " in value:
        is_short = len(value.split()) <= _MAX_WORDS
        yield from [value] if is_short and all(map(is_name, value.split())) else ()
        return
    for name in (_PORT.sub("", part) for part in _SPLIT.split(value)):
        if is_name(name) and not value.startswith("/"):  # of a path
            name = name.partition(".")[0] if group == "host" else name
            yield _without_places(_POD_END.sub("", name) if group == "pod" else name)


def _without_places(name: str) -> str:
    """Without environments and regions at its ends."""
    parts = [name] if kind_of(name) else name.split("-")
    while len(parts) > 1 and _is_place(parts[-1]):
        parts.pop()
    while len(parts) > 1 and _is_place(parts[0]):
        parts.pop(0)
    return "-".join(parts)


def _is_place(word: str) -> bool:
    return kind_of(word) in ("environment", "region")


def _may_name(text: str) -> bool:
    """Whether it is no number, boolean, level, place or word that names nothing."""
    words = _folded(as_words(text)).split()
    is_value = is_name(text) and not isinstance(yaml.safe_load(text), str)
    is_long = len(name_key(text)) > 2 or bool(_UNSPACED.search(text))
    return is_long and not is_value and not kind_of(text) and not _SAYING_NOTHING.issuperset(words)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


class NameFinder:
    """Finds names in texts as whole words, however they are spelled: `payments-api` in
    `Payments API` and `acme/payments-api:v3`, but not in `payments-api-gateway`."""

    def __init__(self, names: Sequence[SystemName]) -> None:
        self._names = {name.key: name for name in names}
        self._beginnings = {key[:end] for key in self._names for end in range(1, len(key) + 1)}
        self._unspaced = [key for key in self._names if _UNSPACED.search(key)]

    def __call__(self, text: str) -> frozenset[str]:
        """Keys of the names in it."""
        text = _folded(text)
        parts = list(_PART.finditer(text))
        between = [text[a.end() : b.start()] for a, b in pairwise(parts)]
        starts = (at for at, part in enumerate(parts) if part[0] in self._beginnings)
        spaced = {key for at in starts if (key := self._at(parts, between, at))}
        return frozenset(spaced.union(key for key in self._unspaced if key in text))

    def _at(self, parts: Sequence[re.Match[str]], between: Sequence[str], first: int) -> str:
        """The longest name that begins with this part; '' for none. `between`: what stands between
        each part and the next."""
        best, text = "", parts[first].string
        for last in range(first, min(first + _MAX_PARTS, len(parts))):
            if last > first and not _BETWEEN.fullmatch(between[last - 1]):
                break
            key = name_key(text[parts[first].start() : parts[last].end()])
            if key not in self._beginnings:
                break
            name = self._names.get(key)
            is_whole = _ends(parts, between, first - 1, first - 1) and _ends(
                parts, between, last, last + 1
            )
            words = [part[0] for part in parts[first : last + 1]]
            # "check out" is no name where the system is called `checkout`.
            if name and is_whole and (" " not in between[first:last] or words == name.words):
                best = key
        return best


def _ends(
    parts: Sequence[re.Match[str]], between: Sequence[str], joint: int, neighbor: int
) -> bool:
    """Whether a name ends at this joint: the next part isn't joined to it, or is a version, an
    environment or a region."""
    if not 0 <= joint < len(between) or between[joint] not in ("-", "_"):
        return True
    return bool(_REVISION.fullmatch(parts[neighbor][0])) or _is_place(parts[neighbor][0])


def distinguishing(
    names: Sequence[SystemName], messages: Sequence[Collection[str]]
) -> frozenset[str]:
    """Keys that tell one message from another: not a name in most messages (`messages`: the keys in
    each), such as a cluster's, unless the alert is about it."""
    most = len(messages) / 2 if len(messages) >= ENOUGH else len(messages)
    return frozenset(
        name.key
        for name in names
        if name.is_subject or sum(name.key in one for one in messages) <= most
    )
