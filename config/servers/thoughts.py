"""Removes a model's thoughts from its reply, whole or in pieces.

Most servers send thoughts in a field of their own, which nobody reads. The others leave them in the
text: between tags, before a closing tag whose opening one stands in the prompt, or in a channel."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = (
    r"(?:\w{1,12}:)?(?:ant)?(?:think(?:ing)?(?:[-_]\w{1,12})?|thoughts?|reason(?:ing)?"
    r"|reflection|scratch_?pad|inner_?monologue|analysis)"
)
_BAR, _GAP = "[|｜]", "[_▁]"
_OPENING = (
    rf"(?:<|&lt;){_BAR}?{_NAME}(?:\s[^<>\n]{{0,80}})?{_BAR}?(?:>|&gt;)"
    rf"|<{_BAR}(?:begin|start){_GAP}(?:of{_GAP})?{_NAME}{_BAR}>|<{_BAR}{_NAME}{_GAP}(?:begin|start){_BAR}>"
    rf"|◁{_NAME}▷|(?-i:\[THINK(?:ING)?\])"
    r"|(?:<\|start\|>\w{1,20})?<\|channel\|?>\s*+(?!final\b)\w++[^<]{0,80}(?:<\|message\|>)?"
)
_CLOSING = (
    rf"(?:<|&lt;){_BAR}?/{_NAME}{_BAR}?(?:>|&gt;)"
    rf"|<{_BAR}end{_GAP}(?:of{_GAP})?{_NAME}{_BAR}>|<{_BAR}{_NAME}{_GAP}end{_BAR}>"
    rf"|◁/{_NAME}▷|(?-i:\[/THINK(?:ING)?\])|<channel\|>"
    r"|(?:<\|start\|>\w{1,20})?<\|channel\|?>\s*+final\b[^<]{0,20}(?:<\|constrain\|>\w*+)?<\|message\|>"
    r"|(?-i:\bassistantfinal)"
)
_END_OF_MESSAGE = "<|end|>"
_TOKEN = rf"<\|start\|>\w{{0,20}}|<{_BAR}/?[a-z_][\w▁]{{0,30}}{_BAR}>"
"""Other tokens of a chat template, such as `<|return|>` or `<|end_of_box|>`."""
_FRAME = r"</?(?:final[_-]?)?(?:answer|response|solution)>"
"""What the reply stands in, behind thoughts."""
_TAG = re.compile(
    rf"(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})|(?P<token>{_TOKEN})|(?P<frame>{_FRAME})",
    re.IGNORECASE,
)


def _beginning_of(word: str) -> str:
    """A pattern for each beginning of the word: `a`, `as`, `ass` …"""
    return "(?:".join(map(re.escape, word)) + ")?" * (len(word) - 1)


_UNFINISHED = re.compile(
    r"(?:<\|(?:start|channel)\|?>[^<]{0,60}(?:<[|\w]{0,12})?"
    rf"|(?:<|{_beginning_of('&lt;')})(?:[|｜/]{{0,2}}(?:[a-z_][\w:▁|｜ -]{{0,90}})?(?:&g?t?)?)"
    rf"|◁/?\w{{0,20}}|(?-i:{_beginning_of('[THINKING')}|{_beginning_of('[/THINKING')})"
    rf"|(?-i:{_beginning_of('assistantfinal')}))\Z",
    re.IGNORECASE,
)
"""The end of a piece that may be the beginning of a tag."""
_MAX_START = 60


class ThoughtFilter:
    """Removes the thoughts of one reply. Tags in code spans of the visible text are text."""

    def __init__(self, begins: Sequence[str] = (), *, waits: bool = False) -> None:
        """Text is held back until it begins with one of `begins`, or until the end: what comes
        before a lone closing tag must not have been passed on. `waits`: hold it back anyway, as
        this model is known for lone closing tags."""
        self.has_thoughts = False
        self.is_lone = False
        """A closing tag came without its opening one."""
        self._begins = re.compile(rf"\W{{0,40}}(?:{'|'.join(begins)})\b") if begins else None
        self._waits = waits
        self._buffer = ""
        self._is_thinking = self._visible = False
        self._forget()

    def _forget(self) -> None:
        self._pending: list[str] = []
        """Visible text that is held back."""
        self._start = self._line = ""
        """The beginnings of the visible text and of its last line."""
        self._ticks = 0
        self._in_fence = False

    def feed(self, piece: str) -> str:
        """The visible text that can be passed on."""
        self._buffer += piece
        self._read(is_end=False)
        waits = self._begins or (self._waits and not self.has_thoughts)
        return "" if waits and not self._has_begun() else self._pass_on()

    def close(self) -> str:
        """The rest. Thoughts without an end are thoughts."""
        self._read(is_end=True)
        return self._pass_on()

    def _pass_on(self) -> str:
        text = "".join(self._pending)
        self._pending = []
        if self.has_thoughts and not self._visible:
            text = text.lstrip()
        self._visible = self._visible or bool(text)
        return text

    def _read(self, *, is_end: bool) -> None:
        unfinished = None if is_end else _UNFINISHED.search(self._buffer[-160:])
        end = len(self._buffer) - (len(unfinished[0]) if unfinished else 0)
        at = 0
        for tag in _TAG.finditer(self._buffer):
            if tag.end() > end:
                break
            self._add(self._buffer[at : tag.start()])
            if self._counts(tag):
                self._pass_tag(tag)
            else:
                self._add(tag[0])
            at = tag.end()
        self._add(self._buffer[at:end])
        self._buffer = self._buffer[end:]

    def _add(self, text: str) -> None:
        if self._is_thinking or not text:
            return
        self._pending.append(text)
        if len(self._start) < _MAX_START:
            self._start = (self._start + text)[:_MAX_START]
        for number, part in enumerate(text.split("\n")):
            if number:
                self._in_fence ^= self._line.lstrip().startswith("```")
                self._line, self._ticks = "", 0
            self._line = self._line[:_MAX_START] + part[:_MAX_START]
            self._ticks += part.count("`")

    def _counts(self, tag: re.Match[str]) -> bool:
        """Not in code; but what is held back may be a thought with a fence left open."""
        if self._is_thinking:
            return True
        if (tag["frame"] and not self.has_thoughts) or self._ticks % 2:
            return False
        return not self._in_fence or bool(tag["closing"] and not self._has_begun())

    def _has_begun(self) -> bool:
        return bool(self._visible or (self._begins and self._begins.match(self._start)))

    def _pass_tag(self, tag: re.Match[str]) -> None:
        if tag["opening"]:
            self._is_thinking = self.has_thoughts = True
        elif tag["closing"]:
            if not self._is_thinking:
                self.is_lone = self.is_lone or self._visible or bool(self._start.strip())
                if not self._has_begun():
                    self._forget()
            self._is_thinking, self.has_thoughts = False, True
        elif tag[0].lower() == _END_OF_MESSAGE:
            self._is_thinking = False


def without_thoughts(text: str) -> str:
    reply = ThoughtFilter()
    # Fed in one piece, nothing of it was passed on before a lone closing tag.
    return reply.feed(text) + reply.close()
