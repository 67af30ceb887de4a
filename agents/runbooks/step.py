"""Steps of a runbook: their commands, conditions, parallel steps and references. Pure.

Code is a command only after a colon, after *run*, or in a block of its own: `offsets reset` in
"`offsets reset` is blocked" is nothing to copy. Conditions and references are marked only where
the English is clear: a missed mark does no harm, because the reader still reads the words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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


_RUN = re.compile(r"\b(?:run|execute|enter|type|issue|invoke)(?: the command)?\s*$", re.IGNORECASE)
NEGATED = re.compile(
    r"\b(?:not|never|no longer|without|instead of|rather than|avoid|cannot)\b|n[’']t\b",
    re.IGNORECASE,
)
_PROGRAM_NAME = re.compile(r"[\w./~$@-]*[\w./~](?: |$)(?!=)")
"""A program's name; an assignment such as `lag_bytes=0` is none."""
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")


def parts_of(markdown: str) -> tuple[StepPart, ...]:
    """All parts of a step's text, in order."""
    parts: list[StepPart] = []
    lines = markdown.split("\n")
    at = 0
    for token in read_blocks(markdown):
        if token.type != "fence" or not token.map:
            continue
        start, end = token.map
        parts += _sentences("\n".join(lines[at:start]))
        parts.append(StepPart(kind="command", text=token.content.removesuffix("\n")))
        at = end
    parts += _sentences("\n".join(lines[at:]))
    return tuple(part for part in parts if part.text.strip())


def _sentences(markdown: str) -> Iterator[StepPart]:
    markdown = markdown.strip("\n")
    position = 0
    for start, end, code in code_spans(markdown):
        before = markdown[position:start]
        if _is_command(before, code):
            yield StepPart(kind="words", text=before.strip())
            yield StepPart(kind="command", text=code)
            position = end
    yield StepPart(kind="words", text=markdown[position:].strip())


