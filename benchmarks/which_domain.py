"""Which domain a question is for, where nobody named one: the fit, and how it does.

    python -m benchmarks.which_domain [demo] [public] [--twenty | --model URL]

Each set's questions are put to its three domains with weights fitted on the other set's, and the
answers, without a model, are compared with those that the named domain gives. *Shown*: the right
domain answers, or stands beside the one that does. In brackets the 95% interval of a bootstrap
over questions. Then the weights fitted on all sets that are here, to be copied to
`agents/routing/candidates.py`. `--twenty`: instead, the time of a question to twenty domains
against the same question to the one that it is for, in one run, after as many other questions.
`--model`: instead, which domain
a model of the OpenAI-compatible server there picks among those that are close, and when it has the
asker choose; nothing is answered."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import structlog
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from agents.answer import Answer
from agents.extractive.conversation import self_contained
from agents.ledger.ledger import QuestionOrigin
from agents.routing import candidates as weighing
from agents.routing.candidates import features, search_domain
from agents.routing.router import MAX_COMPARED
from benchmarks.material.asked_sets import DEMO, PUBLIC, ROOT, AskedSet, named_set, written
from benchmarks.material.fitting import PULL_OF_STATEMENTS, Matrix, cell, listwise
from benchmarks.with_a_model import PATIENCE_SECONDS, copilot_of, ingest
from config.chat_model import build_chat_model
from config.domain import Domain
from config.minilm import MiniLM
from config.models import ChatModel
from config.settings import Settings
from jobs.evaluation.metrics.answers import score
from jobs.golden.questions import GoldenQuestion
from oncall import Copilot

SETS = {"demo": DEMO, "public": PUBLIC}
TWENTY = 20
TIMED = 60


@dataclass(frozen=True)
class Asked:
    """A golden question, put to all domains of its set."""

    set: str
    domain: str
    """The right one: whose documents the question was written from."""
    golden: GoldenQuestion
    table: Matrix
    """(domains, features)"""
    right: np.typing.NDArray[np.bool_]


@dataclass(frozen=True)
class Outcome:
    """The same question, named and unnamed."""

    asked: Asked
    named: Answer
    unnamed: Answer
    chosen: str

    @property
    def figures(self) -> Mapping[str, float]:
        shown = {self.chosen, *(one.domain for one in self.unnamed.beside)}
        found = {
            "first": float(self.chosen == self.asked.domain),
            "shown": float(self.asked.domain in shown),
            "two": float(bool(self.unnamed.beside)),
        }
        named, unnamed = (score(self.asked.golden, one) for one in (self.named, self.unnamed))
        for name in ("facts_all", "fact_any", "refused_right", "refused_wrong"):
            if name in named:
                found |= {f"{name}, named": named[name], f"{name}, unnamed": unnamed[name]}
                found[f"{name}, difference"] = unnamed[name] - named[name]
        return found


ROWS = {
    "first": "right domain answers",
    "shown": "right domain shown",
    "two": "two domains shown",
    "facts_all, named": "all facts, named",
    "facts_all, unnamed": "all facts, unnamed",
    "facts_all, difference": "all facts, difference",
    "fact_any, difference": "any fact, difference",
    "refused_right, difference": "unanswerable refused, difference",
    "refused_wrong, difference": "answerable refused, difference",
}


def opened(sets: Sequence[AskedSet], data: Path) -> Copilot:
    """Their domains, published as far as they are not yet, and no model."""
    config = written(sets, data, {})
    ingest([one.domain for one in sets], data, config)
    return copilot_of(data, config, MiniLM())


def searched(name: str, sets: Sequence[AskedSet], copilot: Copilot) -> Iterator[Asked]:
    domains = [(copilot.domain(one.domain), copilot.snapshot(one.domain)) for one in sets]
    for one in sets:
        for golden in one.questions():
            looked, _ = search_domain(self_contained(golden.as_question), domains)
            table = features(looked)
            right = np.array([each.domain.domain == one.domain for each in looked])
            yield Asked(name, one.domain, golden, table, right)


def fitted(training: Sequence[Asked]) -> dict[str, float]:
    told = [one for one in training if one.golden.answerable]
    weights = listwise(
        [one.table for one in told], [one.right for one in told], pull=PULL_OF_STATEMENTS
    )
    return dict(zip(weighing.WEIGHTS, weights.tolist(), strict=True))


@contextmanager
def using(weights: Mapping[str, float]) -> Iterator[None]:
    before = dict(weighing.WEIGHTS)
    try:
        weighing.WEIGHTS.update(weights)
        yield
    finally:
        weighing.WEIGHTS.update(before)


def unnamed(copilot: Copilot, golden: GoldenQuestion) -> tuple[Answer, Domain]:
    return copilot.answering(
        QuestionOrigin(id=golden.id, door="cli", text=golden.question),
        list(copilot.domains.values()),
        lambda domain: golden.as_question,
        lambda domain, question: copilot.ask(domain.domain)(question, None),
    )


def outcome(copilot: Copilot, asked: Asked) -> Outcome:
    named = copilot.ask(asked.domain)(asked.golden.as_question, None)
    answer, domain = unnamed(copilot, asked.golden)
    return Outcome(asked, named, answer, domain.domain)


def picked(model: ChatModel, copilot: Copilot, asked: Asked) -> dict[str, float]:
    """Figure → value of one question whose domain is picked, but which isn't answered."""
    answering = replace(copilot.answering, model=lambda: model)
    question = asked.golden.as_question
    domains = list(copilot.domains.values())
    found, _ = answering.score(domains, lambda domain: question)
    close = weighing.close_ones(found, MAX_COMPARED)
    choice = answering.choose(question, close)
    names = [one.domain.domain for one in choice.close]
    sent = "failed" if choice.failed else "asks" if choice.asks_back else "picks"
    print(f"{asked.golden.id}: {sent} {names} of {len(close)}", file=sys.stderr, flush=True)
    alone = not choice.asks_back and not choice.failed
    return {
        "close": float(len(close) > 1),
        "first": float(alone and names == [asked.domain]),
        "asked back": float(choice.asks_back),
        "with": float(asked.domain in names),
        "failed": float(bool(choice.failed)),
        "wrong": float(alone and names != [asked.domain]),
    }


