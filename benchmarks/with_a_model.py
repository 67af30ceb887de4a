"""Golden questions answered with a language model, one line of JSON for each: for judging.

    python -m benchmarks.with_a_model --base-url http://127.0.0.1:9100/v1 --model NAME \\
        --sets identity handbook --sample 60 --out var/answers/ours.jsonl
    python -m benchmarks.with_a_model … --system plain --characters 24000 --out …/plain.jsonl
    python -m benchmarks.with_a_model … --golden my.yaml --files my-documents/ --out …

`--all-in-one` asks in one domain that holds the documents of all sets, `--near-duplicates 1000`
beside made-up other editions of them. Documents are indexed without a model, once, in `--data`.
Answers that the file already has are not asked again; errors are. Without `--base-url` nothing
is asked of a model. `benchmarks/judging.py` goes on from there."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr

from agents.answer import CITATION, Answer, Citation, Question
from benchmarks.material.asked_sets import (
    DEMO,
    PUBLIC,
    ROOT,
    AskedSet,
    given_set,
    in_one_domain,
    named_set,
    sampled,
    written,
)
from benchmarks.material.golden_domains import KeptMiniLM
from benchmarks.material.near_duplicates import crowd
from config.chat_model import build_chat_model
from config.models import ChatModel, Prompt, Reply, Usage
from config.settings import Settings
from jobs.evaluation.baseline import PlainRag
from jobs.evaluation.metrics.answers import evidence_found
from jobs.golden.questions import GoldenQuestion
from oncall import Copilot

PATIENCE_SECONDS = 5_400.0
"""For one reply: whoever plays the model may be slow."""
LOOKS = ("find: ", "open: ", "around: ")
"""How the notes of a trace begin that tell what a second look brought."""
Asking = Callable[[AskedSet, Question], Answer]


@dataclass
class Calls:
    """What one question asked of the model."""

    prompts: list[str] = field(default_factory=list)
    """Names, in order."""
    characters: int = 0
    """Of the longest prompt."""


CALLS: ContextVar[Calls] = ContextVar("CALLS")


class Counted:
    """A model that notes for each question which prompts it got."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    def structured(self, prompt: Prompt, reply: type[Reply]) -> tuple[Reply, Usage]:
        _note(prompt)
        return self._model.structured(prompt, reply)

    def stream(self, prompt: Prompt) -> Iterator[str | Usage]:
        _note(prompt)
        return self._model.stream(prompt)


def _note(prompt: Prompt) -> None:
    calls = CALLS.get()
    calls.prompts.append(prompt.name)
    calls.characters = max(calls.characters, len(prompt.system) + len(prompt.user))


def record(one: AskedSet, golden: GoldenQuestion, answer: Answer, calls: Calls) -> dict[str, Any]:
    """One line of the file, but for times."""
    found = evidence_found(golden, answer)
    notes = answer.trace.notes if answer.trace else ()
    return {
        "text": answer.text,
        "path": answer.path,
        "options": list(answer.options),
        "citations": [_cited(each) for each in answer.citations],
        "nearest": [_cited(each) for each in answer.nearest],
        "confidence": answer.confidence,
        "confidence_parts": dict(answer.confidence_parts),
        "calls": answer.usage.calls,
        "prompts": calls.prompts,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "longest_prompt": calls.characters,
        "words": len(CITATION.sub("", answer.text).split()),
        "context_characters": sum(len(chunk.text) for chunk in answer.context),
        "sections": len({(c.document_id, c.heading_path or c.id) for c in answer.context}),
        "evidence_seen": found,
        "all_evidence_in_context": all(found) if found else None,
        "answered_again": max(0, calls.prompts.count("answer") - 1),
        "looked": [note for note in notes if note.startswith(LOOKS)],
        "standalone_question": answer.standalone_question,
        "degraded": list(answer.degraded),
        "notes": list(notes),
        "domain": one.domain,
    }


def _cited(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "document": citation.document,
        "title": citation.title,
        "heading": citation.heading,
        "quote": citation.quote,
    }


