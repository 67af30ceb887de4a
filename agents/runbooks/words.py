"""What words of tables mean, in several languages; listed in `words.yaml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from enrichment.language.words import word_table
from enrichment.names import as_words

WORDS: Final[dict[str, Any]] = word_table(Path(__file__).with_name("words.yaml"))
_CLOUD_REGION = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|mx|uk|asia|europe)((?:north|south|east|west|central|gov|[nsewc])+)"
    r"(\d+)[a-f]?"
)
_DIRECTION = re.compile("([nsewcg])(?:orth|outh|ast|est|entral|ov)")
_NAME = re.compile(r"(?!.*//|.*\d{5})[^\W\d_](?:[\w.:/-]*\w)?")
_PORT = re.compile(r"^([^\W\d][\w.-]*):\d{2,5}$")


def words_of(*names: str) -> list[str]:
    """The words of lists in all languages, longest first."""
    words: set[str] = set()
    for name in names:
        listed = WORDS[name]
        words.update(*(listed.values() if isinstance(listed, dict) else [listed]))
    return sorted(words, key=lambda one: (-len(one), one))


def alternatives(*names: str) -> str:
    """A pattern of any of the words."""
    return "(?:" + "|".join(map(re.escape, words_of(*names))) + ")"


@lru_cache(maxsize=50_000)
def spelled(value: str) -> str:
    """Equal for `e-commerce` and `eCommerce`, `Contractor` and `contractors`, `eu-west-1` and
    `euw1`."""
    apart = re.sub(r"(?<=\d)[\W_]+(?=\d)", ".", _folded(value))
    word = _singular(re.sub(r"[^\w.]|_|\.(?!\d)|(?<!\d)\.", "", apart))
    cloud = _CLOUD_REGION.fullmatch(word)
    return cloud[1] + _DIRECTION.sub(r"\1", cloud[2]) + cloud[3] if cloud else word


@lru_cache(maxsize=20_000)
def normal_key(key: str) -> str:
    """Equal for `Voltage level` and `voltage_levels`; '' for words that name no attribute."""
    words = re.findall(r"[^\W_]+", _folded(as_words(key.rpartition("›")[2])))
    return "_".join(_singular(one) for one in words if one not in WORDS["fillers"])


def is_key(label: str) -> bool:
    """Whether a header or field's name is a key that alerts use."""
    return normal_key(label) in _GROUPS


def group_of(key: str) -> str:
    """Equal for normalized keys with the same meaning."""
    return _GROUPS.get(key, key)


def is_name(value: str) -> bool:
    """Whether it is one word as things are called: no number, address, hash or text."""
    return bool(_NAME.fullmatch(_PORT.sub(r"\1", value)))


def kind_of(value: str) -> str:
    """`environment`, `region`, `provider` or `severity`; '' for another value."""
    value = spelled(value)
    return _KINDS.get(value, "region" if _CLOUD_REGION.fullmatch(value) else "")


def alike(value: str, glossary: Mapping[str, Collection[str]]) -> set[str]:
    """The value and those that mean the same, and regions that it lies in, as spelled."""
    own = spelled(value)
    same = {own, *_SAME.get(own, ())}
    same |= {meaning for one in same for meaning in glossary.get(one, ())}
    clouds = (_CLOUD_REGION.fullmatch(one) for one in same)
    larger = {_LARGER[one] for one in same if one in _LARGER} | {one[1] for one in clouds if one}
    return same.union(*(_SAME.get(one, (one,)) for one in larger))


def spelled_glossary(glossary: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Each word → those that mean the same."""
    same: dict[str, frozenset[str]] = {}
    for short, long in glossary.items():
        together = frozenset(map(spelled, (short, *long)))
        same |= {one: together | same.get(one, frozenset()) for one in together}
    return same


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in letters if not unicodedata.combining(one))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and re.search(r"[^s]s$", word) else word


def _sets_of_same() -> Iterable[tuple[str, frozenset[str]]]:
    for kind, sets in WORDS["values"].items():
        yield from ((kind, frozenset(map(spelled, same))) for same in sets)
    for code, cities in WORDS["regions"].items():
        yield "region", frozenset(map(spelled, (code, *cities)))


_GROUPS: dict[str, str] = {
    normal_key(one): key for key, words in WORDS["keys"].items() for one in (key, *words)
}
_LARGER = {spelled(one): larger for larger, parts in WORDS["parts"].items() for one in parts}
_KINDS = dict.fromkeys(_LARGER, "region")
_SAME: dict[str, frozenset[str]] = {}
for _kind, _same in _sets_of_same():
    _KINDS |= dict.fromkeys(_same, _kind)
    _SAME |= {one: _SAME.get(one, frozenset()) | _same for one in _same}
