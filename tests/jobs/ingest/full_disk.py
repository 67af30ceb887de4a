"""Publishes on a disk of its own, filled up to other points each time; run in a namespace in which
a disk may be made. Writes a line of JSON for each point."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from config.errors import CopilotError
from durable.failures import databases_in, storage_failure
from index.search import SearchQuery
from tests.jobs.ingest.library import DOMAIN, Library

LEFT_KB = (0, 8, 24, 72, 200, 520, 900, 1200, 4000)
"""A run needs some 1,500: its texts fill the write-ahead log of the database, which each run leaves
empty, so that it holds no deleted text."""


def answer(library: Library) -> str:
    found = library.index.snapshot(DOMAIN).search(SearchQuery(variants=("book-0 says",)))
    return next(one.chunk.text for one in found if "book-0" in one.chunk.text)


def fill(disk: Path, left_kb: int) -> Path:
    filler = disk / "filler"
    size = shutil.disk_usage(disk).free - left_kb * 1024
    with filler.open("wb") as file:
        for _ in range(max(0, size) // 4096):
            file.write(bytes(4096))
    return filler


def main(disk: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "small", disk], check=True)
    library = Library(disk, count=40)
    library.ingest()
    for left_kb in LEFT_KB:
        point = {"left_kb": left_kb, "before": answer(library), "happened": "published"}
        library.shelves.says = dict.fromkeys(library.shelves.says, f"{left_kb} KB")
        filler = fill(disk, left_kb)
        try:
            library.ingest()
        except Exception as error:
            told = error if isinstance(error, CopilotError) else None
            told = told or storage_failure(error, databases_in(disk / "var"))
            point["happened"] = str(told)
        point["meanwhile"] = answer(library)
        filler.unlink()
        library.ingest()
        sys.stdout.write(json.dumps(point | {"after": answer(library)}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