def measure_with_model(names: Sequence[str], url: str, console: Console) -> None:
    settings = {"openai_api_key": SecretStr("k"), "openai_base_url": url, "chat_model": "model"}
    model = build_chat_model(
        Settings.model_validate(settings), timeout_seconds=PATIENCE_SECONDS, retries=0
    )
    assert model
    for name, (copilot, mine, weights) in searched_sets(names).items():
        with using(weights), ThreadPoolExecutor(200) as pool:
            found = list(pool.map(partial(picked, model, copilot), mine))
        table = Table(title=f"{name}, a model picks", title_justify="left")
        table.add_column("")
        groups = {one: [f for f, a in zip(found, mine, strict=True) if a.domain == one]
                  for one in SETS[name]}  # fmt: skip
        groups[name] = found
        for group, each in groups.items():
            table.add_column(f"{group} ({len(each)})", justify="right")
        for key in found[0]:
            table.add_row(key, *(cell([one[key] for one in each]) for each in groups.values()))
        console.print(table)


def table_of(title: str, groups: Mapping[str, Sequence[Outcome]]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name, each in groups.items():
        table.add_column(f"{name} ({len(each)})", justify="right")
    for key, label in ROWS.items():
        values = ([o.figures[key] for o in each if key in o.figures] for each in groups.values())
        table.add_row(label, *map(cell, values))
    return table


def searched_sets(
    names: Sequence[str],
) -> dict[str, tuple[Copilot, list[Asked], dict[str, float]]]:
    """Of each set its copilot, its questions, and the weights that others fitted."""
    data = ROOT / "var/benchmarks/which_domain"
    copilots: dict[str, Copilot] = {}
    asked: dict[str, list[Asked]] = {}
    for name in names:
        sets = [named_set(one) for one in SETS[name]]
        copilots[name] = opened(sets, data / name)
        asked[name] = list(searched(name, sets, copilots[name]))
    found = {}
    for name, mine in asked.items():
        others = [one for other, each in asked.items() if other != name for one in each]
        weights = fitted(others) if others else dict(weighing.WEIGHTS)
        found[name] = copilots[name], mine, weights
    return found


def measure(names: Sequence[str], console: Console) -> None:
    sets = searched_sets(names)
    said = "weights of the other set" if len(sets) > 1 else "the weights in use, which saw it"
    for name, (copilot, mine, weights) in sets.items():
        with using(weights):
            found = [outcome(copilot, one) for one in mine]
        groups = {one: [o for o in found if o.asked.domain == one] for one in SETS[name]}
        console.print(table_of(f"{name}, {said}", {**groups, name: found}))
    for name, value in fitted([one for _, mine, _ in sets.values() for one in mine]).items():
        console.print(f'    "{name}": {value:.2f},', highlight=False)


def twenty(console: Console) -> None:
    """Domains of the demo's documents, over and over: each holds as much as one of the demo."""
    data = ROOT / "var/benchmarks/which_domain/twenty"
    sets = [named_set(DEMO[number % len(DEMO)]) for number in range(TWENTY)]
    sets = [replace(one, domain=f"{one.name}-{n}") for n, one in enumerate(sets)]
    many, one_alone = opened(sets, data), opened(sets, data)
    questions = [(one, golden) for one in sets[: len(DEMO)] for golden in one.questions()]
    chosen = questions[:: len(questions) // TIMED]
    for one, golden in questions[1 :: len(questions) // TIMED]:  # a worker that has been up a while
        one_alone.ask(one.domain)(golden.as_question, None)
        unnamed(many, golden)
    times: list[tuple[float, float]] = []
    for one, golden in chosen:
        began = time.perf_counter()
        one_alone.ask(one.domain)(golden.as_question, None)
        between = time.perf_counter()
        unnamed(many, golden)
        times.append((between - began, time.perf_counter() - between))
    alone, among = np.array(times).T
    console.print(
        f"{len(times)} questions: one domain {np.median(alone) * 1000:.0f} ms, "
        f"{TWENTY} domains {np.median(among) * 1000:.0f} ms; "
        f"ratio of the medians {np.median(among) / np.median(alone):.2f}, "
        f"median of the ratios {np.median(among / alone):.2f}"
    )


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    console = Console(width=150)
    if "--twenty" in sys.argv:
        twenty(console)
        return
    names = [one for one in sys.argv[1:] if one in SETS] or list(SETS)
    names = [one for one in names if named_set(SETS[one][0]).golden[0].is_file()]
    if "--model" in sys.argv:
        measure_with_model(names, sys.argv[sys.argv.index("--model") + 1], console)
    else:
        measure(names, console)


if __name__ == "__main__":
    main()
