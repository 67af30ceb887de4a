"""Published runbooks for tests of checklists: the demo's, and made ones. Light to import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from agents.answer import Answer, Citation
from bot.feature import PublishedIndex
from config.domain import ChunkOptions
from enrichment.chunk import Chunk, DocumentCard
from enrichment.chunking.chunker import split
from index.search import Snapshot
from loaders.files.markdown import parse_markdown
from tests.bot.fakes import answer

DEMO = Path(__file__).parents[4] / "playground/demo"
AT = "https://docs.google.com/document/d"
FAILOVER, LAG, PHISHING = (
    "platform/ledger-db-failover-runbook",
    "platform/sluice-lag-and-dlq-runbook",
    "security/phishing-response-playbook",
)
ALERTS = "platform/beacon-alert-catalogue"


def demo_text(name: str) -> str:
    """With links as the index holds them."""
    return (DEMO / f"{name}.md").read_text("utf-8").replace("(doc:", f"({AT}/")


def made(steps: int, *, words: int = 12) -> str:
    """A runbook of so many steps, every third of which has two below it."""
    lines = ["---", "id: made", "title: Made Runbook", "---", "# Made Runbook", "## The way", ""]
    for number in range(1, steps + 1):
        said = " ".join(f"w{number}x{n}" for n in range(words))
        lines.append(f"{number}. Do this: `made run --step {number}`. {said}.")
        if number % 3 == 0:
            lines += [f"   1. First look {number}.", f"   2. Second look {number}."]
    return "\n".join(lines) + "\n"


class RunbookShelf:
    """See `index.search.Snapshot`; only what checklists ask of one."""

    language = "English"

    def __init__(self, *texts: str, generation: int = 7, size: int = 160) -> None:
        self.domain, self.generation = "security", generation
        self._chunks: dict[str, Sequence[Chunk]] = {}
        self._cards: dict[str, DocumentCard] = {}
        for text in texts:
            read = parse_markdown(text, id="")
            url = f"{AT}/{read.id}/edit"
            document = parse_markdown(text, url=url)
            self._cards[read.id] = DocumentCard(
                id=read.id, title=read.title, url=url, summary="", modified_at=read.modified_at
            )
            self._chunks[read.id] = split(
                document,
                count_tokens=lambda words: len(words.split()),
                options=ChunkOptions(size=size),
            )

    @property
    def documents(self) -> Mapping[str, DocumentCard]:
        return MappingProxyType(self._cards)

    def cards(self, documents: Iterable[str]) -> list[DocumentCard]:
        return [self._cards[one] for one in documents if one in self._cards]

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        return self._chunks.get(document_id, ())

    def under(self, document: str, heading: str) -> list[Chunk]:
        return [one for one in self._chunks[document] if one.heading == heading]


class Published:
    """What the bot is told is published; a test may publish something else."""

    def __init__(self, shelf: RunbookShelf) -> None:
        self.shelf = shelf

    def domains(self) -> PublishedIndex:
        return PublishedIndex(
            snapshot=lambda name: cast("Snapshot", self.shelf), embed=cast("Any", None)
        )


def citing(
    shelf: RunbookShelf, document: str, heading: str, quote: str = "", **more: Any
) -> Answer:
    """An answer from this section."""
    chunk = shelf.under(document, heading)[0]
    citation = Citation(
        number=1,
        document=document,
        title=chunk.document_title,
        heading=heading,
        url=chunk.url,
        quote=quote or chunk.text[:60],
        chunk_id=chunk.id,
        modified_at=shelf.documents[document].modified_at,
    )
    return answer("Follow the runbook [1].", citations=(citation,), **more)
