"""Reads a message line by line and collects the alerts that its lines describe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agents.alerts.alert import (
    DESCRIPTION_KEYS,
    NAME_KEYS,
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
from agents.alerts.titles import names_in, values_around
from agents.alerts.vendors import Headline, group_status, headline, state_in, status_of

MAX_LABELS = 60
"""Per alert: each label is compared with each cell of a runbook's row."""
URL = re.compile(r"https?://[^\s<>()]+")
_LINK_AFTER_TEXT = re.compile(r"\s*\(https?://[^\s()]+\)")
_SECTION_START = re.compile(r"(labels|annotations|details|tags|alert details)\s*:?", re.IGNORECASE)


@dataclass
class _AlertDraft:
    """An alert whose lines are still being read."""

    title: str = ""
    alertname: str = ""
    """Value of the field `alertname`."""
    summary: str = ""
    """Value of a field such as `Alert:`: a name or a summary."""
    status: AlertStatus = ""
    severity: str = ""
    labels: list[Label] = field(default_factory=list)
    link: str = ""
    certain: bool = False
    has_label_list: bool = False
    """A line such as `Labels:` has introduced its labels."""
    needs_fields: bool = False
    fields: int = 0


class AlertLines:
    """The alerts of the lines read so far."""

    def __init__(self) -> None:
        self.head: _AlertDraft | None = None
        """Facts in the first line that apply to all alerts."""
        self.drafts: list[_AlertDraft] = []
        self.before: list[str] = []
        """Lines before the first one that belongs to an alert."""
        self._status: AlertStatus = ""
        self._prose_status: AlertStatus = ""
        """Status that a sentence next to the alerts gives."""
        self._key = ""
        self._in_annotations = False
        """Inside a list of annotations."""

    def add_line(self, line: str) -> None:
        text = _LINK_AFTER_TEXT.sub("", line).strip()
        if status := group_status(text):
            self._status, self._in_annotations, self._key = status, False, ""
            self._ensure_head().certain = True
            if self.drafts and self.drafts[-1].status != status:
                self.drafts.append(_AlertDraft(status=status, certain=True))
        elif marker := _SECTION_START.fullmatch(text):
            self._start_section(marker[1].casefold())
        elif heading := headline(text):
            if self._key and not heading.certain:
                self._add_field(self._key, text)
                self._key = ""
            elif not (self._in_annotations and not heading.certain):
                self.add_headline(heading, line)
        elif not self._add_fields(text, line):
            self._add_prose(text)

    def alerts(self) -> Iterator[Alert]:
        head = self.head or _AlertDraft()
        head.status = head.status or self._prose_status
        drafts = [
            one for one in self.drafts if one.alertname or one.summary or one.title or one.labels
        ]
        for draft in drafts or [head]:
            if alert := _alert(draft, head):
                yield alert

    def _ensure_head(self) -> _AlertDraft:
        if self.head is None:
            self.head = _AlertDraft()
        return self.head

    def _current(self) -> _AlertDraft:
        return self.drafts[-1] if self.drafts else self._ensure_head()

    def _start_section(self, what: str) -> None:
        self._in_annotations, self._key = what == "annotations", ""
        if what == "annotations" or (self.head is None and what in {"details", "tags"}):
            return
        if what in {"labels", "alert details"}:
            self._ensure_head().certain = True
            if not self.drafts or self.drafts[-1].has_label_list:
                self.drafts.append(_AlertDraft(status=self._status))
            self.drafts[-1].has_label_list = True

    def add_headline(self, heading: Headline, line: str) -> None:
        self._in_annotations, self._key = False, ""
        link = _first_url(line)
        if self.head is None or not (self.head.title or self.drafts):
            head = self._ensure_head()
            head.title, head.severity = heading.title, head.severity or heading.severity
            head.status = heading.status or head.status
            head.labels += heading.labels
            head.link = head.link or link
            head.certain = head.certain or heading.certain
            head.needs_fields = heading.needs_fields
            return
        if heading.needs_fields or (self.head.certain and not heading.certain):
            self._add_alert_field(heading.title)
            return
        if not self.drafts:
            self.drafts.append(self.head)
            self.head = _AlertDraft(certain=self.head.certain)
        self.drafts.append(
            _AlertDraft(
                title=heading.title, summary=heading.title, status=heading.status,
                severity=heading.severity, labels=list(heading.labels), link=link,
                certain=heading.certain,
            )
        )  # fmt: skip

    def _add_alert_field(self, value: str) -> None:
        """`Alert: …` below a headline: one alert of a group, or a description of the same one."""
        if not self.drafts or self.drafts[-1].summary:
            self.drafts.append(_AlertDraft(status=self._status))
        self.drafts[-1].summary = value

    def _add_fields(self, text: str, line: str) -> bool:
        pairs = list(fields(text))
        if not pairs:
            return False
        if self.head is None and not any(key.casefold() in _KNOWN_KEYS for key, _ in pairs):
            return False
        for key, value in pairs:
            self._add_field(key, value, _first_url(line))
        return True

    def _add_field(self, key: str, value: str, url: str = "") -> None:
        name = key.casefold().replace("-", " ")
        if name in DESCRIPTION_KEYS or self._in_annotations:
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
            if draft.alertname:
                self.drafts.append(
                    _AlertDraft(status=self._status, has_label_list=draft.has_label_list)
                )
                draft = self.drafts[-1]
            draft.alertname, self._ensure_head().certain = value, True
        elif name in NAME_KEYS:
            head = self._ensure_head()
            if head.title or head.summary or self.drafts:
                self._add_alert_field(value)
            else:
                head.summary = value
        else:
            self._add_label(name, key, value)

    def _add_label(self, name: str, key: str, value: str) -> None:
        if self.head is None and name not in SEVERITY_KEYS | STATUS_KEYS:
            return
        draft = self._current()
        draft.fields += 1
        self._ensure_head().fields += 1
        if name in STATUS_KEYS and status_of(value.split(" ")[0]):
            draft.status = status_of(value.split(" ")[0])
        elif name in SEVERITY_KEYS:
            draft.severity = draft.severity or value
            draft.labels.append((key, value))
        elif name in TAG_KEYS:
            draft.labels += [one for one in tags(value) if is_label(*one)]
        elif is_label(key, value):
            draft.labels.append((key, value))

    def _add_prose(self, text: str) -> None:
        self._prose_status = self._prose_status or state_in(text)
        if self._key:
            if self._key.casefold() not in DESCRIPTION_KEYS:
                self._add_field(self._key, text)
            self._key = ""
        elif self.head is None:
            self.before.append(text)
        elif self.head.certain and not self.head.title and not self.drafts:
            self.head.title = text


