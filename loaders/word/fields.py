"""Fields of a Word file: which text is an instruction, what a result links to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from loaders.word.package import Element, W, child, is_on, number, value

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_PAGES = frozenset(("PAGE", "NUMPAGES", "SECTIONPAGES"))


_MAX_NESTING = 20
"""Fields in fields. Of more, the outermost are taken for ended: Word writes no such file."""


@dataclass
class Field:
    instructions: list[str] = field(default_factory=list)
    has_result: bool = False
    is_shown: bool = False
    """Whether its result has text."""
    form: Element | None = None
    """The `w:ffData` of a form field."""

    @cached_property
    def words(self) -> list[str]:
        """Of the instruction, once it is complete."""
        return [quoted or plain for quoted, plain in _WORD.findall("".join(self.instructions))]

    @cached_property
    def link(self) -> str:
        """Where a HYPERLINK leads, `#name` for a bookmark."""
        name, *words = self.words or [""]
        if name.upper() != "HYPERLINK":
            return ""
        address = anchor = ""
        while words:
            word = words.pop(0)
            if word.lower() == "\\l" and words:
                anchor = f"#{words.pop(0)}"
            elif word.lower() in ("\\o", "\\t") and words:
                words.pop(0)
            elif not word.startswith("\\") and not address:
                address = word
        return address + anchor

    @property
    def counts_pages(self) -> bool:
        return bool(_PAGES.intersection(word.upper() for word in self.words[:1]))

    def value(self) -> str:
        """What Word shows for a field without a result."""
        if (box := child(self.form, "checkBox")) is not None:
            state = child(box, "checked")
            return checkbox(is_on(child(box, "default") if state is None else state))
        if (options := child(self.form, "ddList")) is not None:
            entries = [one.get(f"{W}val", "") for one in options.iterchildren(f"{W}listEntry")]
            chosen = number(value(options, "result") or value(options, "default"))
            return entries[chosen] if 0 <= chosen < len(entries) else ""
        name = self.words[0].upper() if self.words else ""
        if name == "MACROBUTTON":
            return " ".join(self.words[2:])
        return "[equation]" if name == "EQ" else ""


def checkbox(checked: bool) -> str:
    return "[x] " if checked else "[ ] "


@dataclass
class Fields:
    """The open fields, the outermost first."""

    stack: list[Field] = field(default_factory=list)

    @property
    def in_instruction(self) -> bool:
        """Whether text is part of an instruction: it is the result of a field inside of one."""
        return any(not one.has_result for one in self.stack[:-1])

    @property
    def link(self) -> str:
        complete = (one for one in reversed(self.stack) if one.has_result)
        return next((one.link for one in complete if one.link), "")

    @property
    def counts_pages(self) -> bool:
        return any(one.counts_pages for one in self.stack if one.has_result)

    def show(self) -> None:
        for one in self.stack:
            one.is_shown = True

    def instruct(self, text: str) -> None:
        if self.stack and not self.stack[-1].has_result:
            self.stack[-1].instructions.append(text)

    def begin(self, one: Field) -> None:
        self.stack.append(one)
        del self.stack[:-_MAX_NESTING]

    def mark(self, element: Element) -> str:
        """Takes a `w:fldChar`. Returns the text of a field that ends without a result."""
        kind = element.get(f"{W}fldCharType")
        if kind == "begin":
            self.begin(Field(form=child(element, "ffData")))
        elif kind == "separate" and self.stack:
            self.stack[-1].has_result = True
        elif kind == "end" and self.stack:
            ended = self.stack.pop()
            return "" if ended.is_shown else ended.value()
        return ""

    def end_paragraph(self) -> None:
        """Drops fields that have no result by now, so that a missing end hides nothing."""
        self.stack = [one for one in self.stack if one.has_result]
