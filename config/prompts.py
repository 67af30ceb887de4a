"""Prompts are files in a folder, reviewed as prose; whatever others wrote enters them fenced."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from config.models import Prompt

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_LOOKS_LIKE_A_CITATION = re.compile(r"\[(\^?)(\d{1,3})\]")
CHAT_TOKEN = re.compile(
    r"<[|｜]|\[/?(?:INST|SYSTEM_PROMPT)\]|<</?SYS>>|<(?:start|end)_of_turn>|</?s>", re.IGNORECASE
)
"""What servers turn into the borders of a message: ChatML and Llama 3, DeepSeek, Mistral,
Llama 2, Gemma."""


@dataclass(frozen=True)
class Foreign:
    """Text that others wrote: data, whatever it says."""

    label: str
    """What its fence calls it, e.g. `source 3 | Key Rotation Standard`."""
    text: str


class PromptFolder:
    """A folder of `NAME.md`: front matter with a version and the most tokens that a reply may
    have, then `# System` and `# User`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def render(self, name: str, **values: str | Foreign | Sequence[Foreign]) -> Prompt:
        """`NAME.md` with its `{{placeholders}}` filled; KeyError for a missing one.

        Plain text is our own or the operators'. Foreign text is fenced, by a mark made for this
        prompt alone, which the file names as `{{fence}}`. No value is searched for placeholders."""
        fence = new_fence()
        version, max_tokens, system, user = _parts(self._path / f"{name}.md")
        texts = {key: _rendered(value, fence) for key, value in values.items()} | {"fence": fence}

        def fill(template: str) -> str:
            return _PLACEHOLDER.sub(lambda match: texts[match[1]], template)

        return Prompt(
            name=name, version=version, system=fill(system), user=fill(user), fence=fence,
            max_tokens=max_tokens,
        )  # fmt: skip


def new_fence() -> str:
    """A mark that no document can know in advance."""
    return f"data-{secrets.token_hex(8)}"


def fenced(fence: str, foreign: Foreign) -> str:
    """Text as data between two marks, unable to close them or to pose as something else."""
    label = " ".join(neutral(foreign.label, fence).split()).replace("<", "‹").replace(">", "›")
    return f"<{fence} {label}>\n{neutral(foreign.text, fence)}\n</{fence}>"


def neutral(text: str, fence: str) -> str:
    """Harmless, and without the fence itself."""
    return harmless(text).replace(fence, "(data)")


def harmless(text: str) -> str:
    """Without NULs, chat-template tokens, and numbers that look like citations.

    What is put in their place can't become one of them; what is harmless stays as it is."""
    # NULs first: one inside a token would hide it.
    text = text.replace("\x00", "")
    text = CHAT_TOKEN.sub(lambda token: token[0].replace("<", "‹").replace("[", "("), text)
    return _LOOKS_LIKE_A_CITATION.sub(r"(\1\2)", text)


def listed(lines: Iterable[str], *, otherwise: str = "none") -> str:
    """A markdown list, or a word when there is nothing to list."""
    return "\n".join(f"- {line}" for line in lines) or otherwise


def _rendered(value: str | Foreign | Sequence[Foreign], fence: str) -> str:
    if isinstance(value, str):
        return value
    several = [value] if isinstance(value, Foreign) else value
    return "\n\n".join(fenced(fence, foreign) for foreign in several)


@lru_cache(maxsize=32)
def _parts(path: Path) -> tuple[str, int, str, str]:
    text = path.read_text(encoding="utf-8")
    _, about, body = text.split("---\n", 2)
    system, user = re.split(r"^# User$", body, maxsplit=1, flags=re.MULTILINE)
    # The hash moves with every edit, so that a forgotten version number can't revive a cache.
    declared = dict(line.split(": ", 1) for line in about.strip().splitlines())
    version = f"{declared['version']}-{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    return (
        version,
        int(declared["max_tokens"]),
        system.replace("# System", "", 1).strip(),
        user.strip(),
    )
