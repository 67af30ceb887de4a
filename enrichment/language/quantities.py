"""Parses numbers with their units: `24h`, `two business days`, `€1,200`, `12 August 2026`.

Also compares the quantities and figures of two texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_ONES_LISTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_TENS_LISTED = "thirty forty fifty sixty seventy eighty ninety"
_MONTHS_LISTED = """
jan feb mar apr may jun jul aug sep oct nov dec
january february march april may june july august september october november december
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
januar februar märz april mai juni juli august september oktober november dezember
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
januari februari maart april mei juni juli augustus september oktober november december
"""
"""Names of the months: English, then French, German, Spanish, Portuguese, Italian, Dutch."""
_SPANS_LISTED = """
time 1 seconde seconden sekunde sekunden segundos secondi
time 60 minuten minuto minutos minuti minuut
time 3600 heure stunde stunden hora horas ora ore uren
time 86400 jour tag tage tagen día días dia dias giorno giorni dag dagen
time 604800 semaine woche wochen semana semanas settimana settimane weken
months 1 mois monat monate monaten mes meses mês mese mesi maand maanden
months 12 ans jahr jahre jahren año años ano anos anno anni jaar
"""
"""Measure, size and names of a unit of time, in the same languages."""
_WORDS: dict[str, float] = {
    **{word: number for number, word in enumerate(_ONES_LISTED.split())},
    **dict(zip(_TENS_LISTED.split(), range(30, 100, 10), strict=True)),
    **{"hundred": 100, "thousand": 1000, "dozen": 12, "half": 0.5},
}
_AS_IN_ONE = frozenset({"a", "an", "one", "half a", "half an", "per", "each", "every"})
"""Words that count as a number only before a unit of measure."""
_UNITS = {
    "ms": ("time", 0.001), "millisecond": ("time", 0.001), "s": ("time", 1), "sec": ("time", 1),
    "second": ("time", 1), "min": ("time", 60), "minute": ("time", 60), "h": ("time", 3600),
    "hr": ("time", 3600), "hour": ("time", 3600), "d": ("time", 86400), "day": ("time", 86400),
    "night": ("time", 86400), "w": ("time", 604800), "wk": ("time", 604800),
    "week": ("time", 604800), "fortnight": ("time", 1209600), "month": ("months", 1),
    "mo": ("months", 1), "quarter": ("months", 3), "year": ("months", 12), "yr": ("months", 12),
    "%": ("percent", 1), "percent": ("percent", 1), "pct": ("percent", 1),
    "€": ("euro", 1), "eur": ("euro", 1), "euro": ("euro", 1),
    "$": ("dollar", 1), "usd": ("dollar", 1), "dollar": ("dollar", 1),
    "£": ("pound", 1), "gbp": ("pound", 1), "pound": ("pound", 1),
    "cent": ("cent", 1), "ct": ("cent", 1),
    "sgd": ("sgd", 1), "chf": ("chf", 1), "jpy": ("yen", 1), "inr": ("inr", 1),
    "bit": ("bits", 1), "byte": ("bytes", 1), "kb": ("bytes", 1e3), "mb": ("bytes", 1e6),
    "gb": ("bytes", 1e9), "tb": ("bytes", 1e12), "kib": ("bytes", 1024), "mib": ("bytes", 1024**2),
    "gib": ("bytes", 1024**3), "tib": ("bytes", 1024**4), "ki": ("bytes", 1024),
    "mi": ("bytes", 1024**2), "gi": ("bytes", 1024**3), "ti": ("bytes", 1024**4),
    "kilobyte": ("bytes", 1e3),
    "megabyte": ("bytes", 1e6), "gigabyte": ("bytes", 1e9), "terabyte": ("bytes", 1e12),
    "mbps": ("bits a second", 1e6), "gbps": ("bits a second", 1e9),
    "mm": ("length", 0.001), "cm": ("length", 0.01), "m": ("length", 1), "km": ("length", 1000),
    "metre": ("length", 1), "meter": ("length", 1), "mile": ("length", 1609.344),
    "kg": ("weight", 1), "g": ("weight", 0.001), "kilogram": ("weight", 1),
    "°c": ("celsius", 1), "°f": ("fahrenheit", 1),
    **{
        unit: (measure, float(size))
        for measure, size, *units in map(str.split, _SPANS_LISTED.strip().splitlines())
        for unit in units
    },
}  # fmt: skip
"""Unit → its measure, and its size in the measure's base unit."""
_CAPITALIZED_UNITS = {
    "Ko": ("bytes", 1e3), "Mo": ("bytes", 1e6), "Go": ("bytes", 1e9), "M": ("", 1), "G": ("", 1),
}  # fmt: skip
"""Units that mean something else in lower case: French bytes; `5 M nodes` are no meters."""
CURRENCIES = {"dollar": "$", "euro": "€", "pound": "£"}
_WORKING = frozenset({"business", "working", "work"})
_MONTHS = {
    name: number
    for line in _MONTHS_LISTED.splitlines()
    for number, name in enumerate(line.split(), start=1)
}
_MONTH = rf"(?:{'|'.join(sorted((*_MONTHS, 'sept'), key=len, reverse=True))})\b\.?"
_DATE = re.compile(
    rf"(?<!\w)(?:(\d{{4}})-(\d\d)-(\d\d)(?!\d)"
    rf"|(\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? ({_MONTH})(?:,?(?: de)? (\d{{4}})\b)?"
    rf"|({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?(?!\w)(?:,? (\d{{4}})\b)?"
    rf"|({_MONTH}) (\d{{4}})\b)",
    re.IGNORECASE,
)
_NUMBER_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_NUMBER = re.compile(
    r"(?<!\w)(?<![A-Za-z][-_./:])((?:[€$£]|(?:USD|EUR|GBP|SGD|CHF|JPY|INR)(?=\s?\d))\s?)?"
    rf"(?:(\d{{1,15}}(?:[.,:]\d{{1,9}}){{0,6}})|((?:{_NUMBER_WORD})(?:[- ](?:{_NUMBER_WORD}))?\b"
    r"(?:\s(?:a|an)\b)?|an?\b|(?:per|each|every)\b))",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?:\+?(?:\s|-)?(?:(full|whole|more|further|consecutive|calendar|business|working|work|u\.?s\.?)"
    r"(?:\s|-)){0,2})(%|°[cf]\b|[€$£]|[a-zéêíñ]{1,11}\b)",
    re.IGNORECASE,
)
_NOUN = re.compile(r"[ -]([a-z]{3,20})\b", re.IGNORECASE)
_NO_NOUNS_LISTED = "and are but for from has have into must not per that the was when with"
_NO_NOUNS = frozenset(_NO_NOUNS_LISTED.split())
_BETWEEN = re.compile(r"\s*(?:-|–|—|to|and|or|/|,)\s*(?:about |up to |at most )?", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HALF = re.compile(r" and (?:a half|(?:a|three) quarters?)\b", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"\d+,\d{1,2}")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Quantity:
    """A number of a text, with its unit."""

    value: str
    """Normalized: in the measure's base unit, `10:30`, `1.2.3`, or `month-day` of a date."""
    measure: str
    """`time`, `working time`, `percent` …, `date`; '' without a unit."""
    text: str
    start: int
    """Offset in its text."""
    end: int
    year: str = ""
    """Year of a date; '' if not given."""
    counts: str = ""
    """The word after a number without a unit: `nodes` in `3 nodes`."""

    def agrees(self, other: Quantity) -> bool:
        """Whether both can mean the same; a missing year, day or unit matches any."""
        if self.measure == other.measure == "date":
            same_year = not self.year or not other.year or self.year == other.year
            mine, theirs = self.value.split("-"), other.value.split("-")
            return (
                same_year
                and mine[0] == theirs[0]
                and (mine[1] == theirs[1] or "0" in (mine[1], theirs[1]))
            )
        measures = {self.measure, other.measure}
        if "cent" in measures and measures & CURRENCIES.keys():
            amounts = [
                float(one.value) / (1 + 99 * (one.measure == "cent")) for one in (self, other)
            ]
            return math.isclose(*amounts)
        if self.measure and other.measure:
            return self.value == other.value and self.measure == other.measure
        return _plain(self.text) == _plain(other.text)


def quantities(text: str) -> tuple[Quantity, ...]:
    """Quantities in order. Skips digits inside a code (`SEC-1234`). Linear in the text's length."""
    dates = list(_dates(text))
    date_spans = [(date.start, date.end) for date in dates]
    quantities: list[Quantity] = []
    next_date = 0
    for match in _NUMBER.finditer(text):
        while next_date < len(date_spans) and date_spans[next_date][1] <= match.start():
            next_date += 1
        if next_date < len(date_spans) and match.end() > date_spans[next_date][0]:
            continue
        if quantities and match.start() < quantities[-1].end:
            continue  # within `an hour and a half`
        if quantity := _quantity(text, match):
            quantities.append(quantity)
    shared = _units_shared(text, quantities)
    return tuple(sorted([*dates, *shared], key=lambda one: one.start))


def without_quantities(text: str, amounts: Sequence[Quantity]) -> str:
    """The text with spaces in place of its quantities; offsets stay."""
    for one in amounts:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    currency, digits, word = match.groups()
    end = match.end()
    if digits:
        value = _THOUSANDS.sub("", digits)
        ordinal = _ORDINAL.match(text, end)
        end = ordinal.end() if ordinal else end
    else:
        value = f"{_number_of(word.lower()):g}"
    more, end = _fraction(text, end)
    measure, base, unit_end = _unit(text, end, (currency or "").strip())
    if measure and not more:
        more, unit_end = _fraction(text, unit_end)
    if not digits and not measure and word.lower() in _AS_IN_ONE:
        return None
    if digits and not measure and end < len(text) and (text[end].isalpha() or text[end] == "_"):
        return None  # `2FA` is a code
    if measure and _DECIMAL_COMMA.fullmatch(value):
        value = value.replace(",", ".")
    if not value.replace(".", "", 1).isdigit():
        measure = ""  # `10:30 hours` and `1:1 a week` are no spans
    elif measure:
        value = f"{(float(value) + more) * base:g}"
    following = "" if measure else _following_noun(text, end)
    wording = text[match.start() : unit_end].strip()
    return Quantity(value, measure, wording, match.start(), unit_end, counts=following)


def _following_noun(text: str, end: int) -> str:
    match = _NOUN.match(text, end)
    return match[1].lower() if match and match[1].lower() not in _NO_NOUNS else ""


def _fraction(text: str, end: int) -> tuple[float, int]:
    """What `and a half` adds to a number or to its unit, and where it ends."""
    match = _HALF.match(text, end)
    if not match:
        return 0.0, end
    return {"f": 0.5, "s": 0.75}.get(match[0][-1], 0.25), match.end()


def _number_of(word: str) -> float:
    parts = re.split(r"[- ]", word.removesuffix(" an").removesuffix(" a"))
    numbers = [_WORDS.get(part, 1) for part in parts]
    if len(numbers) == 2:
        first, second = numbers
        return first * second if second >= 100 else first + second
    return numbers[0]


def _unit(text: str, end: int, currency: str) -> tuple[str, float, int]:
    if currency:
        return *_UNITS[currency.lower()], end
    match = _UNIT.match(text, end)
    if not match:
        return "", 1.0, end
    adjective, unit = (match[1] or "").lower(), match[2].lower()
    unit_of = (
        _CAPITALIZED_UNITS.get(match[2]) or _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
    )
    if not unit_of or not unit_of[0]:
        return "", 1.0, end
    measure, base = unit_of
    if adjective in _WORKING and measure == "time":
        measure = "working time"
    return measure, base, match.end()


def _units_shared(text: str, quantities: list[Quantity]) -> list[Quantity]:
    """Gives both numbers of a range their unit: `5 to 10 minutes`."""
    shared = list(quantities)
    for place in range(len(shared) - 2, -1, -1):
        this, following = shared[place], shared[place + 1]
        if this.measure or not following.measure or ":" in this.value:
            continue
        if following.start - this.end > 16 or not _BETWEEN.fullmatch(
            text, this.end, following.start
        ):
            continue
        unit = text[following.start : following.end][len(_leading(following.text)) :]
        wording = f"{this.text}{unit}"
        number = _NUMBER.match(wording)
        if number and (whole := _quantity(wording, number)):
            shared[place] = replace(this, value=whole.value, measure=whole.measure)
    return shared


def _leading(number: str) -> str:
    match = re.match(r"[€$£]?\s?[\d.,:]+|[a-z]+", number, re.IGNORECASE)
    return match[0] if match else ""


def _dates(text: str) -> Iterator[Quantity]:
    for match in _DATE.finditer(text):
        year, month, day, day2, month2, year2, month3, day3, year3, month4, year4 = match.groups()
        name = month2 or month3 or month4
        number = int(month) if month else _number_of_month(name or "")
        on = int(day or day2 or day3 or 0)
        year_text = year or year2 or year3 or year4 or ""
        yield Quantity(f"{number}-{on}", "date", match[0], *match.span(), year=year_text)


def _number_of_month(name: str) -> int:
    name = name.lower().rstrip(".")
    return _MONTHS.get(name) or _MONTHS.get(name[:3], 0)


def _plain(number: str) -> str:
    """The number without its unit."""
    leading = _leading(number)
    word = leading.lower()
    if word in _WORDS:
        return f"{_WORDS[word]:g}"
    if word in _AS_IN_ONE:
        return "1"
    bare = _THOUSANDS.sub("", leading.lstrip("€$£ ")).rstrip(".,:")
    return f"{float(bare):g}" if bare.replace(".", "", 1).isdigit() else bare


_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")


def figures(text: str) -> frozenset[str]:
    """Figures of a text, each once: `3`, `10:30`, `1.2.3`; `1,200` and `1200` are the same."""
    return frozenset(_THOUSANDS.sub("", figure) for figure in _FIGURE.findall(text))


_FREQUENCIES = (
    (r"hourly", "1 hour"), (r"daily|nightly", "1 day"), (r"bi-?weekly|fortnightly", "2 weeks"),
    (r"weekly", "1 week"), (r"monthly", "1 month"), (r"quarterly", "3 months"),
    (r"(?:semi-?|bi)annual(?:ly)?|half-?yearly", "6 months"), (r"annual(?:ly)?|yearly", "1 year"),
    (r"every (?:other|second) (minute|hour|day|week|month|quarter|year)", r"2 \1"),
)  # fmt: skip


def intervals(text: str) -> tuple[Quantity, ...]:
    """The times that adverbs of frequency mean: 14 days for `biweekly`."""
    return tuple(
        quantity
        for pattern, span in _FREQUENCIES
        for match in re.finditer(rf"(?<![\w-])(?:{pattern})\b", text, re.IGNORECASE)
        for quantity in quantities(match.expand(span))
    )


def unit_in(text: str) -> str:
    """The first word that is a unit of measure, as in `Memory (MB)`; '' without one."""
    words = re.findall(r"[^\W\d_]+|[€$£%]", text)
    return next((one for one in words if quantities(f"2 {one}")[0].measure), "")


def is_rounded(one: Quantity, exact: Quantity) -> bool:
    """Whether the first is the second with fewer decimals: 228 for 227.96."""
    numbers = [_THOUSANDS.sub("", match[0]) for each in (one, exact)
               if (match := re.search(r"\d[\d.,]*\d|\d", each.text))]  # fmt: skip
    if len(numbers) < 2 or not all(each.replace(".", "", 1).isdigit() for each in numbers):
        return False
    decimals = [len(each.partition(".")[2]) for each in numbers]
    return decimals[0] < decimals[1] and float(numbers[0]) == round(float(numbers[1]), decimals[0])
