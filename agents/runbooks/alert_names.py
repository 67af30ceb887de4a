"""The names by which an alert may be documented, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
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
    title = re.sub("[/@]", " ", alert.title) if re.search("[/@]", alert.title) else ""
    longest = [*runs(alert.title, _MAX_NAME_WORDS), *runs(title, _MAX_NAME_WORDS)]
    longest.sort(key=lambda one: (-len(one.split()), not _is_coined(one)))
    urls = [one for url in alert.runbooks for one in link_names(url)]
    urls = [one for one in urls if len(as_words(one).split()) > 1]
    if alert.named:
        longer = [one for one in longest if alert.name in one]  # the title may go on with the name
        shorter = _IN_BRACKETS_AT_END.sub("", alert.name)
        names = [*longer, alert.name, shorter, *urls, *_parts_of(shorter)]
    else:
        fields = (one for one in alert.title.split("@") if " " in one or _is_coined(one))
        names = [alert.title, alert.name, *sorted(fields, key=lambda one: -len(one.split()))]
    if not alert.named or len(alert.name.split()) > 1:
        plain = (word for word in alert.title.split() if not _is_coined(bare(word)))
        names.append(" ".join(word for word in plain if not any(map(str.isdigit, word))))
        names += [one for one in longest if _stands_for(one, alert, values)]
        names += [*urls, *(one for word in alert.title.split() for one in _parts_of(word))]
    if not alert.named and alert.certain:
        names += filter(_is_coined, (bare(word) for line in alert.lines for word in line.split()))
    short = {name_key(one): meanings for one, meanings in glossary.items()}
    names += [meaning for name in names for meaning in short.get(name_key(name), ())]
    return [one for one in dict.fromkeys(names) if name_key(one) and name_key(one) not in values]


def _stands_for(run: str, alert: Alert, values: Collection[str]) -> bool:
    """Whether a run of a title's words names the alert: an identifier, all of its telling words, or
    several that are at least half of them."""
    whole, own = _telling(alert.title, values), _telling(run, values)
    is_most = alert.certain and len(own) > 1 and 2 * len(own) >= len(whole)
    return _is_coined(run) or is_most or (own == whole and bool(own))


def _is_coined(word: str) -> bool:
    """Whether it is an identifier, and no compound of plain words such as `On-Call`."""
    parts = word.split("-")
    has_digit = any(map(str.isdigit, word))
    return is_identifier(word) and (has_digit or any(map(is_identifier, parts)))


def _telling(text: str, values: Collection[str]) -> set[str]:
    """Its words, without identifiers, numbers, values of labels and words such as *the*."""
    words = {name_key(word) for word in map(bare, text.split()) if not _is_coined(word)}
    return {word for word in words if word.isalpha()} - set(values) - STOP_WORDS


def _parts_of(name: str) -> list[str]:
    """Names in an identifier: `cart-down` of `web-1/cart-down`, runs of at least half of its parts,
    `api-5xx-errors` of `orders-production-api-5xx-errors`, and `CartDown` of `CartDown-shop`."""
    parts = list(re.finditer(r"[^-_./]+", name))[:_MAX_PARTS] if is_identifier(name) else []
    spans = combinations(parts, 2)
    runs = [name[first.start() : last.end()] for first, last in spans]
    runs = [
        one
        for one in sorted(runs, key=len, reverse=True)[1:]
        if 2 * len(JOINT.split(one)) >= len(parts)
    ]
    single = filter(str.isalpha, JOINT.split(name))
    return [*filter(_is_coined, name.split("/")), *runs, *filter(_is_coined, single)]


def runs(text: str, size: int) -> list[str]:
    """Runs of up to `size` words."""
    words = text.split()[:MAX_TITLE_WORDS]
    spans = (
        bare(" ".join(words[at : at + length]))
        for length in range(min(size, len(words)), 0, -1)
        for at in range(len(words) - length + 1)
    )
    return list(dict.fromkeys(filter(None, spans)))


def bare(words: str) -> str:
    return words.strip(_EDGES)