def told(one: AskedSet, golden: GoldenQuestion, system: str) -> dict[str, Any]:
    """What a judge needs to know of the question."""
    return {
        "system": system,
        "set": one.name,
        "id": golden.id,
        "kind": golden.kind,
        "question": golden.question,
        "history": [turn.model_dump() for turn in golden.history],
        "reference": golden.reference,
        "rubric": golden.rubric,
        "must_include": golden.must_include,
        "evidence": [each.model_dump() for each in golden.evidence],
    }


def model_of(arguments: argparse.Namespace) -> Counted | None:
    if not arguments.base_url:
        return None
    settings = Settings.model_validate(
        {
            "openai_api_key": SecretStr(os.environ.get("OPENAI_API_KEY", "k")),
            "openai_base_url": arguments.base_url,
            "chat_model": arguments.model,
        }
    )
    model = build_chat_model(
        settings, timeout_seconds=PATIENCE_SECONDS, retries=0, pause_seconds=0.0
    )
    return Counted(model) if model else None


def copilot_of(data: Path, config: Path, embedder: object) -> Copilot:
    copilot = Copilot(
        Settings.model_validate({"data_dir": data, "config_dir": config, "folders": "/"})
    )
    copilot.models.chat, copilot.models.embedder = None, embedder
    return copilot


@contextmanager
def ours(
    sets: Sequence[AskedSet], arguments: argparse.Namespace, model: Counted | None
) -> Iterator[Asking]:
    """Indexed without a model, so that every run has the same index; asked with it."""
    from config.minilm import MiniLM

    config = written(sets, arguments.data, arguments.answer)
    if not arguments.no_ingest:
        ingest(sorted({one.domain for one in sets}), arguments.data, config)
    copilot = copilot_of(arguments.data, config, MiniLM())
    copilot.models.chat = model
    try:
        yield lambda one, question: copilot.ask(one.domain, unattended=True)(question, None)
    finally:
        copilot.index.close()


def ingest(domains: Sequence[str], data: Path, config: Path) -> None:
    embedder = KeptMiniLM()
    copilot = copilot_of(data, config, embedder)
    for name in domains:
        begun = time.perf_counter()
        report = copilot.ingest(name)
        took = f"{report.chunks} chunks, {time.perf_counter() - begun:.0f} s"
        print(f"{name}: generation {report.generation}, {took}", file=sys.stderr, flush=True)
        embedder.kept.save()
    copilot.index.close()


@contextmanager
def plain(
    sets: Sequence[AskedSet], arguments: argparse.Namespace, model: Counted | None
) -> Iterator[Asking]:
    embedder = KeptMiniLM()
    systems = {
        one.domain: PlainRag(
            [_markdown(path) for path in documents_of(one)],
            embedder,
            model=model,
            characters=arguments.characters or 24_000,
        )
        for one in {one.domain: one for one in sets}.values()
    }
    embedder.kept.save()
    yield lambda one, question: systems[one.domain].ask(question)


def documents_of(one: AskedSet) -> list[Path]:
    return [
        path
        for files in one.files
        for path in (sorted(files.rglob("*.md")) if files.is_dir() else [files])
    ]


def _markdown(path: Path) -> tuple[str, str, str]:
    """Id, title and text without front matter."""
    text, about = path.read_text("utf-8"), {}
    if text.startswith("---\n"):
        front, _, text = text[4:].partition("\n---\n")
        about = yaml.safe_load(front)
    return str(about.get("id", path.stem)), str(about.get("title", path.stem)), text


SYSTEMS: Mapping[str, Any] = {"ours": ours, "plain": plain}


def answered(ask: Asking, one: AskedSet, golden: GoldenQuestion, system: str) -> dict[str, Any]:
    """A line of the file; `error` instead of an answer when there was none."""
    calls = Calls()
    CALLS.set(calls)
    begun = time.perf_counter()
    line = told(one, golden, system)
    try:
        line |= record(one, golden, ask(one, golden.as_question), calls)
    except Exception as error:  # one question must not end the others
        line["error"] = f"{type(error).__name__}: {error}"
    return {**line, "seconds": round(time.perf_counter() - begun, 1)}


