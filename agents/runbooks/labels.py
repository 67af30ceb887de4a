"""Whether what a row is for holds for an alert, by the alert's labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from agents.alerts.alert import INSTANCE_KEYS, Label
from agents.alerts.amounts import (
    Amount,
    Range,
    is_in_number_range,
    numbers_in,
    range_in,
    stem_and_number,
)

Holds = Literal["equal", "holds", "any", "else", "open", "not"]
"""The label says just this, or holds it among others; it is for all; for the rest; nobody can tell;
it is for others."""

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
_STEMMED = re.compile(r"([a-z][a-z0-9]+[-_])[a-z]{1,2}")
_SHORTEST = 4
_CLOUD_REGION = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|mx|cn|uk|na)[-_]?"
    r"(?:(?:north|south|east|west|central|gov)+[-_]?)+\d*[a-z]?|([a-z]{2,4})[-_]?\d{1,2}[a-z]?"
)
_PREFIXED = re.compile(r"\b(non|pre|post)[-_ ](?=[a-z])")
"""`pre-prod` holds no `prod`."""
_DOTTED = re.compile(r"[a-z_]+(?:\.[a-z_]+)+", re.IGNORECASE)
_YES = frozenset(("true", "yes", "1", "y"))
_ALIKE = (
    frozenset(("prod", "production", "prd", "live")),
    frozenset(("staging", "stage", "stg", "preprod", "preproduction")),
    frozenset(("dev", "development")),
    frozenset(("test", "testing", "qa", "uat")),
    frozenset(("eu", "europe", "emea")),
    frozenset(("us", "usa", "united state", "america", "na", "north america")),
    frozenset(("ap", "apac", "asia", "asia pacific")),
)
"""What people of the trade write one for the other; the rest is for the domain's glossary."""
_ENVIRONMENTS = frozenset().union(*_ALIKE[:4]) | {"sandbox", "canary", "demo", "local"}
_REGIONS = frozenset().union(*_ALIKE[4:]) | frozenset(
    ("uk", "sg", "de", "fr", "ie", "in", "jp", "au", "br", "ca", "cn", "hk", "latam", "singapore",
     "germany", "france", "ireland", "india", "japan", "australia", "brazil", "canada", "china")
)  # fmt: skip
_EUROPEAN = frozenset(
    ("de", "fr", "ie", "nl", "es", "it", "pl", "se", "at", "be", "fi", "germany", "france",
     "ireland")
)  # fmt: skip
_WORKLOADS = frozenset(("pod", "container"))
"""Of the instance keys those whose values begin with what runs there."""
_RATINGS = frozenset(("critical", "major", "minor", "warning", "info", "page", "ticket"))
_REGION_KEY = re.compile(r"region|location|geo|country|market|datacent|\bdc\b|site", re.IGNORECASE)
_UNTELLING = frozenset(
    (*INSTANCE_KEYS, "team", "owner", "severity", "priority", "prometheus", "receiver", "message",
     "alertgroup", "service_owner", "namespace")
) - {"path"}  # fmt: skip
"""Keys whose values name one thing or its owner: a word within them is there by chance."""


