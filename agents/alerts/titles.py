"""Titles: their state and level, as words of monitoring products or as signs, and the name in
them."""

from __future__ import annotations

import re

from agents.alerts.alert import AlertStatus
from agents.alerts.forms import PRODUCTS, WORDS
from agents.alerts.lines import only_pairs, without_pairs
from enrichment.language.words import STOP_WORDS
from enrichment.names import is_identifier

_FIRING, _RESOLVED, _WEAK, _BEGINS = (
    frozenset(WORDS["states"][key]) for key in ("firing", "resolved", "weak", "begins")
)
_ENDINGS, _NOTICES = frozenset(WORDS["states"]["ends"]), frozenset(WORDS["notices"])
_STATES = _FIRING | _RESOLVED | _NOTICES
_LEVELS = frozenset(WORDS["levels"])
_RATES = _LEVELS.union(WORDS["quiet_levels"])
_FIRING_SIGNS, _RESOLVED_SIGNS = (frozenset(signs) for signs in WORDS["signs"].values())
_FILLERS = PRODUCTS.union(WORDS["fillers"])
_SAYING_NOTHING = _STATES | _RATES | _FILLERS
_SIGN = re.compile(r":(\w+):|([^\w\s])")
_WORD = re.compile(r"[^\W\d_]\w*(?:-\w+)*")
_NUMBER = re.compile(r"(?:inc|incident|prb|problem|alert)\d+")
_LEADS = (
    re.compile(r"\[([^\[\]\n]{1,80})\]:?\s*"),
    re.compile(r"((?:\w[\w#-]* |#\d+ ){0,4}[\w#][\w#-]*?)(?: ?(?::|\||->|–|—|>)|(?: -)) +(?=\S)"),
    re.compile(r"([A-Z][A-Z]+|#\d+)!? +(?=\S)"),
)
_SUFFIX = re.compile(
    r"(?P<sign>(?: ?[|:–—]| -) |(?<![.!?]) (?:(?:is|has|was|now|been|back|just) ){1,4}|(?<![.!?]) )"
    r"(?P<state>[\w-]+)[.!]?$"
)
_APART = re.compile(r"(?:[,;()\[]| -) ?(?:\w+(?: |: ?|=))?(\w+)(?=$|[,;.)\]]| since )")
_ON = re.compile(r" (?:on|in) [^\s:]+$")
_CAMEL = re.compile(r"[A-Z]+[a-z0-9]+[A-Z][A-Za-z0-9]*")
_LONG_CAMEL = re.compile(
    r"(?:[A-Z]+[a-z0-9]+){2,}[A-Z][A-Za-z0-9]*|[A-Z]\w*(?:Error|Exception|Failure|Timeout)"
)
"""Hardly a product: `DiskAlmostFull`, `KeyError`; `OpenSearch` may be one."""
_SPEAKER = re.compile(r"^(?:[a-z][\w.-]*|[\w ]+ [Aa]lert(?= - [A-Z]+[a-z]+[A-Z]\w+$)) ?[:-] (?=\S)")
_AFTER_NAME = re.compile(r"$| ?\(| (?:on|in|for|at|via|is|has|firing|resolved) ", re.IGNORECASE)
_ENDS_NAME = re.compile(
    r" (?:[|–—·>-]|->|::|x\d+) | (?:on|in|for|at|from|@|auf|sur|en|su|op) (?=\S*[\d_/:{-])"
    r"(?![\d.,]+%?(?: |$))\S"
    r"|(?:(?: (?:is|at|now|above|below|reached|exceeds))+| [=<>≥≤]{1,2}) ?-?\d\S*(?: \S+){0,2}$",
    re.IGNORECASE,
)
_EDGES = " .,:;!|–—->@"


def status_of(text: str) -> AlertStatus:
    """By its first word that is a state, or level: `Alert resolved`, `is now UP`; '' by none."""
    text = re.split(r"→|->|=>", text[:200])[-1]
    words = _words(re.sub(r"\bno data\b", "nodata", text, flags=re.IGNORECASE))[:6]
    telling = [one for one in words if one not in _WEAK] or words
    state = next((one for one in telling if one in _STATES or one in {"not", "no"}), "")
    return "resolved" if state in _RESOLVED else "firing" if state in _FIRING else ""


def status_by_sign(line: str) -> AlertStatus:
    """By the first emoji with which a line begins or ends that says one."""
    signs = [code or sign for code, sign in _SIGN.findall(f"{line[:60]} {line[-30:]}")]
    sign = next((one for one in signs if one in _FIRING_SIGNS | _RESOLVED_SIGNS), "")
    return "resolved" if sign in _RESOLVED_SIGNS else "firing" if sign else ""


