"""Blind judging of answers, and what came of it.

    python -m benchmarks.judging sheets ours.jsonl plain.jsonl --out var/judging
    python -m benchmarks.judging read --out var/judging --judge ANNA anna/*.jsonl [--judge BEN …]

`sheets` takes files of `benchmarks/with_a_model.py` and writes OUT/sheets/part-01.md (and the same
as JSON), 25 questions each, the answers in random order without names, and OUT/key.json, which no
judge should see. A judge, a person or a model, reads the rules that open each part and writes a
line of JSON for each answer. `read` prints a table for each system, by kind, the paired
differences, the calibration of confidence, and how far judges agree where two judged the same;
the first judge named counts. It writes OUT/judged.jsonl: the lines of the answers with `score`
and `judged`, which `benchmarks/calibration.py` fits confidence to."""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.confidence import HIGH
from agents.judging.judge import RULES
from benchmarks.material.judged_answers import (
    MEANS,
    SHARES,
    Judged,
    Verdict,
)
from benchmarks.material.reliability import reliability_table
from benchmarks.with_a_model import kept
from jobs.evaluation.agreement import weighted_kappa
from jobs.evaluation.judging import short_quote
from jobs.evaluation.metrics.stats import bootstrap, wilson

_BEFORE = """# Rules for judges

You know these documents well and are asked whether you would let each answer stand in your help
channel. Behind every question stand the thread before it, a reference answer, the points an answer
should make, and the passages that hold the evidence. The answers come from different systems in
random order, without names: don't guess whose they are, and judge each by itself.
"""
_AFTER = """**acceptable**: 4 or 5.

**padded**: it says things that nobody asked for, or takes twice the words that the answer needs;
passages shown for want of a language model are not padded by that alone. Judge it apart from the
score; a padded answer has at most 4.

For every answer write one line of JSON, nothing else in the file:

```
{"id": "security/security-012", "label": "A", "score": 4, "acceptable": true, \
"incorrect": false, "padded": true, "note": "correct; repeats the question"}
```

`note`: a few words on what cost points; empty for a 5."""
LABELS = "ABCDEFGH"
ALL = "all"


