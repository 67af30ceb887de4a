"""What is typed, told from what is read: the commands of a step. Pure.

Code is a command only where the author says that it is one: behind a colon, behind *run*, or in a
block of its own. `offsets reset` in "`offsets reset` is blocked" is nothing to copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt

from agents.runbook_steps.runbook_step import StepPart
from loaders.text.plain import markdown_parser, read_blocks, shared

_RUN = re.compile(r"\b(?:run|execute|enter|type|issue|invoke)(?: the command)?\s*$", re.IGNORECASE)
NEGATED = re.compile(
    r"\b(?:not|never|no longer|without|instead of|rather than|avoid|cannot)\b|n[’']t\b",
    re.IGNORECASE,
)
_TYPED = re.compile(r"[\w./~$@-]*[\w./~](?: |$)(?!=)")
"""A program's name, not `lag_bytes=0`."""
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")


def parts_of(markdown: str) -> tuple[StepPart, ...]:
    """All of it, in order."""
    found: list[StepPart] = []
    lines = markdown.split("\n")
    at = 0
    for token in read_blocks(markdown):
        if token.type != "fence" or not token.map:
            continue
        start, end = token.map
        found += _sentences("\n".join(lines[at:start]))
        found.append(StepPart(kind="command", text=token.content.removesuffix("\n")))
        at = end
    found += _sentences("\n".join(lines[at:]))
    return tuple(part for part in found if part.text.strip())


def _sentences(markdown: str) -> Iterator[StepPart]:
    markdown = markdown.strip("\n")
    begun = 0
    for start, end, code in code_spans(markdown):
        before = markdown[begun:start]
        if _is_command(before, code):
            yield StepPart(kind="words", text=before.strip())
            yield StepPart(kind="command", text=code)
            begun = end
    yield StepPart(kind="words", text=markdown[begun:].strip())


def code_spans(markdown: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, what stands in it) of inline code, as the parser reads it."""
    at = 0
    for token in _inline().parseInline(markdown)[0].children or ():
        if token.type != "code_inline":
            continue
        for content in (token.content, f" {token.content} "):
            written = f"{token.markup}{content}{token.markup}"
            start = markdown.find(written, at)
            if start >= 0:
                at = start + len(written)
                yield start, at, token.content
                break


def _is_command(before: str, code: str) -> bool:
    sentence = _SENTENCE_END.split(before)[-1]
    if NEGATED.search(sentence) or not _TYPED.match(code):
        return False
    introduced = sentence.rstrip().endswith((":", "：")) and " " in code.strip()
    return introduced or bool(_RUN.search(sentence))


@cache
def _inline() -> MarkdownIt:
    return shared(markdown_parser())
