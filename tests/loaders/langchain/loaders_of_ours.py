"""Classes that stand in for those of LangChain's integrations, well and badly behaved."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

KETTLE = {
    "source": "https://wiki.example.com/kettle",
    "title": "Kettle",
    "author": "Ines Mora",
    "when": "2026-03-01T08:00:00+01:00",
}


class Page:
    """Like `langchain_core.documents.Document`, which takes half a second to import."""

    def __init__(self, page_content: Any, **metadata: Any) -> None:
        self.page_content = page_content
        self.metadata = metadata


class Wiki:
    """Yields the kettle's page, then does as it is told."""

    def __init__(self, then: str = "", value: Any = None) -> None:
        if then == "refuse":
            raise TypeError(f"unexpected value {value!r}")
        self.then = then
        self.value = value

    def lazy_load(self) -> Iterator[Page]:
        print("Fetching pages: 100%")  # noqa: T201 - as many a vendor does
        yield Page("# Kettle\n\nDescale it on Mondays.", **KETTLE)
        yield from getattr(self, self.then, list)()

    def raises(self) -> Iterator[Page]:
        yield Page("# Cups", source="cups")
        raise RuntimeError(
            f"401: the token {self.value[:20]}… of Basic OmxldG1laW4tMjAyNi1va2F5= fails"
        )

    def hangs(self) -> Iterator[Page]:
        yield from time.sleep(600) or ()

    def never_ends(self) -> Iterator[Page]:
        return (Page("x", source=f"{number}") for number in count())

    def reads(self) -> Iterator[Page]:
        yield Page(Path(self.value).read_text(encoding="utf-8"), source="file")

    def reaches(self) -> Iterator[Page]:
        socket.create_connection((self.value, 9), timeout=2)
        yield Page("reached", source="web")

    def shrugs(self) -> Iterator[Page]:
        try:
            yield from self.reaches()
        except OSError:
            yield Page("# Cups", source="cups")

    def starts(self) -> Iterator[Page]:
        yield Page(subprocess.run(["id"], capture_output=True, text=True).stdout, source="id")

    def writes(self) -> Iterator[Page]:
        Path(self.value).write_text("mine", encoding="utf-8")
        yield Page("written", source="file")

    def dies(self) -> Iterator[Page]:
        os._exit(3)

    def surroundings(self) -> Iterator[Page]:
        yield Page("\n\n".join(os.environ), source="variables")

    def lies(self) -> Iterator[Page]:
        yield Page("nameless")
        yield Page("blank", source="  ")
        yield Page("long", source="a" * 1_000_000)
        yield Page("two lines", source="a\nb")
        yield Page(b"bytes", source="bytes")
        yield Page("half \ud800 and \0", source="half", title="\ud800\0", when="31/31/99")
        yield Page("# One", source="same", title="One")
        yield Page("# Other", source="same", title="Other")
        yield Page("Page one.", source="handbook.pdf", page=0)
        yield Page("Page two.", source="handbook.pdf", page=1)
        yield Page("# Vault", source="1AbCdEf")
        yield 5  # type: ignore[misc]


class Empty:
    def lazy_load(self) -> Iterator[Page]:
        return iter(())


class Notes:
    """A page for each file of a folder; a file `stop` ends it."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def lazy_load(self) -> Iterator[Page]:
        for path in sorted(self.folder.iterdir()):
            if path.name == "stop":
                raise ConnectionError("the wiki went away")
            yield Page(path.read_text(encoding="utf-8"), source=path.name)
