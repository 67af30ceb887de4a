"""Whether the cited sources hold up one claim, by words alone: why not, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from agents.checks.claims import Claim
from agents.checks.polarity import is_not, operators_fault
from agents.checks.statements import CitedStatement, CitedText
from agents.checks.table_cells import cell_fault
from enrichment.language.quantities import Quantity, quantities
from enrichment.language.words import is_code, naming_words, stem, stems, tokens

COVERED = 0.5
"""Share of a claim's naming words that must stand in the few statements that say most of it."""
_CLOSER = 0.34
"""How much better a statement with another value must fit a claim before that value is the one
that was meant."""
_MOST_TERMS = 8
"""Figures of one claim that are tried as parts of a sum."""
_WINDOW = 4
"""Statements that one claim may draw from."""
_CONDITION = re.compile(
    r"\b(?:unless|except(?:\s(?:for|when|if|in|where))?|only\s(?:if|when|where|after|with|for|in|on"
    r"|by|during|to)|provided(?:\sthat)?|as\slong\sas|but\snot)\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(r"[\s*_]*(?:yes|no|not)\b", re.IGNORECASE)
"""`Not double.`: a verdict on the question, whose words it may turn as it likes."""
_DENIED = re.compile(
    r"(?:\bnot|\binstead of|\brather than|\bnor)\s+(?:the\s+|just\s+)?$", re.IGNORECASE
)
"""`10 minutes, not 15`: what the second figure is, nobody claims."""
_EXPLAINED = re.compile(r"\(([^()+]{1,80}(?:\+[^()+]{1,80}){1,8})\)")
_FIRST_FIGURE = re.compile(r"\d{1,9}(?:\.\d{1,4})?")
_OF = re.compile(r"\s+of(?: the| those| these)?\s+")
_WORKED_OUT = re.compile(
    r"\b(?:in all|altogether|in total|total(?:s|ling)?|together|so|makes|sum|leaves?|left)\b|=",
    re.IGNORECASE,
)
_ELSEWHERE = 0.4
"""A statement that shares no more than this with a claim speaks of something else."""
_QUOTED_WORDS = 3
_QUOTED_SHARE = 0.8
"""Of a statement that a claim repeats nearly word by word: then a condition of it is missed."""


@dataclass(frozen=True)
class FromAsker:
    """What the asker and the glossary contribute to an answer."""

    words: frozenset[str]
    lower: str
    figures: tuple[Quantity, ...]
    same: Mapping[str, frozenset[str]]
    """Stem → stems of what the glossary takes for the same."""


def asked_for(text: str, glossary: Mapping[str, Sequence[str]]) -> FromAsker:
    same: dict[str, frozenset[str]] = {}
    for short, long in glossary.items():
        forms = stems(" ".join((short, *long)))
        for word in forms:
            same[word] = same.get(word, frozenset()) | forms
    return FromAsker(stems(text), text.casefold(), quantities(text), same)


def fault_of(claim: Claim, shown: CitedText, asked: FromAsker, answer: frozenset[str]) -> str:
    """Why the sources don't hold up the claim; '' when they do, as far as words tell."""
    numbers = _figure_fault(claim, shown, asked)
    if numbers or claim.kind == "code":
        return numbers
    return (
        _name_fault(claim, shown, asked)
        or _coverage_fault(claim, shown, asked)
        or cell_fault(claim, shown)
        or _meant_fault(claim, shown)
        or _meant_name_fault(claim, shown)
        or operators_fault(claim.text, shown, answer)
        or _condition_fault(claim, shown, asked, answer)
    )


def _figure_fault(claim: Claim, shown: CitedText, asked: FromAsker) -> str:
    found = quantities(claim.text)
    grounded = [shown.has(mine) for mine in found]
    excused, wrong = _sums(claim, found)
    if wrong:
        return wrong
    known = [one for one, held in zip(found, grounded, strict=True) if held]
    excused |= _totals_said(claim, [*known, *asked.figures], found) | _shares_said(
        claim, known, found
    )
    excused |= _totals_explained(claim, found)
    for mine, held in zip(found, grounded, strict=True):
        if held or mine in excused or _is_a_count(mine, claim):
            continue
        if _DENIED.search(claim.text[max(0, mine.start - 24) : mine.start]):
            continue
        if claim.kind == "code" and mine.written in asked.lower:
            continue
        if any(mine.agrees(one) for one in asked.figures) and _compares(claim.text, grounded):
            continue
        said = "figure" if mine.measure in ("", "date") else "quantity"
        return f"the {said} {mine.written} is not in {_named(claim)}"
    return ""


def _compares(text: str, grounded: Sequence[bool]) -> bool:
    """Whether a figure of the question's may be repeated: it is denied, or set beside another."""
    words = [token.casefold() for token in tokens(text)]
    return any(grounded) or any(
        is_not(word) or word in ("too", "exceeds", "above", "over") for word in words
    )


def _is_a_count(quantity: Quantity, claim: Claim) -> bool:
    """`Three roles approve: A, B and C`: a small number in words that the claim itself counts."""
    if quantity.measure or not quantity.value.isdigit():
        return False
    parts = len(re.findall(r"[,;:]|\band\b|\bor\b", claim.text)) + 1
    return quantity.written.isalpha() and 1 <= int(quantity.value) <= max(2, parts)


def _sums(claim: Claim, found: Sequence[Quantity]) -> tuple[set[Quantity], str]:
    """Totals that the claim works out from its other figures, and what is wrong with one."""
    excused: set[Quantity] = set()
    place = 0
    while place < len(found) - 1:
        terms = [found[place]]
        signs: list[str] = []
        while place + len(terms) < len(found):
            sign = _sign(claim.text, terms[-1], found[place + len(terms)])
            if not sign:
                break
            signs.append(sign)
            terms.append(found[place + len(terms)])
        place += len(terms)
        if not signs:
            continue
        total = _worked_out(terms, signs)
        if total is None:
            continue
        is_equal = place < len(found) and "=" in claim.text[terms[-1].end : found[place].start]
        is_shown = (
            claim.text[: terms[0].start].endswith("(") and claim.text[terms[-1].end :][:1] == ")"
        )
        if "-" in signs and not (is_equal or is_shown):
            continue
        others = [one for one in found if one not in terms]
        totals = [one for one in others if _is_total(one, total)]
        if is_equal and found[place] not in totals:
            return (
                excused,
                f"{claim.text[terms[0].start : terms[-1].end]} is not {found[place].written}",
            )
        excused.update(totals)
    return excused, ""


def _totals_said(
    claim: Claim, parts: Sequence[Quantity], found: Sequence[Quantity]
) -> set[Quantity]:
    """`10 minutes and 20 more, so 30 minutes in all`: worked out of two that the sources hold."""
    if not _WORKED_OUT.search(claim.text):
        return set()
    pairs = list(combinations(_numbers(parts[:_MOST_TERMS]), 2))
    return {
        mine
        for mine, total in _numbers(found[:_MOST_TERMS])
        if any(_makes(total, mine, left, right) for left, right in pairs)
    }


def _shares_said(
    claim: Claim, parts: Sequence[Quantity], found: Sequence[Quantity]
) -> set[Quantity]:
    """`15 days (25% of 60 days)`."""
    shares = {
        (whole.measure, float(share.value) * number / 100)
        for share, (whole, number) in product(parts[:_MOST_TERMS], _numbers(parts[:_MOST_TERMS]))
        if share.measure == "percent" and _OF.fullmatch(claim.text[share.end : whole.start])
    }
    return {one for one, number in _numbers(found[:_MOST_TERMS]) if (one.measure, number) in shares}


def _totals_explained(claim: Claim, found: Sequence[Quantity]) -> set[Quantity]:
    """`8 points (4 for the size + 3 for leaving the EU + 1 for the vendor)`; the terms
    themselves are looked for in the sources like any other figure."""
    excused: set[Quantity] = set()
    for explained in _EXPLAINED.finditer(claim.text):
        terms = [_FIRST_FIGURE.search(term) for term in explained[1].split("+")]
        if all(terms):
            total = sum(float(term[0]) for term in terms if term)
            before = [one for one in found if one.end <= explained.start()]
            excused |= {one for one, number in _numbers(before[-1:]) if number == total}
    return excused


def _numbers(found: Sequence[Quantity]) -> list[tuple[Quantity, float]]:
    return [(one, float(one.value)) for one in found if one.value.replace(".", "", 1).isdigit()]


def _makes(
    total: float,
    mine: Quantity,
    left: tuple[Quantity, float],
    right: tuple[Quantity, float],
) -> bool:
    """Whether two figures add up to a third, differ by it, or one is so many times the other."""
    measures = {left[0].measure, right[0].measure}
    if measures == {mine.measure} and total in (left[1] + right[1], abs(left[1] - right[1])):
        return True
    return "" in measures and total == left[1] * right[1]


def _sign(text: str, left: Quantity, right: Quantity) -> str:
    between = text[left.end : right.start]
    if len(between) > 40:
        return ""
    for sign, written in (
        ("+", "+"),
        ("x", "×"),
        ("x", "*"),
        ("x", " x "),
        ("-", " - "),
        ("-", " − "),
        ("-", " – "),
    ):
        if written in between and "=" not in between:
            return sign
    return ""


def _worked_out(terms: Sequence[Quantity], signs: Sequence[str]) -> tuple[float, float] | None:
    """The result as written, and in the base of the terms' measure."""
    try:
        as_written = [float(re.sub(r"[^\d.]", "", one.written) or one.value) for one in terms]
        in_base = [float(one.value) for one in terms]
    except ValueError:
        return None
    results = []
    for values in (as_written, in_base):
        result = values[0]
        for sign, value in zip(signs, values[1:], strict=True):
            result = (
                result + value if sign == "+" else result * value if sign == "x" else result - value
            )
        results.append(result)
    return results[0], results[1]


def _is_total(quantity: Quantity, total: tuple[float, float]) -> bool:
    written = re.sub(r"[^\d.]", "", quantity.written).rstrip(".")
    candidates = {quantity.value, written}
    return any(_close(one, result) for one in candidates for result in total)


def _close(value: str, result: float) -> bool:
    return value.replace(".", "", 1).isdigit() and abs(float(value) - result) < 1e-6 * max(
        1, abs(result)
    )


def _name_fault(claim: Claim, shown: CitedText, asked: FromAsker) -> str:
    for name in _names(_without_dates(claim.text)):
        lowered = name.casefold()
        if lowered in shown.lower or lowered in asked.lower:
            continue
        parts = stems(name)
        known = shown.stems | asked.words
        if not is_code(name) and parts and parts <= known:
            continue
        if is_code(name) and name.isalpha() and (parts & known or _initials(name, shown)):
            continue
        if "-" in name and not any(map(str.isdigit, name)):
            pieces = [stem(one.casefold()) for one in name.split("-") if len(one) > 1]
            least = len(pieces) if len(pieces) > 2 else 1
            if sum(one in known or one[:5] in shown.beginnings for one in pieces) >= least:
                continue
        if any(asked.same.get(part, frozenset()) & shown.stems for part in (*parts, lowered)):
            continue
        return f"the name {name!r} is not in {_named(claim)}"
    return ""


def _without_dates(text: str) -> str:
    """With spaces in their place: a month is no name."""
    for one in quantities(text):
        if one.measure == "date":
            text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def _names(text: str) -> Iterator[str]:
    """Codes, and words in capitals that don't open a sentence."""
    opening = True
    for match in re.finditer(r"[\w][\w./:+&'’@-]*", text):
        word = match[0].rstrip(".:/'’-")
        before = text[max(0, match.start() - 3) : match.start()].rstrip()
        opens = opening or before.endswith(
            (".", ":", "!", "?", "“", '"', "(", "|", "*", "—", "–", "-")
        )
        opening = False
        if not word or word[0].isdigit():
            continue
        if is_code(word):
            yield word
        elif not opens and word[0].isupper() and len(word) > 1 and stems(word):
            yield word.removesuffix("'s").removesuffix("’s")


def _initials(name: str, shown: CitedText) -> bool:
    """Whether the source writes a short form out: `MFA`, `multi-factor authentication`."""
    letters = name.casefold()
    parts = re.findall(r"[a-z0-9]+", shown.lower)
    initials = "".join(part[0] for part in parts)
    return len(letters) > 1 and letters in initials


def _coverage_fault(claim: Claim, shown: CitedText, asked: FromAsker) -> str:
    said = naming_words(_without_dates(claim.text))
    named = {word for word in said if not word.isdigit() and len(word) > 1}
    own = {word for word in named if word in shown.stems or word not in asked.words}
    if not own or (len(own) == 1 and _FRAGMENT.match(claim.text)):
        return ""
    share = len(own & _window(frozenset(own), shown, asked)) / len(own)
    if share >= COVERED:
        return ""
    missing = [written for word, written in said.items() if word in own]
    absent = [word for word in missing if stem(word) not in shown.stems][:4] or missing[:4]
    return f"{_named(claim)} does not say this: {', '.join(absent)}"


def _window(own: frozenset[str], shown: CitedText, asked: FromAsker) -> frozenset[str]:
    """Which of the words a few statements hold together, in these or similar forms."""
    held: set[str] = set(own & shown.place)
    for word in own - shown.stems:
        is_similar = len(word) >= 5 and word[:5] in shown.beginnings
        if is_similar or asked.same.get(word, frozenset()) & shown.stems:
            held.add(word)
    left = own & shown.stems
    for _ in range(_WINDOW):
        ranked = shown.overlap(left)
        if not ranked:
            break
        best = max(ranked, key=lambda place: ranked[place])
        held |= left & shown.statements[best].stems
        left -= shown.statements[best].stems
    return frozenset(held)


def _meant_fault(claim: Claim, shown: CitedText) -> str:
    """A value that the source has for something else than the claim names."""
    found = [one for one in quantities(claim.text) if one.measure and one.measure != "date"]
    for mine in found:
        around = stems(f"{claim.around} {claim.text[: mine.start]} {claim.text[mine.end :]}")
        around = frozenset(word for word in around if not word[0].isdigit())
        ranked = shown.overlap(around)
        with_it = max(
            (
                ranked.get(place, 0.0)
                for place, one in enumerate(shown.statements)
                if _has(one, mine)
            ),
            default=None,
        )
        if with_it is None:
            continue
        for place, share in ranked.items():
            number = shown.statements[place].number
            other = _instead(shown.statements[place], mine, found)
            if other and share - with_it > _CLOSER:
                return f"source {number} has {other.written} here, not {mine.written}"
    return ""


def _meant_name_fault(claim: Claim, shown: CitedText) -> str:
    """A name that the source has for something else than the claim says of it."""
    names = {
        stem(name.casefold()): name
        for name in _names(_without_dates(claim.text))
        if not is_code(name)
    }
    whole = frozenset(
        word for word in stems(f"{claim.around} {claim.text}") if not word[0].isdigit()
    )
    for word, name in names.items():
        if word not in shown.stems or word in shown.place:
            continue
        ranked = shown.overlap(whole - {word})
        holding = [place for place, one in enumerate(shown.statements) if word in one.stems]
        with_it = max((ranked.get(place, 0.0) for place in holding), default=None)
        if with_it is None:
            continue
        for place, share in ranked.items():
            statement = shown.statements[place]
            if statement.table is None and share >= _QUOTED_SHARE and with_it < _ELSEWHERE:
                others = [
                    one
                    for one in _names(statement.text)
                    if stem(one.casefold()) not in whole and not is_code(one)
                ]
                if others:
                    return f"source {statement.number} says this of {others[0]!r}, not of {name!r}"
    return ""


def _has(statement: CitedStatement, mine: Quantity) -> bool:
    return any(mine.agrees(theirs) for theirs in statement.quantities)


def _instead(
    statement: CitedStatement, mine: Quantity, said: Sequence[Quantity]
) -> Quantity | None:
    """Another value of the same measure, which the claim doesn't say as well."""
    theirs = [one for one in statement.quantities if one.measure == mine.measure]
    if not theirs or any(one.agrees(each) for one in theirs for each in said):
        return None
    return theirs[0]


def _condition_fault(
    claim: Claim, shown: CitedText, asked: FromAsker, answer: frozenset[str]
) -> str:
    named = frozenset(word for word in stems(claim.text) if not word[0].isdigit())
    if len(named) < _QUOTED_WORDS or claim.cells:
        return ""
    known = asked.words | stems(" ".join(answer)) | shown.place
    for statement in shown.statements:
        if statement.table is not None or len(named & statement.stems) < _QUOTED_SHARE * len(named):
            continue
        for kept, condition in _conditioned(statement.text):
            whole, rest = stems(condition), stems(kept)
            if not whole or len(whole - known) <= len(whole) / 2:
                continue
            if len(named & rest) >= max(2, 0.6 * len(rest)):
                return f"source {statement.number} says this only so far: {condition.strip()}"
    return ""


def _conditioned(text: str) -> Iterator[tuple[str, str]]:
    """(the rest of its part of the sentence, the condition), for each `unless`, `except` …"""
    for part in re.split(r"[;.]\s", text):
        for match in _CONDITION.finditer(part):
            condition = re.split(r", (?!and|or)", part[match.start() :], maxsplit=1)[0]
            yield part[: match.start()] + part[match.start() + len(condition) :], condition


def _named(claim: Claim) -> str:
    numbers = claim.numbers
    return (
        f"source {numbers[0]}" if len(numbers) == 1 else "sources " + ", ".join(map(str, numbers))
    )