@dataclass(frozen=True, kw_only=True)
class AlertFacts:
    """What is known of an alert beside its name."""

    labels: Sequence[Label]
    amounts: Sequence[Amount] = ()
    name: str = ""
    """Of the alert, spelled out: `Provider Timeout (Klarion)` is for one provider."""
    glossary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defined: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What documents say that a value stands for: `Tiers: A = AMS, WAW`."""
    in_one_column: Callable[[str, Iterable[str], Iterable[str]], bool] = lambda *_: False
    """Whether the documents list these two, each in all its spellings, in a column of this name:
    the one is said in place of the other."""

    def holds(self, said: str, *, label: str = "", beside: Sequence[Sequence[str]] = ()) -> Holds:
        """Of a cell. `label`: its column's. `beside`: values of each of the other columns, by which
        it is known that one value stands in place of another."""
        said = said.replace("**", "").strip(" `").rstrip(".")
        if within := range_in(said):
            return self._reaches(within, beside)
        if found := _WITH_ONLY.fullmatch(said):
            if self.holds(found[2], beside=beside) == "not":
                return "not"
            said = found[1]
        if found := _ONLY.fullmatch(said):
            held = self.holds(found[1] or found[2], label=label, beside=beside)
            if held == "open" and self._names_inside(found[1] or found[2]):
                return "holds"
            return "not" if held == "open" and self._names_another("*" in said) else held
        if (but := _BUT.fullmatch(said)) and not _EXCEPT.fullmatch(said):
            if self.holds(f"except {but[2]}") == "not":
                return "not"
            said = but[1]
        if (remark := _REMARK.fullmatch(said)) and _EXCEPT.fullmatch(remark[2]):
            if self.holds(remark[2]) == "not":
                return "not"
            said = remark[1]
        return self._among(said, label, beside)

    def _among(self, said: str, label: str, beside: Sequence[Sequence[str]]) -> Holds:
        """Of a cell that lists values, or all, or all but some."""
        if _ANY.fullmatch(said):
            return "any"
        if _REST.fullmatch(said):
            return "else"
        if found := _EXCEPT.fullmatch(said):
            these = _alternatives(found["these"])
            if any(self._is(one, key, value, anywhere=True) for one in these
                   for key, value in self.labels):  # fmt: skip
                return "not"
            telling = any(key.casefold() not in _UNTELLING for key, _ in self.labels)
            if not telling:
                return "open"
            return "else" if _REST.match(said) else "any"
        these = _alternatives(said)
        found_here = {
            self._is(one, key, value) for one in these for key, value in self.labels
        }  # fmt: skip
        if "equal" in found_here:
            return "equal"
        if "holds" in found_here:
            return "holds"
        if any(
            _is_short_for(one, key, value, label) for one in these for key, value in self.labels
        ):
            return "holds"
        others = any(
            self._instead(one, key, value, label, beside)
            for one in these for key, value in self.labels
        )  # fmt: skip
        return "not" if others else "open"

    def _names_inside(self, said: str) -> bool:
        """`pod=cart-7f9` is of `cart`."""
        return any(
            self._is(one, key, value, anywhere=True)
            for one in _alternatives(said) for key, value in self.labels if key in _WORKLOADS
        )  # fmt: skip

    def _names_another(self, by_pattern: bool) -> bool:
        """Whether a label says what it fired on; an environment, a region and a product's own
        fields don't. Where a pattern says what a scope is, the name of one thing tells, too."""
        return any(
            key.casefold() in (INSTANCE_KEYS if by_pattern else _WORKLOADS)
            or key.casefold() not in _UNTELLING - {"namespace"}
            for key, value in self.labels
            if (not key or key.islower())
            and not set(_words(value).split()) <= _ENVIRONMENTS | _REGIONS | _RATINGS
        )

    def speaks_of(self, label: str) -> bool:
        """Whether a label of the alert is called like this column. Written small: the fields of a
        product's message, `Service: …`, are its own."""
        words = _words(label.split("›")[-1])
        return bool(words) and any(key.islower() and _words(key) == words for key, _ in self.labels)

    def _reaches(self, within: Range, beside: Sequence[Sequence[str]]) -> Holds:
        """By the amounts that one of the rows is for; what is in none of them is something else."""
        ranges = [one for column in beside for cell in column if (one := range_in(cell))]
        mine = [self._narrowest(one, ranges or [within]) for one in self.amounts]
        inside = [within in found for found in mine if found]
        if not inside:
            return "open"
        return "holds" if all(inside) else "open" if any(inside) else "not"

    @staticmethod
    def _narrowest(amount: Amount, ranges: Sequence[Range]) -> list[Range]:
        """94 % is for the row above 92 % and not for the one above 80 %."""
        holding = [one for one in ranges if one.contains(amount)]
        return [one for one in holding if not any(other.is_part_of(one) for other in holding)]

    def _is(
        self, said: str, key: str, value: str, *, anywhere: bool = False
    ) -> Literal["equal", "holds", ""]:
        """`anywhere`: also within the name of a host."""
        if "*" in said and fnmatchcase(value.casefold(), said.casefold()):
            return "holds"
        if is_in_number_range(value, said):
            return "holds"
        if "*" in said:
            return ""
        wanted = self._names(said).union(*map(self._names, self.defined.get(said, ())))
        if value.casefold() in _YES and key:
            value = key
        known = self._names(value)
        if key and value.isdigit():
            known.add(f"{key[0]}{value}".casefold())
        if wanted & known or {_joined(one) for one in wanted} & {_joined(one) for one in known}:
            return "equal"
        if wanted & self._names("".join(_region_of(value))):
            return "holds"
        if not anywhere and (not key or key.casefold() in _UNTELLING):
            return ""
        parts = _words(value).split()
        short = [_CLOUD_REGION.fullmatch(part) for part in parts]
        parts += [found[2] for found in short if found and found[2]]
        inside = any(_within(name.split(), parts) for name in wanted)
        around = len(parts) == 1 and len(parts[0]) > 1 and any(
            _within(parts, name.split()) for name in wanted
        )  # fmt: skip
        return "holds" if inside or (around and not anywhere) else ""

    def _instead(
        self, said: str, key: str, value: str, label: str, beside: Sequence[Sequence[str]]
    ) -> bool:
        """Whether the label says another value of what this one is a value of."""
        if ".*" in said and _DOTTED.fullmatch(value) and key.casefold() not in _UNTELLING:
            return True
        if _another_of(said, value, beside):
            return True
        if key and label and _words(label.split("›")[-1]) == _words(key):
            return True
        if "*" in said:
            return False
        if not key:
            return self._listed_beside(said, value, beside)
        if key.casefold() in _UNTELLING:
            return False
        if not label and _within(_words(key).split(), _words(self.name).split()):
            return True
        mine, theirs = self._names(said), self._names(value)
        if mine & _ENVIRONMENTS and theirs & _ENVIRONMENTS:
            return True
        one, other = said.casefold(), value.casefold()
        if _CLOUD_REGION.fullmatch(one) and _CLOUD_REGION.fullmatch(other):
            return not (one.startswith(other) or other.startswith(one))
        if _REGION_KEY.search(f"{key} {label}"):
            here, there = (
                (names | self._names("".join(_region_of(one)))) & _REGIONS
                for names, one in ((mine, said), (theirs, value))
            )
            if here and there and not here & there:
                return True
        return self._listed_beside(said, value, beside) or self.in_one_column(key, mine, theirs)

    def _listed_beside(self, said: str, value: str, beside: Sequence[Sequence[str]]) -> bool:
        """Whether one column lists them both."""
        mine, theirs = self._names(said), self._names(value)
        for column in beside:
            cells = [cell for cell in column if not _ANY.fullmatch(cell.strip())]
            values = [self._names(one) for cell in cells for one in _alternatives(cell)]
            if any(mine & one for one in values) and any(theirs & one for one in values):
                return True
        return False

    def names(self, said: str) -> set[str]:
        """See `_names`; of each of several that a cell lists."""
        return set().union(*(self._names(one) for one in _alternatives(said)), {""}) - {""}

    def _names(self, said: str) -> set[str]:
        """In all the ways in which it is written."""
        plain = _words(said)
        found = {plain}
        for short, long in self.glossary.items():
            written = {_words(short), *map(_words, long)}
            if written & found:
                found |= written
        for alike in _ALIKE:
            if alike & found:
                found |= alike
        return found - {""}


