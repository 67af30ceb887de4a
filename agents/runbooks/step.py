"""Reads the numbered lists of a section as steps: their text, commands, conditions and references.
Pure.

Code is a command only after a colon, after *run*, or in a block of its own: `offsets reset` in
"`offsets reset` is blocked" is nothing to copy. Conditions and references are marked only where
the English is clear: a missed mark does no harm, because the reader still reads the words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt

from loaders.text.plain import markdown_parser, read_blocks, shared


@dataclass(frozen=True, kw_only=True)
class StepPart:
    kind: Literal["words", "command"]
    text: str
    """Markdown; for a command the typed text, without backticks or fence."""


@dataclass(frozen=True, kw_only=True)
class RunbookStep:
    """`lead`, `condition` and `parts` in this order are the author's text."""

    number: str
    """Full number: `2`, `2.1`, `2.1.a`."""
    level: int
    """0: outermost."""
    parts: tuple[StepPart, ...]
    condition: str = ""
    """Markdown: the author's condition, with its closing punctuation."""
    lead: str = ""
    """Markdown of the line that introduces the list that starts with this step."""
    parallel: bool = False
    """The author says to do it while something else runs."""
    leads_to: tuple[str, ...] = ()
    """Numbers of the other steps of its section that it refers to."""

    @property
    def text(self) -> str:
        """The step's own text, as markdown."""
        return "\n".join(filter(None, (self.condition, *(part.text for part in self.parts))))


@dataclass(frozen=True, kw_only=True)
class StepSection:
    document: str
    """Id."""
    title: str
    heading: str
    heading_path: tuple[str, ...]
    tab: str
    url: str
    """Opens the section."""
    steps: tuple[RunbookStep, ...]


ITEM = re.compile(
    r"(?P<indent> *)(?P<marker>(?P<digits>\(?\d{1,3}(?:\.\d{1,3})*[.)]|\d{1,3}(?:\.\d{1,3})+)"
    r"|(?P<letters>\(?(?:[A-Za-z]|[ivxl]{2,6})[.)])|[-*+•◦▪‣○●■]) (?P<text>.*)"
)
"""A list item in a chunk: three spaces per level, then the visible marker."""
NOTE = re.compile(r"\[\^[^\[\]]+\]: ")
MIN_STEPS = 2
"""Minimum outermost numbered items of a procedure."""
_INTRODUCES = (":", "：", "—")


@dataclass(kw_only=True)
class _Item:
    number: str
    level: int
    indent: int
    lead: str
    lines: list[str]


def steps_in(text: str) -> tuple[RunbookStep, ...]:
    """`text`: a whole section. Empty where no list has `MIN_STEPS` outermost numbers."""
    lists = (one for one in _lists(text) if sum(not item.level for item in one) >= MIN_STEPS)
    items = [item for one in lists for item in one]
    numbers = {item.number for item in items}
    distinct = numbers if len(numbers) == len(items) else set[str]()
    return tuple(_step(item, distinct - {item.number}) for item in items)


def _lists(text: str) -> Iterator[list[_Item]]:
    """Outermost numbered lists, as their items in reading order. Bullets and text below an item
    belong to it; text that stands apart does so only if the list goes on after it."""
    fences = (token.map for token in read_blocks(text) if token.type == "fence")
    code = {at for fence in fences if fence for at in range(*fence)}
    items: list[_Item] = []
    size = 0  # of the last item in lines, without those that wait for the list to go on
    above, notes = "", set[str]()
    for at, line in enumerate(text.split("\n")):
        item = None if at in code else ITEM.fullmatch(line)
        indent = len(item["indent"]) if item else 0
        if item and (item["digits"] or (indent and item["letters"])) and (items or not indent):
            if items and not indent and not _goes_on(items, item["marker"]):
                del items[-1].lines[size:]
                yield items
                items = []
            items.append(_item(items, item, above))
            size, above = 1, ""
            continue
        if is_note := at not in code and bool(NOTE.match(line)):
            if line in notes:  # repeated by another chunk
                continue
            notes.add(line)
        own = items[-1].lines if items else []
        apart = line.startswith("|") or bool(item and not indent)
        inside = at in code or not line or line.startswith(" ") or bool(own and own[-1])
        if is_note or (items and size == len(own) and inside and not apart):
            size += size == len(own)
        else:
            above = line or above
        own.append(line)
    if items:
        del items[-1].lines[size:]
        yield items


def _item(items: Sequence[_Item], match: re.Match[str], above: str) -> _Item:
    indent, own = len(match["indent"]), match["marker"].strip("().")
    parent = next((one for one in reversed(items) if one.indent < indent), None)
    return _Item(
        number=own if parent is None or "." in own else f"{parent.number}.{own}",
        level=parent.level + 1 if parent else 0,
        indent=indent,
        lead=above if parent is None and above.rstrip().endswith(_INTRODUCES) else "",
        lines=[match["text"]],
    )


def _goes_on(items: Sequence[_Item], marker: str) -> bool:
    """Whether the number is the next one of the outermost items."""
    before = next(item.number for item in reversed(items) if not item.level)
    return _last_number(marker.strip("().")) == _last_number(before) + 1


