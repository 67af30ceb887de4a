"""What words of tables mean, in several languages; listed in `words.yaml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from enrichment.language.words import word_table

WORDS: Final[dict[str, Any]] = word_table(Path(__file__).with_name("words.yaml"))
_CLOUD_REGION = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|mx|uk|asia|europe)(?:(?:north|south|east|west|central|gov)+\d+)+"
)
_NAME = re.compile(r"(?!.*//|.*\d{5})[^\W\d_](?:[\w.:/-]*\w)?")


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
    """Equal for `e-commerce` and `eCommerce`, `Contractor` and `contractors`, and for a URL and its
    host and path."""
    return _singular(re.sub(r"^\w+://|[\W_]+", "", _folded(value)))


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


def is_name(value: str) -> bool:
    """Whether it is one word as things are called: no number, address, hash or text."""
    return bool(_NAME.fullmatch(re.sub(r":\d{2,5}$", "", value)))


def kind_of(values: Iterable[str]) -> str:
    """`environment`, `region`, `provider` or `severity` where all values are one; else ''."""
    kinds = {
        _KINDS.get(one, "region" if _CLOUD_REGION.fullmatch(one) else "")
        for one in map(spelled, values)
    }
    return kinds.pop() if len(kinds) == 1 else ""


@lru_cache(maxsize=20_000)
def meanings(name: str) -> frozenset[str]:
    """A value, as spelled, what means the same, and the regions that it is in: `euwest1` →
    `ireland`, `ie`, `eu`, `europe`."""
    cloud = _CLOUD_REGION.fullmatch(name)
    same = _SAME.get(name, frozenset((name,)))
    larger = {_LARGER[one] for one in same if one in _LARGER} | {cloud[1] if cloud else name}
    return same.union(*map(meanings, larger - same))


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in letters if not unicodedata.combining(one))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and re.search(r"[^s]s$", word) else word


_GROUPS: dict[str, str] = {
    normal_key(one): key for key, words in WORDS["keys"].items() for one in (key, *words)
}
_LARGER = {spelled(one): larger for larger, parts in WORDS["parts"].items() for one in parts}
_SAME = {
    one: frozenset(map(spelled, same))
    for kind in WORDS["values"].values() for same in kind for one in map(spelled, same)
}  # fmt: skip
_KINDS = dict.fromkeys(_LARGER, "region") | {
    spelled(one): kind for kind, same in WORDS["values"].items() for each in same for one in each
}
