"""Reads an answerer's reply while it streams: the verdict that it begins with, its CONFLICT lines,
and the fence, tag or JSON that a model may put around it all.

A line is read when it has ended, or is longer than any line of ours, and then by its beginning
alone: so a reply is read the same in pieces as in one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from agents.requests import is_request

Verdict = Literal["answer", "look", "which", "nothing"]

_VERDICTS: dict[str, Verdict] = {
    "ANSWER": "answer", "LOOK": "look", "WHICH": "which", "NOTHING": "nothing",
    "NO_ANSWER": "nothing", "NO ANSWER": "nothing",
}  # fmt: skip
_MARKS = r"[\W_]*(?:1[.)][\W_]*)?"
"""Before a verdict: decoration, the mark of a list, a bracket."""
_WORD = re.compile(rf"{_MARKS}({'|'.join(_VERDICTS)})(?![^\W_])", re.IGNORECASE)
_LABEL = re.compile(rf"{_MARKS}[^\W\d_]+(?:[ \t][^\W\d_]+){{0,5}}[*_`\"]*[ \t]*[:：=]")
_CLOSERS, _SEPARATORS = "*_`\"'”’»])>】》」", ":：.|=—–-"
_MAX_LABEL_CHARS, _MAX_PREAMBLE_CHARS, _MAX_LINE_CHARS = 60, 240, 300
"""Of a verdict with its label; of the lines up to a verdict; of a CONFLICT or a fence."""
_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)\s*")
_PROSE = {"markdown", "md", "text", "txt", "plaintext"}
"""Languages of a fence that holds no code."""
_TAG = re.compile(r"<((?:final[_-]?)?(?:answer|response|reply|output))>")
_CITED = re.compile(r"[\[【(（［][^\[\]【】()（）\d]{0,24}\d[^\[\]【】()（）]{0,40}[\]】)）］]")
_RULE = re.compile(r"\s*[-=*_]{3,}\s*")
_BESIDE = " \t*_`#>-"
"""Decoration of a line."""
_NUMBER = r"(?:[\s,/&\[\]【】^–-]|sources?\b|and\b|with\b|vs\b\.?)*+\b\d{1,3}\b[\]】]?"
_CONFLICT = re.compile(
    rf"CONFLICTS?[\s:*_`]*(?P<numbers>(?:{_NUMBER}){{2,6}})[*_`]*"
    r"(?:\s*[:.,—–-]+(?P<about>.*)|\s*$)",
    re.IGNORECASE,
)
"""At least two numbers of sources, and what they differ on."""


@dataclass(frozen=True)
class Conflict:
    """Two sources that can't both be true, by number in the prompt."""

    one: int
    other: int
    about: str