def _region_of(value: str) -> set[str]:
    """`eu` of `eu-west-1` and of `fr`. A row for that one alone is not for all of `eu`."""
    value = value.strip().casefold()
    if value in _EUROPEAN:
        return {"eu"}
    found = _CLOUD_REGION.fullmatch(value)
    return {found[1] or found[2]} if found else set()


def _alternatives(said: str) -> list[str]:
    whole = said.strip(" `()")
    bare = _REMARK.fullmatch(said.strip(" `"))
    parts = (
        part.strip(" `()") for part in (whole, *([bare[1]] if bare else ()), *_EITHER.split(whole))
    )
    return [part for part in dict.fromkeys(parts) if part.strip("*.")]


def _words(text: str) -> str:
    """Small letters, single spaces, no plural."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).casefold()
    text = _PREFIXED.sub(r"\1", text)
    return " ".join(_singular(word) for word in re.split(r"[\W_]+", text) if word)


def _joined(name: str) -> str:
    return name.replace(" ", "")


def _is_short_for(said: str, key: str, value: str, label: str) -> bool:
    """`channel=ecom` where the column Channel says `e-commerce`."""
    short, long = _joined(_words(value)), _joined(_words(said))
    same = bool(key) and _words(label.split("›")[-1]) == _words(key)
    return same and len(short) >= _SHORTEST and long.startswith(short)


def _another_of(said: str, value: str, beside: Sequence[Sequence[str]]) -> bool:
    """Whether it is called like those of a range, or of a list, and is none of them: `fe14` of
    `fe01 – fe08`, `hist-c` of `hist-a, hist-b`."""
    within, stem = numbers_in(said), _stem(value)
    if not stem or (within and within[0] == stem):
        return bool(stem)
    for column in beside:
        if not any(said in cell for cell in column):
            continue
        listed = {each.casefold() for cell in column for each in _alternatives(cell)}
        alike = {each for each in listed if _stem(each) == stem}
        enough = len(alike) > 1 or any(map(numbers_in, alike))
        if enough and value.casefold() not in alike:
            return not any(is_in_number_range(value, each) for each in alike - {said.casefold()})
    return False


def _stem(name: str) -> str:
    """`hist-` of `hist-a`, `fe` of `fe01` and of a range; '' of a name of another form."""
    if counted := numbers_in(name) or stem_and_number(name):
        return counted[0]
    found = _STEMMED.fullmatch(name.partition(":")[0].casefold())
    return found[1] if found else ""


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _within(words: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether the one stands in the other, in one piece."""
    size = len(words)
    return any(list(longer[at : at + size]) == list(words) for at in _places(longer, size))


def _places(longer: Sequence[str], size: int) -> Iterator[int]:
    return iter(range(len(longer) - size + 1)) if size else iter(())
