"""Decides from an alert's labels whether a row's scope applies to it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from agents.alerts.alert import (
    INSTANCE_KEYS,
    Amount,
    Label,
    Range,
    is_in_number_range,
    numbers_in,
    range_in,
    stem_and_number,
)

Verdict = Literal["equal", "holds", "any", "else", "open", "not"]
"""A scope's verdict. `equal`: a label has this value; `holds`: a label contains it; `any`: it
covers all; `else`: it covers the rest; `open`: labels do not decide; `not`: it is for others."""

Columns = Sequence[Sequence[str]]
"""The values of each column."""
_EXCEPT = re.compile(
    r"(?:(?:all|any|every\w*)\b[\w ]*?,?\s*)?\(?(?:except(?:ing)?(?: for)?|excluding|excl\.?"
    r"|but not|other than|outside(?: of)?|not(?: in| on| for)?|all but|without|unless|non(?=-))"
    r"(?:\s+|-)(?P<these>[^()]+)\)?",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"(\S[^()]*?)[\s,(]+(?:except(?:ing)?(?: for)?|excluding|excl\.?|but not|other than|without)\s+"
    r"([^()]+?)\)?",
    re.IGNORECASE,
)
_ANY = re.compile(
    r"(?:all|any|every|each|both)?\s*(?:of them|regions?|environments?|envs?|clusters?|services?"
    r"|systems?|users?|hosts?|tiers?|stages?|zones?|sites?|teams?|customers?|tenants?|countries"
    r"|markets?|classes|everyone|everywhere|everything|all|any|global(?:ly)?|worldwide)"
    r"|\*|[-–—]+|n/a|",
    re.IGNORECASE,
)
_REST = re.compile(
    r"(?:otherwise|default|else|(?:all |any |every(?:where|one|thing) )?(?:the )?"
    r"(?:others?|else|rest)(?: \w+)?)",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"(?:only|just)\s+(?:(?:for|in|on|to|at)\s+)?(\S.*)|(\S.*\S)\s+only", re.IGNORECASE
)
_WITH_ONLY = re.compile(r"(\S[^()]*?)\s*\(([^()]*\bonly\b[^()]*)\)", re.IGNORECASE)
_EITHER = re.compile(r"\s*(?:[,;/\n&+|]|\band\b|\bor\b)\s*", re.IGNORECASE)
_REMARK = re.compile(r"(\S[^()]*?)\s*\(([^()]+)\)")
_STEM_AND_SUFFIX = re.compile(r"([a-z][a-z0-9]+[-_])[a-z]{1,2}")
_MIN_ABBREVIATION_CHARS = 4
_CLOUD_REGION = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|mx|cn|uk|na)[-_]?"
    r"(?:(?:north|south|east|west|central|gov)+[-_]?)+\d*[a-z]?|([a-z]{2,4})[-_]?\d{1,2}[a-z]?"
)
_NEGATING_PREFIX = re.compile(r"\b(non|pre|post)[-_ ](?=[a-z])")
"""`pre-prod` does not count as `prod`."""
_DOTTED_NAME = re.compile(r"[a-z_]+(?:\.[a-z_]+)+", re.IGNORECASE)
_YES = frozenset(("true", "yes", "1", "y"))
_SYNONYMS = (
    frozenset(("prod", "production", "prd", "live")),
    frozenset(("staging", "stage", "stg", "preprod", "preproduction")),
    frozenset(("dev", "development")),
    frozenset(("test", "testing", "qa", "uat")),
    frozenset(("eu", "europe", "emea")),
    frozenset(("us", "usa", "united state", "america", "na", "north america")),
    frozenset(("ap", "apac", "asia", "asia pacific")),
)
"""Common synonyms of environments and regions; the domain's glossary adds others."""
_ENVIRONMENTS = frozenset().union(*_SYNONYMS[:4]) | {"sandbox", "canary", "demo", "local"}
_REGIONS = frozenset().union(*_SYNONYMS[4:]) | frozenset(
    ("uk", "sg", "de", "fr", "ie", "in", "jp", "au", "br", "ca", "cn", "hk", "latam", "singapore",
     "germany", "france", "ireland", "india", "japan", "australia", "brazil", "canada", "china")
)  # fmt: skip
_EUROPEAN = frozenset(
    ("de", "fr", "ie", "nl", "es", "it", "pl", "se", "at", "be", "fi", "germany", "france",
     "ireland")
)  # fmt: skip
_WORKLOADS = frozenset(("pod", "container"))
"""Instance keys whose values begin with the name of the workload."""
_RATINGS = frozenset(("critical", "major", "minor", "warning", "info", "page", "ticket"))
_REGION_KEY = re.compile(r"region|location|geo|country|market|datacent|\bdc\b|site", re.IGNORECASE)
_UNTELLING = frozenset(
    (*INSTANCE_KEYS, "team", "owner", "severity", "priority", "prometheus", "receiver", "message",
     "alertgroup", "service_owner", "namespace")
) - {"path"}  # fmt: skip
"""Keys whose values name one instance or its owner: a word inside them may be a coincidence."""


