"""Whether a claim turns round what a statement says: not, must or may, before or after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from agents.checks.statements import CitedStatement, CitedText, TextWord, normalised
from enrichment.language.words import stem

_NOTS_LISTED = "not no never none nobody nothing neither nor without cannot"
_CONTRACTED_LISTED = (
    "dont doesnt didnt cant wont isnt arent wasnt werent shouldnt mustnt couldnt wouldnt"
)
_LIKE_NOT_LISTED = """
avoid ban block cancel cease decline deny disable disallow except exclude exempt forbid hardly
illegal impossible instead invalid lack miss missing only prevent prohibit refuse reject skip stop
too unable unless void unauthorized optional unnecessary off out lose less few fail before until
remain stay zero empty waive close end free
"""
_NOT = frozenset(_NOTS_LISTED.split())
_CONTRACTED = frozenset(_CONTRACTED_LISTED.split())
_LIKE_NOT = frozenset(stem(word) for word in _LIKE_NOT_LISTED.split())
"""May say the same as a `not`, and so excuse one that is missing or added."""
_OPPOSITES_LISTED = """
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
    for number, line in enumerate(_OPPOSITES_LISTED.strip().splitlines())
    for side, words in enumerate(line.split("/"))
    for word in words.split(",")
}
_MODALS = {
    "must": 2,
    "shall": 2,
    "should": 1,
    "ought": 1,
    "may": 0,
    "can": 0,
    "might": 0,
    "could": 0,
}
_MODAL_NAMES = {2: "must", 1: "should", 0: "may"}
_COPULAS_LISTED = "is are was were be been must may can will shall should does do"
_COPULAS = frozenset(_COPULAS_LISTED.split())
_NEAR = 8
"""Words to each side that say what an operator is about."""
_QUOTED = 0.85
"""Share of the words of both that a quotation has in common with its sentence."""
_BESIDE = 4
"""The same, for one of two opposites."""
_CLAUSE_STEMS = 2
"""Words that a clause must name to be looked at by itself."""
_SCOPE = 5
"""Words after a `not` that it may turn round."""
_ABOUT = 0.65
"""Share of those that another statement must hold to be about the same."""


def operators_fault(said: str, shown: CitedText, answer: frozenset[str]) -> str:
    """What is turned round, in plain words; '' when nothing is seen to be.

    `answer`: lower-case words of the whole answer, which may say the rest elsewhere."""
    words = normalised(said)
    return (
        _misquoted(words, shown)
        or _added_not(words, shown)
        or _lost_not(words, shown, answer)
        or _opposite(words, shown)
        or _modal(words, shown)
    )


def is_not(word: str) -> bool:
    return word in _NOT or word in _CONTRACTED or word.endswith("n't")


def _turns(words: Iterable[TextWord], besides: frozenset[str]) -> bool:
    """Whether any of them denies something, in whatever way; words that the other text (`besides`,
    its stems) has as well make no difference."""
    for word in words:
        if is_not(word.said):
            return True
        if word.stem in besides or word.said in besides:
            continue
        if stem(word.said) in _LIKE_NOT:
            return True
        prefix = next((one for one in ("un", "non", "dis", "in") if word.said.startswith(one)), "")
        if prefix and stem(word.said.removeprefix(prefix).lstrip("-")) in besides:
            return True
    return False


def _near(words: Sequence[TextWord], place: int, reach: int = _NEAR) -> list[TextWord]:
    near = [*words[max(0, place - reach) : place], *words[place + 1 : place + 1 + reach]]
    clause = [word for word in near if word.clause == words[place].clause]
    return clause if len(_stems(clause)) >= _CLAUSE_STEMS else near


def _stems(words: Iterable[TextWord]) -> frozenset[str]:
    return frozenset(word.stem for word in words if word.stem)


def _about_the_same(wanted: frozenset[str], shown: CitedText) -> list[CitedStatement]:
    """The statements that hold most of these words, when they hold enough of them."""
    if not wanted:
        return []
    counts = [
        (len(wanted & statement.stems) / len(wanted), statement) for statement in shown.statements
    ]
    best = max((share for share, _ in counts), default=0.0)
    if best < _ABOUT:
        return []
    return [statement for share, statement in counts if share >= best - 0.1]


def _misquoted(words: Sequence[TextWord], shown: CitedText) -> str:
    """Repeats a sentence nearly word by word, but for a `not` or a modal."""
    mine = _stems(words)
    if len(mine) < 2:
        return ""
    nots = _nots(words)
    modals = {_MODALS[word.said] for word in words if word.said in _MODALS}
    fault = ""
    for statement in shown.statements:
        if len(mine & statement.stems) < _QUOTED * len(mine):
            continue
        for theirs in statement.sentences:
            if len(mine & _stems(theirs)) < _QUOTED * len(mine | _stems(theirs)):
                continue
            others = _nots(theirs)
            strengths = {_MODALS[word.said] for word in theirs if word.said in _MODALS}
            if len(others) == len(nots) and not (modals and strengths and not modals & strengths):
                return ""
            if len(others) > len(nots):
                fault = f"source {statement.number} says the opposite: {others[-1]!r} is missing"
            elif len(others) < len(nots):
                fault = (
                    f"source {statement.number} says the opposite: there is no {nots[-1]!r} in it"
                )
            else:
                other, own = _MODAL_NAMES[max(strengths)], _MODAL_NAMES[max(modals)]
                fault = f"source {statement.number} says {other!r}, not {own!r}"
    return fault


