"""Whether two questions ask the same, and which questions lack the same documentation. Pure.

Vectors put `order 48213` next to `order 48231` and a question next to its opposite. So each word
that names, counts, limits, forbids or asks needs its counterpart in the other question; in doubt
it has none. A missed hit costs cents, a wrong one costs trust."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from agents.answer_cache.english import MEANING, MEANING_IN_HOW
from agents.answer_cache.wording import Word, Wording, wording
from config.models import Vectors
from enrichment.language.words import tokens

_EITHER = {"when": {"time", "day"}}
"""`When` asks for a day or a time; which day and which time are two questions."""


def difference(one: str, other: str, glossary: Mapping[str, list[str]]) -> str:
    """The difference, for administrators; '' when they ask the same."""
    if one.casefold() == other.casefold():
        return ""
    first, second = wording(one, glossary), wording(other, glossary)
    return _frame_difference(first, second) or _word_difference(first, second)


def _frame_difference(first: Wording, second: Wording) -> str:
    if not _same_kinds(first.kinds, second.kinds):
        return "kind of question"
    if not _same_modality(first.modality, second.modality):
        return "modality"
    if first.negations != second.negations:
        return "negation"
    if first.tense != second.tense:
        return "tense"
    return "who is asked" if first.addressed != second.addressed else ""


def _same_modality(first: Sequence[frozenset[str]], second: Sequence[frozenset[str]]) -> bool:
    return len(first) == len(second) and all(
        one & other for one, other in zip(first, second, strict=True)
    )


def _same_kinds(first: frozenset[str], second: frozenset[str]) -> bool:
    if first == second:
        return True
    rest, other = first - second, second - first
    return any(
        (rest == {wide} and other <= narrow and len(other) == 1)
        or (other == {wide} and rest <= narrow and len(rest) == 1)
        for wide, narrow in _EITHER.items()
    )


def _word_difference(first: Wording, second: Wording) -> str:
    is_way = "how" in first.kinds
    left = list(range(len(second.words)))
    pairs: list[tuple[int, int]] = []
    for i, word in enumerate(first.words):
        match = next((j for j in left if _same(word, second.words[j], is_way=is_way)), None)
        if match is None:
            return f"word: {word.text}"
        left.remove(match)
        pairs.append((i, match))
    if left:
        return f"word: {second.words[left[0]].text}"
    for i, j in pairs:
        if difference_of_place := _place_difference(first.words[i], second.words[j]):
            return difference_of_place
    return _order_difference(first.words, second.words, pairs)


def _same(one: Word, other: Word, *, is_way: bool) -> bool:
    if one.is_name or other.is_name:
        return one.text == other.text
    counted = one.one_of_many or other.one_of_many or one.next_to_name or other.next_to_name
    if one.plural != other.plural and counted:
        return False
    if one.forms & other.forms:
        return True
    if _groups(one, MEANING) & _groups(other, MEANING):
        return True
    return is_way and bool(_groups(one, MEANING_IN_HOW) & _groups(other, MEANING_IN_HOW))


def _groups(word: Word, table: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(table.get(form, frozenset()) for form in word.forms))


_FREE = frozenset(("", "of", "for", "in", "on", "at", "about", "regarding"))
"""Prepositions that may replace each other: the policy of, for, on or about travel. Other
prepositions change the meaning: to report to a person is not to report on them."""


def _place_difference(one: Word, other: Word) -> str:
    if one.after == other.after or {one.after, other.after} <= _FREE:
        return ""
    unsaid = {one.after, other.after} <= {"", "to", "with", "as"}
    return "" if unsaid else f"place: {one.text}"


def _order_difference(
    first: Sequence[Word], second: Sequence[Word], pairs: Sequence[tuple[int, int]]
) -> str:
    """Words that changed places change who does what to whom, unless the grammar says how: `the
    term of a lease` for `the lease term`, `passwords are changed` for `to change passwords`."""
    turned = [(a, b) for a, b in combinations(pairs, 2) if (a[0] < b[0]) != (a[1] < b[1])]
    became_passive = _passives(first, second, pairs, turned)
    if became_passive:
        return f"passive: {became_passive}"
    moved_in: set[str] = set()
    for a, b in turned:
        if _turned_by_passive(first, second, a, b):
            continue
        side = _governed_side(first, second, a, b)
        if not side:
            return f"order: {first[a[0]].text}, {first[b[0]].text}"
        moved_in.add(side)
    return "order" if {"first", "second"} <= moved_in else ""


def _passives(
    first: Sequence[Word],
    second: Sequence[Word],
    pairs: Sequence[tuple[int, int]],
    turned: Sequence[tuple[tuple[int, int], tuple[int, int]]],
) -> str:
    """A word that is passive in one question only, without a change of places."""
    for pair in pairs:
        one, other = first[pair[0]], second[pair[1]]
        if one.passive != other.passive and not any(pair in both for both in turned):
            return one.text
    return ""


def _turned_by_passive(
    first: Sequence[Word], second: Sequence[Word], a: tuple[int, int], b: tuple[int, int]
) -> bool:
    """Whether the word that is passive in only one question comes after the other word there, which
    explains the other order."""
    for i, j in (a, b):
        other = b if (i, j) == a else a
        if first[i].passive and not second[j].passive:
            return i > other[0]
        if second[j].passive and not first[i].passive:
            return j > other[1]
    return False


def _governed_side(
    first: Sequence[Word], second: Sequence[Word], a: tuple[int, int], b: tuple[int, int]
) -> str:
    """The question whose preposition explains the change of places: `first`, `second`, `both` for
    the same preposition, '' for none."""
    for i, j in (a, b):
        if first[i].after and first[i].after == second[j].after:
            return "both"
    later_first = max(a, b)
    later_second = max(a, b, key=lambda pair: pair[1])
    if first[later_first[0]].after and not second[later_first[1]].after:
        return "first"
    if second[later_second[1]].after and not first[later_second[0]].after:
        return "second"
    return ""


NEAR_ENOUGH = 0.5
"""Mean cosine with a gap's questions from which on another joins it, by MiniLM. Fitted on three
sets of questions and reported on three others: see docs/decisions/131-gaps.md."""
MAX_COMPARED = 50
"""Questions of a gap: the newest."""


@dataclass(frozen=True, kw_only=True)
class KnownGap:
    """A gap as its questions."""

    id: str
    questions: tuple[str, ...]
    vectors: Vectors
    """(questions, dimensions), L2-normalized."""

    def with_one(self, question: str, vector: Vectors) -> KnownGap:
        return KnownGap(
            id=self.id,
            questions=(*self.questions, question)[-MAX_COMPARED:],
            vectors=np.vstack([self.vectors, vector])[-MAX_COMPARED:],
        )


def nearest_gap(
    question: str, vector: Vectors, gaps: Iterable[KnownGap], *, least: float = NEAR_ENOUGH
) -> str:
    """Id of the gap that a question joins, the first of equals; '' when it begins a new one.

    A gap is what one addition to a document would close, so it is wider than one meaning:
    `rotation of signing keys in SG` and `… in EU` may be one, `where is order 48213` and
    `… 48231` are two."""
    best, nearest = least, ""
    for gap in gaps:
        near = float(np.mean(gap.vectors @ vector))
        if (near > best or (near == best and not nearest)) and not _numbers_another_thing(
            question, gap.questions
        ):
            best, nearest = near, gap.id
    return nearest


def central(vectors: Vectors) -> int:
    """Index of the vector nearest to all others; the first of equals."""
    return int(np.argmax(np.round((vectors @ vectors.T).mean(axis=1), 6)))


def _numbers_another_thing(question: str, others: Sequence[str]) -> bool:
    """Whether it has a number where one of the other questions has a different one."""
    mine = _numbered_tokens(question)
    return bool(mine) and any(
        theirs - mine and mine - theirs for theirs in map(_numbered_tokens, others) if theirs
    )


def _numbered_tokens(text: str) -> frozenset[str]:
    """Tokens with a digit: tickets, versions, grades, amounts."""
    return frozenset(one.casefold() for one in tokens(text) if any(map(str.isdigit, one)))