@dataclass(frozen=True, kw_only=True)
class AlertFacts:
    """An alert's labels, amounts and vocabulary, for comparison with the cells of its rows."""

    labels: Sequence[Label]
    amounts: Sequence[Amount] = ()
    name: str = ""
    """The alert's name as words: `Provider Timeout (Klarion)` is for one provider."""
    glossary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defined: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Abbreviation → values, as the documents define it: `Tiers: A = AMS, WAW`."""
    in_one_column: Callable[[str, Iterable[str], Iterable[str]], bool] = lambda *_: False
    """(column name, spellings of one value, spellings of another) → whether a column of this name
    lists both, so that one value excludes the other."""

    def verdict(self, cell: str, *, label: str = "", columns: Columns = ()) -> Verdict:
        """The verdict of a cell. `label`: of its column. `columns`: values of other columns, which
        show that one value excludes another."""
        cell = cell.replace("**", "").strip(" `").rstrip(".")
        if bounds := range_in(cell):
            return self._verdict_of_amounts(bounds, columns)
        if match := _WITH_ONLY.fullmatch(cell):
            if self.verdict(match[2], columns=columns) == "not":
                return "not"
            cell = match[1]
        if match := _ONLY.fullmatch(cell):
            verdict = self.verdict(match[1] or match[2], label=label, columns=columns)
            if verdict == "open" and self._names_inside(match[1] or match[2]):
                return "holds"
            return "not" if verdict == "open" and self._names_another("*" in cell) else verdict
        if (but := _BUT.fullmatch(cell)) and not _EXCEPT.fullmatch(cell):
            if self.verdict(f"except {but[2]}") == "not":
                return "not"
            cell = but[1]
        if (remark := _REMARK.fullmatch(cell)) and _EXCEPT.fullmatch(remark[2]):
            if self.verdict(remark[2]) == "not":
                return "not"
            cell = remark[1]
        return self._verdict_of_values(cell, label, columns)

    def _verdict_of_values(self, cell: str, label: str, columns: Columns) -> Verdict:
        """The verdict of a cell that lists values, covers all, or all except some."""
        if _ANY.fullmatch(cell):
            return "any"
        if _REST.fullmatch(cell):
            return "else"
        if match := _EXCEPT.fullmatch(cell):
            options = _alternatives(match["these"])
            if any(self._is(one, key, value, anywhere=True) for one in options
                   for key, value in self.labels):  # fmt: skip
                return "not"
            is_telling = any(key.casefold() not in _UNTELLING for key, _ in self.labels)
            if not is_telling:
                return "open"
            return "else" if _REST.match(cell) else "any"
        pairs = [(one, key, value) for one in _alternatives(cell) for key, value in self.labels]
        verdicts = {self._is(*pair) for pair in pairs}
        if "equal" in verdicts:
            return "equal"
        if "holds" in verdicts or any(_is_short_for(*pair, label) for pair in pairs):
            return "holds"
        return "not" if any(self._instead(*pair, label, columns) for pair in pairs) else "open"

    def _names_inside(self, cell: str) -> bool:
        """Whether a workload's name contains the value: `pod=cart-7f9` contains `cart`."""
        return any(
            self._is(one, key, value, anywhere=True)
            for one in _alternatives(cell) for key, value in self.labels if key in _WORKLOADS
        )  # fmt: skip

    def _names_another(self, by_pattern: bool) -> bool:
        """Whether a label names what the alert fired on. Environments, regions and a product's own
        fields do not. Where the scope is a pattern, an instance's name counts too."""
        return any(
            key.casefold() in (INSTANCE_KEYS if by_pattern else _WORKLOADS)
            or key.casefold() not in _UNTELLING - {"namespace"}
            for key, value in self.labels
            if (not key or key.islower())
            and not set(_words(value).split()) <= _ENVIRONMENTS | _REGIONS | _RATINGS
        )

    def has_label(self, label: str) -> bool:
        """Whether a label of the alert has this column's name. Only lower-case keys count: fields
        such as `Service: …` belong to the product's message."""
        words = _words(label.split("›")[-1])
        return bool(words) and any(key.islower() and _words(key) == words for key, _ in self.labels)

    def _verdict_of_amounts(self, bounds: Range, columns: Columns) -> Verdict:
        """The verdict of a range. Amounts outside the ranges of all rows are ignored."""
        ranges = [one for column in columns for cell in column if (one := range_in(cell))]
        narrowest = [self._narrowest(one, ranges or [bounds]) for one in self.amounts]
        contained = [bounds in holding for holding in narrowest if holding]
        if not contained:
            return "open"
        return "holds" if all(contained) else "open" if any(contained) else "not"

    @staticmethod
    def _narrowest(amount: Amount, ranges: Sequence[Range]) -> list[Range]:
        """The narrowest ranges with this amount: 94 % belongs to `above 92 %`, not `above 80 %`."""
        containing = [one for one in ranges if one.contains(amount)]
        return [one for one in containing if not any(other.is_part_of(one) for other in containing)]

    def _is(
        self, option: str, key: str, value: str, *, anywhere: bool = False
    ) -> Literal["equal", "holds", ""]:
        """Whether a label has this value. `anywhere`: a part of an instance's name counts too."""
        if "*" in option and fnmatchcase(value.casefold(), option.casefold()):
            return "holds"
        if is_in_number_range(value, option):
            return "holds"
        if "*" in option:
            return ""
        names = self._names(option).union(*map(self._names, self.defined.get(option, ())))
        if value.casefold() in _YES and key:
            value = key
        actual = self._names(value)
        if key and value.isdigit():
            actual.add(f"{key[0]}{value}".casefold())
        if set(map(_without_spaces, names)) & set(map(_without_spaces, actual)):
            return "equal"
        if names & self._names("".join(_region_of(value))):
            return "holds"
        if not anywhere and (not key or key.casefold() in _UNTELLING):
            return ""
        parts = _words(value).split()
        regions = [_CLOUD_REGION.fullmatch(part) for part in parts]
        parts += [match[2] for match in regions if match and match[2]]
        is_inside = any(_contains_run(name.split(), parts) for name in names)
        is_around = len(parts) == 1 and len(parts[0]) > 1 and any(
            _contains_run(parts, name.split()) for name in names
        )  # fmt: skip
        return "holds" if is_inside or (is_around and not anywhere) else ""

    def _instead(self, option: str, key: str, value: str, label: str, columns: Columns) -> bool:
        """Whether the label has another value of the same attribute, which excludes this one."""
        if ".*" in option and _DOTTED_NAME.fullmatch(value) and key.casefold() not in _UNTELLING:
            return True
        if _another_of(option, value, columns):
            return True
        if key and label and _words(label.split("›")[-1]) == _words(key):
            return True
        if "*" in option:
            return False
        if not key:
            return self._share_a_column(option, value, columns)
        if key.casefold() in _UNTELLING:
            return False
        if not label and _contains_run(_words(key).split(), _words(self.name).split()):
            return True
        names, actual = self._names(option), self._names(value)
        if names & _ENVIRONMENTS and actual & _ENVIRONMENTS:
            return True
        one, other = option.casefold(), value.casefold()
        if _CLOUD_REGION.fullmatch(one) and _CLOUD_REGION.fullmatch(other):
            return not (one.startswith(other) or other.startswith(one))
        if _REGION_KEY.search(f"{key} {label}"):
            here, there = (
                (here_names | self._names("".join(_region_of(one)))) & _REGIONS
                for here_names, one in ((names, option), (actual, value))
            )
            if here and there and not here & there:
                return True
        return self._share_a_column(option, value, columns) or self.in_one_column(
            key, names, actual
        )

    def _share_a_column(self, option: str, value: str, columns: Columns) -> bool:
        """Whether one column lists both values."""
        names, actual = self._names(option), self._names(value)
        for column in columns:
            cells = [cell for cell in column if not _ANY.fullmatch(cell.strip())]
            values = [self._names(one) for cell in cells for one in _alternatives(cell)]
            if any(names & one for one in values) and any(actual & one for one in values):
                return True
        return False

    def names(self, cell: str) -> set[str]:
        """All spellings of each value that a cell lists."""
        return set().union(*(self._names(one) for one in _alternatives(cell)), {""}) - {""}

    def _names(self, text: str) -> set[str]:
        """All spellings of a value: by the glossary and the common synonyms."""
        words = _words(text)
        names = {words}
        for abbreviation, meanings in self.glossary.items():
            spellings = {_words(abbreviation), *map(_words, meanings)}
            if spellings & names:
                names |= spellings
        for synonyms in _SYNONYMS:
            if synonyms & names:
                names |= synonyms
        return names - {""}