def code_spans(markdown: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, content) of each inline code, as the parser reads it."""
    at = 0
    for token in _inline().parseInline(markdown)[0].children or ():
        if token.type != "code_inline":
            continue
        for content in (token.content, f" {token.content} "):
            source = f"{token.markup}{content}{token.markup}"
            start = markdown.find(source, at)
            if start >= 0:
                at = start + len(source)
                yield start, at, token.content
                break


def _is_command(before: str, code: str) -> bool:
    sentence = _SENTENCE_END.split(before)[-1]
    if NEGATED.search(sentence) or not _PROGRAM_NAME.match(code):
        return False
    introduced = sentence.rstrip().endswith((":", "：")) and " " in code.strip()
    return introduced or bool(_RUN.search(sentence))


@cache
def _inline() -> MarkdownIt:
    return shared(markdown_parser())


_IF = re.compile(r"(?:if|only if|unless|in case|provided that)\b", re.IGNORECASE)
_FOR_A = re.compile(r"(?:on|for) (?:an?|any) (?!new\b)[^,:.]{2,60}(?=,)", re.IGNORECASE)
_A_TIME = re.compile(r"\b(?:second|minute|hour|day|week|month|while|moment|time|start)s?\b", re.I)
_MEANS = re.compile(
    r"(?P<what>.{1,90}?) (?=means? (?:go\b|stop\b|continue\b|skip\b|wait\b|do\b|use\b|leave\b"
    r"|[^.]{0,80}\bgo (?:back )?to step\b))",
    re.IGNORECASE,
)
_GO_TO = re.compile(
    r"\b(?:go|skip|jump|return|continue|proceed)\b[^.]{0,20}\bsteps? \d", re.IGNORECASE
)
_OTHERWISE = re.compile(
    r"(?:^|[.;,]\s+)(?:otherwise|else|if not|either way|in any case|then|afterwards|always)\b",
    re.IGNORECASE,
)
_LIST_OF_CONDITIONS = re.compile(
    r"^(?:or|and|nor|but|which|who|whose|where|that is|e\.g\.)\b", re.I
)
_ENUMERATION = re.compile(r",\s+(?:or|and)\s[^,]+,", re.IGNORECASE)
_MEANWHILE = re.compile(
    r"(?:meanwhile|in the meantime|in parallel|at the same time|simultaneously)\b", re.IGNORECASE
)
_BESIDE_A_STEP = re.compile(
    r"\b(?:in parallel (?:with|to)|at the same time as|while) (?:the )?(?:step|steps) \d",
    re.IGNORECASE,
)
_NUMBER = r"\d{1,3}(?:\.\w{1,3})*"
_STEPS = re.compile(
    rf"\bsteps? ({_NUMBER})(?:(\s*(?:to|–|-|through)\s*|\s*(?:,|and|or)\s*)({_NUMBER}))?",
    re.IGNORECASE,
)
_OF_ANOTHER = re.compile(r"(?:\]\([^)]*\)|\b(?:runbook|guide|page|document|playbook)),?\s*$", re.I)
_OF_THE = re.compile(
    r"^\s*(?:of|in|from) (?:the |that |another )?(?!this\b|same\b)[\[\w]", re.IGNORECASE
)


def with_cues(steps: Sequence[RunbookStep]) -> tuple[RunbookStep, ...]:
    """The steps with conditions, parallel flags and references. A condition moves from the front
    of the parts to its own field."""
    numbers = [step.number for step in steps]
    known_numbers = frozenset(numbers) if len(set(numbers)) == len(numbers) else frozenset()
    branches = _branches(steps)
    return tuple(
        _with_cues(step, known_numbers - {step.number}, is_branch=at in branches)
        for at, step in enumerate(steps)
    )


def _with_cues(step: RunbookStep, other_numbers: frozenset[str], *, is_branch: bool) -> RunbookStep:
    words = " ".join(part.text for part in step.parts if part.kind == "words")
    step = replace(
        step,
        parallel=_is_parallel(words),
        leads_to=tuple(dict.fromkeys(_referenced_steps(words, other_numbers))),
    )
    if not step.parts or step.parts[0].kind != "words":
        return step
    text = step.parts[0].text
    end = condition_end(text, is_branch=is_branch)
    if not end or _OTHERWISE.search(words[end:]):
        return step
    rest = StepPart(kind="words", text=text[end:].strip())
    parts = (rest, *step.parts[1:]) if rest.text else step.parts[1:]
    return replace(step, condition=text[:end].strip(), parts=parts)


def condition_end(text: str, *, is_branch: bool = False) -> int:
    """Length of the leading condition of the whole text, in characters; 0 where none is clear."""
    without_code = _mask_code(text)
    sentence = re.split(r"(?<=[.!?])\s", without_code, maxsplit=1)[0]
    if _IF.match(sentence):
        return _clause_end(sentence)
    if (match := _FOR_A.match(sentence)) and not _A_TIME.search(match[0]):
        return match.end() + 1
    if (match := _MEANS.match(sentence)) and not NEGATED.search(match["what"]):
        return match.end("what")
    if is_branch:
        return sentence.find(":") + 1
    return 0


def _clause_end(sentence: str) -> int:
    """End of the leading clause: after its comma or colon; 0 where unclear."""
    colon = sentence.find(":")
    comma = sentence.find(",")
    if comma < 0 or 0 <= colon < comma:
        return colon + 1
    rest = sentence[comma + 1 :].strip()
    if _LIST_OF_CONDITIONS.match(rest) or _ENUMERATION.search(sentence[comma:]):
        return 0
    return comma + 1


def _branches(steps: Sequence[RunbookStep]) -> frozenset[int]:
    """Indexes of sibling steps that are alternatives: each has its condition before a colon, and at
    least two of them lead to another step."""
    branches: set[int] = set()
    groups: dict[tuple[int, str], list[int]] = {}
    parent: dict[int, str] = {}
    for at, step in enumerate(steps):
        parent[step.level] = f"{at}"
        groups.setdefault((step.level, parent.get(step.level - 1, "")), []).append(at)
    for places in groups.values():
        texts = [steps[at].parts[0].text if steps[at].parts else "" for at in places]
        starts = [re.split(r"(?<=[.!?])\s", _mask_code(text), maxsplit=1)[0] for text in texts]
        leading = sum(bool(_GO_TO.search(text)) for text in texts)
        if leading >= 2 and all(0 < one.find(":") < len(one) - 2 for one in starts):
            branches.update(places)
    return frozenset(branches)


def _is_parallel(words: str) -> bool:
    for sentence in re.split(r"(?<=[.!?])\s", words):
        begins = _MEANWHILE.match(sentence.lstrip("*_"))
        if (begins or _BESIDE_A_STEP.search(sentence)) and not NEGATED.search(sentence):
            return True
    return False


def _referenced_steps(words: str, other_numbers: frozenset[str]) -> list[str]:
    """Numbers of this section's steps that the text refers to, not those of another document."""
    numbers: list[str] = []
    for match in _STEPS.finditer(words):
        if _OF_ANOTHER.search(words[: match.start()]) or _OF_THE.match(words[match.end() :]):
            continue
        first, between, last = match[1], match[2] or "", match[3]
        several = bool(last) and bool(re.search(r"to|–|-|through", between))
        if several and first.isdigit() and last.isdigit() and int(last) - int(first) < 100:
            numbers += [str(n) for n in range(int(first), int(last) + 1)]
        else:
            numbers += [one for one in (first, last) if one]
    return [one for one in numbers if one in other_numbers]


def _mask_code(text: str) -> str:
    """Replaces inline code with letters of the same length, so that its punctuation is ignored."""
    for start, end, _ in code_spans(text):
        text = f"{text[:start]}{'x' * (end - start)}{text[end:]}"
    return text
