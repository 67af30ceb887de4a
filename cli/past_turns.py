"""Earlier turns from a file, for asking a follow-up on the terminal."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from agents.answer import Turn
from config.errors import UsageError

_TURNS = TypeAdapter(tuple[Turn, ...])


def read_history(path: Path) -> tuple[Turn, ...]:
    """A JSON or YAML list of {role: user | assistant, content}, oldest first.

    Raises UsageError that names the file and the entry."""
    try:
        return _TURNS.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or [])
    except RecursionError:
        raise UsageError(f"history {path} can't be read: nested too deeply") from None
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(str(part) for part in detail["loc"]) or "the top"
        raise UsageError(
            f"history {path}, at {place}: {detail['msg'].lower()}",
            remedy='write a list of {"role": "user" or "assistant", "content": "…"}',
        ) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"history {path} can't be read: {said}") from None
