"""What an edit would have done, in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from bot.blocks.kit import short
from bot.features.replay.service import Change, ReplayReport, Source, Verdict
from index.permissions.words import Words

MAX_QUESTION_CHARS = 120
MAX_PLACES = 3
MAX_QUOTE_CHARS = 80
_HEADINGS: dict[Verdict, str] = {
    "worse": "Worse",
    "answered": "Newly answered",
    "excerpt": "Not answered, but the edit's words are shown",
    "changed": "Changed",
}


def summary(report: ReplayReport) -> str:
    """The numbers alone, as a sentence."""
    handed_off, others = report.totals.get("hand-off", 0), ("question", "alert")
    newly = report.count("answered", "question"), report.count("answered", "alert")
    changed, worse = report.count("changed"), report.count("worse")
    parts = []
    if handed_off:
        answered = report.count("answered", "hand-off")
        parts.append(f"{answered} of {_of(handed_off, 'hand-off')} would have been answered")
        if excerpts := report.count("excerpt", "hand-off"):
            parts.append(f"{excerpts} more would have been shown the edit's words")
    parts += [
        f"{_of(number, kind)} {'is' if number == 1 else 'are'} newly answered"
        for number, kind in zip(newly, others, strict=True)
        if number
    ]
    if excerpts := report.count("excerpt", "question"):
        parts.append(f"{_of(excerpts, 'question')} without an answer would show the edit's words")
    if changed:
        parts.append(f"{_of(changed, 'answer')} change{'s' if changed == 1 else ''}")
    if worse:
        parts.append(f"{worse} get{'s' if worse == 1 else ''} worse")
    same = report.count("same") + report.not_reached
    notes = [f"{same} stay{'s' if same == 1 else ''} as {'it is' if same == 1 else 'they are'}"]
    if left_out := report.left_out:
        notes.append(f"{left_out} more may change and {_were(left_out)} not asked")
    if unknown := report.count("unknown"):
        notes.append(f"{unknown} could not be asked: a model was unavailable")
    return "; ".join([", ".join(parts) or "nothing changes", *notes]) + "."


def details(report: ReplayReport, text_of: Callable[[Words], str]) -> Iterator[str]:
    """Lines about each change, the worst first. `text_of`: as much of a question as may be
    shown."""
    for verdict, heading in _HEADINGS.items():
        changes = [one for one in report.changes if one.verdict == verdict]
        if changes:
            yield f"{heading}: {len(changes)}"
        for one in changes:
            question = short(text_of(one.question.words), MAX_QUESTION_CHARS)
            yield f"  {one.question.kind}: {question or '(direct message)'}"
            yield f"    {_way(one)}"


def as_json(report: ReplayReport, text_of: Callable[[Words], str]) -> dict[str, Any]:
    return {
        "totals": dict(report.totals),
        "answered_hand_offs": report.count("answered", "hand-off"),
        **{verdict: report.count(verdict) for verdict in (*_HEADINGS, "same", "unknown")},
        "not_reached": report.not_reached,
        "left_out": report.left_out,
        "changes": [
            {
                "id": one.question.id,
                "kind": one.question.kind,
                "asked_at": one.question.asked_at.isoformat(),
                "question": text_of(one.question.words),
                "verdict": one.verdict,
                "why": one.why,
                "before": {"outcome": one.before.label, "places": one.before.places},
                "after": {"outcome": one.after.label, "places": one.after.places},
            }
            for one in report.changes
            if one.verdict != "same"
        ],
    }


def _way(change: Change) -> str:
    before, after = change.before, change.after
    if change.why and before.label == after.label:
        return change.why
    places = "; ".join(after.places[:MAX_PLACES]) or "; ".join(before.places[:1])
    way = f"{before.label} → {after.label}" if before.label != after.label else after.label
    return f"{way}{f': {places}' if places else ''}{_wording(before.sources, after.sources)}"


def _wording(before: Sequence[Source], after: Sequence[Source]) -> str:
    """The first words that differ, where both say something."""
    old, new = (
        next((one[2].split() for one in own if one not in other), [])
        for own, other in ((before, after), (after, before))
    )
    if not (old and new):
        return ""
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))))
    was, now = (short(" ".join(one[alike:]), MAX_QUOTE_CHARS) for one in (old, new))
    return f" (“{was}” → “{now}”)"


def _of(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
