"""Numbers of headings and list items, as Word shows them (ECMA-376 part 1, 17.9)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from loaders.text import plain
from loaders.word.package import Element, W, child, is_on, number, value
from loaders.word.styles import ParagraphStyle, Styles

MAX_LEVEL = 8
"""Word has nine levels, 0 to 8."""
_PLACEHOLDER = re.compile(r"%([1-9])")
_AIUEO = (
    "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
)
_IROHA = (
    "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオク"
    "ヤマケフコエテアサキユメミシヱヒモセスン"
)
_DIGITS = "〇一二三四五六七八九"


@dataclass(frozen=True)
class Level:
    start: int
    kind: str
    """`w:numFmt`, e.g. `lowerRoman`."""
    label: str
    """E.g. `%1.%2`."""
    restart: int
    """Counts anew behind an item of a level below this one; 0 never."""
    decimal: bool
    """Shows all numbers in digits."""
    style: str
    """The paragraph style that takes this level."""


_PLAIN = Level(start=1, kind="none", label="", restart=0, decimal=False, style="")


@dataclass
class _List:
    """A `w:num`: levels, and the counts that it shares with all of the same definition."""

    levels: Mapping[int, Level]
    counts: dict[int, int]
    restarts: dict[int, int]
    """Level → its first number where this list begins."""


@dataclass
class Numbering:
    """Counts in the order of the document."""

    root: Element | None
    styles: Styles
    _levels: dict[str, Mapping[int, Level]] = field(default_factory=dict)
    """Of each definition."""
    _lists: dict[str, _List | None] = field(default_factory=dict)
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        root = () if self.root is None else self.root
        self._nums = {one.get(f"{W}numId"): one for one in root if one.tag == f"{W}num"}
        self._abstract = {
            one.get(f"{W}abstractNumId"): one for one in root if one.tag == f"{W}abstractNum"
        }

    def next(self, properties: Element | None, style: ParagraphStyle) -> tuple[str, int] | None:
        """(marker, level) of a paragraph: `-`, or its number, e.g. `2.1.`; None for no item."""
        own = child(properties, "numPr")
        items = self._list(value(own, "numId") or style.list_id)
        if items is None:
            return None
        level = self._level_of(own, style, items)
        if level not in items.levels:
            return None
        self._count(items, level)
        marker = self._marker(items, level)
        return (marker, level) if marker else None

    def _level_of(self, own: Element | None, style: ParagraphStyle, items: _List) -> int:
        """A style takes the level that names it."""
        if stated := value(own, "ilvl"):
            return number(stated)
        linked = {one.style: level for level, one in items.levels.items() if one.style}
        for name, stated in style.list_levels:
            if name in linked or stated:
                return linked.get(name, number(stated))
        return 0

    def _count(self, items: _List, level: int) -> None:
        counts = items.counts
        if level in items.restarts:
            counts[level] = items.restarts.pop(level) - 1
        start = items.levels[level].start
        counts[level] = counts[level] + 1 if level in counts else start
        for deeper, one in items.levels.items():
            if deeper > level and level < one.restart:
                counts.pop(deeper, None)

    def _marker(self, items: _List, level: int) -> str:
        own = items.levels[level]
        if own.kind == "bullet":
            return "-"

        def replacement(match: re.Match[str]) -> str:
            other = int(match[1]) - 1
            one = items.levels.get(other, _PLAIN)
            kind = "decimal" if own.decimal and one.kind != "none" else one.kind
            return as_number(items.counts.get(other, one.start), kind)

        return " ".join(_PLACEHOLDER.sub(replacement, own.label).split())

    def _list(self, name: str) -> _List | None:
        if name not in self._lists:
            num = self._nums.get(name)
            self._lists[name] = None if num is None else self._read(num)
        return self._lists[name]

    def _read(self, num: Element) -> _List | None:
        key, definition = self._definition(num)
        if definition is None:
            return None
        if key not in self._levels:
            self._levels[key] = _levels(definition)
        levels = dict(self._levels[key])
        restarts: dict[int, int] = {}
        for override in num.iterchildren(f"{W}lvlOverride"):
            levels |= _levels(override)
            if start := value(override, "startOverride"):
                restarts[number(override.get(f"{W}ilvl", ""))] = number(start, 1)
        return _List(levels, self._counts.setdefault(key, {}), restarts)

    def _definition(self, num: Element) -> tuple[str, Element | None]:
        """The `w:abstractNum`, which may be named by a list style."""
        for _ in range(MAX_LEVEL):
            key = value(num, "abstractNumId")
            definition = self._abstract.get(key)
            link = value(definition, "numStyleLink")
            if not link:
                return key, definition
            num = self._nums.get(self.styles.list_of(link))
            if num is None:
                return key, definition
        return "", None


def _levels(holder: Element) -> dict[int, Level]:
    levels = {}
    for one in holder.iterchildren(f"{W}lvl"):
        at = number(one.get(f"{W}ilvl", ""), -1)
        if 0 <= at <= MAX_LEVEL:
            levels[at] = Level(
                start=number(value(one, "start"), 0),
                kind=value(one, "numFmt", "decimal"),
                label=value(one, "lvlText"),
                restart=number(value(one, "lvlRestart"), at),
                decimal=is_on(child(one, "isLgl")),
                style=value(one, "pStyle"),
            )
    return levels


def as_number(count: int, kind: str) -> str:
    """`count` in a format of Word; in digits when the format is unknown."""
    write = _FORMATS.get(kind)
    return write(count) if write else str(count)


def _ordinal(count: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{'th' if count // 10 % 10 == 1 else ending}"


def _letter(first: str, last: str, without: str = "") -> Callable[[int], str]:
    return _letters(
        "".join(chr(n) for n in range(ord(first), ord(last) + 1) if chr(n) not in without)
    )


def _letters(letters: str) -> Callable[[int], str]:
    """Letters like Word's: behind the last one, the first one twice."""

    def write(count: int) -> str:
        if count < 1:
            return str(count)
        return letters[(count - 1) % len(letters)] * min((count - 1) // len(letters) + 1, 100)

    return write


def _hebrew(count: int) -> str:
    """Letters that add up, the largest first; 15 and 16 are 9 with 6 and 7."""
    if not 0 < count < 400:
        return str(count)
    hundreds, rest = divmod(count, 100)
    tens, ones = (0, rest) if rest in (15, 16) else divmod(rest, 10)
    ending = {15: "טו", 16: "טז"}.get(ones, " אבגדהוזחט"[ones : ones + 1])
    return " קרש"[hundreds].strip() + " יכלמנסעפצ"[tens].strip() + ending.strip()


def _chinese(count: int) -> str:
    if not 0 < count < 100:
        return str(count)
    tens, ones = divmod(count, 10)
    ten = ("" if tens == 1 else _DIGITS[tens]) + "十" if tens else ""
    return ten + (_DIGITS[ones] if ones or not tens else "")


def _shifted(first: str, last: int, to: int = 1) -> Callable[[int], str]:
    """One sign for each number from `to`, e.g. ① for 1."""
    return lambda count: chr(ord(first) + count - to) if to <= count <= last else str(count)


_FORMATS: Mapping[str, Callable[[int], str]] = {
    "none": lambda count: "",
    "upperLetter": lambda count: plain.number(count, "A"),
    "lowerLetter": lambda count: plain.number(count, "a"),
    "upperRoman": lambda count: plain.number(count, "I"),
    "lowerRoman": lambda count: plain.number(count, "i"),
    "decimalZero": lambda count: f"{count:02d}",
    "ordinal": _ordinal,
    "numberInDash": lambda count: f"- {count} -",
    "hex": lambda count: f"{count:X}",
    "decimalEnclosedCircle": _shifted("①", 20),
    "decimalEnclosedParen": lambda count: f"({count})",
    "decimalEnclosedFullstop": lambda count: f"{count}.",
    "russianLower": _letter("а", "я", "йъыь"),
    "russianUpper": _letter("А", "Я", "ЙЪЫЬ"),
    "hebrew2": _letter("א", "ת", "ךםןףץ"),
    "hebrew1": _hebrew,
    "arabicAlpha": _letters("أبتثجحخدذرزسشصضطظعغفقكلمنهوي"),
    "arabicAbjad": _letters("أبجدهوزحطيكلمنسعفصقرشتثخذضظغ"),
    "thaiLetters": _letter("ก", "ฮ", "ฃฅฆฤฦ"),
    "aiueo": _letters(_AIUEO),
    "aiueoFullWidth": _letters(_AIUEO),
    "iroha": _letters(_IROHA),
    "irohaFullWidth": _letters(_IROHA),
    "ganada": _letters("가나다라마바사아자차카타파하"),
    "chosung": _letters("ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"),
    "chineseCounting": _chinese,
    "chineseCountingThousand": _chinese,
    "japaneseCounting": _chinese,
    "taiwaneseCountingThousand": _chinese,
    "ideographDigital": lambda count: "".join(_DIGITS[int(one)] for one in str(abs(count))),
    "ideographTraditional": lambda count: "甲乙丙丁戊己庚辛壬癸"[count - 1 : count] or str(count),
}  # fmt: skip