def _region_of(value: str) -> set[str]:
    """`eu-west-1` and `fr` → `eu`. Not the reverse: a row for `fr` is not for all of `eu`."""
    value = value.strip().casefold()
    if value in _EUROPEAN:
        return {"eu"}
    match = _CLOUD_REGION.fullmatch(value)
    return {match[1] or match[2]} if match else set()


def _alternatives(cell: str) -> list[str]:
    whole = cell.strip(" `()")
    without_remark = _REMARK.fullmatch(cell.strip(" `"))
    parts = (
        part.strip(" `()")
        for part in (whole, *([without_remark[1]] if without_remark else ()), *_EITHER.split(whole))
    )
    return [part for part in dict.fromkeys(parts) if part.strip("*.")]


def _words(text: str) -> str:
    """Normalizes: lower case, single spaces, no plural."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).casefold()
    text = _NEGATING_PREFIX.sub(r"\1", text)
    return " ".join(_singular(word) for word in re.split(r"[\W_]+", text) if word)


def _without_spaces(name: str) -> str:
    return name.replace(" ", "")


def _is_short_for(option: str, key: str, value: str, label: str) -> bool:
    """`channel=ecom` where the column Channel says `e-commerce`."""
    short_form, full_name = _without_spaces(_words(value)), _without_spaces(_words(option))
    same = bool(key) and _words(label.split("›")[-1]) == _words(key)
    return same and len(short_form) >= _MIN_ABBREVIATION_CHARS and full_name.startswith(short_form)


def _another_of(option: str, value: str, columns: Columns) -> bool:
    """Whether the value has the name form of a range or list and is not in it: `fe14` and
    `fe01 – fe08`, `hist-c` and `hist-a, hist-b`."""
    bounds, stem = numbers_in(option), _stem(value)
    if not stem or (bounds and bounds[0] == stem):
        return bool(stem)
    for column in columns:
        if not any(option in cell for cell in column):
            continue
        values = {each.casefold() for cell in column for each in _alternatives(cell)}
        same_stem = {each for each in values if _stem(each) == stem}
        enough = len(same_stem) > 1 or any(map(numbers_in, same_stem))
        if enough and value.casefold() not in same_stem:
            return not any(
                is_in_number_range(value, each) for each in same_stem - {option.casefold()}
            )
    return False


def _stem(name: str) -> str:
    """`hist-a` → `hist-`; `fe01` and `fe01 – fe08` → `fe`; '' for a name of another form."""
    if numbers := numbers_in(name) or stem_and_number(name):
        return numbers[0]
    match = _STEM_AND_SUFFIX.fullmatch(name.partition(":")[0].casefold())
    return match[1] if match else ""


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _contains_run(words: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether the longer sequence contains the words as one run."""
    size = len(words)
    places = range(len(longer) - size + 1) if size else ()
    return any(list(longer[at : at + size]) == list(words) for at in places)
