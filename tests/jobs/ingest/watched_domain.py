"""A domain of a few demo documents with golden questions, and ways to make it worse."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from config.settings import Settings
from enrichment.chunk import Chunk
from enrichment.pipeline import prepare
from jobs.canary.outcome import CanaryOutcome
from jobs.ingest.executors import LocalExecutor
from jobs.ingest.job import ingest
from oncall import Copilot

DEMO = Path(__file__).parents[3] / "playground" / "demo"
EVERYTHING = tuple(sorted(path.stem for path in (DEMO / "security").glob("*.md")))
DOCUMENTS = (
    "access-control-policy",
    "device-security-standard",
    "key-rotation-standard",
    "secrets-and-service-accounts",
    "security-exception-process",
    "security-incident-response-plan",
)
Worsen = Callable[[Chunk], Chunk]


@dataclass
class WatchedDomain:
    """On disk, as a channel admin would have it; the product is opened anew by each look."""

    folder: Path
    settings: Settings

    @property
    def file(self) -> Path:
        return self.folder / "config" / "domains" / "security.yaml"

    def document(self, name: str) -> Path:
        return self.folder / "documents" / f"{name}.md"

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.document(name)
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def configure(self, **keys: Any) -> None:
        values = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        self.file.write_text(yaml.safe_dump({**values, **keys}), encoding="utf-8")

    def copilot(self) -> Copilot:
        return Copilot(self.settings)

    def ingest_worse(self, copilot: Copilot, worsen: Worsen) -> tuple[CanaryOutcome, ...]:
        """A run whose enrichment is another than the product's."""
        domain = copilot.domain("security")
        canary = copilot.canary("security")
        serving = partial(copilot.index.snapshot, "security")

        def enrich(document: Any) -> Any:
            made = prepare(
                document,
                count_tokens=copilot.embedder.count_tokens,
                options=domain.chunks,
                embed=copilot.embedder,
            )
            return replace(made, chunks=tuple(map(worsen, made.chunks)))

        ingest(
            "security",
            sources=copilot.sources("security"),
            stage=partial(
                copilot.index.stage, accepts=lambda following: canary.accepts(following, serving)
            ),
            executor=LocalExecutor({"extractive": enrich}),
            reads=canary.reads,
            pipeline="another",
        )
        return canary.looks_back(serving())


def watched_domain(
    folder: Path, documents: Collection[str] = DOCUMENTS, *, characters: int | None = None
) -> WatchedDomain:
    """Golden questions are those of the demo that rest on these documents alone.

    `characters`: of a context, unless it is the default."""
    (folder / "documents").mkdir(parents=True)
    (folder / "config" / "domains").mkdir(parents=True)
    for name in documents:
        shutil.copy(DEMO / "security" / f"{name}.md", folder / "documents")
    asked = yaml.safe_load((DEMO / "golden" / "security.yaml").read_text(encoding="utf-8"))
    chosen = [
        one
        for one in asked
        if one.get("evidence") and {each["document"] for each in one["evidence"]} <= {*documents}
    ]
    golden = folder / "golden.yaml"
    golden.write_text(yaml.safe_dump(chosen, allow_unicode=True), encoding="utf-8")
    made = WatchedDomain(
        folder,
        Settings(_env_file=None).model_copy(
            update={"config_dir": folder / "config", "data_dir": folder / "var"}
        ),
    )
    values = {
        "domain": "security",
        "title": "Security help",
        "channels": ["C0SECURITY"],
        "admins": ["U0INES"],
        "sources": {"files": ["../../documents"]},
        "glossary": {"SG": ["Singapore"], "EU": ["Europe"]},
        "evaluation": {"golden": ["../../golden.yaml"]},
        "answer": {"context_characters": characters},
    }
    made.file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return made
