"""What can be shown of a text that is still being written. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bot.message.defang import Links, defang

_FENCE = re.compile(r"[ >]*(?:[-+*] |\d+[.)] )?[ ]*(`{3,}|~{3,})")
_CODE = re.compile(r"`[^`\n]*`")


_UNFINISHED = re.compile(r"^[ >]*(?:\||(?:[-+*=#>]+|\d+[.)]|[-=]{2,})?[ ]*$)")
"""A line that may become something else: a row of a table, or a sign without its words."""
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|~~|(?<!\w)_{1,3}|_{1,3}(?!\w))")


def shown_of(so_far: str) -> str:
    """A growing answer as it may be seen by now. Without links: its sources are not known yet."""
    return defang(so_far[: settled(so_far)], Links())


def settled(text: str) -> int:
    """How much of a growing markdown text stays as it is read: whole code blocks and tables, lines
    as far as their links, code and emphasis are complete."""
    lines = text[: safe_end(text)].split("\n")
    fence = _open_fence(lines)
    if fence is not None:
        lines = [*lines[:fence], ""]
    lines[-1] = lines[-1][: _before_emphasis(lines[-1])]
    while lines and _UNFINISHED.match(lines[-1]):
        lines.pop()
    return len("\n".join(lines))


def _open_fence(lines: Sequence[str]) -> int | None:
    """The line of the code block that isn't closed yet."""
    opened: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and opened is None:
            opened = (at, mark[1])
        elif mark and opened and mark[1].startswith(opened[1]):
            opened = None
    return opened[0] if opened else None


def _before_emphasis(line: str) -> int:
    """Where emphasis begins that isn't closed in the line; else its end."""
    opened: dict[str, int] = {}
    for sign in _EMPHASIS.finditer(_without_code(line)):
        if line[sign.end() : sign.end() + 1] == " " and sign[1] not in opened:
            continue  # `* item`, `5 * 3`
        if opened.pop(sign[1], None) is None:
            opened[sign[1]] = sign.start()
    return min(opened.values(), default=len(line))


def safe_end(text: str) -> int:
    """How much of a growing text can be shown: up to the last space outside a link or mention
    that may still be unfinished."""
    end = max(text.rfind(" "), text.rfind("\n")) + 1
    line = text.rfind("\n", 0, end) + 1
    if (code := _without_code(text[line:end]).find("`")) >= 0:
        end = line + code
    for opener, closer in (("<", ">"), ("[", ")")):
        at = text.rfind(opener, line, end)
        if at >= 0 and text.find(closer, at + 1, end) < 0 and not _is_citation(text, at):
            end = min(end, at)
    return end


def _without_code(line: str) -> str:
    """As long as it was."""
    return _CODE.sub(lambda code: " " * len(code[0]), line)


def _is_citation(text: str, at: int) -> bool:
    close = text.find("]", at)
    return close > 0 and text[at + 1 : close].isdigit() and text[close + 1 : close + 2] != "("


def words(text: str) -> dict[str, Any]:
    """A chunk of the answer."""
    return {"type": "markdown_text", "text": text}
