"""Documents written by hand: a few words instead of a loader."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from config.domain import ChunkOptions
from enrichment.chunk import Chunk
from enrichment.chunking.chunker import split
from loaders.document import Block, BlockKind, Cell, Document, Table


def count_words(text: str) -> int:
    """Stands for a tokenizer: words and marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def table(
    *rows: Sequence[str], header_rows: int = 1, header_columns: int = 0, evidence: str = "th"
) -> Table:
    return Table(
        rows=tuple(
            tuple(Cell(text=text, markdown=text, row=i, column=j) for j, text in enumerate(row))
            for i, row in enumerate(rows)
        ),
        header_rows=header_rows,
        header_columns=header_columns,
        header_evidence=evidence if header_rows else "",
    )


class Writer:
    """Appends blocks under the last heading."""

    def __init__(
        self, title: str = "Rotation Standard", document_id: str = "rotation", **about: Any
    ) -> None:
        self.title, self.id, self.about = title, document_id, about
        self.blocks: list[Block] = []
        self.path: tuple[str, ...] = ()

    def heading(self, text: str, level: int = 2) -> Writer:
        self.path = (*self.path[: level - 1], text)
        return self.add("heading", text, level=level)

    def add(self, kind: BlockKind, text: str = "", **details: Any) -> Writer:
        self.blocks.append(
            Block(
                kind=kind,
                text=details.pop("plain", text),
                markdown=text,
                position=len(self.blocks),
                heading_path=self.path,
                url=f"https://docs/{self.id}#{'/'.join(self.path)}",
                **details,
            )
        )
        return self

    def paragraphs(self, *texts: str) -> Writer:
        for text in texts:
            self.add("paragraph", text)
        return self

    def items(self, *texts: str, level: int = 0) -> Writer:
        for number, text in enumerate(texts, start=1):
            self.add("list_item", text, marker=f"{number}.", level=level)
        return self

    def table(self, *rows: Sequence[str], **about: Any) -> Writer:
        return self.add("table", table=table(*rows, **about))

    def document(self) -> Document:
        return Document(
            id=self.id,
            title=self.title,
            url=f"https://docs/{self.id}",
            blocks=tuple(self.blocks),
            mime_type="text/markdown",
            source="file",
            **self.about,
        )

    def chunks(self, **options: Any) -> list[Chunk]:
        return split(self.document(), count_tokens=count_words, options=ChunkOptions(**options))
