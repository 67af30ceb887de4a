"""The names by which an alert may be documented, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from agents.alerts.alert import Alert
from enrichment.language.words import STOP_WORDS
from enrichment.names import as_words, is_identifier, link_names, name_key

JOINT = re.compile(r"[-_./]")
"""Between the parts of an identifier."""
MAX_TITLE_WORDS, _MAX_NAME_WORDS, _MAX_PARTS = 60, 10, 12
_IN_BRACKETS_AT_END = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])$")
_EDGES = " .,;:!?()[]{}\"'“”`*|<>"


def names_of(alert: Alert, glossary: Mapping[str, Sequence[str]]) -> list[str]:
    """The names to look for; the first that is documented counts."""
    values = {name_key(value) for key, value in alert.labels if key} - {name_key(alert.name)}
    telling = _telling(alert.title) - values
    shorter = _IN_BRACKETS_AT_END.sub("", alert.name)
    longest = runs(alert.title, _MAX_NAME_WORDS)
    # The title may go on with the name.
    names = [one for one in longest if alert.name in one] if alert.named else [alert.title]
    names += [alert.name, shorter]
    if not alert.named or len(alert.name.split()) > 1:
        plain = (word for word in alert.title.split() if not _is_coined(bare(word)))
        names.append(" ".join(word for word in plain if not any(map(str.isdigit, word))))
        names += [one for one in longest if _is_coined(one) or _is_most(one, telling, alert)]
    urls = (one for url in alert.runbooks for one in link_names(url))
    names += [one for one in urls if len(as_words(one).split()) > 1]
    names += [one for word in shorter.split() for one in _parts_of(word)]
    if not alert.named and alert.certain:
        names += filter(_is_coined, (bare(word) for line in alert.lines for word in line.split()))
    short = {name_key(one): meanings for one, meanings in glossary.items()}
    names += [meaning for name in names for meaning in short.get(name_key(name), ())]
    return [one for one in dict.fromkeys(names) if name_key(one) and name_key(one) not in values]


def _is_most(run: str, telling: set[str], alert: Alert) -> bool:
    """Whether a run of its words has all of a title's telling ones, or several and half of them."""
    own = _telling(run) & telling
    return bool(own) and (own == telling or (alert.certain and 1 < len(own) >= len(telling) / 2))


def _is_coined(word: str) -> bool:
    """Whether it is an identifier, and no compound of plain words such as `On-Call`."""
    parts = word.split("-")
    has_digit = any(map(str.isdigit, word))
    return is_identifier(word) and (has_digit or any(map(is_identifier, parts)))


def _telling(text: str) -> set[str]:
    """Its words, without identifiers, numbers and words such as *the*."""
    words = {name_key(word) for word in map(bare, text.split()) if not _is_coined(word)}
    return set(filter(str.isalpha, words)) - STOP_WORDS


def _parts_of(name: str) -> list[str]:
    """Names in an identifier: `cart-down` of `web-1/cart-down`, runs of at least half of its parts,
    `api-5xx-errors` of `orders-production-api-5xx-errors`, and `CartDown` of `CartDown-shop`."""
    parts = list(re.finditer(r"[^-_./]+", name))[:_MAX_PARTS] if is_identifier(name) else []
    spans = [(two.end() - one.start(), one.start()) for one, two in combinations(parts, 2)]
    longest = [name[start : start + size] for size, start in sorted(spans, reverse=True)[1:]]
    half = [one for one in longest if 2 * len(JOINT.split(one)) >= len(parts)]
    return [*half, *(part[0] for part in parts if _is_coined(part[0]))]


def runs(text: str, size: int) -> list[str]:
    """Runs of up to `size` words, longest first."""
    words = text.split()[:MAX_TITLE_WORDS]
    spans = (
        bare(" ".join(words[at : at + length]))
        for length in range(min(size, len(words)), 0, -1)
        for at in range(len(words) - length + 1)
    )
    return list(dict.fromkeys(filter(None, spans)))


def bare(words: str) -> str:
    return words.strip(_EDGES)