class Opening:
    """Withholds a reply until its verdict is read. A reply without one is an answer."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = None
        self.conflicts: list[Conflict] = []
        self._pending = ""
        self._preamble = ""
        """Lines before the verdict; the whole answer where nothing follows it."""
        self._fence, self._tag = "", ""
        """Around the whole reply: the fence, the closing tag."""
        self._code = ""
        """The fence of the code that the text is in."""
        self._has_begun, self._begins_line = False, True

    def feed(self, piece: str) -> str:
        """The next text of the reply, without verdict and conflicts."""
        self._pending += piece
        return self._read(is_end=False)

    def close(self) -> str:
        """The rest of the text; the verdict is decided now if it was not."""
        text = self._read(is_end=True)
        return text if self._has_begun or self.verdict != "answer" else self._preamble

    def _read(self, *, is_end: bool) -> str:
        if not self.verdict:
            self._read_verdict(is_end=is_end)
        if not self.verdict:
            return ""
        text, tail = "", ""
        if self._tag:
            self._pending = self._pending.replace(self._tag, "")
            begins = self._pending.rfind("<")
            if begins >= 0 and self._tag.startswith(self._pending[begins:]) and not is_end:
                self._pending, tail = self._pending[:begins], self._pending[begins:]
        while self._pending and (is_end or self._is_ready()):
            text += self._next_text()
        self._pending += tail
        return text

    def _read_verdict(self, *, is_end: bool) -> None:
        """Decides it, unless more has to come first. What follows it is pending then."""
        self._pending = self._pending.lstrip()
        first, ends, rest = self._pending.partition("\n")
        if not (ends or is_end or len(first) > _MAX_LABEL_CHARS):
            return
        if not self._tag and (tag := _TAG.match(first)):
            self._tag, self._pending = f"</{tag[1]}>", self._pending[tag.end() :]
            self._read_verdict(is_end=is_end)
            return
        fence = _FENCE.fullmatch(first)
        body = rest.lstrip() if fence else self._pending
        if body.startswith("{"):
            if is_end:
                self.verdict, self._pending = _from_json(body) or ("answer", self._pending)
        elif verdict_read := _find_verdict(body, is_end=is_end):
            self.verdict, self._preamble, self._pending = verdict_read
            self._fence = fence["mark"] if fence else ""
        elif verdict_read is False:
            lines = [line for line in body.splitlines() if line.strip()]
            if is_end or not is_request(lines[0]):
                self.verdict = "look" if lines and all(map(is_request, lines)) else "answer"

    def _is_ready(self) -> bool:
        """Whether the pending line is part of the text or none, whatever comes."""
        line, ends, rest = self._pending.partition("\n")
        if not self._begins_line:
            return True
        if not ends:
            bare = line.lstrip(_BESIDE).upper()
            is_fence = line.lstrip().startswith(("```", "~~~"))
            if is_fence or len(bare) < 12 or bare.startswith((*_VERDICTS, "CONFLICT")):
                return len(line) > _MAX_LINE_CHARS
            return self._has_begun or len(line) > _MAX_LABEL_CHARS
        if self._code or not _FENCE.fullmatch(line):
            return True
        if not self._has_begun and "\n" not in rest:
            return False  # the next line says whether it is code
        return not self._fence or _has_fence(rest)

    def _next_text(self) -> str:
        """Takes the next line, or what there is of it; '' where it is none of the text."""
        line, ends, rest = self._pending.partition("\n")
        begins, self._begins_line, self._pending = self._begins_line, bool(ends), rest
        if begins and self._is_dropped(line, rest):
            self._begins_line = True
            return ""
        if begins and not (self._has_begun or self._code):
            again = _verdict_in(line, is_first=True)
            if again and again[0] == self.verdict and (again[1] or self.verdict == "answer"):
                self._begins_line, self._pending = True, again[1] + ends + rest
                return ""
            line = line.lstrip()
        self._has_begun = True
        return line + ends

    def _is_dropped(self, line: str, rest: str) -> bool:
        if len(line) > _MAX_LINE_CHARS:
            return False
        if fence := _FENCE.fullmatch(line):
            return self._is_around(fence["mark"], fence["language"], rest)
        if self._code:
            return False
        if conflict := _CONFLICT.match(line.lstrip(_BESIDE)):
            first, *others = map(int, re.findall(r"\d+", conflict["numbers"]))
            about = (conflict["about"] or "").strip(" \t*_`.")
            self.conflicts += [Conflict(first, other, about) for other in others]
            return True
        if not self._has_begun and (not line.strip() or _RULE.fullmatch(line)):
            return True
        return line.lstrip(_BESIDE).rstrip(f"{_BESIDE}.:") in _VERDICTS

    def _is_around(self, mark: str, language: str, rest: str) -> bool:
        """Whether a fence is around the whole reply. If not, it begins or ends code."""
        if self._code:
            self._code = self._code if language else ""
            return False
        is_prose = language in _PROSE or (
            not language and bool(_CITED.search(rest.partition("\n")[0]))
        )
        if not self._has_begun and not self._fence and is_prose:
            self._fence = mark
            return True
        if self._fence and not language and not _has_fence(rest):
            self._fence = ""
            return True
        self._code = mark
        return False


def _find_verdict(body: str, *, is_end: bool) -> tuple[Verdict, str, str] | Literal[False] | None:
    """The verdict, the lines before it and what follows. False: there is none, for it stands before
    any citation and within the first characters. None: more has to come first."""
    at, is_full = 0, is_end or len(body) > _MAX_PREAMBLE_CHARS
    for line in body[:_MAX_PREAMBLE_CHARS].splitlines(keepends=True):
        has_ended = is_full or line.endswith("\n")
        if not has_ended and len(line) <= _MAX_LABEL_CHARS:
            return None
        if begin := _verdict_in(line, is_first=not at):
            verdict, rest = begin
            return verdict, body[:at].strip(), rest + body[at + len(line) :]
        if _CITED.search(line):
            return False
        at += len(line)
        before, _, word = line.rstrip(f"{_BESIDE}{_CLOSERS}\n").rpartition(" ")
        before, end = before.rstrip(_BESIDE), _VERDICTS.get(word.lstrip(_BESIDE))
        if has_ended and end and before.endswith((".", ":", "：", "!", "?")):
            return end, f"{body[: at - len(line)]}{before}".strip(), body[at:]
    return False if is_full else None


def _verdict_in(line: str, *, is_first: bool) -> tuple[Verdict, str] | None:
    """The verdict that a line begins with, perhaps behind a label, and the line's rest.

    A word in capitals is one; in a reply's first line also one that is alone or has a colon."""
    label = _LABEL.match(line[:_MAX_LABEL_CHARS])
    for begin in (0, label.end() if label else 0):
        word = _WORD.match(line[: _MAX_LABEL_CHARS + 1], begin)
        if word is None:
            continue
        verdict = _VERDICTS[word[1].upper()]
        behind = line[word.end() :].lstrip(_CLOSERS)
        rest = behind.lstrip()
        sign, is_alone = rest[:1], not rest.strip(f"{_SEPARATORS}{_CLOSERS} \n")
        if is_alone and (is_first or word[1].isupper()):
            return verdict, ""
        if word[1].isupper():
            is_meant = sign in _SEPARATORS or behind[0].isspace()
        else:
            is_meant = is_first and sign in ":：—–" and verdict in ("answer", "nothing")
        if is_meant and sign in _SEPARATORS:
            return verdict, rest[1:].lstrip(_CLOSERS).lstrip()
        if is_meant:  # the word may begin the sentence
            begins = verdict in ("which", "nothing")
            return verdict, f"{word[1].replace('_', ' ').capitalize()} {rest}" if begins else rest
    return None


