"""Reads what a bot posts: by a product's form, else by one plain rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from agents.alerts import lines as text
from agents.alerts import titles
from agents.alerts.alert import INSTANCE_KEYS, MAX_LABELS, SEVERITY_KEYS, Alert, AlertStatus, Label
from agents.alerts.forms import READ, Form
from agents.alerts.lines import KEYS, clean, fields
from agents.alerts.titles import is_level, is_notice, status_by_sign, status_of
from enrichment.names import is_identifier

MAX_ALERTS = 50
_MAX_FORM_LINE, _FORM_LINES = 400, 12
_COLOR = re.compile(r"\[(FIRING|RESOLVED)\] (?=\S)")
_CONDITION = re.compile("[<>=]")
_NAMING = frozenset((*KEYS["names"], *KEYS["named_by"]))


@dataclass
class Draft:
    title: str = ""
    status: AlertStatus = ""
    severity: str = ""
    form: str = "plain"
    sure: bool = False
    loose: bool = False
    names: dict[str, str] = field(default_factory=dict)
    """By the keys of the fields that state them; '' is a form's."""
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
        start = self.begin + bool(head and head.title)
        for one, line in list(zip(raw, self._lines, strict=True))[start:] if head else ():
            self._add(one, line)
        self.alerts = [alert for one in self._drafts if (alert := self._alert(one))]

    @property
    def has_form(self) -> bool:
        """Whether it has a form that people do not type, or fields that they do not give."""
        head, rating = self._drafts[0], SEVERITY_KEYS.union(INSTANCE_KEYS)
        rated = any(key.casefold() in rating for key, _ in head.labels)
        by_form = head.form != "plain" and (rated or not head.loose)
        return by_form or any("alertname" in one.names for one in self._drafts)

    def _head(self, raw: Sequence[str]) -> tuple[Draft | None, int]:
        """The draft of the first alert, and the line that it begins in; none where the message
        reports work."""
        color = _COLOR.match(self._lines[0])
        lines = [self._lines[0][color.end() if color else 0 :], *self._lines[1:]]
        signs = [status_by_sign(one) for one in raw[:3]]
        self._sign = status_of(color[1]) if color else next(filter(None, signs), "")
        drafts = ((at, draft_by_form(lines[at:])) for at in range(min(len(lines), _FORM_LINES)))
        at, draft = next((one for one in drafts if one[1]), (0, None))
        if draft is None and color and not titles.says_no_more(lines[0]):
            at, draft = 0, draft_by_form(self._lines)
        if draft is None:
            at, draft = _by_title(raw, lines)
        above = map(status_of, takewhile(titles.opens, lines[:at]))
        draft.status = next(filter(None, above), draft.status)
        fires = (draft.status or self._sign) == "firing"
        draft.sure = draft.sure or fires or not (draft.loose or draft.form == "plain")
        below = next(iter(lines[at + bool(draft.title) :]), "")
        if draft.form == "notice" or (not draft.sure and any(map(is_notice, (lines[at], below)))):
            return None, 0
        is_nameless = titles.is_group(draft.title) and not draft.names
        if is_nameless and below and not any(fields(below)):
            draft.labels += text.tags(draft.title)
            draft.title = below
        return draft, at

    def _add(self, raw: str, line: str) -> None:
        draft, pairs = self._drafts[-1], list(fields(line))
        draft.runbooks += text.RUNBOOK.findall(raw)
        draft.labels += text.PARAMETER.findall(raw)
        if not pairs and titles.says_no_more(line) and status_of(line):
            self._status = status_of(line)
            draft.status = draft.status or self._status
        elif (
            text.ONLY_URL.fullmatch(raw) and pairs and pairs[0][0].casefold() not in text.FIELD_KEYS
        ):
            pass  # a link
        elif (other := draft_by_form([line])) and not (other.loose or other.form == "notice"):
            if other.title not in {one.title for one in self._drafts}:
                self._drafts.append(other)
        else:
            for one, value in pairs:
                self._add_field(one, value)
            if not pairs or text.is_prose(*pairs[0]):
                head = self._drafts[0]
                head.status = head.status or (status_of(line) if titles.opens(line) else "")
                self._drafts[-1].lines.append(line)

    def _add_field(self, key: str, value: str) -> None:
        name, head, draft = key.casefold().replace("-", " "), self._drafts[0], self._drafts[-1]
        states_it, bare = name in KEYS["names"] and value, text.without_pairs(value)
        if states_it or (name in KEYS["named_by"] and not _CONDITION.search(bare)):
            draft.labels += text.pairs(value)
            if name in draft.names and (states_it or name == "alert"):
                draft = Draft(status=self._status, form=head.form)
                self._drafts.append(draft)
            if states_it or not titles.says_no_more(value):
                draft.names.setdefault(name, value if states_it else bare)
                draft.sure = draft.sure or bool(states_it)
        elif name in KEYS["states"] and (status := status_of(value)):
            draft.status = draft.status or status
            draft.sure = draft.sure or status == "firing"
            draft.severity = draft.severity or titles.level_of(value)
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
        keys = (key for kind in ("names", "named_by", "titles") for key in KEYS[kind])
        key = next((key for key in ("", *keys) if key in draft.names), None)
        stated = "" if key is None else draft.names[key]
        title = draft.title or head.title or (stated if key in KEYS["titles"] else "")
        name, named = titles.best_name(titles.split_state(title)[0])
        if key == "" or key in KEYS["names"]:
            name, named = stated, True
        elif key in KEYS["named_by"] and not named:
            name, named, title = stated, len(stated.split()) <= 6, title or stated
        status = draft.status or head.status or self._sign
        sure = draft.sure or head.sure or (named and bool(status))
        sure = sure and not (titles.is_group(title) and not named)
        labels = (
            pair for one in draft.labels for pair in text.label(*one)
            if pair[0] != "alertname" and pair[1] != name
        )  # fmt: skip
        if not any(map(str.isalpha, name)) or not (sure or titles.may_be_title(title)):
            return None
        return Alert(
            name=name[:200], named=named, title=title[:400], lines=tuple(draft.lines[:60]),
            status=status, severity=draft.severity or head.severity, form=draft.form,
            labels=tuple(dict.fromkeys(labels))[:MAX_LABELS],
            runbooks=tuple(dict.fromkeys(draft.runbooks)), certain=sure,
        )  # fmt: skip


