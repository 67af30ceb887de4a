"""How fast documents become markdown, and what is left of them.

The demo documents as Google Docs responses, beside markdownify on HTML of the same documents and
one well-known loader of Google Docs (`pip install llama-index-readers-google`), where installed.
A folder of saved responses may be given instead: `python -m benchmarks.conversion FOLDER`."""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from rich.console import Console
from rich.table import Table

from loaders.docs.response import parse_document
from loaders.document import Document
from loaders.output import document_to_markdown

ROOT = Path(__file__).parents[1]

REPEATS = 5


@dataclass(frozen=True)
class Sample:
    """One document in both forms."""

    response: dict[str, Any]
    html: str
    truth: Document


Convert = Callable[[Sample], str]


def main() -> None:
    samples = _saved(Path(sys.argv[1])) if len(sys.argv) > 1 else _demo()
    table = Table(
        title=f"{len(samples)} documents to markdown, best of {REPEATS}, seconds of one core"
    )
    for column in ("converter", "documents/s", "MB/s", "words kept", "cells in their row"):
        table.add_column(column, justify="left" if column == "converter" else "right")
    json_size = sum(len(json.dumps(sample.response)) for sample in samples)
    html_size = sum(len(sample.html) for sample in samples)
    rows: list[tuple[str, Convert | None, int]] = [
        (
            "oncall-copilot, Docs JSON",
            lambda sample: document_to_markdown(parse_document(sample.response)),
            json_size,
        ),
        ("markdownify, HTML", _markdownify, html_size),
        ("llama-index, Docs JSON", _llama_index(), json_size),
    ]
    for name, convert, size in rows:
        if convert is None:
            table.add_row(name, "not installed")
            continue
        seconds, outputs = _time(convert, samples)
        words, cells = _kept(samples, outputs)
        speed = (f"{len(samples) / seconds:,.0f}", f"{size / seconds / 1e6:.1f}")
        table.add_row(name, *speed, f"{words:.3f}", f"{cells:.3f}")
    Console().print(table)


def _demo() -> list[Sample]:
    from playground.google.docs_writer.docs_json import render_document

    samples = []
    for path in sorted((ROOT / "playground" / "demo").glob("[ps]*/*.md")):
        body = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(), flags=re.DOTALL)
        response = render_document(path.stem, path.stem, body, base_url="https://docs.google.com")
        samples.append(_sample(response, body))
    return samples


def _saved(folder: Path) -> list[Sample]:
    samples = []
    for path in sorted(folder.rglob("*.json")):
        response = json.loads(path.read_text())
        if isinstance(response, dict) and {"body", "tabs"} & response.keys():
            samples.append(_sample(response, document_to_markdown(parse_document(response))))
    return samples


def _sample(response: dict[str, Any], markdown: str) -> Sample:
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return Sample(response=response, html=html, truth=parse_document(response))


def _markdownify(sample: Sample) -> str:
    from markdownify import markdownify

    return str(markdownify(sample.html))


def _llama_index() -> Convert | None:
    try:
        module = importlib.import_module("llama_index.readers.google")
    except ImportError:
        return None
    reader = module.GoogleDocsReader.model_construct(split_on_heading_level=None)

    def convert(sample: Sample) -> str:
        contents = list(_bodies(sample.response))
        return "".join(reader._read_structural_elements(content) for content in contents)

    return convert


def _bodies(response: dict[str, Any]) -> Iterator[list[Any]]:
    for tab in response.get("tabs") or [{"documentTab": response}]:
        yield tab["documentTab"]["body"]["content"]
        yield from _bodies({"tabs": tab["childTabs"]}) if tab.get("childTabs") else ()


def _time(convert: Convert, samples: Sequence[Sample]) -> tuple[float, list[str]]:
    best, outputs = float("inf"), []
    for _ in range(REPEATS):
        start = time.process_time()
        outputs = [convert(sample) for sample in samples]
        best = min(best, time.process_time() - start)
    return best, outputs


def _kept(samples: Sequence[Sample], outputs: Sequence[str]) -> tuple[float, float]:
    """Share of the words, and of the table cells that share a line with their row's label."""
    words = found_words = cells = found_cells = 0
    for sample, output in zip(samples, outputs, strict=True):
        needed = Counter(_words("\n".join(block.text for block in sample.truth.blocks)))
        there = Counter(_words(output))
        words += needed.total()
        found_words += (needed & there).total()
        lines = {" ".join(_words(line)) for line in output.split("\n")}
        for block in sample.truth.blocks:
            for row in block.table.rows if block.table else ():
                keys = [" ".join(_words(cell.text)) for cell in row]
                cells += len(keys)
                found_cells += sum(any(keys[0] in x and key in x for x in lines) for key in keys)
    return found_words / max(words, 1), found_cells / max(cells, 1)


def _words(text: str) -> list[str]:
    text = re.sub(r"</?\w[^>]*>|\]\([^)]*\)|\\(?=\W)", " ", text)
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    main()
