"""The lines of a message of alerts, taken one by one: what each says of which alert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agents.alerts.alert import (
    NAME_KEYS,
    SAID_KEYS,
    SEVERITY_KEYS,
    STATUS_KEYS,
    TAG_KEYS,
    Alert,
    AlertStatus,
    Label,
    fields,
    is_identifier,
    is_label,
    tags,
)
from agents.alerts.titles import names_in, values_beside
from agents.alerts.vendors import Headline, group_status, headline, status_of, told_state

MOST_LABELS = 60
"""Of one alert: each is held against each cell."""
URL = re.compile(r"https?://[^\s<>()]+")
_LINKED = re.compile(r"\s*\(https?://[^\s()]+\)")
_MARKER = re.compile(r"(labels|annotations|details|tags|alert details)\s*:?", re.IGNORECASE)


@dataclass
class _AlertDraft:
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


class AlertLines:
    """What was read so far."""

    def __init__(self) -> None:
        self.head: _AlertDraft | None = None
        """What the first line says of all."""
        self.drafts: list[_AlertDraft] = []
        self.before: list[str] = []
        """Lines before the first that is of an alert."""
        self._status: AlertStatus = ""
        self._told: AlertStatus = ""
        """By words beside the alerts."""
        self._key = ""
        self._said = False
        """Among annotations."""

    def take(self, line: str) -> None:
        bare = _LINKED.sub("", line).strip()
        if status := group_status(bare):
            self._status, self._said, self._key = status, False, ""
            self._begun().certain = True
            if self.drafts and self.drafts[-1].status != status:
                self.drafts.append(_AlertDraft(status=status, certain=True))
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
        head = self.head or _AlertDraft()
        head.status = head.status or self._told
        drafts = [one for one in self.drafts if one.named or one.called or one.title or one.labels]
        for draft in drafts or [head]:
            if found := _alert(draft, head):
                yield found

    def _begun(self) -> _AlertDraft:
        if self.head is None:
            self.head = _AlertDraft()
        return self.head

    def _current(self) -> _AlertDraft:
        return self.drafts[-1] if self.drafts else self._begun()

    def _marked(self, what: str) -> None:
        self._said, self._key = what == "annotations", ""
        if what == "annotations" or (self.head is None and what in {"details", "tags"}):
            return
        if what in {"labels", "alert details"}:
            self._begun().certain = True
            if not self.drafts or self.drafts[-1].listed:
                self.drafts.append(_AlertDraft(status=self._status))
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
            self.head = _AlertDraft(certain=self.head.certain)
        self.drafts.append(
            _AlertDraft(
                title=said.title, called=said.title, status=said.status, severity=said.severity,
                labels=list(said.labels), link=link, certain=said.certain,
            )
        )  # fmt: skip

    def _called(self, value: str) -> None:
        """`Alert: …` below a headline: one of a group, or the same said in words."""
        if not self.drafts or self.drafts[-1].called:
            self.drafts.append(_AlertDraft(status=self._status))
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
                self.drafts.append(_AlertDraft(status=self._status, listed=draft.listed))
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
        self._told = self._told or told_state(bare)
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


def _alert(draft: _AlertDraft, head: _AlertDraft) -> Alert | None:
    title = draft.title or head.title
    if draft.named or head.named:
        found = [draft.named or head.named]
    else:
        by_field = [one for one in (draft.called, head.called) if one]
        told = [one for one in by_field if is_identifier(one.split(" ")[0])]
        found = [name for said in (*told, title, *by_field) for name in names_in(said)]
    named = (name for name in found if any(sign.isalnum() for sign in name))
    names = tuple(dict.fromkeys(named))
    if inside := next((value for key, value in draft.labels if key == "alertname"), ""):
        names = (inside,)
    if not names or (head.needs_fields and not head.fields):
        return None
    certain = draft.certain or head.certain
    labels = [
        *draft.labels,
        *(head.labels if draft is not head else ()),
        *values_beside(title, min(names, key=len)),
    ]
    if not certain and not labels and not is_identifier(names[0]):
        return None
    return Alert(
        names=names,
        status=draft.status or head.status,
        severity=draft.severity or head.severity,
        labels=tuple(dict.fromkeys((key.strip(), value) for key, value in labels))[:MOST_LABELS],
        link=draft.link or head.link,
        certain=certain,
        title="" if draft.named or head.named else title,
    )


def _first_url(line: str) -> str:
    found = URL.search(line)
    return found[0].rstrip(".,;") if found else ""