def _by_title(raw: Sequence[str], lines: Sequence[str]) -> tuple[int, Draft]:
    """The first line that may be a title, and the draft by it: it tells something, and is no field
    that alerts have; without a title where none may be, or a field states the name."""
    for at, line in enumerate(lines):
        key = next((key.casefold() for key, _ in fields(line.split(" | ")[0])), "")
        if key in _NAMING:
            break
        is_other = key in text.FIELD_KEYS or text.ONLY_URL.fullmatch(raw[at])
        if not is_other and not titles.says_no_more(line):
            return at, _plain(line)
    return 0, Draft()


def _plain(line: str) -> Draft:
    title, status, severity = titles.read_title(line)
    sides = (pair for side in line.split(" | ")[1:] for pair in fields(side) if pair[1])
    labels = [*text.pairs(line), *sides]  # `PodDown team=a | Cluster: prod-eu`
    name = text.without_pairs(title)
    sure = name != title and is_identifier(name)  # with labels alone
    return Draft(title=title, status=status, severity=severity, labels=labels, sure=sure)


def draft_by_form(lines: Sequence[str]) -> Draft | None:
    """The draft by the form that matches where the lines begin; of form `notice` where the product
    tells of something that does not fire. A title in a title is read, too."""
    block = "\n".join(one[:_MAX_FORM_LINE] for one in lines[:_FORM_LINES])
    for form in READ:
        if match := form.compiled.match(block):
            return _draft(form, match)
    title, status, severity = titles.split_lead(lines[0], 1)
    inner = draft_by_form([title, *lines[1:]]) if title != lines[0] else None
    if inner:
        inner.severity, inner.status = inner.severity or severity, inner.status or status
    return inner


def _draft(form: Form, match: re.Match[str]) -> Draft:
    parts = match.groupdict(default="").items()
    groups = [(k.rpartition("_")[0].strip("_"), v.strip()) for k, v in parts if text.tells(v)]
    by_key = dict(groups)
    state = by_key.get("state", "")
    draft = Draft(
        form="notice" if state and is_notice(state) else form.id, loose=form.loose,
        status=status_of(state),
        severity=by_key.get("severity") or titles.level_of(state),
    )  # fmt: skip
    for key, value in groups:
        if not key:
            draft.lines.append(value)
        elif key not in {"name", "title", "state"}:
            draft.labels += text.tags(value) if key == "on" else [(key, value)]
    draft.title = by_key.get("name") or dict(draft.labels).get("alertname", "")
    draft.names = {"": draft.title} if draft.title else {}
    if title := by_key.get("title"):
        inner = draft_by_form([title]) or _plain(title)
        draft.names, draft.title = inner.names, inner.title
        draft.status = draft.status or inner.status
        draft.severity = draft.severity or inner.severity
        draft.labels += inner.labels
    return draft
