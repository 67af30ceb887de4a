"""Answers in people's own words, right and wrong, and how many of them the checks doubt.

    python -m benchmarks.checked_answers FOLDER [--list]

`FOLDER/documents/*.md` are documents; each line of `FOLDER/items.jsonl` is a question with answers
that somebody wrote who has not seen the checks:

    {"question": "…", "answers": [{"kind": "right", "text": "Two hours [1].",
     "cites": [{"file": "sla.md", "heading": "Response times"}]}, …], "read": [{…}, …]}

`cites` is in the order of the citation numbers; `read` is what a search would have brought
besides. Kinds: `right`, or what is wrong (`row`, `column`, `number`, `name`, `subject` …). `--list`
prints right answers that are doubted and wrong ones that aren't."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agents.checks.groundedness import groundedness
from agents.checks.subject import subject_fault
from agents.context.sources import Source
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from enrichment.pipeline import enrich
from jobs.evaluation.metrics.stats import wilson
from loaders.files.local import load_file

_MARKUP = re.compile(r"\{#.*?\}|\[([^\]]*)\]\([^)]*\)")


@cache
def chunks_of(path: Path) -> Sequence[Chunk]:
    document = load_file(path)
    return enrich(document, split(document, count_tokens=lambda text: len(text) // 4 + 1)).chunks


def source(documents: Path, place: Mapping[str, str]) -> Source | None:
    """The section under a heading, or the one of a document's title; None where there is none."""
    chunks, heading = chunks_of(documents / place["file"]), plain(place["heading"])
    own = [one for one in chunks if plain("".join(one.heading_path[-1:])) == heading]
    own = own or [one for one in chunks if heading in map(plain, one.heading_path)]
    own = own or [one for one in chunks if heading in plain(one.document_title)]
    parts = tuple(one for one in own if one.section == own[0].section)
    return Source(chunks=parts, text="\n\n".join(one.text for one in parts)) if parts else None


def plain(heading: str) -> str:
    return re.sub(r"\W+", "", _MARKUP.sub(r"\1", heading)).lower()


def doubts(folder: Path) -> Iterator[tuple[str, str, str, Sequence[str]]]:
    """(kind, question, answer, doubts) of each answer whose sections are there."""
    for line in (folder / "items.jsonl").read_text("utf-8").splitlines():
        item: dict[str, Any] = json.loads(line)
        asked = item["question"]
        read = [source(folder / "documents", one) for one in item.get("read", ())]
        for answer in item["answers"]:
            cited = [source(folder / "documents", one) for one in answer["cites"]]
            sources = [one for one in cited if one]
            if not cited or len(sources) < len(cited):
                print("no such section:", answer["cites"], file=sys.stderr)
                continue
            seen = tuple(dict.fromkeys([*sources, *(one for one in read if one)]))
            subject = subject_fault(answer["text"], sources, question=asked, read=seen)
            reasons = groundedness(answer["text"], sources, question=asked).reasons
            faults = [*reasons, *([f"about something else: {subject}"] if subject else [])]
            yield answer["kind"], asked, answer["text"], faults


def main() -> None:
    tally: dict[str, list[bool]] = defaultdict(list)
    listed = []
    for kind, asked, text, faults in doubts(Path(sys.argv[1])):
        tally[kind].append(bool(faults))
        if bool(faults) is (kind == "right"):
            listed.append("\n   ".join([f"## {kind}: {asked}", text, *faults]))
    table = Table("kind", "answers", "doubted", "95 %")
    for kind, flags in tally.items():
        low, high = wilson(sum(flags), len(flags))
        share = sum(flags) / len(flags)
        table.add_row(kind, str(len(flags)), f"{share:.2f}", f"{low:.2f}–{high:.2f}")
    Console().print(table)
    if "--list" in sys.argv:
        print("\n".join(listed))


if __name__ == "__main__":
    main()
