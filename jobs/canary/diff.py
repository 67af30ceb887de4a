"""Shows how an edit of a domain file changes its answers, as Markdown for a pull request."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from config.domain import CanaryPolicy, Domain
from config.domain_files import check_domains, read_domain
from config.errors import ConfigError
from jobs.evaluation.comparison import compared
from jobs.evaluation.report import Comparison, EvaluationReport, MetricChange, ReportQuestion

OF_THE_INDEX = ("sources", "chunks")
"""Keys that change the index: comparing them needs a separate index."""
WITHOUT_EFFECT = (
    *("channels", "admins", "escalation", "limits", "access", "retention", "evaluation"),
    *("answer.when", "answer.follow_ups", "answer.alert_bots", "answer.cache"),
    *("answer.link_previews", "answer.earlier_threads", "retrieval.top_k", "runbooks", "tools"),
    "sources.change_channels",
)
"""Keys that do not change the answer to a golden question: they control who gets an answer, when,
how often, and what is posted with it. `tools` is here because unmerged edits call no tool."""


@dataclass(frozen=True, kw_only=True)
class ConfigChange:
    key: str
    """Dotted path."""
    before: object
    after: object

    @property
    def of_the_index(self) -> bool:
        return self.has_effect and _within(self.key, OF_THE_INDEX)

    @property
    def has_effect(self) -> bool:
        """Whether the edit can change answers to golden questions."""
        return not _within(self.key, WITHOUT_EFFECT)


def _within(key: str, keys: tuple[str, ...]) -> bool:
    return any(key == one or key.startswith(f"{one}.") for one in keys)


def config_changes(old: Domain, new: Domain) -> list[ConfigChange]:
    """Keys whose values differ; unset keys count with their defaults."""
    return list(_changed(old.model_dump(mode="json"), new.model_dump(mode="json"), ""))


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], above: str) -> Iterator[ConfigChange]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _changed(before, after, f"{above}{key}.")
        elif before != after:
            yield ConfigChange(key=f"{above}{key}", before=before, after=after)


def edited_domains(old: Path, new: Path) -> dict[str, tuple[Domain | None, Domain | None]]:
    """Domain → (old, new), for the domains that differ between two files or two config folders.

    Relative paths in the old file are resolved from the new file's folder, because the old file
    may be a copy that git wrote elsewhere. Raises ConfigError for an invalid file."""
    before, after = _read(old), _read(new)
    if old.is_file() and new.is_file():  # one domain, even if the edit renames it
        before = dict(zip(after, before.values(), strict=True))
    edits: dict[str, tuple[Domain | None, Domain | None]] = {}
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was and now:
            if config_changes(was, now):
                edits[name] = (was.read_from(now.path), now)
        else:
            edits[name] = (was, now)
    return edits


def _read(path: Path) -> Mapping[str, Domain]:
    if path.is_dir():
        domains, problems = check_domains(path)
    else:
        domain, problems = read_domain(path)
        domains = {domain.domain: domain} if domain else {}
    if problems:
        raise ConfigError("\n".join(map(str, problems)), remedy="correct the domain file")
    return domains


GUARDED = {
    "acceptable": "acceptable, as judged",
    "evidence_all": "evidence in context",
    "cited": "right document cited",
    "facts_all": "all facts said",
    "refused_right": "refused, rightly",
}
"""Metrics whose drop fails the comparison."""
SHOWN_BESIDE = {
    "incorrect": "incorrect, as judged",
    "answer_wrong": "answers that are wrong, or in part",
    "refused_wrong": "refused, wrongly",
    "clarified_wrong": "asked back, wrongly",
    "words": "words",
    "calls": "calls of the model",
}
OTHERWISE = "Said otherwise, no metric moved"
SAID = 160
"""Maximum characters of an answer in the output."""
LEAD_IN = 30
"""Unchanged characters shown before the first difference."""


@dataclass(frozen=True, kw_only=True)
class DomainDiff:
    """One domain, before and after an edit."""

    domain: str
    changes: Sequence[ConfigChange]
    before: EvaluationReport | None = None
    """None when no question was asked because the edit can't change an answer."""
    after: EvaluationReport | None = None
    limits: CanaryPolicy = field(default_factory=CanaryPolicy)
    below: Sequence[str] = ()
    """Limits of `--fail-under` that the edit breaks."""
    max_changed: float | None = None
    """Maximum share of changed answers, 0–1; None: no limit."""

    @cached_property
    def compared(self) -> Comparison | None:
        """None when no question was asked."""
        if self.before is None or self.after is None:
            return None
        return compared(self.before.questions, self.after.questions)

    def drops(self) -> list[str]:
        """One line per metric that dropped beyond the limit."""
        held = self.compared
        metrics = held.metrics if held else {}
        return [
            f"{label} {metrics[name].before:.2f} → {metrics[name].after:.2f}"
            for name, label in GUARDED.items()
            if name in metrics and _drops(metrics[name], self.limits)
        ]

    def said_otherwise(self) -> list[str]:
        """Ids of questions whose answer changed but scored neither better nor worse.

        Metrics can't rate such a change; a reader has to."""
        better_or_worse = {*self.compared.worse, *self.compared.better} if self.compared else set()
        return [one for one in self._other_answers if one not in better_or_worse]

    @cached_property
    def _other_answers(self) -> list[str]:
        """Ids of questions whose answer text changed, in order."""
        if self.before is None or self.after is None:
            return []
        then = {one.id: one.answer for one in self.before.questions}
        return [one.id for one in self.after.questions if then[one.id] != one.answer]

    @property
    def changed(self) -> float:
        """Share of questions whose answer text changed, 0–1."""
        questions = self.after.questions if self.after else []
        return len(self._other_answers) / len(questions) if questions else 0.0

    def too_many_changed(self) -> list[str]:
        """The broken limit as a line; empty without a limit or within it."""
        if self.max_changed is None or self.changed <= self.max_changed:
            return []
        return [f"{self.changed:.2f} of the answers are others, at most {self.max_changed:g}"]

    @property
    def fails(self) -> bool:
        return bool(self.drops() or self.too_many_changed() or self.below)

    def markdown(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"## {_plain(self.domain)}: {self._verdict()}"
        yield ""
        yield from ("| Key | Before | After |", "|---|---|---|")
        for one in self.changes:
            yield f"| `{one.key}` | {_plain(one.before)} | {_plain(one.after)} |"
        held = self.compared
        if held is None or self.before is None or self.after is None:
            return
        yield ""
        yield f"{len(self.after.questions)} golden questions, {self._model()}."
        yield ""
        yield from ("| Metric | Before | After | Change, 95% interval |", "|---|---|---|---|")
        for name, label in {**GUARDED, **SHOWN_BESIDE}.items():
            if name in held.metrics:
                yield _row(label, held.metrics[name])
        then = {one.id: one for one in self.before.questions}
        now = {one.id: one for one in self.after.questions}
        lists = {"Worse": held.worse, "Better": held.better, OTHERWISE: self.said_otherwise()}
        for title, ids in lists.items():
            if ids:
                yield from ("", f"<details><summary>{title}: {len(ids)}</summary>", "")
                for name in ids:
                    yield f"- **{_plain(name)}** {_plain(now[name].question)}"
                    common = _common(then[name].answer, now[name].answer)
                    yield f"  - before: {_reply_line(then[name], common)}"
                    yield f"  - now: {_reply_line(now[name], common)}"
                yield from ("", "</details>")

    def _model(self) -> str:
        model = self.after.run.model if self.after else ""
        return f"answered by {model}" if model else "answered without a model"

    def _verdict(self) -> str:
        if self.before is None:
            return "nothing that an answer depends on changed, so nothing was asked"
        worse = [*self.drops(), *self.too_many_changed(), *self.below]
        if worse:
            return f"**worse**: {'; '.join(worse)}"
        others = len(self.said_otherwise())
        read = f", but {others} answers are others: read them" if others else ""
        return f"no drop beyond {self.limits.max_drop:g}{read}"


def _drops(change: MetricChange, limits: CanaryPolicy) -> bool:
    lost = round((change.before - change.after) * change.questions, 3)
    return lost >= limits.min_lost and lost > limits.max_drop * change.questions


def _row(label: str, change: MetricChange) -> str:
    low, high = change.interval or (0.0, 0.0)
    difference = change.after - change.before
    return (
        f"| {label} | {change.before:.2f} | {change.after:.2f} "
        f"| {difference:+.2f} ({low:+.2f} to {high:+.2f}), {change.questions} questions |"
    )


def _common(one: str, other: str) -> int:
    """Length of the common prefix to skip, in characters: whole words, minus `LEAD_IN`."""
    first, second = " ".join(one.split()), " ".join(other.split())
    pairs = enumerate(zip(first, second, strict=False))
    alike = next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))
    return first.rfind(" ", 0, max(0, alike - LEAD_IN)) + 1


def _reply_line(question: ReportQuestion, skipped: int) -> str:
    """`skipped`: number of leading characters to omit because both answers share them."""
    whole = " ".join(question.answer.split())
    text = f"…{whole[skipped:]}" if skipped else whole
    short = text if len(text) <= SAID else f"{text[:SAID]}…"
    hits = sum(one.found for one in question.evidence)
    note = f", evidence {hits} of {len(question.evidence)}" if question.evidence else ""
    return f"{_plain(question.path)}{note}: {_plain(short)}"


def _plain(value: object) -> str:
    """Sanitize untrusted text for Markdown: no markup, no HTML, no table cell, no mention."""
    text = html.escape(" ".join(str(value).split()), quote=False)
    for sign in "\\`*_[]|#":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("@", "@\u200b")