def kept(path: Path) -> list[dict[str, Any]]:
    """Answers that are there already, in order; of a question asked twice the last."""
    if not path.is_file():
        return []
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return list({(one["set"], one["id"]): one for one in lines if "error" not in one}.values())


def chosen_sets(arguments: argparse.Namespace) -> list[AskedSet]:
    if arguments.golden:
        sets = [given_set(arguments.name, arguments.golden, arguments.files)]
    else:
        sets = [named_set(name) for name in arguments.sets or (*DEMO, *PUBLIC)]
    if arguments.all_in_one:
        sets = in_one_domain(sets)
    if arguments.near_duplicates:
        sets = crowd(sets, arguments.near_duplicates, arguments.data / "near-duplicates")
    return sets


def chosen_questions(
    sets: Sequence[AskedSet], arguments: argparse.Namespace
) -> list[tuple[AskedSet, GoldenQuestion]]:
    asked = [(one, golden) for one in sets for golden in one.questions()]
    if arguments.only_kinds:
        asked = [one for one in asked if one[1].kind in arguments.only_kinds]
    if arguments.only_ids:
        asked = [one for one in asked if one[1].id in arguments.only_ids]
    if arguments.sample and arguments.sample < len(asked):
        asked = sampled(asked, arguments.sample, arguments.seed)
    return asked


def _key_and_value(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    return key, yaml.safe_load(value)


def read_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base-url", help="of an OpenAI-compatible server, …/v1")
    parser.add_argument("--model", default="relay", help="its name there")
    parser.add_argument("--system", choices=SYSTEMS, default="ours")
    parser.add_argument("--label", help="name of the system in the file; default: --system")
    parser.add_argument("--sets", nargs="+", choices=(*DEMO, *PUBLIC), metavar="SET")
    parser.add_argument("--golden", nargs="+", type=Path, help="golden files of your own")
    parser.add_argument(
        "--files", "--domain-files", nargs="+", type=Path, default=[],
        help="with --golden: folders or files of documents, or one domain file",
    )  # fmt: skip
    parser.add_argument("--name", default="given", help="with --golden: the domain's id")
    parser.add_argument("--only-kinds", nargs="+", metavar="KIND")
    parser.add_argument("--only-ids", nargs="+", metavar="ID")
    parser.add_argument("--sample", type=int, help="that many questions, stratified by kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all-in-one", action="store_true", help="one domain for all sets")
    parser.add_argument("--near-duplicates", type=int, default=0, metavar="N", help="a domain")
    parser.add_argument("--parallel", type=int, default=50)
    parser.add_argument(
        "--answer", nargs="+", type=_key_and_value, default=[], metavar="KEY=VALUE",
        help="of the domain's `answer`, e.g. effort=thorough context_characters=24000",
    )  # fmt: skip
    parser.add_argument("--characters", type=int, help="budget of plain RAG; default 24,000")
    parser.add_argument("--data", type=Path, default=ROOT / "var/benchmarks/with_a_model")
    parser.add_argument("--no-ingest", action="store_true", help="the index is there already")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args(given)
    arguments.answer = dict(arguments.answer)
    arguments.data = arguments.data.resolve()
    return arguments


def main() -> None:
    arguments = read_arguments()
    label = arguments.label or arguments.system
    sets = chosen_sets(arguments)
    done = {(one["set"], one["id"]) for one in kept(arguments.out)}
    asked = [
        (one, golden)
        for one, golden in chosen_questions(sets, arguments)
        if (one.name, golden.id) not in done
    ]
    print(f"{len(asked)} questions to ask, {len(done)} answers kept", file=sys.stderr)
    if not asked:
        return
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    make = SYSTEMS[arguments.system]
    with (
        make(sets, arguments, model_of(arguments)) as ask,
        ThreadPoolExecutor(arguments.parallel) as pool,
        arguments.out.open("a", encoding="utf-8") as out,
    ):
        running = [pool.submit(answered, ask, one, golden, label) for one, golden in asked]
        for count, future in enumerate(as_completed(running), start=1):
            line = future.result()
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()
            how = line.get("error") or f"{line['path']}, {line['calls']} calls"
            print(f"{count}/{len(asked)} {line['id']}: {how}", file=sys.stderr)


if __name__ == "__main__":
    main()
