"""`oncall evaluate agreement`: compares the judge's scores with people's, and its learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import typer
from rich import box
from rich.table import Table

from cli.evaluation.systems import report_named
from cli.options import plain_console, print_json, wired
from config.errors import UsageError
from jobs.evaluation.agreement import (
    Agreement,
    Confusion,
    Figure,
    JudgeCardStore,
    agreement,
    judge_card,
)
from jobs.evaluation.human_scores import (
    HumanScore,
    ScoredAnswer,
    answers_of,
    between_people,
    read_scores,
    scored_twice,
)
from jobs.evaluation.report import EvaluationReport, JudgeCard
from oncall import Copilot


def run_agreement(paths: Sequence[Path], named: str, *, learn: bool, as_json: bool) -> None:
    """Raises CopilotError. Exits 1 if some rows are not counted."""
    copilot = wired()
    report = report_named(copilot, named)
    if not report.run.judge_model:
        raise UsageError(f"{named}: nobody judged this run", remedy="run it again with --judge")
    answers = answers_of(report)
    read = read_scores(paths, answers)
    pairs = scored_twice(read.scores, answers)
    for problem in read.problems:
        typer.echo(problem, err=True)
    if not pairs:
        raise UsageError("no score belongs to an answer that the judge scored")
    result = agreement(list(pairs.values()))
    card = judge_card(result, report.questions)
    if as_json:
        print_json({"agreement": asdict(result), "card": card.model_dump(mode="json")})
    else:
        print_card(report, result, card)
        if twice := between_people(read.scores):
            people = agreement(twice)
            typer.echo(
                f"Two people scored {people.count} answers: kappa {with_interval(people.kappa)}, "
                f"within one {with_interval(people.within_one)}"
            )
    JudgeCardStore(copilot.index.engine).keep(report.run.domain, report.run.judge_model, result)
    if learn:
        _learn(copilot, report, read.scores, answers)
    if read.problems:
        raise typer.Exit(1)


def print_card(report: EvaluationReport, result: Agreement, card: JudgeCard) -> None:
    console = plain_console()
    run = report.run
    title = f"{run.judge_model} beside people · {run.domain} · {result.count} answers"
    table = Table(title=title, box=box.SIMPLE_HEAVY, title_justify="left", show_header=False)
    table.add_row("weighted kappa", with_interval(result.kappa))
    table.add_row("Pearson", with_interval(result.pearson))
    table.add_row("Spearman", with_interval(result.spearman))
    table.add_row("same score", with_interval(result.exact))
    table.add_row("within one", with_interval(result.within_one))
    table.add_row("the judge gives", f"{with_interval(result.bias, sign=True)} more than people")
    for name, confusion in (("acceptable", result.acceptable), ("incorrect", result.incorrect)):
        table.add_row(f"{name}: finds it", _rate(confusion.true_positive_rate, confusion))
        table.add_row(f"{name}: rules it out", _rate(confusion.true_negative_rate, confusion))
    console.print(table)
    _print_scores(result.table)
    for kind, figure in result.by_kind.items():
        console.print(f"{kind}: within one {with_interval(figure)}, {figure.count} answers")
    for name in ("acceptable", "incorrect"):
        judged = report.metrics["all"].get(name)
        if judged is None:
            continue
        if name in card.corrected:
            rate = card.corrected[name]
            after = f"probably {rate.value:.2f} ({rate.low:.2f}–{rate.high:.2f})"
        else:
            after = f"can't be corrected: {card.not_corrected[name]}"
        console.print(f"{name}: the judge says {judged:.2f}; {after}", highlight=False)


def _print_scores(table: Sequence[Sequence[int]]) -> None:
    grid = Table(box=box.SIMPLE, title="people ↓, judge →", title_justify="left")
    grid.add_column("")
    for score in range(len(table)):
        grid.add_column(str(score), justify="right")
    for score, row in enumerate(table):
        cells = (str(count) if count else "·" for count in row)
        grid.add_row(str(score), *cells)
    plain_console().print(grid)


def with_interval(figure: Figure | None, *, sign: bool = False) -> str:
    """`0.72 (0.55–0.84)`."""
    if figure is None:
        return "undefined: everything got the same score, or too little was scored"
    form = "+.2f" if sign else ".2f"
    return f"{figure.value:{form}} ({figure.low:{form}} to {figure.high:{form}})"


def _rate(figure: Figure | None, confusion: Confusion) -> str:
    if figure is None:
        return "no such answer was scored"
    return f"{with_interval(figure)} of {figure.count}"


def _learn(
    copilot: Copilot,
    report: EvaluationReport,
    scores: Sequence[HumanScore],
    answers: Mapping[str, ScoredAnswer],
) -> None:
    """Judge each answer again, with people's corrections of other questions (cross-fitting)."""
    from agents.judging.corrections import CorrectionStore, ScoredPair, measure_learning
    from agents.judging.judge import Correction, verdict_cache
    from jobs.evaluation.agreement import ScoredTwice
    from jobs.evaluation.judging import request_from_report

    model = copilot.judge_model
    if model is None:
        raise UsageError("--learn asks the judge again, and no language model is connected")
    judged = [(one, answers[one.key].entry) for one in scores if answers[one.key].entry.judge]
    scored_pairs = [
        ScoredPair(
            request=request_from_report(entry),
            scored=Correction(
                question_id=entry.id,
                question=entry.question,
                answer=entry.answer,
                judge_score=entry.judge.score,
                human_score=one.score,
                human_incorrect=one.incorrect,
                note=one.note,
            ),
        )
        for one, entry in judged
        if entry.judge
    ]
    outcome = measure_learning(
        scored_pairs,
        model=model,
        embedder=copilot.embedder,
        verdicts=verdict_cache(copilot.index.engine),
    )
    if not outcome.answers:
        typer.echo("The judge could not be asked again; nothing was learnt.", err=True)
        return
    thought = {(e.id, e.answer): e.judge.incorrect for _, e in judged if e.judge}
    before, after = (
        agreement(
            [
                ScoredTwice(
                    person=one.scored.human_score,
                    judge=one.after.score if again else one.scored.judge_score,
                    person_incorrect=bool(one.scored.human_incorrect),
                    judge_incorrect=(
                        one.after.incorrect
                        if again
                        else thought[one.scored.question_id, one.scored.answer]
                    ),
                )
                for one in outcome.answers
            ]
        )
        for again in (False, True)
    )
    typer.echo(
        f"With {len(outcome.corrections)} corrections, each answer judged again by what people "
        f"said of other questions: kappa {with_interval(before.kappa)} → "
        f"{with_interval(after.kappa)}, "
        f"same score {before.exact.value:.2f} → {after.exact.value:.2f}"
    )
    better = (after.exact.value, after.within_one.value) > (
        before.exact.value,
        before.within_one.value,
    )
    if better:
        CorrectionStore(copilot.index.engine).keep(report.run.domain, outcome.corrections)
        JudgeCardStore(copilot.index.engine).keep(report.run.domain, report.run.judge_model, after)
        typer.echo("The judge is shown them from now on.")
    else:
        typer.echo("That is no better, so nothing is kept.")
