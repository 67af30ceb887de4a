"""A class by LangChain's own base class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document


class Tickets(BaseLoader):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def lazy_load(self) -> Iterator[Document]:
        for path in sorted(Path(self.folder).glob("*.txt")):
            metadata = {"source": path.name}
            yield Document(page_content=path.read_text(encoding="utf-8"), metadata=metadata)