def is_level(word: str) -> bool:
    """Whether it rates an alert: `critical`, `P2`; not `info`."""
    return word.casefold() in _LEVELS


def level_of(state: str) -> str:
    """The level that a state ends with, as written: `WARN -> CRIT`; '' for `firing`."""
    return next(filter(is_level, state.split()[-1:]), "")


def is_notice(text: str) -> bool:
    """Whether the first words report work, or what a person did with an alert."""
    words = frozenset(_words(text[:120])[:8])
    return not words & (_FIRING - _BEGINS) and bool(words & _NOTICES)


def says_no_more(text: str) -> bool:
    """Whether it holds nothing but state and level words, products, numbers and greetings:
    `Firing on prod-eu`."""
    words = _words(_ON.sub("", text))
    return all(one in _SAYING_NOTHING or _NUMBER.fullmatch(one) for one in words)


def opens(line: str) -> bool:
    """Whether it begins with such words: `Alert closed by ines`."""
    return says_no_more(" ".join(line.split()[:3]))


def split_lead(line: str, steps: int = 8) -> tuple[str, AlertStatus, str]:
    """(title, status, severity): `[P2] CRITICAL: Disk full` → `Disk full`, firing, `P2`."""
    status: AlertStatus = ""
    severity = ""
    for _ in range(steps):
        line = line.lstrip(_EDGES)
        leads = (match for one in _LEADS if (match := one.match(line)) and says_no_more(match[1]))
        if (lead := next(leads, None)) is None:
            break
        line, status = line[lead.end() :], status or status_of(lead[1])
        rates = (one for one in _WORD.findall(lead[1]) if one.casefold() in _RATES)
        severity = severity or next(rates, "")
    return next((value for _, value in only_pairs(line)), line), status, severity


def split_state(title: str) -> tuple[str, AlertStatus]:
    """`Disk full is now OK` → `Disk full`, resolved; the words stay where they are part of a name:
    `Backup job failed`."""
    match = _SUFFIX.search(title)
    status = status_of(match["state"]) if match else ""
    if match and status and (match["sign"] != " " or match["state"].casefold() in _ENDINGS):
        title = re.sub(r"(?<=.) (?:alert|alarm|incident)$", "", title[: match.start()])
    return title, status


def read_title(line: str) -> tuple[str, AlertStatus, str]:
    """(title, status, severity), by words on both sides of it, or a level apart: `, critical`."""
    title, status, severity = split_lead(line)
    apart = next(filter(is_level, _APART.findall(title)), "")
    return title, status or split_state(title)[1] or status_of(apart), severity or apart


def best_name(title: str) -> tuple[str, bool]:
    """The name in a title, and whether it is one by its form: a CamelCase word, as rules of
    Prometheus are called. Else it is the title, up to a place or an amount behind some words."""
    base = re.sub(r"^(?:\[[^\[\]]*\] ?)+(?=\S)", "", without_pairs(title) or title)
    base = _SPEAKER.sub("", base.strip("\"“”'‘’ ") or title)  # `disk-watch: DISK_FULL`
    first = re.split(r"[\s:(,|]", base, maxsplit=1)[0]
    in_brackets = re.search(r"\((\w*(?:_|[a-z][A-Z])\w*)", base)
    if in_brackets and first == first.lower() and "_" not in first:
        return in_brackets[1], True  # values of labels, then the name
    rest = base[len(first) :]
    ends = _AFTER_NAME.match(rest) or re.match(r" .*\)$", rest)
    if _LONG_CAMEL.fullmatch(first) or (_CAMEL.fullmatch(first) and ends):
        return first, True
    base = re.sub(r"(?<=\w) ?\(.*\)$", "", base)
    end = _ENDS_NAME.search(base)
    return (base[: end.start()] if end else base).strip(_EDGES), False


def is_group(title: str) -> bool:
    """Whether it holds only values of labels by which alerts are grouped, and no alert's name:
    `shop (monitoring/k8s warning)`."""
    base, *groups = map(str.strip, re.split(r"(?<!\w)\(", title))
    is_value = base == base.lower() and "_" not in base and len(base.split()) <= 2
    return bool(groups) and is_value and not best_name(title)[1]


def may_be_title(title: str) -> bool:
    """Whether words without any sign of an alarm may be an alert's title, not a sentence: a coined
    name is among them, or few words that link others."""
    coined = any(one.isalpha() and is_identifier(one) for one in title.split())
    return coined or sum(one in STOP_WORDS for one in title.casefold().split()) <= 2


def _words(text: str) -> list[str]:
    return [word.casefold().replace("-", "") for word in _WORD.findall(text)]
