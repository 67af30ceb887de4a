"""Reads an answerer's reply while it streams: the verdict that it begins with, its CONFLICT lines,
and the fence, tag or JSON that a model may put around it all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import Match
from typing import Any, Literal

from agents.requests import is_request

Verdict = Literal["answer", "look", "which", "nothing"]

_VERDICTS: dict[str, Verdict] = {
    "ANSWER": "answer", "LOOK": "look", "WHICH": "which", "NOTHING": "nothing",
    "NO_ANSWER": "nothing", "NO ANSWER": "nothing",
}  # fmt: skip
_NAMES = r"(?:NO[ _]ANSWER|ANSWER|LOOK|WHICH|NOTHING)(?!\w)"
_NO_REQUEST = r"(?:NO[ _]ANSWER|ANSWER|NOTHING)(?!\w)"
_OPENERS, _CLOSERS = r"[ \t*_`#>\"'“‘«\[(<]*+", r"[*_`\"'”’»\])>]*+"
_VERDICT = re.compile(
    rf"{_OPENERS}(?:[-+•][ \t]+|1[.)][ \t]+)?{_OPENERS}"
    rf"(?:(?!(?i:{_NAMES}))(?:[^\W\d_]+[ \t]){{0,5}}[^\W\d_]+{_CLOSERS}[ \t]*[:：=]{_OPENERS})?"
    rf"(?:(?P<caps>{_NAMES}){_CLOSERS}(?:[ \t]*+(?:[:：.|=—–-]{_CLOSERS}|\n|$)|(?P<space>[ \t]+))"
    rf"|(?P<alone>(?i:{_NAMES})){_CLOSERS}[ \t]*[:：.—–-]?{_CLOSERS}[ \t]*(?:\n|$)"
    rf"|(?P<label>(?i:{_NO_REQUEST})){_CLOSERS}(?:[ \t]*[:：]{_CLOSERS}|[ \t]+[—–][ \t]))\s*"
)
"""The word in capitals, or alone on its line or before a colon; perhaps with a label before it."""
_AT_THE_END = re.compile(
    rf"[^\n]{{1,240}}[.:：!?]{_OPENERS}(?P<caps>{_NAMES}){_CLOSERS}[ \t]*\n\s*"
)
"""The word in capitals at the end of a preamble's line."""
_ALONE = re.compile(rf"[ \t*_`#>]*+{_NAMES}[*_`:. \t]*+")
_DECORATION = " \t\r\n*_`#>"
_MAX_VERDICT_CHARS = 60
"""Characters after which a line is read that has not ended yet."""
_MAX_PREAMBLE_CHARS = 240
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)\s*")
_PROSE = {"markdown", "md", "text", "txt", "plaintext"}
"""Languages of a fence that holds no code."""
_CITED = re.compile(
    r"[\[【(（［][^\[\]【】()（）\d\n]{0,24}\d{1,3}[^\[\]【】()（）\n]{0,40}[\]】)）］]"
)
_TAG = re.compile(r"<((?:final[_-]?)?(?:answer|response|reply|output))>")
_RULE = re.compile(r"\s*[-=*_]{3,}\s*")
_LABEL = re.compile(r"[\s*_#>]*answer[*_]*[ \t]*[:：][*_]*[ \t]*", re.IGNORECASE)
_CONFLICT_WORD = "CONFLICT"
_CONFLICT = re.compile(
    r"CONFLICTS?[ \t:*_`]*"
    r"((?:(?:[ \t,/&\[\]【】^–-]|sources?\b|and\b|with\b|vs\b\.?)*+\b\d{1,3}\b[\]】]?){2,6})"
    r"[*_`]*(?:[ \t]*[:.,—–-]+[ \t]*(.*)|[ \t]*$)",
    re.IGNORECASE,
)
"""At least two numbers of sources, and what they differ on."""
_BEFORE_LINE = " \t*_`>-"
_MAX_CONFLICT_CHARS = 300


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
        self._has_begun = False
        self._begins_line = True
        self._fence, self._tag = "", ""
        """Around the whole reply: the fence, the closing tag."""
        self._perhaps_code = ""
        """The line of that fence, should no verdict be in it."""
        self._tail = ""
        """Perhaps the beginning of the closing tag."""
        self._is_code = False

    def feed(self, piece: str) -> str:
        """The next text of the reply, without verdict and conflicts."""
        self._add(piece)
        return self._read_text() if self.verdict or self._read_verdict() else ""

    def close(self) -> str:
        """The rest of the text; the verdict is decided now if it was not."""
        self._pending, self._tail = self._pending + self._tail, ""
        if not self.verdict:
            self._read_verdict(is_end=True)
        text = self._read_text(is_end=True)
        return text if self._has_begun or self.verdict != "answer" else self._preamble

    def _add(self, piece: str) -> None:
        text = self._tail + piece
        if self._tag:
            text = text.replace(self._tag, "")
            ends = (
                size for size in range(len(self._tag), 0, -1) if text.endswith(self._tag[:size])
            )
            self._tail = text[len(text) - next(ends, 0) :]
        self._pending += text[: len(text) - len(self._tail)]

    def _read_verdict(self, *, is_end: bool = False) -> bool:
        """Whether the verdict is decided; what follows it is pending then."""
        self._pending = self._pending.lstrip()
        if not self._is_unwrapped(is_end=is_end):
            return False
        text, start = self._pending.lstrip(), 0
        self._pending = text
        if text.startswith("{"):
            if is_end:
                read = _from_json(text)
                self.verdict, self._pending = read or ("answer", self._perhaps_code + text)
            return is_end
        while rest := text[start:].lstrip():
            start = len(text) - len(rest)
            line, ends, _ = rest.partition("\n")
            if not (ends or is_end or len(line) > _MAX_VERDICT_CHARS):
                return False
            match = _VERDICT.match(text, start) or _AT_THE_END.match(text, start)
            if match and (match["caps"] or not start):
                self._begin(match)
                return True
            start += len(line) + len(ends)
            if start > _MAX_PREAMBLE_CHARS or _CITED.search(line):
                break
        asks = all(is_request(line) for line in text.splitlines() if line.strip())
        if not is_end and (asks or (start <= _MAX_PREAMBLE_CHARS and not _CITED.search(text))):
            return False
        self.verdict = "look" if asks and text else "answer"
        if self._perhaps_code and not asks:
            self._fence, self._pending = "", self._perhaps_code + text
        return True

    def _begin(self, match: Match[str]) -> None:
        named, text = match.groupdict(), self._pending
        word = named["caps"] or named["alone"] or named["label"]
        self.verdict = _VERDICTS[word.upper()]
        self._preamble, self._pending = text[: match.start()].strip(), text[match.end() :]
        if named.get("space") and self.verdict in ("which", "nothing"):
            self._pending = f"{word.replace('_', ' ').capitalize()} {self._pending}"

    def _is_unwrapped(self, *, is_end: bool) -> bool:
        """Takes the fence or the tag off that the reply begins with; False: it is not all there."""
        first, ends, rest = self._pending.partition("\n")
        if self._fence or self._tag or first[:1] not in ("`", "~", "<"):
            return True
        if fence := _FENCE.fullmatch(first):
            if ends or is_end:
                self._fence, self._pending = fence["fence"], rest
                self._perhaps_code = "" if fence["language"] in _PROSE else first + ends
            return bool(ends) or is_end
        if tag := _TAG.match(first):
            rest, self._pending, self._tag = self._pending[tag.end() :], "", f"</{tag[1]}>"
            self._add(rest)
            return True
        return bool(ends) or is_end or len(first) > _MAX_VERDICT_CHARS

    def _read_text(self, *, is_end: bool = False) -> str:
        """Text without leading blank lines and without CONFLICT lines."""
        text = ""
        while self._pending:
            if self._begins_line:
                if not self._has_begun and self._pending[0].isspace():
                    self._pending = self._pending.lstrip()
                    continue
                if self._may_go(is_end=is_end):
                    return text
                if self._goes():
                    continue
            line, ends, self._pending = self._pending.partition("\n")
            text += line + ends
            self._has_begun, self._begins_line = True, bool(ends)
        return text

    def _may_go(self, *, is_end: bool) -> bool:
        """Whether more has to come before the line can be read."""
        line, ends, rest = self._pending.partition("\n")
        if is_end:
            return False
        if ends:
            fence = _FENCE.fullmatch(line)
            if fence is None or fence["language"] not in ("", *_PROSE):
                return False
            if not self._has_begun and "\n" not in rest:
                return True  # the next line says whether it is code
            return bool(self._fence) and not self._is_code and not _next_fence(rest)
        bare = line.lstrip(_BEFORE_LINE if self._has_begun else _DECORATION)
        if self._is_code or bare[:1] == "~" or line.lstrip()[:1] == "`":
            return len(line) < _MAX_VERDICT_CHARS and (line.lstrip()[:1] in ("`", "~", ""))
        names = (*_VERDICTS, _CONFLICT_WORD)
        if len(line) < _MAX_CONFLICT_CHARS and any(
            name.startswith(bare[: len(name)].upper()) for name in names
        ):
            return True
        return not self._has_begun and len(line) < _MAX_CONFLICT_CHARS and not bare.strip("-=")

    def _goes(self) -> bool:
        """Whether the line is none of the text. Blank lines before it go, too."""
        line, _ends, rest = self._pending.partition("\n")
        if fence := _FENCE.fullmatch(line):
            return self._fence_goes(fence, rest)
        if self._is_code or not line.strip():
            return not self._pending
        bare = line.lstrip(_BEFORE_LINE if self._has_begun else _DECORATION)
        conflict = _CONFLICT.match(bare)
        if conflict:
            self._add_conflicts(conflict)
        elif not self._has_begun and self.verdict == "answer" and (label := _LABEL.match(line)):
            rest = self._pending[label.end() :]
        elif not _ALONE.fullmatch(line) and (self._has_begun or not _RULE.fullmatch(line)):
            return False
        self._pending = rest
        return True

    def _fence_goes(self, fence: Match[str], rest: str) -> bool:
        """Whether the line begins or ends the fence around the whole reply."""
        if self._is_code:
            self._is_code = bool(fence["language"])
            return False
        is_prose = fence["language"] in _PROSE or (
            not fence["language"] and _CITED.search(rest.partition("\n")[0])
        )
        if not self._has_begun and not self._fence and is_prose and self.verdict != "look":
            self._fence, self._pending = fence["fence"], rest
            return True
        if self._fence and not fence["language"] and not _next_fence(rest):
            self._fence, self._pending = "", rest
            return True
        self._is_code = True
        return False

    def _add_conflicts(self, match: Match[str]) -> None:
        first, *others = map(int, re.findall(r"\d+", match[1]))
        about = (match[2] or "").strip(" *_`.")
        self.conflicts += [Conflict(first, other, about) for other in others]


