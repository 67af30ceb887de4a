"""What retrieval loses in a crowd, without a language model.

    python -m benchmarks.crowded [--sets …] [--near-duplicates 100 1000] [--apart] [--together]
        [--data FOLDER] [--lost FILE]

Every golden question with evidence is asked in its own domain as it is; with `--together` in one
domain of all sets, as it is and among made-up near-duplicates (`material/near_duplicates.py`);
with `--apart` in its own domain among near-duplicates of that domain's documents. *Evidence*: all
quotes inside the context of that many characters; *document*: all documents with evidence among
those of the context. Differences are paired, with the 95% interval of a bootstrap over questions.
`--lost`: where each lost passage came out, as JSON lines."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.answer import Answer
from benchmarks.material.asked_sets import (
    DEMO,
    PUBLIC,
    ROOT,
    AskedSet,
    in_one_domain,
    named_set,
    written,
)
from benchmarks.material.fitting import interval
from benchmarks.material.near_duplicates import crowd
from benchmarks.with_a_model import copilot_of, ingest
from config.minilm import MiniLM
from jobs.evaluation.metrics.answers import evidence_found
from jobs.golden.check import plain
from jobs.golden.questions import GoldenQuestion

BUDGETS = (12_000, 24_000)
Found = dict[tuple[str, str], dict[str, float]]
"""(set, question id) → figure → 0 or 1."""


@dataclass
class Crowd:
    """One way of crowding the documents, and what was found in it."""

    name: str
    sets: Sequence[AskedSet]
    found: Found = field(default_factory=dict)
    places: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)


def crowds(arguments: argparse.Namespace) -> Iterator[Crowd]:
    """The sets as they are first: all others are compared with them."""
    sets = [named_set(name) for name in arguments.sets]
    folder = arguments.data / "near-duplicates"
    yield Crowd("each set alone", sets)
    if arguments.together:
        together = in_one_domain(sets)
        yield Crowd("all sets in one", together)
        for count in arguments.near_duplicates:
            yield Crowd(f"all in one, and {count:,}", crowd(together, count, folder))
    if arguments.apart:
        for count in arguments.near_duplicates:
            yield Crowd(f"each set, and {count:,}", crowd(sets, count, folder))


def measure(one: Crowd, data: Path, *, embedder: MiniLM) -> None:
    for budget in BUDGETS:
        config = written(one.sets, data, {"context_characters": budget})
        copilot = copilot_of(data, config, embedder)
        for each in one.sets:
            ask = copilot.ask(each.domain)
            for golden in each.questions():
                if not golden.evidence:
                    continue
                answer = ask(golden.as_question)
                key = each.name, golden.id
                one.found.setdefault(key, {}).update(figures(golden, answer, budget))
                one.places[key] = places(golden, answer)
        copilot.index.close()


def figures(golden: GoldenQuestion, answer: Answer, budget: int) -> dict[str, float]:
    seen = {chunk.document_id for chunk in answer.context}
    return {
        f"evidence, {budget:,}": float(all(evidence_found(golden, answer))),
        f"document, {budget:,}": float(golden.documents <= seen),
    }


def places(golden: GoldenQuestion, answer: Answer) -> list[dict[str, Any]]:
    """Of each quote: the rank of its passage among the hits, and its rank in each way."""
    hits = answer.trace.hits if answer.trace else ()
    found = []
    for evidence in golden.evidence:
        quote = plain(evidence.quote)
        rank, hit = next(
            (
                (rank, hit)
                for rank, hit in enumerate(hits, start=1)
                if hit.chunk.document_id == evidence.document and quote in plain(hit.chunk.text)
            ),
            (0, None),
        )
        above = [one.chunk.document_id for one in hits[: rank - 1 if rank else len(hits)]]
        found.append(
            {
                "document": evidence.document,
                "heading": evidence.heading,
                "rank": rank,
                "ranks": dict(hit.ranks) if hit else {},
                "editions_above": sum(one.startswith(f"{evidence.document}-") for one in above),
                "above": len(above),
            }
        )
    return found


def table_of(found: Sequence[Crowd]) -> Table:
    alone = found[0].found
    table = Table(title=f"{len(alone)} questions, without a language model", title_justify="left")
    names = list(next(iter(alone.values())))
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for one in found:
        cells = []
        for name in names:
            values = np.array([one.found[key][name] for key in alone])
            apart = values - np.array([alone[key][name] for key in alone])
            low, high = interval(apart)
            said = f"{values.mean():.3f}"
            if one is not found[0]:
                said += f"  {apart.mean():+.3f} ({low:+.3f} to {high:+.3f})"
            cells.append(said)
        table.add_row(one.name, *cells)
    return table


def write_lost(found: Sequence[Crowd], path: Path) -> None:
    """Every question whose evidence was there alone and is not in a crowd, with its places."""
    alone = found[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for one in found[1:]:
            for key, values in one.found.items():
                lost = [name for name in values if values[name] < alone.found[key][name]]
                if lost:
                    line = {
                        "crowd": one.name,
                        "set": key[0],
                        "id": key[1],
                        "lost": lost,
                        "alone": alone.places[key],
                        "crowded": one.places[key],
                    }
                    out.write(json.dumps(line, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=(*DEMO, *PUBLIC), default=(*DEMO, *PUBLIC))
    parser.add_argument("--near-duplicates", nargs="*", type=int, default=[100, 1_000])
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--data", type=Path, default=ROOT / "var/benchmarks/crowded")
    parser.add_argument("--no-ingest", action="store_true", help="the index is there already")
    parser.add_argument("--lost", type=Path)
    arguments = parser.parse_args()
    arguments.data = arguments.data.resolve()
    found: list[Crowd] = []
    embedder = MiniLM()
    console = Console(width=150)
    for one in crowds(arguments):
        if not arguments.no_ingest:
            domains = sorted({each.domain for each in one.sets})
            ingest(domains, arguments.data, written(one.sets, arguments.data, {}))
        measure(one, arguments.data, embedder=embedder)
        found.append(one)
        console.print(table_of(found))
        if arguments.lost:
            write_lost(found, arguments.lost)


if __name__ == "__main__":
    main()
