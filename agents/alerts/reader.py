"""Finds the alerts of a message: a product's post, a webhook's JSON, or a person's words, which are
an alert only where they say so and ask nothing else about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from agents.alerts import titles
from agents.alerts.alert import MAX_LABELS, Alert
from agents.alerts.forms import WORDS
from agents.alerts.lines import clean, fields, lines_of
from agents.alerts.posts import MAX_ALERTS, Post
from enrichment.language.words import STOP_WORDS, tokens

_MAX_LINES, _MAX_WORDS_BEFORE = 6, 16
_MAX_BODY, _MAX_DEPTH, _MAX_VALUES, _MAX_BODY_LINES = 200_000, 6, 20_000, 200
_BODIES = WORDS["bodies"]
"""Every product has keys of its own for name and state: the most telling first."""
_GENERIC = STOP_WORDS | frozenset(WORDS["passing_on"])
"""Words with which people pass on an alert. A question with other words asks something else."""
_BINARY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
_FIRING = r"firing|alerting|red|in alarm"
_FIRES = re.compile(
    rf"\b(?:{_FIRING}|fired|triggered|popped up|went off|going off|paged)\b", re.IGNORECASE
)
_NOW_AFTER = re.compile(
    rf"[\"”]?\s+(?:(?:alert|alarm|is|are|just|now|again) )*(?:{_FIRING})\b", re.IGNORECASE
)
_SIGN = re.compile(r"\b(?:alert|alarm)s?\b", re.IGNORECASE)
_COINED = re.compile(
    r"(?:[\w.-]+: )?(?!\w*(?:Error|Exception)\b)"
    r"(?:[A-Z]+[a-z0-9]+[A-Z]\w*|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+)"
    r"(?=$| \(| (?:on|in|for|at) |[ {]+\w+=)"
)
_IDENTIFIER = (
    r"[A-Za-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+|[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)+|[A-Z][A-Z0-9]{1,6}"
)
_NAMES = re.compile(
    rf"[\"“](?P<words>[^\"“”\n]{{2,80}})[\"”]|(?<![\w.=-])(?:{_IDENTIFIER})(?![\w=-])"
)
_PLAIN_NAME = re.compile(
    r"(?P<words>[A-Za-z0-9][^,;?!:=\n]{1,80}?)(?= (?:alert |alarm )?(?:is|are|just|has)\b)"
)
_ON = re.compile(
    r"\b(?:on|in|at|for(?= the )) (?:the )?(?:(?:host|node|server|service|cluster|pod) )?"
    r"([\w./:-]{0,60}\w)"
)
_PARTS = re.compile(r"(?<=[.!?;,])\s+| [-–—] |\n")
_ASKS = re.compile(
    r"\?|^\s*(?:how|what|when|where|which|who|why|can|could|should|is|does|did)\b", re.IGNORECASE
)
_BODY_PAIR = re.compile(r"""(["'])(\w+)\1\s*:\s*(?:(["'])(.*?)(?:\3|$)|([\w.-]+))""", re.MULTILINE)


def alerts_in(text: str, *, by_bot: bool = False) -> tuple[Alert, ...]:
    """The alerts of a text in order, each once; empty where it is no alert, or asks something
    about one.

    `by_bot`: posted by a bot whose purpose is to post alerts. A message of any form may then be
    one; see `Alert.certain`."""
    if len(_BINARY.findall(text[:2_000])) > len(text[:2_000]) / 50:
        return ()
    body, words = _split_body(text)
    alerts = list(_body_alerts(body))
    if not by_bot:  # other bodies have a title and a state, too
        alerts = [one for one in alerts if one.named]
        if alerts and _asks_more(lines_of(words)):
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
    """What a person pastes: of a product's form, or from a line that begins with a coined name on,
    with a level or labels, where no empty field begins configuration; else by words."""
    lines = [clean(line) for line in raw]
    begins = (at for at, line in enumerate(lines) if _COINED.match(titles.split_lead(line)[0]))
    at = next(begins, len(lines))
    has_empty = any(not value for line in lines[at:] for _, value in fields(line))
    for start in (0, at):
        post = Post(raw[start:])
        rated = (
            start == at and not has_empty and any(one.severity or one.labels for one in post.alerts)
        )
        begin = start + post.begin
        if post.alerts and (rated or post.has_form):
            return [] if _asks_more(lines[:begin], lines[begin:]) else post.alerts
    return _by_words("\n".join(lines)[:2_000]) if len(lines) <= _MAX_LINES else []


def _by_words(text: str) -> list[Alert]:
    """A name beside a word that says it fires, among words that ask nothing else: `DiskFull just
    fired on db-1, where is the runbook?`"""
    labels = tuple(dict.fromkeys(("", one) for one in _ON.findall(text)))
    text = _ON.sub("", text)
    for match in filter(None, (*_NAMES.finditer(text), _PLAIN_NAME.search(text))):
        name, is_coined = match["words"] or match[0], not match["words"]
        before, after = text[: match.start()], text[match.end() :]
        now = _NOW_AFTER.match(after)
        rest = f"{before} {after[now.end() if now else 0 :]}"
        fires = now or _FIRES.search(rest)
        questions = [one for one in _PARTS.split(rest) if not now or _ASKS.search(one)]
        says_so = fires or (match.re is _NAMES and _SIGN.search(rest))
        if says_so and not _passes_on(name) and all(map(_passes_on, questions)):
            alert = Alert(
                name=name if is_coined else titles.best_name(name)[0], named=is_coined, title=name,
                status="firing", labels=labels, form="person", certain=bool(fires) and is_coined,
            )  # fmt: skip
            return [alert]
    return []


def _split_body(text: str) -> tuple[Mapping[str, Any], str]:
    """The JSON object in a text, also one that is cut off or not quite JSON, and the words around
    it; an empty one where there is none, or more than one."""
    begin, end = text.find("{"), text.rfind("}") + 1
    end = end if end > begin else len(text)
    inner = text[begin:end] if begin >= 0 and len(text) <= _MAX_BODY else ""
    try:
        body = json.loads(inner)
    except (ValueError, RecursionError):
        pairs = reversed(_BODY_PAIR.findall(inner))
        body = {key: value or number for _, key, _, value, number in pairs}
    around = f"{text[:begin]}\n{text[end:]}".replace("json", " ")
    return (body, around.strip(" `[]\n>")) if body and isinstance(body, dict) else ({}, text)


def _body_alerts(body: Mapping[str, Any]) -> Iterator[Alert]:
    inner = body.get("Message")
    if isinstance(inner, str):  # a notification in a notification
        subject = lines_of(f"{body.get('Subject') or ''}\n{inner}")
        yield from list(_body_alerts(_split_body(inner)[0])) or Post(subject).alerts
        return
    items = body.get("alerts")
    for item in items if isinstance(items, list) else [body]:
        alerts = Post(list(_body_lines(item, body))).alerts if isinstance(item, dict) else []
        yield from (replace(one, form="json", certain=True) for one in alerts[:1])


def _body_lines(item: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[str]:
    """The lines of an item; none where it has neither a name nor a state."""
    values = list(islice(_values(item), _MAX_VALUES))
    by_key: dict[str, str] = {}
    for path, value in values:
        for key in (path[-1], ".".join(path[-2:])):
            by_key.setdefault(key.casefold(), value)
    name, title, state = (
        next((by_key[key] for key in keys if by_key.get(key)), "")
        for keys in (_BODIES["names"], _BODIES["titles"], _BODIES["states"])
    )
    state = (state or str(body.get("status") or "")).rpartition(".")[2]
    if not (name or titles.status_of(state)) or titles.says_no_more(name or title):
        return
    yield by_key.get("msg") or (f"alertname: {name}" if name else title)
    yield f"Status: {state}"
    for path, value in values[:_MAX_BODY_LINES]:
        key = path[-1]
        is_prose = "annotations" in path or key.casefold() in _BODIES["no_labels"]
        if "runbook" in key or not (is_prose or value in {name, state}):
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
