"""Numbers as a spreadsheet shows them, by their format code (ECMA-376 part 1, 18.8.31).

Dates are ISO dates, whatever order a code or a country gives them: `03/04` is two dates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache

BUILTIN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy",
    18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: '#,##0;(#,##0);"-"', 42: '"$"#,##0;("$"#,##0);"-"', 43: '#,##0.00;(#,##0.00);"-"',
    44: '"$"#,##0.00;("$"#,##0.00);"-"', 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
    48: "##0.0E+0", 5: '"$"#,##0;("$"#,##0)', 6: '"$"#,##0;("$"#,##0)',
    7: '"$"#,##0.00;("$"#,##0.00)', 8: '"$"#,##0.00;("$"#,##0.00)',
}  # fmt: skip
"""Id of a number format that no file spells out → its code, without colors and alignment."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<condition>[<>=]+)(?P<limit>-?[\d.]+)\]|\[[^\]]*\]"
    r"|(?P<sign>AM/PM|A/P|General|[Ee][+-]0+|0+|[#?]|[.,%@/]|[ymdhsg]+|.)",
    re.IGNORECASE | re.DOTALL,
)
_DAYS_1900 = datetime(1899, 12, 30)
_DAYS_1904 = datetime(1904, 1, 1)
_MAX_DAY = 2_958_466
"""The day after 9999-12-31."""


@dataclass(frozen=True)
class _Token:
    kind: str
    """`text`, `elapsed`, `date`, `digit`, or the sign itself: `.`, `,`, `%`, `@`, `/`, `e`."""
    text: str


@dataclass(frozen=True)
class _Section:
    tokens: tuple[_Token, ...]
    condition: tuple[str, float] | None

    def of(self, kind: str) -> list[str]:
        return [token.text for token in self.tokens if token.kind == kind]


def show_number(value: float, code: str, *, since_1904: bool = False) -> str:
    """`0.25`, `0%` → `25%`. A code that is not understood shows the number as it is."""
    sections = _sections(code or "General")
    section, is_signed = _choose(sections, value)
    if section is None or section.of("general"):
        return _wrapped(section, show_plain(value))
    if section.of("date") or section.of("elapsed"):
        return _show_time(value, section, since_1904) or show_plain(value)
    if not section.of("digit"):
        text = "".join(section.of("text"))
        return _wrapped(section, show_plain(value)) if section.of("@") else text
    text = _show_digits(abs(value), section)
    return f"-{text}" if is_signed and value < 0 and any(map(str.isdigit, text)) else text


def show_plain(value: float) -> str:
    """Ten digits, as in a cell of usual width; of a long number all that a spreadsheet stores."""
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.10g}" if abs(value) < 1e8 else f"{value:.15g}"


@lru_cache(maxsize=1_024)
def _sections(code: str) -> tuple[_Section, ...]:
    sections: list[_Section] = []
    tokens: list[_Token] = []
    condition: tuple[str, float] | None = None
    for match in _TOKEN.finditer(code[:500]):
        if match["sign"] == ";":
            sections.append(_Section(tuple(tokens), condition))
            tokens, condition = [], None
        elif match["condition"]:
            condition = match["condition"], float(Decimal(match["limit"] or "0"))
        elif token := _token(match):
            tokens.append(token)
    return (*sections, _Section(tuple(tokens), condition))


def _token(match: re.Match[str]) -> _Token | None:
    for name in ("quoted", "escaped", "currency"):
        if match[name] is not None:
            return _Token("text", match[name])
    if match["elapsed"]:
        return _Token("elapsed", match["elapsed"][0].lower())
    sign = match["sign"]
    if sign is None:
        return None
    lower = sign.lower()
    if lower in ("general", "am/pm", "a/p"):
        return _Token("general" if lower == "general" else "date", "")
    if lower[0] in "ymdhsg":
        return _Token("date", lower)
    if lower[0] == "e" and len(lower) > 1:
        return _Token("e", lower)
    if lower[0] in "0#?":
        return _Token("digit", sign)
    return _Token(sign, sign) if sign in ".,%@/" else _Token("text", sign)


def _choose(sections: tuple[_Section, ...], value: float) -> tuple[_Section | None, bool]:
    """The section for a value, and whether it still shows a minus."""
    value = float(value)
    tests = {"<": value.__lt__, ">": value.__gt__, "=": value.__eq__}
    if any(section.condition for section in sections):
        for section in sections:
            signs, limit = section.condition or ("", 0.0)
            if not signs or any(tests[sign](limit) is True for sign in signs if sign in tests):
                return section, True
        return None, True
    if value < 0 and len(sections) > 1:
        return sections[1], False
    return (sections[2], True) if value == 0 and len(sections) > 2 else (sections[0], True)


def _wrapped(section: _Section | None, text: str) -> str:
    if section is None:
        return text
    at = next((i for i, t in enumerate(section.tokens) if t.kind in ("@", "general")), 0)
    texts = [token.text if token.kind == "text" else "" for token in section.tokens]
    return ("".join(texts[:at]) + text + "".join(texts[at:])).strip()


