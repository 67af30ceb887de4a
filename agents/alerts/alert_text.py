"""The alerts of a message, from its plain words, whoever posted them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agents.alerts.alert import Alert, AlertStatus, is_identifier
from agents.alerts.amounts import amounts_in
from agents.alerts.label_lines import (
    NAME_KEYS,
    SAID_KEYS,
    SEVERITY_KEYS,
    STATUS_KEYS,
    TAG_KEYS,
    Label,
    fields,
    is_label,
    tags,
)
from agents.alerts.product_forms import (
    Headline,
    firing_now,
    group_status,
    headline,
    levelled,
    quoted,
    signalled,
    status_of,
)
from agents.alerts.titles import names_in, values_in
from enrichment.language.words import STOP_WORDS, tokens

MOST_ALERTS = 50
_MOST_CHARACTERS = 12_000
_MOST_LINES = 600
_SLACK_LINK = re.compile(r"<(https?://[^<>|\s]+)(?:\|([^<>]*))?>")
_URL = re.compile(r"https?://[^\s<>()]+")
_LINKED = re.compile(r"\s*\(https?://[^\s()]+\)")
_EMOJI = re.compile(r":[a-z0-9_+-]{2,}:|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+")
_ALARM = re.compile(
    r":(?:warning|rotating_light|fire|no_entry(?:_sign)?|red_circle|large_red_circle|x|bangbang"
    r"|exclamation|heavy_exclamation_mark|alert|siren|octagonal_sign|boom|bell)[\w-]*:"
    r"|[\u26a0\u26d4\u274c\u203c\u2757\U0001f6a8\U0001f525\U0001f534\U0001f6d1\U0001f514]"
)
_BULLET = re.compile(r"^\s*(?:[•▪◦·–—]|[-*](?=\s)|\d+[.)](?=\s))\s*")
_MARKER = re.compile(r"(labels|annotations|details|tags|alert details)\s*:?", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
_GENERIC = STOP_WORDS | frozenset(
    """
    runbook runbooks alert alerts alarm happening happened mean means meaning first step steps
    handle fix fixing firing fired page paged see seen seeing look looks ideas idea advice help
    pls hello morning team folks guys channel action actions guide got came posted pasted know
    next answer respond check resolve ack acknowledge screenshot model read deal urgent
    """.split()  # noqa: SIM905 - shorter than a list of strings
)
"""Words with which an alert is handed on; a question that holds others asks something else."""


@dataclass
class _Draft:
    """An alert under way."""

    title: str = ""
    named: str = ""
    """By a field of its own: `alertname`."""
    called: str = ""
    """By a field that may also hold a summary: `Alert:`."""
    status: AlertStatus = ""
    severity: str = ""
    labels: list[Label] = field(default_factory=list)
    link: str = ""
    certain: bool = False
    listed: bool = False
    """Its labels came in a list of their own."""
    needs_fields: bool = False
    fields: int = 0


def alerts_in(text: str) -> tuple[Alert, ...]:
    """In order, each once; empty where the text is no alert, or asks something about one."""
    if _is_junk(text):
        return ()
    text = text[:_MOST_CHARACTERS]
    if found := _from_json(text):
        return found
    raw = [line for line in _lines(text) if _cleaned(line)]
    lines = [_cleaned(line) for line in raw]
    reading = _Reading()
    by_sign = False
    for line, written in zip(lines, raw, strict=True):
        if reading.head is None and (said := _signalled(line, written)):
            by_sign = True
            reading.headed(said, line)
        elif reading.head is None and (now := firing_now(line)) and not headline(line):
            return _distinct(_alerts_of(now))
        else:
            reading.take(line)
    if not reading.is_alert() or _asks_something(reading, lines, by_sign):
        return ()
    found = _distinct(reading.alerts())
    if len({one.name for one in found}) > 1:
        return found  # which of them an amount is of, nobody can tell
    amounts = amounts_in("\n".join(lines))
    return tuple(replace(one, amounts=amounts) for one in found)


class _Reading:
    def __init__(self) -> None:
        self.head: _Draft | None = None
        """What the first line says of all."""
        self.drafts: list[_Draft] = []
        self.before: list[str] = []
        """Lines before the first that is of an alert."""
        self._status: AlertStatus = ""
        self._key = ""
        self._said = False
        """Among annotations."""

    def take(self, line: str) -> None:
        bare = _LINKED.sub("", line).strip()
        if status := group_status(bare):
            self._status, self._said, self._key = status, False, ""
            self._begun().certain = True
            if self.drafts and self.drafts[-1].status != status:
                self.drafts.append(_Draft(status=status, certain=True))
        elif marker := _MARKER.fullmatch(bare):
            self._marked(marker[1].casefold())
        elif said := headline(bare):
            if self._key and not said.certain:
                self._field(self._key, bare)
                self._key = ""
            elif not (self._said and not said.certain):
                self.headed(said, line)
        elif not self._fields(bare, line):
            self._prose(bare)

    def is_alert(self) -> bool:
        return self.head is not None

    def alerts(self) -> Iterator[Alert]:
        head = self.head or _Draft()
        drafts = [one for one in self.drafts if one.named or one.called or one.title or one.labels]
        for draft in drafts or [head]:
            if found := _alert(draft, head):
                yield found

    def _begun(self) -> _Draft:
        if self.head is None:
            self.head = _Draft()
        return self.head

    def _current(self) -> _Draft:
        return self.drafts[-1] if self.drafts else self._begun()

    def _marked(self, what: str) -> None:
        self._said, self._key = what == "annotations", ""
        if what == "annotations" or (self.head is None and what in {"details", "tags"}):
            return
        if what in {"labels", "alert details"}:
            self._begun().certain = True
            if not self.drafts or self.drafts[-1].listed:
                self.drafts.append(_Draft(status=self._status))
            self.drafts[-1].listed = True

    def headed(self, said: Headline, line: str) -> None:
        self._said, self._key = False, ""
        link = _first_url(line)
        if self.head is None or not (self.head.title or self.drafts):
            head = self._begun()
            head.title, head.severity = said.title, head.severity or said.severity
            head.status = said.status or head.status
            head.labels += said.labels
            head.link = head.link or link
            head.certain = head.certain or said.certain
            head.needs_fields = said.needs_fields
            return
        if said.needs_fields or (self.head.certain and not said.certain):
            self._called(said.title)
            return
        if not self.drafts:
            self.drafts.append(self.head)
            self.head = _Draft(certain=self.head.certain)
        self.drafts.append(
            _Draft(
                title=said.title, called=said.title, status=said.status, severity=said.severity,
                labels=list(said.labels), link=link, certain=said.certain,
            )
        )  # fmt: skip

    def _called(self, value: str) -> None:
        """`Alert: …` below a headline: one of a group, or the same said in words."""
        if not self.drafts or self.drafts[-1].called:
            self.drafts.append(_Draft(status=self._status))
        self.drafts[-1].called = value

    def _fields(self, bare: str, line: str) -> bool:
        found = list(fields(bare))
        if not found:
            return False
        known = any(key.casefold() in _KNOWN for key, _ in found)
        if self.head is None and not known:
            return False
        for key, value in found:
            self._field(key, value, _first_url(line))
        return True

    def _field(self, key: str, value: str, url: str = "") -> None:
        name = key.casefold().replace("-", " ")
        if name in SAID_KEYS or self._said:
            if url and name in {"source", "link", "url", "generatorurl"}:
                self._current().link = self._current().link or url
            self._key = name if not value else ""
            return
        if not value:
            self._key = key
            return
        self._key = ""
        if name == "alertname":
            draft = self._current()
            if draft.named:
                self.drafts.append(_Draft(status=self._status, listed=draft.listed))
                draft = self.drafts[-1]
            draft.named, self._begun().certain = value, True
        elif name in NAME_KEYS:
            head = self._begun()
            if head.title or head.called or self.drafts:
                self._called(value)
            else:
                head.called = value
        else:
            self._described(name, key, value)

    def _described(self, name: str, key: str, value: str) -> None:
        if self.head is None and name not in SEVERITY_KEYS | STATUS_KEYS:
            return
        draft = self._current()
        draft.fields += 1
        self._begun().fields += 1
        if name in STATUS_KEYS and status_of(value.split(" ")[0]):
            draft.status = status_of(value.split(" ")[0])
        elif name in SEVERITY_KEYS:
            draft.severity = draft.severity or value
            draft.labels.append((key, value))
        elif name in TAG_KEYS:
            draft.labels += [one for one in tags(value) if is_label(*one)]
        elif is_label(key, value):
            draft.labels.append((key, value))

    def _prose(self, bare: str) -> None:
        if self._key:
            if self._key.casefold() not in SAID_KEYS:
                self._field(self._key, bare)
            self._key = ""
        elif self.head is None:
            self.before.append(bare)
        elif self._waits_for_title():
            self.head.title = bare

    def _waits_for_title(self) -> bool:
        head = self.head
        return bool(head and head.certain and not head.title and not self.drafts)


_KNOWN = NAME_KEYS | STATUS_KEYS | SEVERITY_KEYS


def _alert(draft: _Draft, head: _Draft) -> Alert | None:
    title = draft.title or head.title
    if draft.named or head.named:
        found = [draft.named or head.named]
    else:
        by_field = [one for one in (draft.called, head.called) if one]
        told = [one for one in by_field if is_identifier(one.split(" ")[0])]
        found = [name for said in (*told, title, *by_field) for name in names_in(said)]
    named = (name for name in found if any(sign.isalnum() for sign in name))
    names = tuple(dict.fromkeys(named))
    if not names or (head.needs_fields and not head.fields):
        return None
    certain = draft.certain or head.certain
    labels = [*draft.labels, *(head.labels if draft is not head else ()), *values_in(title, names)]
    if not certain and not labels and not is_identifier(names[0]):
        return None
    return Alert(
        names=names,
        status=draft.status or head.status,
        severity=draft.severity or head.severity,
        labels=tuple(dict.fromkeys((key.strip(), value) for key, value in labels)),
        link=draft.link or head.link,
        certain=certain,
    )


def _asks_something(reading: _Reading, lines: list[str], by_sign: bool) -> bool:
    """A person's own words beside the alert ask for more than what to do about it.

    Whoever pastes what a product posted, or quotes an alert, wants to know just that."""
    certain = by_sign or bool(reading.head and reading.head.certain)
    said = [_URL.sub(" ", line) for line in (*reading.before, *lines[-1:])]
    if certain:
        asked = said[-1:] if len(lines) == 1 else []
        return any("?" in one and not _is_generic(one) for one in asked)
    title = reading.head.title if reading.head else ""
    last = said.pop() if said and "?" in said[-1] and not list(fields(said[-1])) else ""
    return "?" in title or not all(map(_is_generic, (*reading.before, last)))


def _is_generic(text: str) -> bool:
    return {word.casefold() for word in tokens(text)} <= _GENERIC


def _alerts_of(said: Headline) -> Iterator[Alert]:
    reading = _Reading()
    reading.headed(said, "")
    return reading.alerts()


def _signalled(line: str, written: str) -> Headline | None:
    if written.startswith(">"):
        return quoted(line)
    if _ALARM.match(written.lstrip(" *_>")):
        return headline(line) or signalled(line)
    return signalled(levelled(line)) if levelled(line) else None


def _distinct(found: Iterable[Alert]) -> tuple[Alert, ...]:
    return tuple(dict.fromkeys(found))[:MOST_ALERTS]


def _lines(text: str) -> list[str]:
    text = _SLACK_LINK.sub(lambda m: f"{m[2]} ({m[1]})" if m[2] else m[1], text)
    return html.unescape(text).splitlines()[:_MOST_LINES]


def _cleaned(line: str) -> str:
    """Without bullets, emoji and signs of bold and code."""
    line = _EMOJI.sub(" ", line[:2_000]).replace("`", "").replace("*", "")
    line = _BULLET.sub("", line.strip())
    return " ".join(line.split()).strip("_~> ")


def _first_url(line: str) -> str:
    found = _URL.search(line)
    return found[0].rstrip(".,;") if found else ""


def _is_junk(text: str) -> bool:
    """Nothing, or bytes of something else than text."""
    return not text.strip() or len(_CONTROL.findall(text)) > len(text) / 50


def _from_json(text: str) -> tuple[Alert, ...]:
    """The body of a webhook, pasted."""
    body = text.strip().strip("`").removeprefix("json").strip()
    if not body.startswith(("{", "[")) or '"' not in body:
        return ()
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = told.get("alerts", [told]) if isinstance(told, dict) else told
    if not isinstance(listed, list):
        return ()
    found = (_of_webhook(one) for one in listed if isinstance(one, dict))
    return _distinct(one for one in found if one)


def _of_webhook(told: Mapping[str, Any]) -> Alert | None:
    labels = told.get("labels", told)
    if not isinstance(labels, dict) or not isinstance(labels.get("alertname"), str):
        return None
    said = [(str(key), str(value)) for key, value in labels.items() if isinstance(value, str)]
    return Alert(
        names=(labels["alertname"],),
        status=status_of(str(told.get("status") or "")),
        severity=str(labels.get("severity") or ""),
        labels=tuple(one for one in said if one[0] != "alertname" and is_label(*one)),
        link=str(told.get("generatorURL") or ""),
    )
