"""Detects claims that reverse a source's statement: not, must or may, before or after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from agents.checks.statements import CitedStatement, CitedText, TextWord, normalized_words
from enrichment.language.words import stem

_NOT_WORDS = "not no never none nobody nothing neither nor without cannot"
_CONTRACTION_WORDS = (
    "dont doesnt didnt cant wont isnt arent wasnt werent shouldnt mustnt couldnt wouldnt"
)
_LIKE_NOT_WORDS = """
avoid ban block cancel cease decline deny disable disallow except exclude exempt forbid hardly
illegal impossible instead invalid lack miss missing only prevent prohibit refuse reject skip stop
too unable unless void unauthorized optional unnecessary off out lose less few fail before until
remain stay zero empty waive close end free
"""
_NOT = frozenset(_NOT_WORDS.split())
_CONTRACTIONS = frozenset(_CONTRACTION_WORDS.split())
_LIKE_NOT = frozenset(stem(word) for word in _LIKE_NOT_WORDS.split())
"""Words that can replace a `not`, and so excuse a missing or added one."""
_OPPOSITE_WORDS = """
before,prior,earlier / after,following,later,afterwards
more,above,over,exceed,exceeding,exceeds,longer,higher,greater,minimum,least,min \
/ less,fewer,below,under,shorter,lower,smaller,maximum,most,max
increase,increases,increased,raise,raises,raised,grow \
/ decrease,decreases,decreased,reduce,reduces,reduced,lowers,lowered,shrink,cut
allow,allows,allowed,permit,permits,permitted \
/ deny,denies,denied,forbid,forbids,forbidden,prohibit,prohibits,prohibited,disallowed,banned
include,includes,included,including / exclude,excludes,excluded,excluding,except,excepting
enable,enables,enabled / disable,disables,disabled
accept,accepts,accepted,approve,approves,approved / reject,rejects,rejected,refuse,refuses,refused
required,mandatory,compulsory,obligatory,requires,require / optional,voluntary,unnecessary,exempt
always / never,sometimes,occasionally,rarely
all,every,each,both / none,neither
with / without
inside,within,internal,internally / outside,external,externally
first / last
start,starts,started,begin,begins,opens / stop,stops,stopped,end,ends,ended
add,adds,added / remove,removes,removed,delete,deletes,deleted
grant,grants,granted / revoke,revokes,revoked,withdraw,withdrawn
lock,locks,locked / unlock,unlocks,unlocked
encrypt,encrypts,encrypted / decrypt,decrypts,decrypted,unencrypted
public,publicly / private,privately
automatic,automatically,automated / manual,manually
temporary,temporarily / permanent,permanently
older,oldest / newer,newest
up,upwards / down,downwards
inbound,incoming / outbound,outgoing
on / off
"""
_OPPOSITES: dict[str, tuple[int, int]] = {
    word.strip(): (number, side)
    for number, line in enumerate(_OPPOSITE_WORDS.strip().splitlines())
    for side, words in enumerate(line.split("/"))
    for word in words.split(",")
}
_MODALS = {
    "must": 2, "shall": 2, "should": 1, "ought": 1, "may": 0, "can": 0, "might": 0, "could": 0,
}  # fmt: skip
_MODAL_NAMES = {2: "must", 1: "should", 0: "may"}
_COPULA_WORDS = "is are was were be been must may can will shall should does do"
_COPULAS = frozenset(_COPULA_WORDS.split())
_NEAR = 8
"""Words on each side that are the context of an operator."""
_QUOTED = 0.85
"""Minimum share of common words between a quotation and its sentence."""
_BESIDE = 4
"""Words on each side that are the context of one of two opposites."""
_CLAUSE_STEMS = 2
"""Minimum stems of a clause that is its own context."""
_SCOPE = 5
"""Words after a `not` that it may negate."""
_ABOUT = 0.65
"""Minimum share of the context that a statement about the same subject holds."""


def operators_fault(text: str, evidence: CitedText, answer: frozenset[str]) -> str:
    """The reversal that a claim makes; '' when none is detected.

    `answer`: lower-case words of the whole answer, which may state the rest elsewhere."""
    words = normalized_words(text)
    return (
        _misquoted(words, evidence)
        or _added_not(words, evidence)
        or _lost_not(words, evidence, answer)
        or _opposite(words, evidence)
        or _modal(words, evidence)
    )


def is_not(word: str) -> bool:
    return word in _NOT or word in _CONTRACTIONS or word.endswith("n't")


def _turns(words: Iterable[TextWord], other_stems: frozenset[str]) -> bool:
    """Whether any word negates that the other text does not have (`other_stems`: its stems)."""
    for word in words:
        if is_not(word.text):
            return True
        if word.stem in other_stems or word.text in other_stems:
            continue
        if stem(word.text) in _LIKE_NOT:
            return True
        prefix = next((one for one in ("un", "non", "dis", "in") if word.text.startswith(one)), "")
        if prefix and stem(word.text.removeprefix(prefix).lstrip("-")) in other_stems:
            return True
    return False


def _near(words: Sequence[TextWord], place: int, reach: int = _NEAR) -> list[TextWord]:
    near = [*words[max(0, place - reach) : place], *words[place + 1 : place + 1 + reach]]
    clause = [word for word in near if word.clause == words[place].clause]
    return clause if len(_stems(clause)) >= _CLAUSE_STEMS else near


def _stems(words: Iterable[TextWord]) -> frozenset[str]:
    return frozenset(word.stem for word in words if word.stem)


def _about_the_same(words: frozenset[str], evidence: CitedText) -> list[CitedStatement]:
    """The statements that hold most of these words; empty when no statement holds enough."""
    if not words:
        return []
    counts = [
        (len(words & statement.stems) / len(words), statement) for statement in evidence.statements
    ]
    best = max((share for share, _ in counts), default=0.0)
    if best < _ABOUT:
        return []
    return [statement for share, statement in counts if share >= best - 0.1]


def _misquoted(words: Sequence[TextWord], evidence: CitedText) -> str:
    """Fault: a near-verbatim repetition with another `not` or modal."""
    own_stems = _stems(words)
    if len(own_stems) < 2:
        return ""
    nots = _nots(words)
    modals = {_MODALS[word.text] for word in words if word.text in _MODALS}
    fault = ""
    for statement in evidence.statements:
        if len(own_stems & statement.stems) < _QUOTED * len(own_stems):
            continue
        for sentence in statement.sentences:
            if len(own_stems & _stems(sentence)) < _QUOTED * len(own_stems | _stems(sentence)):
                continue
            other_nots = _nots(sentence)
            strengths = {_MODALS[word.text] for word in sentence if word.text in _MODALS}
            if len(other_nots) == len(nots) and not (
                modals and strengths and not modals & strengths
            ):
                return ""
            if len(other_nots) > len(nots):
                fault = f"the opposite: {other_nots[-1]!r} is missing"
            elif len(other_nots) < len(nots):
                fault = f"the opposite: there is no {nots[-1]!r} in it"
            else:
                other, own = _MODAL_NAMES[max(strengths)], _MODAL_NAMES[max(modals)]
                fault = f"{other!r}, not {own!r}"
            fault = f"source {statement.number} says {fault}"
    return fault


def _nots(words: Sequence[TextWord]) -> list[str]:
    """Negations without `without`, which may only qualify: `locks after 5 minutes without use`."""
    return [word.text for word in words if is_not(word.text) and word.text != "without"]


def _added_not(words: Sequence[TextWord], evidence: CitedText) -> str:
    for place, word in enumerate(words):
        if not is_not(word.text) or _contrasts(words, place):
            continue
        near_stems = _stems(_near(words, place))
        about = _about_the_same(near_stems, evidence) if len(near_stems) > 1 else []
        if about and not any(_turned_near(one, words, place) for one in about):
            return f"source {about[0].number} says the opposite: there is no {word.text!r} in it"
    return ""


def _turned_by(words: Sequence[TextWord], place: int) -> list[str]:
    """Stems of the first two words after a `not`, in its clause if it has any."""
    following = [word for word in words[place + 1 : place + 1 + _SCOPE] if word.stem]
    in_clause = [word.stem for word in following if word.clause == words[place].clause]
    return (in_clause or [word.stem for word in following])[:2]


def _contrasts(words: Sequence[TextWord], place: int) -> bool:
    """Whether the `not` negates nothing of the claim: `ten minutes, not five`, `that means no`."""
    following = words[place + 1 : place + 2]
    if not following or following[0].clause != words[place].clause:
        return True
    if words[place].text != "not" or place == 0:
        return False
    before = words[place - 1]
    opens = before.clause != words[place].clause
    return opens or (following[0].text[0].isdigit() and before.text not in _COPULAS)


def _turned_near(statement: CitedStatement, words: Sequence[TextWord], place: int) -> bool:
    """Whether the statement negates what this `not` negates."""
    targets = set(_turned_by(words, place)) or _stems(_near(words, place))
    source = statement.words
    touched = [at for at, word in enumerate(source) if word.stem in targets]
    own = _stems(words) | {word.text for word in words}
    if statement.table is not None:
        return _turns(source, own)
    return not touched or any(_turns([source[at], *_near(source, at)], own) for at in touched)


def _lost_not(words: Sequence[TextWord], evidence: CitedText, answer: frozenset[str]) -> str:
    own = _stems(words)
    about = _about_the_same(own, evidence)
    for statement in about:
        source = statement.words
        for place, word in enumerate(source):
            if not is_not(word.text) or _contrasts(source, place):
                continue
            targets = _turned_by(source, place)
            near = _stems(_near(source, place))
            if not targets or not set(targets) <= own or len(near & own) < _ABOUT * len(near):
                continue
            touched = [at for at, one in enumerate(words) if one.stem in targets]
            other_stems = statement.stems | {one.text for one in source}
            if any(_turns([words[at], *_near(words, at)], other_stems) for at in touched):
                continue
            if any(other is not statement and _says_without(other, targets) for other in about):
                continue
            return f"source {statement.number} says the opposite: {word.text!r} is missing"
    return ""


def _says_without(statement: CitedStatement, targets: Sequence[str]) -> bool:
    return set(targets) <= _stems(statement.words) and not _turns(statement.words, frozenset())


def _opposite(words: Sequence[TextWord], evidence: CitedText) -> str:
    for place, word in enumerate(words):
        pole = _OPPOSITES.get(word.text)
        near = _near(words, place, _BESIDE)
        if pole is None or any(
            is_not(one.text) or _OPPOSITES.get(one.text) == (pole[0], 1 - pole[1]) for one in near
        ):
            continue
        about = _about_the_same(_stems(_near(words, place)) - {word.stem}, evidence)
        opposites = [_opposite_in(one, pole, _stems(near)) for one in about]
        if None not in opposites:
            for statement, opposite in zip(about, opposites, strict=True):
                if opposite:
                    return f"source {statement.number} says {opposite!r}, not {word.text!r}"
    return ""


def _opposite_in(
    statement: CitedStatement, pole: tuple[int, int], near: frozenset[str]
) -> str | None:
    """The opposite word that the statement has in the same context; None when it has the same pole,
    '' when it has neither."""
    source_words = statement.words
    opposite = ""
    for place, word in enumerate(source_words):
        kind = _OPPOSITES.get(word.text)
        if kind is None or kind[0] != pole[0]:
            continue
        around = _near(source_words, place, _BESIDE)
        if not near & _stems(around):
            continue
        if kind == pole or any(is_not(one.text) for one in around):
            return None
        opposite = word.text
    return opposite


def _modal(words: Sequence[TextWord], evidence: CitedText) -> str:
    for place, strength, verbs in _modals(words):
        about = _about_the_same(_stems(_near(words, place)), evidence)
        source_strengths = [
            other
            for statement in about
            for _, other, done in _modals(statement.words)
            if done[:1] == verbs[:1]
        ]
        if source_strengths and all(abs(other - strength) == 2 for other in source_strengths):
            return (
                f"source {about[0].number} says {_MODAL_NAMES[source_strengths[0]]!r}, "
                f"not {_MODAL_NAMES[strength]!r}"
            )
    return ""


def _modals(words: Sequence[TextWord]) -> Iterator[tuple[int, int, list[str]]]:
    """(place, strength, next stems) of each `must`, `should`, `may` without negation or `only`."""
    for place, word in enumerate(words):
        strength = _MODALS.get(word.text)
        following = words[place + 1 : place + 1 + _SCOPE]
        if strength is None or any(
            is_not(one.text) or one.text == "only"
            for one in chain(following[:2], words[max(0, place - 2) : place])
        ):
            continue
        yield place, strength, [one.stem for one in following if one.stem]
