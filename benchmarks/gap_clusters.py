"""How well questions that lack the same place are put together, and what is told apart as being
about something else.

    python -m benchmarks.gap_clusters            # a minute, without documents
    python -m benchmarks.gap_clusters --off-topic    # also ingests all six sets

Golden questions, some of them asked again by two colleagues in other words (see
`material/asked_alike.yaml`), come in by chance, in ten orders. Two that come of one golden question
belong together. Of two golden questions they don't, although they are about the same documents;
unless both are answered under one heading, where one addition would close both: such pairs count
neither way. The threshold is the one with the best F1 on the public sets; the demo's sets report
it. Intervals: 95%, bootstrap over golden questions."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from rich.console import Console
from rich.table import Table

from agents.answer_cache.same_question import NEAR_ENOUGH, KnownGap, nearest_gap
from benchmarks.material.asked_sets import DEMO, PUBLIC, ROOT, named_set, written
from benchmarks.with_a_model import copilot_of, ingest
from bot.features.gaps.gap import OFF_TOPIC_SIMILARITY, nearest_place
from config.minilm import MiniLM
from config.models import Vectors
from enrichment.language.words import written_out
from jobs.evaluation.metrics.stats import bootstrap, wilson

ALIKE = Path(__file__).parent / "material/asked_alike.yaml"
NEAR_MISSES = ROOT / "tests/agents/answer_cache/pairs"
ORDERS = 10
TRIED = [round(0.40 + 0.02 * step, 2) for step in range(21)]


@dataclass(frozen=True)
class AskedByMany:
    """The questions of one set, and which golden question each comes of."""

    name: str
    questions: tuple[str, ...]
    golden: tuple[int, ...]
    vectors: Vectors
    apart: np.ndarray
    """Per two golden questions: whether no heading answers both."""


@dataclass(frozen=True)
class Pairs:
    """Of one set: per golden question, pairs that belong together, and those found to; between
    golden questions, pairs that were put together and shouldn't. Means over the orders."""

    together: np.ndarray
    found: np.ndarray
    wrong: np.ndarray


def asked_by_many(name: str, embed: MiniLM) -> AskedByMany:
    alike = yaml.safe_load(ALIKE.read_text("utf-8"))[name]
    questions: list[str] = []
    golden: list[int] = []
    own = [one for one in named_set(name).questions() if not one.history]
    for number, one in enumerate(own):
        for text in (one.question, *alike.get(one.id, ())):
            questions.append(text)
            golden.append(number)
    vectors = embed([written_out(text) for text in questions])
    places = [{(e.document, e.heading) for e in one.evidence} for one in own]
    apart = np.array([[not (one & other) for other in places] for one in places])
    return AskedByMany(name, tuple(questions), tuple(golden), vectors, apart)


def clustered(asked: AskedByMany, least: float, seed: int) -> list[int]:
    """The number of each question's cluster."""
    order = list(range(len(asked.questions)))
    random.Random(seed).shuffle(order)
    gaps: dict[str, KnownGap] = {}
    placed = [0] * len(order)
    for place in order:
        text, vector = asked.questions[place], asked.vectors[place]
        found = nearest_gap(text, vector, gaps.values(), least=least)
        if found:
            gaps[found] = gaps[found].with_one(text, vector)
        else:
            found = str(len(gaps) + 1)
            gaps[found] = KnownGap(id=found, questions=(text,), vectors=vector.reshape(1, -1))
        placed[place] = int(found)
    return placed


def pairs_of(asked: AskedByMany, least: float) -> Pairs:
    golden = np.array(asked.golden)
    count = int(golden.max()) + 1
    upper = np.triu(np.ones((len(golden), len(golden)), bool), 1)
    member = np.eye(count)[golden]
    same = golden[:, None] == golden[None, :]
    found, wrong = np.zeros(count), np.zeros((count, count))
    for seed in range(ORDERS):
        placed = np.array(clustered(asked, least, seed))
        put = (placed[:, None] == placed[None, :]) & upper
        found += member.T @ (put & same).sum(1)
        wrong += (member.T @ (put & ~same) @ member) * asked.apart
    together = member.T @ (same & upper).sum(1)
    return Pairs(together, found / ORDERS, wrong / ORDERS)