_KNOWN_KEYS = NAME_KEYS | STATUS_KEYS | SEVERITY_KEYS


def _alert(draft: _AlertDraft, head: _AlertDraft) -> Alert | None:
    title = draft.title or head.title
    if draft.alertname or head.alertname:
        candidates = [draft.alertname or head.alertname]
    else:
        by_field = [one for one in (draft.summary, head.summary) if one]
        identifiers = [one for one in by_field if is_identifier(one.split(" ")[0])]
        candidates = [name for text in (*identifiers, title, *by_field) for name in names_in(text)]
    usable = (name for name in candidates if any(sign.isalnum() for sign in name))
    names = tuple(dict.fromkeys(usable))
    if label_name := next((value for key, value in draft.labels if key == "alertname"), ""):
        names = (label_name,)
    if not names or (head.needs_fields and not head.fields):
        return None
    certain = draft.certain or head.certain
    labels = [
        *draft.labels,
        *(head.labels if draft is not head else ()),
        *values_around(title, min(names, key=len)),
    ]
    if not certain and not labels and not is_identifier(names[0]):
        return None
    return Alert(
        names=names,
        status=draft.status or head.status,
        severity=draft.severity or head.severity,
        labels=tuple(dict.fromkeys((key.strip(), value) for key, value in labels))[:MAX_LABELS],
        link=draft.link or head.link,
        certain=certain,
        title="" if draft.alertname or head.alertname else title,
    )


def _first_url(line: str) -> str:
    match = URL.search(line)
    return match[0].rstrip(".,;") if match else ""
