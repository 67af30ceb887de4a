"""Prompts are prose in `prompts/*.md`, each with a version that is part of every cache key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import yaml

from config.models import Prompt

_FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, kw_only=True)
class PromptFile:
    name: str
    version: str
    system: str

    def asking(self, user: str) -> Prompt:
        return Prompt(name=self.name, version=self.version, system=self.system, user=user)


@cache
def prompt_file(stem: str) -> PromptFile:
    _, front_matter, body = (_FOLDER / f"{stem}.md").read_text("utf-8").split("---\n", 2)
    about = yaml.safe_load(front_matter)
    return PromptFile(name=about["name"], version=str(about["version"]), system=body.strip())


def enclosed(tag: str, text: str, **attributes: object) -> str:
    """Text as delimited data: it can't close its own delimiter."""
    inside = text.replace(f"</{tag}", f"<\\/{tag}").replace(f"<{tag}", f"<\\{tag}")
    said = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items())
    return f"<{tag}{said}>\n{inside}\n</{tag}>"