def sheets(files: Sequence[Path], out: Path, *, size: int, seed: int) -> int:
    """Writes sheets and key for the questions that every file answers; how many these are."""
    answers = [{f"{one['set']}/{one['id']}": one for one in kept(path)} for path in files]
    common = [key for key in answers[0] if all(key in one for one in answers)]
    rules = "\n".join((_BEFORE, RULES.read_text("utf-8"), _AFTER))
    chance = random.Random(seed)
    chance.shuffle(common)
    folder = out / "sheets"
    folder.mkdir(parents=True, exist_ok=True)
    key: dict[str, dict[str, dict[str, Any]]] = {}
    for part, start in enumerate(range(0, len(common), size), start=1):
        entries = []
        for name in common[start : start + size]:
            lines = [one[name] for one in answers]
            chance.shuffle(lines)
            key[name] = dict(zip(LABELS, lines, strict=False))
            entries.append(_entry(name, key[name]))
        text = "\n\n".join(map(_shown, entries))
        path = folder / f"part-{part:02}.md"
        path.write_text(f"{rules}\n\n{text}\n", "utf-8")
        path.with_suffix(".json").write_text(_json(entries), "utf-8")
    (out / "key.json").write_text(_json(key), "utf-8")
    return len(common)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _entry(name: str, answers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    line = next(iter(answers.values()))
    about = ("kind", "question", "history", "reference", "must_include", "rubric", "evidence")
    return {
        "id": name,
        **{key: line[key] for key in about},
        "answers": {
            label: {
                "text": one["text"],
                "options": one["options"],
                "sources": [_place(each, with_quote=True) for each in one["citations"]],
                "nearest": [_place(each) for each in one["nearest"]],
            }
            for label, one in answers.items()
        },
    }


def _place(citation: Mapping[str, Any], *, with_quote: bool = False) -> str:
    place = " › ".join(filter(None, (citation["title"], citation["heading"])))
    if not with_quote:
        return place
    return f"[{citation['number']}] {place}: “{short_quote(citation['quote'])}”"


def _shown(entry: Mapping[str, Any]) -> str:
    parts = [f"# {entry['id']} ({entry['kind']})"]
    parts += [f"> {turn['role']}: {turn['content']}" for turn in entry["history"]]
    parts += [f"**Question:** {entry['question']}", f"**Reference:** {entry['reference']}"]
    points = [*entry["must_include"], *entry["rubric"]]
    if points:
        parts.append("**Points:** " + "; ".join(points))
    parts += [
        f"**Evidence** ({one['document']} › {one['heading']}): {one['quote']}"
        for one in entry["evidence"]
    ]
    for label, answer in entry["answers"].items():
        parts += [f"## Answer {label}", answer["text"] or "(nothing)"]
        parts += [f"- option: {option}" for option in answer["options"]]
        parts += answer["sources"]
        parts += [f"nearest: {place}" for place in answer["nearest"]]
    return "\n\n".join(parts)


def verdicts(judge: str, files: Sequence[Path]) -> Iterator[tuple[tuple[str, str], Verdict]]:
    """((id, label), verdict). Raises ValueError with file and line for one that breaks a rule."""
    for path in files:
        for number, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if not text.strip():
                continue
            try:
                said = json.loads(text)
                score = int(said["score"])
                one = Verdict(
                    judge, score, bool(said["incorrect"]), bool(said["padded"]),
                    str(said.get("note", "")),
                )  # fmt: skip
                if not 0 <= score <= 5 or bool(said["acceptable"]) != one.acceptable:
                    raise ValueError("`acceptable` goes with a score of 4 or 5")
            except (KeyError, ValueError) as error:
                raise ValueError(f"{path}:{number}: {error!r}") from error
            yield (str(said["id"]), str(said["label"])), one


def joined(out: Path, judges: Mapping[str, Sequence[Path]]) -> list[list[Judged]]:
    """For each judge the answers that they judged."""
    key = json.loads((out / "key.json").read_text("utf-8"))
    return [
        [
            Judged(key[name][label], verdict)
            for (name, label), verdict in dict(verdicts(judge, files)).items()
        ]
        for judge, files in judges.items()
    ]


def counting(by_judge: Sequence[Sequence[Judged]]) -> list[Judged]:
    """One verdict for each answer: that of the first judge who gave one."""
    first: dict[tuple[str, str], Judged] = {}
    for judged in by_judge:
        for one in judged:
            first.setdefault((one.line["system"], one.key), one)
    return list(first.values())


def table_of(system: str, judged: Sequence[Judged]) -> Table:
    kinds = [ALL, *sorted({one.kind for one in judged})]
    table = Table(title=f"{system}: {len(judged)} answers", title_justify="left")
    for name in ("", "n", *SHARES, "evidence", "words", *MEANS):
        table.add_column(name, justify="right" if name else "left")
    for kind in kinds:
        some = [one for one in judged if kind in (ALL, one.kind)]
        cells = [share([test(one) for one in some]) for test in SHARES.values()]
        seen = [one.line["all_evidence_in_context"] for one in some]
        cells.append(share([bool(each) for each in seen if each is not None]))
        words = np.array([one.line["words"] for one in some])
        cells.append(_with_interval(words, np.median, "{:.0f}"))
        for value in MEANS.values():
            cells.append(_with_interval(np.array([value(one) for one in some]), np.mean, "{:,.1f}"))
        table.add_row(kind, str(len(some)), *cells)
    return table


def share(values: Sequence[bool]) -> str:
    if not values:
        return "–"
    low, high = wilson(sum(values), len(values))
    return f"{sum(values) / len(values):.2f} ({low:.2f}–{high:.2f})"


def _with_interval(values: np.ndarray, figure: Any, form: str) -> str:
    low, high = bootstrap(len(values), lambda places: float(figure(values[places])))
    return f"{form.format(figure(values))} ({form.format(low)} to {form.format(high)})"


def differences(first: str, second: str, judged: Sequence[Judged]) -> Table:
    """Of the questions that both answered."""
    held = [{one.key: one for one in judged if one.line["system"] == s} for s in (first, second)]
    both = [key for key in held[0] if key in held[1]]
    table = Table(title=f"{first} − {second}, {len(both)} questions", title_justify="left")
    table.add_column("")
    table.add_column("difference", justify="right")
    words = {"words": lambda one: float(one.line["words"])}
    for name, value in {**SHARES, **words, **MEANS}.items():
        apart = np.array([float(value(held[0][k])) - float(value(held[1][k])) for k in both])
        if len(apart):
            form = "{:+.2f}" if name in SHARES else "{:+,.1f}"
            table.add_row(name, _with_interval(apart, np.mean, form))
    return table


def calibration(system: str, judged: Sequence[Judged]) -> Table:
    sure = np.array([one.line["confidence"] for one in judged], dtype=float)
    right = np.array([one.verdict.acceptable for one in judged], dtype=float)
    table = reliability_table(f"{system}: confidence, and acceptable", sure, right)
    shown = [one for one in judged if one.line["confidence"] >= HIGH]
    table.add_row("incorrect at high", "", share([one.verdict.incorrect for one in shown]))
    return table


def agreement(first: Sequence[Judged], second: Sequence[Judged]) -> str:
    held = [
        {(one.line["system"], one.key): one.verdict for one in some} for some in (first, second)
    ]
    both = [key for key in held[0] if key in held[1]]
    if not both:
        return "no answer was judged by both"
    scores = [[some[key].score for key in both] for some in held]
    names = " and ".join(some[both[0]].judge for some in held)
    same = [
        statistics.mean(getattr(held[0][k], name) == getattr(held[1][k], name) for k in both)
        for name in ("acceptable", "incorrect", "padded")
    ]
    return (
        f"{names}, {len(both)} answers: weighted κ of scores {weighted_kappa(*scores):.2f}; "
        f"the same on acceptable {same[0]:.2f}, incorrect {same[1]:.2f}, padded {same[2]:.2f}"
    )


def report(out: Path, judges: Mapping[str, Sequence[Path]]) -> None:
    console = Console(width=190)
    by_judge = joined(out, judges)
    judged = counting(by_judge)
    systems = sorted({one.line["system"] for one in judged})
    for system in systems:
        of_system = [one for one in judged if one.line["system"] == system]
        console.print(table_of(system, of_system))
        console.print(calibration(system, of_system))
    for first, second in combinations(systems, 2):
        console.print(differences(first, second, judged))
    for one, other in combinations(by_judge, 2):
        console.print(agreement(one, other))
    with (out / "judged.jsonl").open("w", encoding="utf-8") as lines:
        for one in judged:
            said = {**vars(one.verdict), "acceptable": one.verdict.acceptable}
            line = {**one.line, "score": one.verdict.score, "judged": said}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("sheets")
    making.add_argument("files", nargs="+", type=Path)
    making.add_argument("--size", type=int, default=25, help="questions on a sheet")
    making.add_argument("--seed", type=int, default=0)
    reading = commands.add_parser("read")
    reading.add_argument("--judge", nargs="+", action="append", required=True, metavar="NAME FILE")
    for each in (making, reading):
        each.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.command == "sheets":
        count = sheets(arguments.files, arguments.out, size=arguments.size, seed=arguments.seed)
        print(f"{count} questions in {arguments.out / 'sheets'}")
        return
    judges = {name: [Path(file) for file in files] for name, *files in arguments.judge}
    report(arguments.out, judges)


if __name__ == "__main__":
    main()
