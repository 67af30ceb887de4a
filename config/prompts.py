"""Prompts are files in a folder, reviewed as prose; whatever people wrote enters them fenced."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from config.models import Prompt

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class PromptFolder:
    """A folder of `NAME.md`: front matter with a version, then `# System` and `# User`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def render(self, name: str, **values: str) -> Prompt:
        """`NAME.md` with its `{{placeholders}}` filled, each once; KeyError for a missing one.

        Values are never searched for placeholders themselves."""
        version, system, user = _parts(self._path / f"{name}.md")

        def fill(template: str) -> str:
            return _PLACEHOLDER.sub(lambda match: values[match[1]], template)

        return Prompt(name=name, version=version, system=fill(system), user=fill(user))


@lru_cache(maxsize=32)
def _parts(path: Path) -> tuple[str, str, str]:
    text = path.read_text(encoding="utf-8")
    declared = re.search(r"^version: (\d+)$", text, re.MULTILINE)
    _, _, body = text.split("---\n", 2)
    system, user = re.split(r"^# User$", body, maxsplit=1, flags=re.MULTILINE)
    # The hash moves with every edit, so that a forgotten version number can't revive a cache.
    version = f"{declared[1] if declared else 0}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return version, system.replace("# System", "", 1).strip(), user.strip()


def new_fence() -> str:
    """A mark that no document can know in advance."""
    return f"data-{secrets.token_hex(8)}"


def fenced(fence: str, label: str, text: str) -> str:
    """Text as data between two marks, unable to close them or to pose as a citation."""
    return f"<{fence} {_one_line(label)}>\n{neutral(text, fence)}\n</{fence}>"


def neutral(text: str, fence: str) -> str:
    """Without the fence itself, chat-template tokens, and number brackets that look like ours."""
    text = text.replace(fence, "data").replace("\x00", "")
    text = re.sub(r"<\|.*?\|>", "", text)
    return re.sub(r"\[(\^?)(\d{1,3})\]", r"(\2)", text)


def listed(lines: Iterable[str], *, otherwise: str = "none") -> str:
    """A markdown list, or a word when there is nothing to list."""
    return "\n".join(f"- {line}" for line in lines) or otherwise


def _one_line(text: str) -> str:
    return " ".join(text.replace("<", "‹").replace(">", "›").split())