def _show_digits(value: float, section: _Section) -> str:
    kinds = [token.kind for token in section.tokens]
    first = kinds.index("digit")
    last = len(kinds) - 1 - kinds[::-1].index("digit")
    before, after = section.tokens[:first], section.tokens[last + 1 :]
    inner = section.tokens[first : last + 1]
    if "/" in kinds[first:last]:
        number = _show_fraction(value, inner)
    else:
        scaled = Decimal(repr(float(value))) * 100 ** kinds.count("%")
        for token in after:  # each comma behind the digits divides by a thousand
            if token.kind != ",":
                break
            scaled /= 1000
        exponent = next((token.text for token in (*inner, *after) if token.kind == "e"), "")
        number = _show_scientific(scaled, inner, exponent) if exponent else _fill(scaled, inner)
    texts = (
        "".join(t.text for t in part if t.kind in ("text", "%", ".")) for part in (before, after)
    )
    prefix, suffix = texts
    return (prefix + number + suffix).strip()


def _fill(value: Decimal, tokens: tuple[_Token, ...]) -> str:
    """Digits in the places of a code, from the right; texts between them stay."""
    point = next((i for i, token in enumerate(tokens) if token.kind == "."), len(tokens))
    places = "".join(token.text for token in tokens[point:] if token.kind == "digit")
    rounded = value.quantize(Decimal(1).scaleb(-len(places)), rounding=ROUND_HALF_UP)
    whole, _, decimals = f"{rounded:f}".partition(".")
    least = len(places.rstrip("#?"))
    decimals = decimals[:least] + decimals[least:].rstrip("0")
    needed = sum(token.text.count("0") for token in tokens[:point])
    digits = list(whole.lstrip("0").zfill(needed))
    grouped = any(token.kind == "," for token in tokens[:point])
    pieces: list[str] = []
    slots = sum(len(token.text) for token in tokens[:point] if token.kind == "digit")
    for token in reversed(tokens[:point]):
        if token.kind == "digit":
            for _ in token.text:
                slots -= 1
                moved = digits if slots == 0 else digits[-1:]
                pieces[:0] = moved
                digits = digits[: len(digits) - len(moved)]
        elif token.kind == "text":
            pieces[:0] = [token.text]
    text = "".join(pieces)
    if grouped and text.isdigit():
        text = f"{int(text):,}".zfill(needed)
    inside = "".join(token.text for token in tokens[point:] if token.kind == "text")
    return text + (f".{decimals}" if decimals else "") + inside


def _show_fraction(value: float, tokens: tuple[_Token, ...]) -> str:
    slash = [token.kind for token in tokens].index("/")
    places = sum(len(token.text) for token in tokens[slash:] if token.kind == "digit")
    fraction = Fraction(value).limit_denominator(10 ** min(places, 4) - 1)
    whole, rest = divmod(fraction.numerator, fraction.denominator)
    parts = [str(whole)] if whole or not rest else []
    return " ".join([*parts, f"{rest}/{fraction.denominator}"] if rest else parts)


def _show_scientific(value: Decimal, tokens: tuple[_Token, ...], exponent: str) -> str:
    kinds = [token.kind for token in tokens]
    end = kinds.index("e") if "e" in kinds else len(tokens)
    point = kinds.index(".") if "." in kinds[:end] else end
    places = sum(len(token.text) for token in tokens[point:end] if token.kind == "digit")
    mantissa, _, power = f"{value:.{places}E}".partition("E")
    width = len(exponent) - 2
    sign = "-" if power.startswith("-") else "+" if exponent[1] == "+" else ""
    return f"{mantissa}E{sign}{power.lstrip('+-').lstrip('0').zfill(width)}"


def _show_time(value: float, section: _Section, since_1904: bool) -> str:
    """Empty for a number that is no date."""
    letters = "".join(section.of("date"))
    if elapsed := section.of("elapsed"):
        seconds = round(abs(value) * 86_400)
        sign = "-" if value < 0 else ""
        hours, minutes = divmod(seconds // 60, 60)
        if elapsed[0] == "h":
            tail = f":{seconds % 60:02}" if "s" in letters else ""
            return f"{sign}{hours}:{minutes:02}{tail}" if letters else f"{sign}{hours}"
        if elapsed[0] == "m":
            return f"{sign}{seconds // 60}" + (f":{seconds % 60:02}" if "s" in letters else "")
        return f"{sign}{seconds}"
    if not 0 <= value < _MAX_DAY:
        return ""
    has_time = any(letter in letters for letter in "hs")
    moment = (_DAYS_1904 if since_1904 else _DAYS_1900) + timedelta(days=value)
    if not since_1904 and 1 <= value < 60:
        moment += timedelta(days=1)  # Excel counts a 29 February 1900
    if has_time:
        moment += timedelta(microseconds=500_000)
    clock = moment.strftime("%H:%M:%S" if "s" in letters else "%H:%M")
    if not any(letter in letters for letter in "yd") and (has_time or "m" not in letters):
        return clock
    if "d" not in letters and "y" in letters:
        return moment.strftime("%Y-%m" if "m" in letters else "%Y")
    day = moment.date().isoformat()
    return f"{day} {clock}" if has_time else day
