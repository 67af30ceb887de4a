"""Reads what a bot posts: by a product's form, else by one plain rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.alerts import lines as text
from agents.alerts import titles
from agents.alerts.alert import INSTANCE_KEYS, MAX_LABELS, SEVERITY_KEYS, Alert, AlertStatus, Label
from agents.alerts.forms import READ, Form
from agents.alerts.lines import KEYS, clean, fields
from agents.alerts.titles import is_level, is_notice, status_by_sign, status_of
from enrichment.names import is_identifier

MAX_ALERTS = 50
_MAX_FORM_LINE, _FORM_LINES, _DEPTH = 400, 12, 4
_COLOR = re.compile(r"\[(FIRING|RESOLVED)\] (?=\S)")
_BOLD = re.compile(r"[*`]+([^*`\n]+)[*`]")
_CONDITION = re.compile("[<>=]")
_NAMING = frozenset((*KEYS["names"], *KEYS["named_by"]))


@dataclass
class Draft:
    title: str = ""
    name: str = ""
    status: AlertStatus = ""
    severity: str = ""
    form: str = "plain"
    sure: bool = False
    loose: bool = False
    height: int = 1
    """Lines that its title was read from."""
    names: dict[str, str] = field(default_factory=dict)
    """By the keys of fields that may hold a sentence as well."""
    keys: set[str] = field(default_factory=set)
    labels: list[Label] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    runbooks: list[str] = field(default_factory=list)


class Post:
    """A message's lines as a bot posts them. The lines below a head are added to it, or to the
    alerts that they name one by one."""

    def __init__(self, raw: Sequence[str]) -> None:
        self._lines = [clean(line) for line in raw]
        self._sign: AlertStatus = ""
        """By a color or emoji: a state in words goes before it."""
        self._status: AlertStatus = ""
        head, self.begin = self._head(raw) if raw else (None, 0)
        """`begin`: the line that the first alert is read from."""
        self._drafts = [head] if head else []
        self._shared = list(head.labels) if head else []
        start = self.begin + head.height if head else len(raw)
        for one, line in zip(raw[start:], self._lines[start:], strict=True):
            self._add(one, line)
        self.alerts = [alert for one in self._drafts if (alert := self._alert(one))]

    @property
    def has_form(self) -> bool:
        """Whether it has a form that people do not type, or fields that they do not give."""
        head, rating = self._drafts[0], SEVERITY_KEYS.union(INSTANCE_KEYS)
        rated = any(key.casefold() in rating for key, _ in head.labels)
        by_form = head.form != "plain" and (rated or not head.loose)
        return by_form or any("alertname" in one.keys for one in self._drafts)

    def _head(self, raw: Sequence[str]) -> tuple[Draft | None, int]:
        """The draft of the first alert, and the line that it begins in; none where the message
        reports work."""
        color = _COLOR.match(self._lines[0])
        lines = [self._lines[0][color.end() if color else 0 :], *self._lines[1:]]
        signs = [status_by_sign(one) for one in raw[:3]]
        self._sign = status_of(color[1]) if color else next(filter(None, signs), "")
        above: AlertStatus = ""
        opens = True
        for at in range(min(len(lines), _FORM_LINES)):
            if draft := draft_by_form(lines[at:]):
                break
            opens = opens and titles.says_no_more(" ".join(lines[at].split()[:3]))
            above = above or (status_of(lines[at]) if opens else "")
        else:
            by_color = color and not titles.says_no_more(lines[0])
            at, draft = 0, draft_by_form(self._lines) if by_color else None
        if draft is None:
            at = _title_line(raw, lines)
            draft = _plain(lines[at]) if at >= 0 else Draft(height=0)
            at = max(at, 0)
        draft.status = above or draft.status
        fires = (draft.status or self._sign) == "firing" and not titles.tells_of_build(lines[at])
        draft.sure = fires or not (draft.loose or draft.form == "plain")
        below = lines[at + draft.height] if at + draft.height < len(lines) else ""
        nameless = titles.is_group(draft.title) and not titles.best_name(draft.title)[1]
        works = is_notice(lines[at]) or is_notice(below)
        if draft.form == "notice" or (works and not draft.sure):
            return None, 0
        if nameless and not draft.name and below and not any(fields(below)):
            bold = _BOLD.match(raw[at + draft.height].lstrip())
            draft.labels += text.tags(draft.title)
            draft.title = clean(bold[1]) if bold else below
        return draft, at

    def _add(self, raw: str, line: str) -> None:
        self._drafts[-1].runbooks += text.runbooks_in(raw)
        self._drafts[-1].labels += text.parameters(raw)
        if titles.says_no_more(line) and status_of(line) and not any(fields(line)):
            self._status = status_of(line)
            self._drafts[-1].status = self._drafts[-1].status or self._status
        elif not self._is_next_title(line):
            pairs = list(fields(line))
            if text.is_url(raw) and pairs and pairs[0][0].casefold() not in text.FIELD_KEYS:
                return  # a link
            for one, value in pairs:
                self._add_field(one, value)
            if not pairs or text.is_prose(*pairs[0]):
                first, begin = " ".join(line.split()[:2]), " ".join(line.split()[:4])
                if titles.says_no_more(first):
                    self._drafts[0].status = self._drafts[0].status or status_of(begin)
                self._drafts[-1].lines.append(line)

    def _draft_for(self, key: str) -> Draft:
        """The current one, or another where it has the key already."""
        if key in self._drafts[-1].keys:
            self._drafts.append(Draft(status=self._status, labels=list(self._shared)))
        self._drafts[-1].keys.add(key)
        return self._drafts[-1]

    def _is_next_title(self, line: str) -> bool:
        """Whether another title begins here; one that is here again is passed over."""
        draft = draft_by_form([line])
        if draft is None or draft.loose or draft.form == "notice":
            return False
        if draft.title not in {one.title for one in self._drafts}:
            self._drafts.append(draft)
        return True

    def _add_field(self, key: str, value: str) -> None:
        name, draft = key.casefold().replace("-", " "), self._drafts[-1]
        if name in KEYS["names"] and value:
            draft = self._draft_for(name)
            draft.name, draft.sure = value, True
        elif name in KEYS["named_by"] and not _CONDITION.search(value):
            if not titles.says_no_more(value):
                draft = self._draft_for(name) if name == "alert" else draft
                draft.names.setdefault(name, value)
        elif name in KEYS["states"] and (status := status_of(value)):
            draft.status = draft.status or status
            draft.sure = draft.sure or status == "firing"
            draft.severity = draft.severity or titles.level_of(value)
        elif name == "labels" and not value:
            self._draft_for(name)
        elif name in KEYS["tags"]:
            draft.labels += text.tags(value)
        else:
            if name in SEVERITY_KEYS:
                draft.severity = draft.severity or value
                draft.sure = draft.sure or (name == "severity" and is_level(value))
            elif name in KEYS["titles"]:
                draft.names.setdefault(name, value)
            draft.labels.append((key, value))

    def _alert(self, draft: Draft) -> Alert | None:
        head = self._drafts[0]
        title = draft.title or head.title
        keys = (*KEYS["named_by"], *KEYS["titles"])
        key = next((key for key in keys if key in draft.names), "")
        title = title or (draft.names[key] if key in KEYS["titles"] else "")
        name, named = titles.best_name(titles.split_state(title)[0])
        if draft.name:
            name, named = draft.name, True
        elif key in KEYS["named_by"] and not named:
            name = draft.names[key]
            named, title = len(name.split()) <= 6, title or name
        status = draft.status or head.status or self._sign
        scripted = text.without_pairs(title) == name != title and is_identifier(name)
        sure = draft.sure or head.sure or (named and bool(status)) or scripted
        sure = sure and (named or not titles.is_group(title))
        labels = (
            pair for one in draft.labels for pair in text.label(*one)
            if pair[0] != "alertname" and pair[1] != name
        )  # fmt: skip
        coined = any(one.isalpha() and is_identifier(one) for one in title.split())
        is_title = sure or status or coined or titles.may_be_title(title)
        if not text.tells(name) or not is_title:
            return None
        return Alert(
            name=name[:200], named=named, title=title[:400] if sure or coined else name[:200],
            lines=tuple(draft.lines[:60]) if sure else (), status=status,
            severity=draft.severity or head.severity, form=draft.form if draft.title else head.form,
            labels=tuple(dict.fromkeys(labels))[:MAX_LABELS],
            runbooks=tuple(dict.fromkeys(draft.runbooks)), certain=sure,
        )  # fmt: skip


def _title_line(raw: Sequence[str], lines: Sequence[str]) -> int:
    """The number of the first line that may be a title: it tells something, and stands above the
    fields that alerts have; -1 where none may be, or a field states the name."""
    seen_field = False
    for at, line in enumerate(lines):
        keys = [key.casefold() for key, _ in fields(line)]
        if not _NAMING.isdisjoint(keys):
            break
        begins = any(fields(line.split(" | ")[0]))
        seen_field = seen_field or (begins and not text.KNOWN_KEYS.isdisjoint(keys[:1]))
        is_plain = not (seen_field and begins) and not text.is_url(raw[at])
        is_sender = at + 1 < len(lines) and titles.names_sender(line)
        if is_plain and not is_sender and not titles.says_no_more(line):
            return at
    return -1


def _plain(line: str) -> Draft:
    title, status, severity = titles.read_title(line)
    sides = (pair for side in line.split(" | ")[1:] for pair in fields(side) if pair[1])
    labels = [*text.pairs(line), *sides]  # `PodDown team=a | Cluster: prod-eu`
    return Draft(title=title, status=status, severity=severity, labels=labels)


def draft_by_form(lines: Sequence[str], depth: int = 0) -> Draft | None:
    """The draft by the form that matches where the lines begin; of form `notice` where the product
    tells of something that does not fire. A title in a title is read, too."""
    if len(lines[0]) > _MAX_FORM_LINE or depth > _DEPTH:
        return None
    block = "\n".join(one[:_MAX_FORM_LINE] for one in lines[:_FORM_LINES])
    for form in READ:
        if match := form.compiled.match(block):
            return _draft(form, match, depth)
    title, status, severity = titles.split_lead(lines[0], 1)
    inner = draft_by_form([title, *lines[1:]], depth + 1) if title != lines[0] else None
    if inner:
        inner.severity, inner.status = inner.severity or severity, inner.status or status
    return inner


def _draft(form: Form, match: re.Match[str], depth: int) -> Draft:
    parts = match.groupdict(default="").items()
    groups = [(k.rpartition("_")[0].strip("_"), v.strip()) for k, v in parts if text.tells(v)]
    by_key = dict(groups)
    state = by_key.get("state", "")
    draft = Draft(
        form="notice" if state and is_notice(state) else form.id, loose=form.loose,
        height=form.height, status=status_of(state),
        severity=by_key.get("severity") or titles.level_of(state),
    )  # fmt: skip
    for key, value in groups:
        if not key:
            draft.lines.append(value)
        elif key not in {"name", "title", "state"}:
            draft.labels += text.tags(value) if key == "on" else [(key, value)]
    draft.name = draft.title = by_key.get("name") or dict(draft.labels).get("alertname", "")
    if title := by_key.get("title"):
        inner = draft_by_form([title], depth + 1) or _plain(title)
        draft.name, draft.title = inner.name, inner.title
        draft.status = draft.status or inner.status
        draft.severity = draft.severity or inner.severity
        draft.loose = draft.loose and (inner.loose or inner.form == "plain")
        draft.labels += inner.labels
    return draft
