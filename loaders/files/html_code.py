"""Code in HTML: `<pre>`, and tables that put line numbers beside code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

from loaders.files.html_inline import UNSEEN, attribute
from loaders.text.markdown import clean

_LINES = frozenset(["div", "dd", "dt", "li", "ol", "p", "table", "tbody", "td", "th", "tr", "ul"])
"""Elements within code that are lines of it."""
_BREAKS = ["br", *_LINES]
_EMPHASIS = frozenset(["b", "em", "i", "strong"])
_LANGUAGE = re.compile(
    r"(?:\blang(?:uage)?-|\bhighlight-(?:source-)?|\bbrush:\s*|\b(?:hljs|sourceCode) )([\w+#.-]+)"
)
_NO_LANGUAGE = frozenset(["default", "none", "plain", "plaintext", "text"])


def language_of(element: Tag) -> str:
    """The language that a highlighter gave to the code, its first `<code>` or the boxes around."""
    inner = element.find("code")
    around = [element, *islice(element.parents, 3)]
    for one in [inner, *around] if isinstance(inner, Tag) else around:
        names = attribute(one, "class") + " " + attribute(one, "data-syntaxhighlighter-params")
        if match := _LANGUAGE.search(names):
            return "" if match[1] in _NO_LANGUAGE else match[1]
    return ""


def code_text(element: Tag) -> str:
    """The lines of code, without the numbers that stand in elements of their own before them."""
    lines, numbers = _lines(element)
    if len(numbers) > 1 and _is_sequence(list(numbers.values())):
        texts = [bool("".join(line).strip()) for line in lines]
        if all(i in numbers for i, has_text in enumerate(texts) if has_text):
            for i in numbers:
                number = next(at for at, text in enumerate(lines[i]) if text.strip())
                lines[i] = lines[i][number + 1 :]
    return "\n".join(map("".join, lines)).strip("\n")


def _lines(element: Tag) -> tuple[list[list[str]], dict[int, int]]:
    """Its lines in pieces, and line → the number in an element at its start."""
    lines: list[list[str]] = [[]]
    numbers: dict[int, int] = {}
    _collect(element, lines, numbers)
    return lines, numbers


def _collect(element: Tag, lines: list[list[str]], numbers: dict[int, int]) -> None:
    for node in element.children:
        if isinstance(node, Tag):
            _collect_tag(node, lines, numbers)
        elif isinstance(node, NavigableString) and not isinstance(node, PreformattedString):
            first, *more = clean(str(node)).translate(UNSEEN).split("\n")
            lines[-1].append(first)
            lines.extend([line] for line in more)


def _collect_tag(node: Tag, lines: list[list[str]], numbers: dict[int, int]) -> None:
    if node.name == "br":
        lines.append([])
    elif node.name in _LINES:
        if "".join(lines[-1]).strip():
            lines.append([])
        _collect(node, lines, numbers)
        if lines[-1] != [""]:  # it ended with a line break of its own
            lines.append([])
    elif (
        node.name not in _EMPHASIS
        and node.find(_BREAKS) is None
        and not "".join(lines[-1]).strip()
        and (number := _number(node.get_text())) is not None
    ):
        numbers[len(lines) - 1] = number
        lines[-1].append(str(number))
    else:
        _collect(node, lines, numbers)


def numbered_code(rows: Sequence[Sequence[Tag]]) -> str:
    """The code of a table whose other cells hold nothing but line numbers; '' for another table.

    Highlighters make one row of two columns, or a row for each line."""
    if not rows or not all(2 <= len(cells) <= 4 for cells in rows):
        return ""
    return _beside_numbers(rows[0]) if len(rows) == 1 else _code_rows(rows)


def _beside_numbers(cells: Sequence[Tag]) -> str:
    *margin, code = cells
    margin_lines = ["".join(line).strip() for cell in margin for line in _lines(cell)[0]]
    numbers = [_number(line) for line in margin_lines if line]
    text = code_text(code)
    is_code = code.find("pre") is not None or len(numbers) > 1
    fits = abs(len(numbers) - len(text.split("\n"))) <= 1
    if is_code and fits and None not in numbers and _is_sequence(numbers):
        return text
    return _code_rows([cells])


def _code_rows(rows: Sequence[Sequence[Tag]]) -> str:
    """Two columns of numbers are those of a diff, whose lines have one or both."""
    lines = []
    columns: list[list[int]] = [[] for _ in range(len(rows[0]) - 1)]
    for *margin, code in rows:
        texts = [attribute(c, "data-line-number") or c.get_text().strip() for c in margin]
        numbers = [_number(text) for text in texts]
        lines.append(code_text(code))
        is_line = "\n" not in lines[-1] and _is_preformatted(code, margin)
        is_margin = len(margin) == len(columns) and any(number is not None for number in numbers)
        if not is_line or not is_margin or any(map(_is_word, texts, numbers)):
            return ""
        for column, number in zip(columns, numbers, strict=True):
            column += [] if number is None else [number]
    is_diff = len(columns) == 2 and all(column == sorted(set(column)) for column in columns)
    return "\n".join(lines) if is_diff or all(map(_is_sequence, columns)) else ""


def _is_word(text: str, number: int | None) -> bool:
    return bool(text) and number is None


def _is_preformatted(code: Tag, margin: Sequence[Tag]) -> bool:
    """Whether white space counts in it: by its element, style or class, or as its line has an
    attribute for its number."""
    return (
        code.find("pre") is not None
        or "white-space" in attribute(code, "style")
        or "code" in attribute(code, "class")
        or any(cell.has_attr("data-line-number") for cell in margin)
    )


def _number(text: str) -> int | None:
    match = re.fullmatch(r"L?(\d{1,7})[.:)|]?", text.strip())
    return int(match[1]) if match else None


def _is_sequence(numbers: Sequence[int | None]) -> bool:
    first = numbers[0] if numbers else None
    return first is not None and list(numbers) == list(range(first, first + len(numbers)))