def _last_number(number: str) -> int:
    return int(number.rpartition(".")[2])


_NEGATED = re.compile(
    r"\b(?:not|never|no longer|without|instead of|rather than|avoid|cannot)\b|n[’']t\b", re.I
)
_OTHERWISE = re.compile(r"\b(?:otherwise|else|if not|either way|in any case)\b", re.I)
_PARALLEL = re.compile(
    r"[\s*_]*(?:meanwhile|in the meantime|in parallel|at the same time)\b"
    r"|.*\b(?:in parallel (?:with|to)|at the same time as|while) (?:the )?steps? \d",
    re.I | re.S,
)
_NUMBER = r"(\d{1,3}+(?:\.\w{1,3})*+)"
_STEP = re.compile(
    rf"(?<!\) )\bsteps? {_NUMBER}(?:\s*(?:,|and|or|to|through|–|-)\s*{_NUMBER})?+"
    r"(?!\s+(?:of|in|from) (?!this\b))",
    re.I,
)
"""Steps of this section: `step 3 of the failover runbook` is of another one."""


def _step(item: _Item, other_numbers: set[str]) -> RunbookStep:
    parts = _parts("\n".join(item.lines).strip("\n"))
    words = " ".join(part.text for part in parts if part.kind == "words")
    condition = ""
    end = condition_end(parts[0].text) if parts and parts[0].kind == "words" else 0
    if end and not _OTHERWISE.search(words[end:]):
        condition, rest = parts[0].text[:end], parts[0].text[end:].strip()
        parts[:1] = [StepPart(kind="words", text=rest)] if rest else []
    named = [number for match in _STEP.finditer(words) for number in match.groups()]
    return RunbookStep(
        number=item.number,
        level=item.level,
        parts=tuple(parts),
        condition=condition,
        lead=item.lead,
        parallel=any(
            _PARALLEL.match(sentence) and not _NEGATED.search(sentence)
            for sentence in re.split(r"(?<=[.!?])\s", words)
        ),
        leads_to=tuple(number for number in dict.fromkeys(named) if number in other_numbers),
    )


_CONDITION = re.compile(
    r"(?:only if|if|unless|in case|provided that)\b(?:(?![.!?,:]\s|[,:]$).)+[,:](?=\s|$)",
    re.I | re.S,
)
_ENUMERATION = re.compile(r",\s+(?:(?:or|and|but)\b|[^.!?:]*,\s+(?:or|and)\s[^,.]+,)", re.I)
"""Goes on with the condition: `If you clicked, typed something, or approved it, say so.`"""


def condition_end(text: str) -> int:
    """Length of a leading `If …,` or `If …:` in characters; 0 where there is none."""
    for start, end, _ in _code_spans(text):  # its punctuation doesn't count
        text = f"{text[:start]}{'x' * (end - start)}{text[end:]}"
    match = _CONDITION.match(text)
    if not match or (match[0].endswith(",") and _ENUMERATION.match(text, match.end() - 1)):
        return 0
    return match.end()


_RUN = re.compile(r"\b(?:run|execute|enter|type|issue|invoke)(?: the command)?\s*$", re.I)
_PROGRAM_NAME = re.compile(r"[\w./~$@-]*[\w./~](?: |$)(?!=)")
"""A program's name; an assignment such as `lag_bytes=0` is none."""
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")


def _parts(markdown: str) -> list[StepPart]:
    """All parts of a step's text, in order."""
    parts: list[StepPart] = []
    lines = markdown.split("\n")
    at = 0
    for token in read_blocks(markdown):
        if token.type == "fence" and token.map:
            parts += _sentences("\n".join(lines[at : token.map[0]]))
            parts.append(StepPart(kind="command", text=token.content.removesuffix("\n")))
            at = token.map[1]
    parts += _sentences("\n".join(lines[at:]))
    return [part for part in parts if part.text.strip()]


def _sentences(markdown: str) -> Iterator[StepPart]:
    markdown = markdown.strip("\n")
    position = 0
    for start, end, code in _code_spans(markdown):
        before = markdown[position:start]
        if _is_command(before, code):
            yield StepPart(kind="words", text=before.strip())
            yield StepPart(kind="command", text=code)
            position = end
    yield StepPart(kind="words", text=markdown[position:].strip())


def _code_spans(markdown: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, content) of each inline code, as the parser reads it."""
    at = 0
    for token in _inline().parseInline(markdown)[0].children or ():
        if token.type == "code_inline":
            source = rf"{token.markup} ?{re.escape(token.content)} ?{token.markup}"
            if match := re.compile(source).search(markdown, at):
                at = match.end()
                yield match.start(), at, token.content


def _is_command(before: str, code: str) -> bool:
    sentence = _SENTENCE_END.split(before)[-1]
    if _NEGATED.search(sentence) or not _PROGRAM_NAME.match(code):
        return False
    introduced = sentence.rstrip().endswith((":", "：")) and " " in code.strip()
    return introduced or bool(_RUN.search(sentence))


@cache
def _inline() -> MarkdownIt:
    return shared(markdown_parser())
