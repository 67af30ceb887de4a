"""What of an alert's title is its name, and what only says where it fired."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.alerts.alert import is_identifier, name_key
from agents.alerts.label_lines import Label, pairs, tags

_TAIL = re.compile(r"\s*\(([^()]*)\)\s*$")
_TAGGED = re.compile(r"\s+(?:on|for|in|at)\s+\{?((?:[\w.-]+\s*:\s*[^\s,{}]+[,\s]*)+)\}?\s*$")
_ON_HOST = re.compile(r"\s+(?:on|for|in|at|from)\s+(\S*[\d/.:@-]\S*)\s*$")
_BETWEEN = re.compile(r"\s+[-–—|/]\s+|:\s+|\s*\|\s*")
_PREFIX = re.compile(r"^(?:\[[^\]]*\]\s*)+")
_PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_CODE = re.compile(r"[A-Z][A-Z-]{0,9}\d{1,6}")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_ENDS = " \"'“”,;."
_MOST_CHARACTERS = 200


def names_in(title: str) -> Iterator[str]:
    """What may be its name: the whole first, then without what stands around it, then the parts
    that are a name by their form. A name within a sentence is none."""
    title = title[:_MOST_CHARACTERS].strip(_ENDS)
    if not title:
        return
    seen = [title]
    short = _PREFIX.sub("", title).strip(_ENDS)
    for cut in (_TAIL, _TAGGED, _ON_HOST):
        seen.append(short)
        short = cut.sub("", short).strip(_ENDS)
    seen.append(short)
    first = short.split(" ")[0].strip(_ENDS + ":,")
    if is_identifier(first) and not _is_thing(short):
        # What follows an identifier is values of labels, or a sentence about it.
        yield first
        return
    parts = [part.strip(_ENDS) for part in _BETWEEN.split(short)]
    inside = [match.strip(_ENDS) for match in re.findall(r"[(\[]([^()\[\]]+)[)\]]", title)]
    named = [part for part in (*parts, *inside) if is_identifier(part)]
    before = _before_values(short)
    yield from dict.fromkeys(one for one in (*reversed(seen), *before, *named) if one)
    told = sum(bool(_PLAIN_WORD.fullmatch(word)) for word in short.split()[len(parts[0].split()) :])
    if len(parts) > 1 and len(parts[0].split()) > 1 and told < 2:
        yield parts[0]


def _is_thing(title: str) -> bool:
    """`store-api latency` is called by both words; `disk-full on db-1` by the first."""
    first, _, rest = title.partition(" ")
    word = rest.split(" ")[0]
    plain = word.isalpha() and word.islower() and word not in _FILLERS
    return bool(_KEBAB.fullmatch(first)) and plain


def _before_values(title: str) -> Iterator[str]:
    """`Queue depth` of `Queue depth orders.new = 14220`; `PL03` of `PL03 in export.ts:12`."""
    words = title.split()
    plain = next((at for at, word in enumerate(words) if not _PLAIN_WORD.fullmatch(word)), 0)
    if plain > 1:
        yield " ".join(words[:plain])
    if len(words) > 1 and _CODE.fullmatch(words[0]):
        yield words[0]


def values_in(title: str, names: tuple[str, ...]) -> Iterator[Label]:
    """What stands beside the name: `KeyOverdue lockbox (sg RC)` says three values."""
    said = {name_key(name) for name in names}
    rest = _PREFIX.sub("", title[:_MOST_CHARACTERS])
    tagged = _TAGGED.search(rest)
    if tagged:
        yield from tags(tagged[1])
        rest = rest[: tagged.start()]
    tail = _TAIL.search(rest)
    words = [] if tail is None else tail[1].split()
    if tail is not None:
        yield from pairs(tail[1])
        rest = rest[: tail.start()]
    host = _ON_HOST.search(rest)
    if host:
        yield "", host[1]
        rest = rest[: host.start()]
    first, *others = rest.split(" ")
    if is_identifier(first.strip(_ENDS + ":,")) or _CODE.fullmatch(first):
        yield from pairs(" ".join(others))
        words += others
    else:
        yield from pairs(rest)
        words += [word for word in rest.split() if is_identifier(word) and "=" not in word]
    for word in words:
        word = word.strip(_ENDS + "()")
        if word and "=" not in word and name_key(word) not in said and word not in _FILLERS:
            yield "", word


_FILLERS = frozenset(("for", "on", "in", "at", "-", "–", "—", "|", "and", "the", "of", "is"))
