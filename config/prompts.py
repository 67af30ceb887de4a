"""Renders prompt files. Untrusted text is fenced."""

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
_LOOKS_LIKE_A_CITATION = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]+`)|\[(\^?)(\d{1,3})\]", re.DOTALL | re.MULTILINE
)
CHAT_TOKEN = re.compile(
    r"<[|｜]|\[/?(?:INST|SYSTEM_PROMPT)\]|<</?SYS>>|<(?:start|end)_of_turn>|</?s>", re.IGNORECASE
)
"""Tokens that servers treat as message borders: ChatML and Llama 3, DeepSeek, Mistral, Llama 2,
Gemma."""


@dataclass(frozen=True)
class Foreign:
    """Untrusted text. A prompt includes it as data, never as instructions."""

    label: str
    """Label in its fence, e.g. `source 3 | Key Rotation Standard`."""
    text: str


class PromptFolder:
    """A folder of `NAME.md`: front matter with `version`, `max_tokens` of the reply and perhaps the
    words that it `begins` with, then `# System` and `# User`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def render(self, name: str, **values: str | Foreign | Sequence[Foreign]) -> Prompt:
        """`NAME.md` with its `{{placeholders}}` filled; KeyError for a missing one.

        A `str` is trusted text: ours or the operators'. `Foreign` text is fenced with a random
        mark for this prompt, available as `{{fence}}`. Placeholders in values are not filled."""
        fence = new_fence()
        version, max_tokens, begins, system, user = _parts(self._path / f"{name}.md")
        texts = {key: _rendered(value, fence) for key, value in values.items()} | {"fence": fence}

        def fill(template: str) -> str:
            return _PLACEHOLDER.sub(lambda match: texts[match[1]], template)

        return Prompt(
            name=name, version=version, system=fill(system), user=fill(user), fence=fence,
            max_tokens=max_tokens, begins=begins,
        )  # fmt: skip


def new_fence() -> str:
    """A random mark, which no document can contain in advance."""
    return f"data-{secrets.token_hex(8)}"


def fenced(fence: str, foreign: Foreign) -> str:
    """Text as data between two marks. It can't contain the marks or chat-template tokens."""
    label = " ".join(neutral(foreign.label, fence).split()).replace("<", "‹").replace(">", "›")
    return f"<{fence} {label}>\n{neutral(foreign.text, fence)}\n</{fence}>"


def neutral(text: str, fence: str) -> str:
    """Sanitized text without the fence; see `harmless`."""
    return harmless(text).replace(fence, "(data)")


def harmless(text: str) -> str:
    """Removes NULs; replaces chat-template tokens and, outside of code, numbers that look like
    citations.

    Replacements can't form such a token; other text stays unchanged."""
    # NULs first: one inside a token would hide it.
    text = text.replace("\x00", "")
    text = CHAT_TOKEN.sub(lambda token: token[0].replace("<", "‹").replace("[", "("), text)
    return _LOOKS_LIKE_A_CITATION.sub(
        lambda match: match["code"] or f"({match[2]}{match[3]})", text
    )


def listed(lines: Iterable[str], *, otherwise: str = "none") -> str:
    """A markdown list; `otherwise` when it is empty."""
    return "\n".join(f"- {line}" for line in lines) or otherwise


def _rendered(value: str | Foreign | Sequence[Foreign], fence: str) -> str:
    if isinstance(value, str):
        return value
    several = [value] if isinstance(value, Foreign) else value
    return "\n\n".join(fenced(fence, foreign) for foreign in several)


@lru_cache(maxsize=32)
def _parts(path: Path) -> tuple[str, int, tuple[str, ...], str, str]:
    text = path.read_text(encoding="utf-8")
    _, about, body = text.split("---\n", 2)
    system, user = re.split(r"^# User$", body, maxsplit=1, flags=re.MULTILINE)
    # The hash changes with every edit: caches miss even if the version number was not raised.
    declared = dict(line.split(": ", 1) for line in about.strip().splitlines())
    version = f"{declared['version']}-{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    return (
        version,
        int(declared["max_tokens"]),
        tuple(declared.get("begins", "").split()),
        system.replace("# System", "", 1).strip(),
        user.strip(),
    )
