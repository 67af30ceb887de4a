"""Prompts are prose in `prompts/*.md`; their version is their content."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from config.models import Prompt

_FOLDER = Path(__file__).parents[1] / "prompts"


def prompt(name: str, user: str) -> Prompt:
    system, version = _read(name)
    return Prompt(name=name, version=version, system=system, user=user)


def enclosed(tag: str, text: str, **attributes: object) -> str:
    """Text as data: it can't close its own delimiter."""
    inside = text.replace(f"</{tag}", f"<\\/{tag}").replace(f"<{tag}", f"<\\{tag}")
    said = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{said}>\n{inside}\n</{tag}>"


@cache
def _read(name: str) -> tuple[str, str]:
    text = (_FOLDER / f"{name}.md").read_text("utf-8").strip()
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]
