"""Finds the alerts of a message: a product's post, a webhook's JSON, or a person's words, which are
an alert only where they say so and ask nothing else about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from agents.alerts import titles
from agents.alerts.alert import MAX_LABELS, Alert
from agents.alerts.forms import WORDS
from agents.alerts.lines import clean, fields, lines_of, only_pairs
from agents.alerts.posts import MAX_ALERTS, Post
from enrichment.language.words import STOP_WORDS, tokens

_MAX_LINES, _MAX_WORDS_BEFORE = 6, 16
_MAX_BODY, _MAX_DEPTH, _MAX_VALUES, _MAX_BODY_LINES = 200_000, 6, 20_000, 200
_BODIES = WORDS["bodies"]
"""Every product has keys of its own for name and state: the most telling first."""
_GENERIC = STOP_WORDS | frozenset(WORDS["passing_on"])
"""Words with which people pass on an alert. A question with other words asks something else."""
_BINARY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
_FIRES = re.compile(
    r"\b(?:firing|alerting|red|in alarm|fired|triggered|popped up|went off|going off|paged)\b",
    re.IGNORECASE,
)
_NOW_AFTER = re.compile(
    r"[\"”]?\s+(?:(?:alert|alarm|is|are|just|now|again) )*(?:firing|alerting|red|in alarm)\b",
    re.IGNORECASE,
)
_SIGN = re.compile(r"\b(?:alert|alarm)s?\b", re.IGNORECASE)
_IDENTIFIER = (
    r"[A-Za-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+|[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)+|[A-Z][A-Z0-9]{1,6}"
)
_NAMES = re.compile(
    rf"[\"“](?P<words>[^\"“”\n]{{2,80}})[\"”]|(?<![\w.=-])(?:{_IDENTIFIER})(?![\w=-])"
)
_PLAIN_NAME = re.compile(
    r"(?P<words>[A-Za-z0-9][^,;?!:=\n]{1,80}?) (?:alert |alarm )?(?:is|are|just|has)\b"
)
_SPEAKER = re.compile(r"[\w.-]+: ")
_ON = re.compile(
    r"\b(?:on|for|in|at) (?:the )?(?:(?:host|node|server|service|cluster|pod) )?([\w./:-]{0,60}\w)"
)
_BODY_PAIR = re.compile(r"""(["'])(\w+)\1\s*:\s*(?:(["'])(.*?)(?:\3|$)|([\w.-]+))""", re.MULTILINE)
_BEFORE_PLACE = re.compile(r"\b(?:on|in|at) (?:the )?$")
_PARTS = re.compile(r"(?<=[.!?;,])\s+| [-–—] |\n")
_COINED = re.compile(
    r"([A-Z]+[a-z0-9]+[A-Z]\w*|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+)(?=$| \(| (?:on|in|for|at) )(.*)"
)
_BESIDE = re.compile(r"(?:[,;()\[]| -) ?(?:\w+(?: |: ?|=))?(\w+)(?=$|[,;.)\]]| since )")
_OF_LOGS = re.compile(r"(?:Error|Exception) | error$", re.IGNORECASE)
_ASKS = re.compile(
    r"\?|^\s*(?:how|what|when|where|which|who|why|can|could|should|is|does|did)\b", re.IGNORECASE
)


def alerts_in(text: str, *, by_bot: bool = False) -> tuple[Alert, ...]:
    """The alerts of a text in order, each once; empty where it is no alert, or asks something
    about one.

    `by_bot`: posted by a bot whose purpose is to post alerts. A message of any form may then be
    one; see `Alert.certain`."""
    head = text[:2_000]
    if not head.strip() or len(_BINARY.findall(head)) > len(head) / 50:
        return ()
    alerts, words = _alerts_in_json(text, strictly=not by_bot)
    if alerts and not by_bot and _asks_more(lines_of(words)):
        return ()
    if not alerts and words:
        lines = lines_of(text)
        alerts = Post(lines).alerts if by_bot else _by_person(lines)
    return tuple(dict.fromkeys(alerts))[:MAX_ALERTS]


def _passes_on(text: str) -> bool:
    """Whether words ask nothing beyond what to do about an alert."""
    words = {re.split("['’]", word.casefold())[0] for word in tokens(text)}
    return all(word in _GENERIC or not any(map(str.isalpha, word)) for word in words)


def _asks_more(before: Sequence[str], behind: Sequence[str] = ()) -> bool:
    """Whether the lines before an alert are many words, or a question asks more than what to do."""
    many = sum(len(line.split()) for line in before) > _MAX_WORDS_BEFORE
    asks = [one for line in before for one in _PARTS.split(line) if _ASKS.search(one)]
    asks += [one for line in behind for one in _PARTS.split(line) if "?" in one]
    return many or not all(map(_passes_on, asks))


def _by_person(raw: Sequence[str]) -> list[Alert]:
    lines = [clean(line) for line in raw]
    post = Post(raw)
    if post.alerts and post.has_form:
        return [] if _asks_more(lines[: post.begin], lines[post.begin :]) else post.alerts
    readers = (_by_pairs, _by_level, _by_words) if len(lines) <= _MAX_LINES else ()
    return [one for read in readers if (one := read(lines))][:1]


def _by_level(lines: Sequence[str]) -> Alert | None:
    """A coined name that begins a line, with a level beside it or in a field below, where no
    empty one begins configuration: `PROBLEM: DiskFull on db-1, severity critical`."""
    for at, line in enumerate(lines):
        match = _COINED.match(titles.split_lead(line)[0])
        if match is None or _asks_more(lines[:at], lines[at:]):
            continue
        below = (pair for one in lines[at + 1 :] for pair in fields(one))
        labels = list(takewhile(lambda pair: pair[1], below))
        stated = (*_BESIDE.findall(match[2]), *(value for _, value in labels))
        if severity := next(filter(titles.is_level, stated), ""):
            labels += [("", one) for one in _ON.findall(match[2].split(",")[0])]
            return Alert(
                name=match[1], named=True, title=match[0], status="firing", severity=severity,
                labels=tuple(dict.fromkeys(labels))[:MAX_LABELS], form="person",
                certain=not _OF_LOGS.search(f"{match[1]} {severity}"),
            )  # fmt: skip
    return None


def _by_pairs(lines: Sequence[str]) -> Alert | None:
    """`DiskFull host=db-1`"""
    for at, line in enumerate(lines):
        name, _, rest = _SPEAKER.sub("", line, count=1).replace("{", " ", 1).partition(" ")
        labels = tuple(only_pairs(rest))[:MAX_LABELS]
        if labels and re.fullmatch(_IDENTIFIER, name):
            others = all(map(_passes_on, [*lines[:at], *lines[at + 1 :]]))
            return Alert(name=name, named=True, title=name, labels=labels) if others else None
    return None


def _by_words(lines: Sequence[str]) -> Alert | None:
    """A name beside a word that says it fires, among words that ask nothing else: `DiskFull just
    fired on db-1, where is the runbook?`"""
    text = "\n".join(lines)[:2_000]
    plain = _PLAIN_NAME.search(text)
    for match in filter(None, (*_NAMES.finditer(text), plain)):
        name, before = match["words"] or match[0], text[: match.start()]
        after = text[match.start() + len(name if match is plain else match[0]) :]
        on = _ON.findall(f"{before} {after}")
        before, after = _ON.sub(" ", before), _ON.sub(" ", f" {after}")
        now, fires = _NOW_AFTER.match(after), _FIRES.search(f"{before} {after}")
        parts = _PARTS.split(f"{before} {after[now.end() if now else 0 :]}")
        questions = [one for one in parts if not now or _ASKS.search(one)]
        says_so = fires or (match is not plain and _SIGN.search(f"{before} {after}"))
        is_name = not _passes_on(name) and not _BEFORE_PLACE.search(before)
        if says_so and is_name and all(map(_passes_on, questions)):
            quoted = bool(match["words"])
            return Alert(
                name=titles.best_name(name)[0] if quoted else name, named=not quoted, title=name,
                status="firing", form="person", certain=bool(fires) and not quoted,
                labels=tuple(dict.fromkeys(("", one) for one in on)),
            )  # fmt: skip
    return None


def _alerts_in_json(text: str, *, strictly: bool = False) -> tuple[list[Alert], str]:
    """The alerts of the body in a text, and the words around it; none where it holds no body or
    more than one.

    `strictly`: only by a key that no other body has."""
    begin, end = text.find("{"), text.rfind("}")
    end = end if end > begin else len(text)
    body: Any = {}
    try:
        body = json.loads(text[begin : end + 1]) if begin >= 0 and len(text) <= _MAX_BODY else {}
    except RecursionError:
        pass
    except ValueError:  # cut off, or in another language's notation
        pairs = _BODY_PAIR.findall(text[begin : end + 1])
        body = {key: value or number for _, key, _, value, number in reversed(pairs)}
    if not isinstance(body, dict) or not body:
        return [], text
    alerts = [one for one in _body_alerts(body) if one.named or not strictly]
    around = f"{text[:begin]}\n{text[end + 1 :]}".replace("json", " ")
    return alerts[:MAX_ALERTS], around.strip(" `[]\n>")


def _body_alerts(body: Mapping[str, Any]) -> Iterator[Alert]:
    inner = body.get("Message")
    if isinstance(inner, str):  # a notification in a notification
        subject = f"{body.get('Subject') or ''}\n{inner}"
        yield from _alerts_in_json(inner)[0] or Post(lines_of(subject)).alerts
        return
    items = body.get("alerts")
    for item in items if isinstance(items, list) else [body]:
        alerts = Post(list(_body_lines(item, body))).alerts if isinstance(item, dict) else []
        yield from (replace(one, form="json", certain=True) for one in alerts[:1])


def _body_lines(item: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[str]:
    """The lines of an item; none where it has neither a name nor a state."""
    values = [one for _, one in zip(range(_MAX_VALUES), _values(item), strict=False)]
    by_key: dict[str, str] = {}
    for path, value in values:
        for key in (path[-1], ".".join(path[-2:])):
            by_key.setdefault(key.casefold(), value)
    name, title, state = (
        next((by_key[key] for key in keys if by_key.get(key)), "")
        for keys in (_BODIES["names"], _BODIES["titles"], _BODIES["states"])
    )
    state = (state or str(body.get("status") or "")).rpartition(".")[2]
    tells = name or titles.status_of(state)
    if not tells or titles.is_notice(state) or titles.says_no_more(name or title):
        return
    yield by_key.get("msg") or (f"alertname: {name}" if name else title)
    yield f"Status: {state}"
    stated = {
        by_key.get(key) for key in (*_BODIES["names"], *_BODIES["titles"], *_BODIES["states"])
    }
    for path, value in values[:_MAX_BODY_LINES]:
        key = path[-2] if path[-1] in {"value", "summary"} and path[1:] else path[-1]
        is_prose = "annotations" in path or key.casefold() in _BODIES["no_labels"]
        if "runbook" in key or not (is_prose or value in stated):
            yield f"{key} = {value}"
        elif " " in value and value != name:
            yield value


def _values(item: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path of keys, value) of every text and number."""
    if isinstance(item, dict) and len(path) < _MAX_DEPTH:
        if isinstance(item.get("name"), str) and set(item) == {"name", "value"}:
            item = {item["name"]: item["value"]}
        for key, value in item.items():
            yield from _values(value, (*path, str(key)))
    elif isinstance(item, list) and len(path) < _MAX_DEPTH:
        for value in item[:MAX_LABELS]:
            yield from _values(value, path)
    elif isinstance(item, str | int | float) and not isinstance(item, bool) and path:
        yield path, " ".join(str(item).split())[:500]