def _has_fence(text: str) -> bool:
    """Whether a line of it is a fence, so that a fence before it begins code."""
    return any(map(_FENCE.fullmatch, text.split("\n")))


def _from_json(text: str) -> tuple[Verdict, str] | None:
    """Verdict and text of a reply that is one object; None: it is no such reply."""
    try:
        reply, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    words = [str(one).strip().upper() for pair in reply.items() for one in reversed(pair)]
    verdict = next((_VERDICTS[word] for word in words if word in _VERDICTS), None)
    if verdict is None:
        return None
    numbers: list[int] = []
    texts: list[str] = []
    for value in reply.values():
        if isinstance(value, list) and all(isinstance(one, int) for one in value):
            numbers += value
        elif str(value).strip().upper() not in _VERDICTS:
            texts.append(_text_of(value))
    body = "\n".join(texts) if verdict == "look" else max(texts, key=len, default="")
    cited = "" if _CITED.search(body) else "".join(f"[{one}]" for one in numbers)
    return verdict, f"{body} {cited}".strip()


def _text_of(value: Any) -> str:
    """A list's parts are lines, and so are an object's, unless it is a request: tool, words."""
    if isinstance(value, list):
        return "\n".join(map(_text_of, value))
    if isinstance(value, dict):
        parts = {key: _text_of(one) for key, one in value.items() if one}
        tool, *words = parts.values() or [""]
        request = f"{tool}: {' | '.join(words)}"
        return request if is_request(request) else "\n".join(map(": ".join, parts.items()))
    return "" if value is None else str(value)
