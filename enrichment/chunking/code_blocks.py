"""Turns code, console output and character-drawn tables into fenced pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from enrichment.chunk import CODE_WORD, Unit
from enrichment.chunking.pieces import MAX_HEADING_CHARS, CountTokens, Piece, Stretch, grouped
from loaders.document import Block

MAX_FENCE_CHUNKS = 4
"""Maximum size of an uncut fence, in chunk sizes. Of 131 fences in six corpora three are larger
than one chunk and none is larger than three."""
_CHARACTERS_FOR_TOKEN = 4
_DRAWN_RULE = re.compile(r"\s*[|│┃║]?[+├┌└┬┴┼╔╚╠╞╪═─━┏┗┣│|=:-]{3,}[+┤┐┘┬┴┼╗╝╣╡═─━┓┛┫│|=:-]\s*")
_DRAWN_ROW = re.compile(r"\s*[|│┃║].*[|│┃║]\s*")
_FRAME = re.compile(r"[|│┃║]")
_FENCE = re.compile(r"^\s*(`{3,})", re.M)


@dataclass(frozen=True, kw_only=True)
class CodeCutter:
    """Turns a code block into pieces of at most `MAX_FENCE_CHUNKS` times `size` tokens."""

    count_tokens: CountTokens
    size: int
    heading: str

    def code(self, block: Block, leads: tuple[Piece, ...], run: str) -> list[Piece]:
        """`run`: the block's id, used if it is cut. Every part has its own fence."""
        groups = self._groups(block.text)
        total = sum(len(lines) for lines in groups)
        pieces: list[Piece] = []
        first = 0
        for number, lines in enumerate(groups, start=1):
            part = f"(part {number} of {len(groups)})\n\n" if len(groups) > 1 else ""
            end = first + len(lines)
            stretch = Stretch(run=run, what="lines", first=first, end=end, total=total)
            piece = self._piece(block, part, lines, leads)
            pieces.append(replace(piece, stretches=(stretch,)) if part else piece)
            first = end
        return pieces

    def _piece(
        self, block: Block, part: str, lines: Sequence[str], leads: tuple[Piece, ...]
    ) -> Piece:
        code = "\n".join(lines)
        fence = max(["```", *(f"{ticks}`" for ticks in _FENCE.findall(code))], key=len)
        text = f"{part}{fence}{block.language}\n{code}\n{fence}"
        heading = self.heading[:MAX_HEADING_CHARS]
        return Piece(
            text=text,
            plain=code,
            tokens=max(1, self.count_tokens(text)),
            kind="code",
            units=tuple(
                Unit(kind="sentence", text=line, index_text=f"{heading}: {_without_frame(line)}")
                for line in map(str.strip, lines)
                if CODE_WORD.search(line)
            ),
            leads=leads,
            page=block.page,
        )

    def _groups(self, code: str) -> list[list[str]]:
        most = MAX_FENCE_CHUNKS * self.size
        lines = code.split("\n")
        if self.count_tokens(code) <= most:
            return [lines]
        short_lines = _short_lines(lines, _CHARACTERS_FOR_TOKEN * self.size)
        return list(grouped(short_lines, lambda line: max(1, self.count_tokens(line)), most))


def drawn_tables_as_code(blocks: Sequence[Block]) -> list[Block]:
    """Joins consecutive paragraphs that draw a table line by line into one code block."""
    result: list[Block] = []
    for is_drawing, run in groupby(blocks, key=_is_drawn):
        lines = list(run)
        text = "\n".join(block.text for block in lines)
        if is_drawing and any(map(_DRAWN_RULE.fullmatch, text.split("\n"))) and "\n" in text:
            result.append(replace(lines[0], kind="code", text=text, markdown=text))
        else:
            result += lines
    return result


def _is_drawn(block: Block) -> bool:
    lines = block.text.split("\n")
    return block.kind == "paragraph" and all(
        _DRAWN_RULE.fullmatch(line) or _DRAWN_ROW.fullmatch(line) for line in lines
    )


def _short_lines(lines: Sequence[str], width: int) -> Iterator[str]:
    for line in lines:
        for start in range(0, max(1, len(line)), width):
            yield line[start : start + width]


def _without_frame(line: str) -> str:
    """`│ web-eu1 │ 4 │` as words."""
    if not _DRAWN_ROW.fullmatch(line):
        return line
    return " | ".join(filter(None, map(str.strip, _FRAME.split(line))))