def _nots(words: Sequence[TextWord]) -> list[str]:
    """`without` may go with what it adds: `locks after 5 minutes without use`."""
    return [word.said for word in words if is_not(word.said) and word.said != "without"]


def _added_not(words: Sequence[TextWord], shown: CitedText) -> str:
    for place, word in enumerate(words):
        if not is_not(word.said) or _contrasts(words, place):
            continue
        wanted = _stems(_near(words, place))
        about = _about_the_same(wanted, shown) if len(wanted) > 1 else []
        if about and not any(_turned_near(one, words, place) for one in about):
            return f"source {about[0].number} says the opposite: there is no {word.said!r} in it"
    return ""


def _turned_by(words: Sequence[TextWord], place: int) -> list[str]:
    """Stems of what follows a `not`: of its own clause, else of the next words."""
    following = [word for word in words[place + 1 : place + 1 + _SCOPE] if word.stem]
    within = [word.stem for word in following if word.clause == words[place].clause]
    return (within or [word.stem for word in following])[:2]


def _contrasts(words: Sequence[TextWord], place: int) -> bool:
    """`ten minutes, not five`, `that means no`: nothing is denied of what is claimed."""
    following = words[place + 1 : place + 2]
    if not following or following[0].clause != words[place].clause:
        return True
    if words[place].said != "not" or place == 0:
        return False
    before = words[place - 1]
    opens = before.clause != words[place].clause
    return opens or (following[0].said[0].isdigit() and before.said not in _COPULAS)


def _turned_near(statement: CitedStatement, words: Sequence[TextWord], place: int) -> bool:
    """Whether the statement denies what this `not` denies."""
    targets = set(_turned_by(words, place)) or _stems(_near(words, place))
    theirs = statement.words
    touched = [at for at, word in enumerate(theirs) if word.stem in targets]
    mine = _stems(words) | {word.said for word in words}
    if statement.table is not None:
        return _turns(theirs, mine)
    return not touched or any(_turns([theirs[at], *_near(theirs, at)], mine) for at in touched)


def _lost_not(words: Sequence[TextWord], shown: CitedText, answer: frozenset[str]) -> str:
    mine = _stems(words)
    about = _about_the_same(mine, shown)
    for statement in about:
        theirs = statement.words
        for place, word in enumerate(theirs):
            if not is_not(word.said) or _contrasts(theirs, place):
                continue
            targets = _turned_by(theirs, place)
            near = _stems(_near(theirs, place))
            if not targets or not set(targets) <= mine or len(near & mine) < _ABOUT * len(near):
                continue
            touched = [at for at, one in enumerate(words) if one.stem in targets]
            besides = statement.stems | {one.said for one in theirs}
            if any(_turns([words[at], *_near(words, at)], besides) for at in touched):
                continue
            if any(other is not statement and _says_without(other, targets) for other in about):
                continue
            return f"source {statement.number} says the opposite: {word.said!r} is missing"
    return ""


def _says_without(statement: CitedStatement, targets: Sequence[str]) -> bool:
    return set(targets) <= _stems(statement.words) and not _turns(statement.words, frozenset())


def _opposite(words: Sequence[TextWord], shown: CitedText) -> str:
    for place, word in enumerate(words):
        mine = _OPPOSITES.get(word.said)
        near = _near(words, place, _BESIDE)
        if mine is None or any(
            is_not(one.said) or _OPPOSITES.get(one.said) == (mine[0], 1 - mine[1]) for one in near
        ):
            continue
        about = _about_the_same(_stems(_near(words, place)) - {word.stem}, shown)
        said = [_pole(one, mine, _stems(near)) for one in about]
        if None not in said:
            for statement, theirs in zip(about, said, strict=True):
                if theirs:
                    return f"source {statement.number} says {theirs!r}, not {word.said!r}"
    return ""


def _pole(statement: CitedStatement, mine: tuple[int, int], near: frozenset[str]) -> str | None:
    """The opposite that the statement says beside the same words; None when it says the same, ''
    when neither."""
    theirs = statement.words
    found = ""
    for place, word in enumerate(theirs):
        kind = _OPPOSITES.get(word.said)
        if kind is None or kind[0] != mine[0]:
            continue
        around = _near(theirs, place, _BESIDE)
        if not near & _stems(around):
            continue
        if kind == mine or any(is_not(one.said) for one in around):
            return None
        found = word.said
    return found


def _modal(words: Sequence[TextWord], shown: CitedText) -> str:
    for place, strength, verbs in _modals(words):
        about = _about_the_same(_stems(_near(words, place)), shown)
        theirs = [
            other
            for statement in about
            for _, other, done in _modals(statement.words)
            if done[:1] == verbs[:1]
        ]
        if theirs and all(abs(other - strength) == 2 for other in theirs):
            return (
                f"source {about[0].number} says {_MODAL_NAMES[theirs[0]]!r}, "
                f"not {_MODAL_NAMES[strength]!r}"
            )
    return ""


def _modals(words: Sequence[TextWord]) -> Iterator[tuple[int, int, list[str]]]:
    """(place, strength, stems of what follows) of each `must`, `should`, `may` that isn't denied
    or narrowed."""
    for place, word in enumerate(words):
        strength = _MODALS.get(word.said)
        following = words[place + 1 : place + 1 + _SCOPE]
        if strength is None or any(
            is_not(one.said) or one.said == "only"
            for one in chain(following[:2], words[max(0, place - 2) : place])
        ):
            continue
        yield place, strength, [one.stem for one in following if one.stem]
