"""What words of tables mean, in several languages; listed in `words.yaml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from enrichment.language.words import word_table

WORDS: Final[dict[str, Any]] = word_table(Path(__file__).with_name("words.yaml"))
_CLOUD_REGION = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|mx|uk|asia|europe)(?:(?:north|south|east|west|central|gov)+\d+)+"
)
_NAME = re.compile(r"(?!.*//|.*\d{5})[^\W\d_](?:[\w.:/-]*\w)?")
_WITH_PORT = re.compile(r"([^\W\d][\w.-]*):\d{2,5}")


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


@lru_cache(maxsize=20_000)
def spelled(value: str) -> str:
    """Equal for `e-commerce` and `eCommerce`, `Contractor` and `contractors`."""
    return _singular(re.sub(r"[\W_]+", "", _folded(value)))


@lru_cache(maxsize=20_000)
def normal_key(key: str) -> str:
    """Equal for `Voltage level` and `voltage_levels`; '' for words that name no attribute."""
    words = re.findall(r"[^\W_]+", _folded(key.rpartition("›")[2]))
    return "_".join(_singular(one) for one in words if one not in WORDS["fillers"])


def is_key(label: str) -> bool:
    """Whether a header or field's name is a key that alerts use."""
    return normal_key(label) in _GROUPS


def group_of(key: str) -> str:
    """Equal for normalized keys with the same meaning."""
    return _GROUPS.get(key, key)


def without_port(value: str) -> str:
    match = _WITH_PORT.fullmatch(value)
    return match[1] if match else value


def is_name(value: str) -> bool:
    """Whether it is one word as things are called: no number, address, hash or text."""
    return bool(_NAME.fullmatch(without_port(value)))


def kind_of(values: Iterable[str]) -> str:
    """`environment`, `region` or `provider` where all values are one; else ''."""
    kinds = {
        _KINDS.get(one, "region" if _CLOUD_REGION.fullmatch(one) else "")
        for one in map(spelled, values)
    }
    return kinds.pop() if len(kinds) == 1 else ""


def alike(names: Collection[str], glossary: Mapping[str, Sequence[str]] | None = None) -> set[str]:
    """The values and those that mean the same, as spelled."""
    own = (frozenset(map(spelled, (short, *long))) for short, long in (glossary or {}).items())
    return set(names).union(*(same for same in (*_SAME, *own) if not same.isdisjoint(names)))


def larger_regions(names: Iterable[str]) -> set[str]:
    """The larger regions that values, as spelled, are in: `euwest1` → `eu`, `europe`, `emea`."""
    clouds = {one: match[1] for one in names if (match := _CLOUD_REGION.fullmatch(one))}
    return alike({_LARGER[one] for one in names if one in _LARGER} | set(clouds.values()))


def may_be(value: str, name: str) -> bool:
    """Whether two that differ may mean the same: one holds the other, or they are a region and one
    in it, or a cloud's region and a country of the same part of the world."""
    own, other = spelled(value), spelled(name)
    kind = kind_of([own])
    if not kind or kind != kind_of([other]):
        return own in other or other in own
    near = own[-1].isdigit() != other[-1].isdigit() and larger_regions([own])
    return own in larger_regions([other]) or bool(near and near & larger_regions([other]))


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in letters if not unicodedata.combining(one))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and re.search(r"[^s]s$", word) else word


_GROUPS: dict[str, str] = {
    normal_key(one): key for key, words in WORDS["keys"].items() for one in (key, *words)
}
_SAME = [frozenset(map(spelled, same)) for kind in WORDS["values"].values() for same in kind]
_LARGER = {spelled(one): larger for larger, parts in WORDS["parts"].items() for one in parts}
_KINDS = dict.fromkeys(_LARGER, "region") | {
    spelled(one): kind for kind, same in WORDS["values"].items() for each in same for one in each
}
