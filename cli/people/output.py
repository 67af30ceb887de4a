"""JSON that holds what people said: to standard output, or into a file of its owner's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from config.errors import UsageError


def written_to(file: Path | None, values: Iterable[object], *, indent: int | None = None) -> None:
    """Each value as JSON on a line of its own; a new file is 0600, an existing one is refused.

    Raises UsageError when it can't be written."""
    lines = (json.dumps(one, ensure_ascii=False, indent=indent, default=str) for one in values)
    if file is None:
        for line in lines:
            sys.stdout.write(line + "\n")
        return
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(
            f"cannot write {file}: {error.strerror}", remedy="name a file that isn't there yet"
        ) from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