def precision_recall(sets: Sequence[Pairs], drawn: np.ndarray | None = None) -> tuple[float, float]:
    """`drawn`: places of golden questions over all sets, resampled."""
    right = wrong = together = 0.0
    start = 0
    for one in sets:
        count = len(one.together)
        times = np.ones(count)
        if drawn is not None:
            times = np.bincount(drawn[(drawn >= start) & (drawn < start + count)] - start,
                                minlength=count).astype(float)  # fmt: skip
        start += count
        right += float(times @ one.found)
        together += float(times @ one.together)
        wrong += float(times @ one.wrong @ times)
    return (right / (right + wrong) if right + wrong else 1.0), (
        right / together if together else 1.0
    )


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def with_intervals(sets: Sequence[Pairs]) -> tuple[str, str]:
    count = sum(len(one.together) for one in sets)
    said = []
    for place, value in enumerate(precision_recall(sets)):
        low, high = bootstrap(count, lambda drawn, at=place: precision_recall(sets, drawn)[at])  # type: ignore[misc]
        said.append(f"{value:.2f} ({low:.2f}–{high:.2f})")
    return said[0], said[1]


def report_clusters(console: Console, embed: MiniLM) -> None:
    public = [asked_by_many(name, embed) for name in PUBLIC]
    demo = [asked_by_many(name, embed) for name in DEMO]
    scores = {
        least: f1(*precision_recall([pairs_of(one, least) for one in public])) for least in TRIED
    }
    best = max(scores, key=lambda least: (scores[least], least))
    console.print(
        f"fitted on {_counted(public)} of {', '.join(PUBLIC)}: the best is {best}, in use is "
        f"{NEAR_ENOUGH}\nreported on {_counted(demo)} of {', '.join(DEMO)}"
    )
    table = Table()
    for column in ("least", "F1 fitted", "precision, demo", "recall, demo"):
        table.add_column(column, justify="right")
    for least in sorted({*TRIED[::2], best, NEAR_ENOUGH}):
        left_out = [pairs_of(one, least) for one in demo]
        if least in (best, NEAR_ENOUGH):
            said = with_intervals(left_out)
        else:
            said = tuple(f"{one:.2f}" for one in precision_recall(left_out))  # type: ignore[assignment]
        table.add_row(f"{least:.2f}", f"{scores.get(least, float('nan')):.2f}", *said)
    console.print(table)
    pairs = [
        line.split("\t")
        for file in sorted(NEAR_MISSES.glob("near_misses_*.tsv"))
        for line in file.read_text("utf-8").splitlines()
    ]
    told = sum(not _joins(one, other, embed) for one, other in pairs)
    far = sum(not _is_near(one, other, embed) for one, other in pairs)
    low, high = wilson(told, len(pairs))
    console.print(
        f"pairs in almost the same words about two things, kept apart: {told} of {len(pairs)} "
        f"({low:.2f}–{high:.2f}); by the cosine alone {far}"
    )


def _counted(sets: Sequence[AskedByMany]) -> str:
    asked, golden = sum(len(one.questions) for one in sets), sum(len(one.apart) for one in sets)
    return f"{asked} questions, which come of {golden} golden ones,"


def _is_near(one: str, other: str, embed: MiniLM) -> bool:
    first, second = embed([one, other])
    return float(first @ second) >= NEAR_ENOUGH


def _joins(one: str, other: str, embed: MiniLM) -> bool:
    first, second = embed([one, other])
    gap = KnownGap(id="gap", questions=(one,), vectors=first.reshape(1, -1))
    return bool(nearest_gap(other, second, [gap]))


def report_off_topic(console: Console, data: Path) -> None:
    sets = [named_set(name) for name in (*PUBLIC, *DEMO)]
    config = written(sets, data, {})
    ingest([one.domain for one in sets], data, config)
    copilot = copilot_of(data, config, MiniLM())
    questions = {
        one.name: [each.question for each in one.questions() if not each.history] for one in sets
    }
    for group in (PUBLIC, DEMO):
        own: list[float] = []
        others: list[float] = []
        for name in group:
            snapshot = copilot.snapshot(name)
            own += [nearest_place(snapshot, text).similarity for text in questions[name]]
            for other in group:
                if other != name:
                    few = questions[other][::4]
                    others += [nearest_place(snapshot, text).similarity for text in few]
        console.print(f"\n{', '.join(group)}: share below, of {len(own)} asked where they belong, "
                      f"of {len(others)} asked elsewhere")  # fmt: skip
        for least in (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5):
            here = sum(one < least for one in own)
            there = sum(one < least for one in others)
            mark = " in use" if least == OFF_TOPIC_SIMILARITY else ""
            console.print(f"{least:.2f}  {here / len(own):.3f}  {there / len(others):.3f}{mark}")
    copilot.index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--off-topic", action="store_true")
    parser.add_argument("--data", type=Path, default=ROOT / "var/benchmarks/gaps")
    arguments = parser.parse_args()
    console = Console(width=120)
    report_clusters(console, MiniLM())
    if arguments.off_topic:
        report_off_topic(console, arguments.data.resolve())


if __name__ == "__main__":
    main()
