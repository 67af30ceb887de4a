"""Whether an alert is in the scope of a row: the words of the scope against what the alert says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from agents.runbooks.amounts import Range
from agents.runbooks.labels import PART, AlertFacts, AlertValue, may_be_value
from agents.runbooks.scopes import Alternative, Condition, Part, Scope
from agents.runbooks.words import alike, group_of, is_key, is_name, kind_of, spelled

Verdict = Literal["yes", "no", "unknown"]
_DOTTED = frozenset(("job", "queue", "service", "namespace"))
"""Keys of names that are told apart by what stands before a dot: `orders.new`."""
_OF_KEY, _WHOLE_WORD = 4, 3
"""How well a value fits; see `_fits`."""


def verdict(
    scope: Scope | None,
    facts: AlertFacts,
    rivals: Iterable[Scope] = (),
    column: Iterable[Scope] = (),
) -> Verdict:
    """Whether the alert is in the scope. `rivals`: those of the alert's rows in the column; what
    fits the alert better excludes this one. `column`: those of all rows of the table."""
    others, listed = (
        [one for each in rows for one in each if each != scope] for rows in (rivals, column)
    )
    answers = {_decide(one, facts, others, listed) for one in scope} if scope else {"unknown"}
    return "no" if "no" in answers else "unknown" if "unknown" in answers else "yes"


def is_excepted(scope: Scope | None, facts: AlertFacts) -> bool:
    """Whether the scope names the alert as one that it is not for."""
    return any(_fits(value, facts, one.keys) for one in scope or () for value in one.but)


def _decide(
    one: Condition, facts: AlertFacts, others: Sequence[Condition], column: Sequence[Condition]
) -> Verdict:
    if one.ranges:
        return _of_amounts(one.ranges, facts, frozenset().union(*(own.ranges for own in others)))
    if is_excepted((one,), facts):
        return "no"
    if one.holds_for == "all":
        return "yes" if not one.but or _tells(one, facts) else "unknown"
    theirs = max((_best(own.values, own.keys, facts) for own in others), default=[])
    if one.holds_for == "rest":
        all_theirs = replace(one, values=tuple(value for own in others for value in own.values))
        return "no" if theirs else "yes" if _tells(all_theirs, facts) else "unknown"
    own = _best(one.values, one.keys, facts)
    if own or theirs:
        return "yes" if own >= theirs else "no"
    is_other = (
        (one.only and facts.names_owner)
        or any(_best(own.values, one.keys, facts) >= [_WHOLE_WORD] for own in column)
        or all(_excludes(value, facts, one.keys) for value in one.values)
    )
    return "no" if is_other else "unknown"


def _best(values: Iterable[Alternative], keys: Sequence[str], facts: AlertFacts) -> list[int]:
    """How well those fit that do, the best first."""
    return sorted(filter(None, (_fits(one, facts, keys) for one in values)), reverse=True)


def _fits(value: Alternative, facts: AlertFacts, keys: Collection[str]) -> int:
    """How well it fits, 0 for not at all: in a label of its key better than in another, in a label
    better than in a word, and as a whole better than as a part."""
    words = tuple(filter(may_be_value, str(value[0]).split()))
    return _fits_all(value, facts, keys) or (
        _fits_all(words, facts, keys) if len(value) == 1 and len(words) > 1 else 0
    )


def _fits_all(parts: Alternative, facts: AlertFacts, keys: Collection[str]) -> int:
    under = facts.under(keys)
    if own := min(max((_compared(part, one) for one in under), default=0) for part in parts):
        return _OF_KEY + own
    is_stated = any(one.key in keys for one in under)
    if is_stated and all(_differs(part, one) for part in parts for one in under):
        return 0
    return min(_fits_elsewhere(part, facts) for part in parts)


def _fits_elsewhere(part: Part, facts: AlertFacts) -> int:
    if isinstance(part, str) and "*" not in part:
        return facts.names.get(spelled(part), 0)
    fits = (one.fit(own) for one in facts.elsewhere if (own := _compared(part, one)))
    return max(fits, default=0)


def _compared(part: Part, value: AlertValue) -> int:
    if isinstance(part, Range):
        return 0
    if isinstance(part, tuple):
        number = value.number_of(part[0])
        return PART if number is not None and part[1] <= number <= part[2] else 0
    return value.fits_glob(part.casefold()) if "*" in part else value.fits_name(part)


def _differs(part: Part, value: AlertValue) -> bool:
    """Whether a label of the same key is another value of the same form."""
    if isinstance(part, tuple):
        return not _compared(part, value) and is_name(value.whole[0])
    if isinstance(part, Range) or not is_name(value.whole[0]):
        return False
    if kind := kind_of(part):
        return kind in value.kinds and not _is_near(part, value)
    own, other = spelled(part.strip("*")), spelled(value.whole[0])
    return "*" in part or (is_name(part) and own not in other and other not in own)


def _is_near(part: str, value: AlertValue) -> bool:
    """Whether they may be the same place: one lies in the other, or is a country and the other a
    cloud's region of the same part of the world."""
    own, around = spelled(part), alike(part, {})
    for place in {spelled(run) for run in value.runs if kind_of(run) == "region"}:
        other = alike(place, {})
        both_clouds = own[-1].isdigit() == place[-1].isdigit()
        if own in other or place in around or (not both_clouds and around & other):
            return True
    return False


def _excludes(value: Alternative, facts: AlertFacts, keys: Collection[str]) -> bool:
    """Whether the alert has another value for one of its parts."""
    under = facts.under(keys)
    for part in value:
        if under and all(_differs(part, one) for one in under):
            return True
        kind = kind_of(part) if isinstance(part, str) else ""
        others = [one for one in facts.values if kind and kind in one.kinds]
        if others and not any(_compared(part, one) or _is_near(str(part), one) for one in others):
            return True
        dotted = [
            one for one in facts.elsewhere if group_of(one.key) in _DOTTED and "." in one.text
        ]
        if str(part).endswith(".*") and any(not _compared(part, one) for one in dotted):
            return True
        if isinstance(part, tuple) and any(one.number_of(part[0]) for one in facts.values):
            return True
    return False


def _tells(one: Condition, facts: AlertFacts) -> bool:
    """Whether the alert has a value of that kind, which is none of these."""
    if any(is_name(label.whole[0]) for label in facts.under(one.keys)):
        return True
    is_known = bool(one.kinds) or any(map(is_key, one.keys))
    return bool(one.kinds & facts.kinds) or (not is_known and facts.names_place)


def _of_amounts(own: frozenset[Range], facts: AlertFacts, rivals: frozenset[Range]) -> Verdict:
    """Amounts that no range holds say nothing. Of several ranges, the narrowest counts."""
    answers = set[bool]()
    for amount in facts.amounts:
        holding = [one for one in own | rivals if one.contains(amount)]
        best = {one for one in holding if not any(other.is_part_of(one) for other in holding)}
        answers |= {bool(best & own)} if best else set()
    return "unknown" if len(answers) != 1 else "yes" if True in answers else "no"