def _next_fence(text: str) -> bool:
    """Whether a line of it is a fence, so that a fence before it begins code."""
    return any(_FENCE.fullmatch(line) for line in text.split("\n"))


def _from_json(text: str) -> tuple[Verdict, str] | None:
    """Verdict and text of a reply that is one object; None: it is no such reply."""
    try:
        reply, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    verdict: Verdict | None = None
    texts: list[str] = []
    numbers: list[int] = []
    for key, value in reply.items():
        word = next((one for one in (str(value).strip(), key) if one.upper() in _VERDICTS), "")
        if word and verdict is None:
            verdict = _VERDICTS[word.upper()]
        if isinstance(value, list) and all(isinstance(one, int) for one in value):
            numbers += value
        elif word != str(value).strip():
            texts.append("\n".join(_lines(value)))
    if verdict is None:
        return None
    body = "\n".join(texts) if verdict == "look" else max(texts, key=len, default="")
    cited = "" if _CITED.search(body) else "".join(f"[{one}]" for one in numbers)
    return verdict, f"{body} {cited}".strip()


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _lines(one)
    elif isinstance(value, dict):  # a request: its tool, and what that takes
        pairs = [(str(key), str(one)) for key, one in value.items() if one]
        tool, *rest = pairs or [("", "")]
        named = rest and is_request(f"{tool[1]}: {rest[0][1]}")
        yield (
            f"{tool[1]}: {' | '.join(one for _, one in rest)}"
            if named
            else "\n".join(f"{key}: {one}" for key, one in pairs)
        )
    elif value is not None:
        yield str(value)
