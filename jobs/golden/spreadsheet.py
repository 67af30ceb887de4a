"""Tables as spreadsheets write them: any encoding, any of three delimiters."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

_DELIMITERS = "\t;,"


def decoded(data: bytes) -> str:
    """Spreadsheets write UTF-8, with a mark or without, UTF-16, or Windows' own."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def table_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number of each row's first line, from 1, and its cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = 1
    for row in reader:
        yield line, row
        line = reader.line_num + 1
