"""Extracts the claims of an answer's markdown, each with the sources that it cites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markdown_it.tree import SyntaxTreeNode

from agents.answer import CITATION
from enrichment.language.words import naming_words, sentences
from loaders.text.plain import read_blocks

ClaimKind = Literal["statement", "absence", "sum", "code"]
Numbers = tuple[int, ...]

_CITED_AFTER_THE_END = re.compile(rf"(?<![.!?…])([.!?…]++)((?:{CITATION.pattern})+)")
_ONLY_A_SOURCE = re.compile(
    r"[\s*_(]*(?:(?:sources?|see|from|reference|references)\b.*)?[\W_]*", re.I
)
"""The rest of a line that only names its source."""
_TITLE = re.compile(r"\*\*[^*]+\*\*:?|__[^_]+__:?")
_VERDICT = re.compile(r"[\s*_]*(?:yes|no)\b", re.IGNORECASE)
_LEAD_IN = re.compile(r":[\s*_]*$")
_BLOCKS = frozenset({"bullet_list", "ordered_list", "table", "fence", "code_block", "blockquote"})
_PARTS = re.compile(r"[;—]|,? (?:but|only|however|though|although|yet)\b|[,.:] (?=the nearest)")
_ABSENT = re.compile(
    r"\b(?:documents?|documentation|docs|sources?|passages?|excerpts?|pages?|material|materials"
    r"|texts?|guides?|nothing|nowhere|none of (?:them|these))\b[^.;]{0,60}?"
    r"\b(?:(?:do|does|did|is|are)(?: not|n['’]t)|never|nowhere|nothing)\b[^.;]{0,20}?"
    r"\b(?:says?|said|mention(?:s|ed)?|cover(?:s|ed)?|stat(?:e|es|ed)|list(?:s|ed)?|specif(?:y|ies|ied)"
    r"|describe[sd]?|defin(?:e|es|ed)|address(?:es|ed)?|contains?|discuss(?:es|ed)?|tells?|document(?:ed)?"
    r"|names?|gives? (?:a|an|any|no)|includes? (?:a|an|any))\b"
    r"|\b(?:not|n['’]t|never|nowhere)\s+(?:\w+\s+)?(?:mentioned|documented|stated|specified|said"
    r"|written down|described)\b"
    r"|\bno (?:mention|statement|information|word|document|source|passage)s?\b"
    r"|\bnothing (?:is )?(?:said|stated|written|about|on)\b"
    r"|\b(?:could|can)(?: not|n['’]t)(?: be)? (?:find|found)\b|\bfound (?:no|nothing)\b",
    re.IGNORECASE,
)
"""Common ways to say that something is not in the documents."""
_DIFFER = re.compile(
    r"[\W_]*(?:(?:but|however|here|the|these|both|two|of) ){0,4}"
    r"(?:documents|sources|pages|passages|editions|they) (?:do )?"
    r"(?:differ|disagree|conflict|contradict)\b"
    r"(?: (?:with )?(?:each other|one another)| here| on this| about this){0,2}[\W_]*",
    re.IGNORECASE,
)
"""A statement that sources differ. No source says so; what each source says is a separate claim."""
_SUM = re.compile(
    r"\d[^\d=+×*]{0,24}(?:[+×*]|\bx\b)\s*[€$£]?\d|\d[^\d=]{0,24}\s[-−–]\s*[€$£]?\d[^=\d]{0,24}="
)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence, list item or table row that makes a statement."""

    text: str
    """The text without citation numbers."""
    numbers: Numbers
    """Numbers of the cited sources: its own, else those of its block."""
    kind: ClaimKind = "statement"
    cells: tuple[tuple[str, str], ...] = ()
    """(column, cell) pairs of a table row, its label first."""
    around: str = ""
    """Context without a claim: lead-in, heading."""


def claims_of(text: str) -> tuple[Claim, ...]:
    """The claims in order. Uncited code, headers, lead-ins and questions claim nothing. A citation
    on a lead-in, on a header, or after a block covers the block."""
    reader = _ClaimReader()
    reader.read(SyntaxTreeNode(read_blocks(text)).children, (), "")
    return tuple(_claims(reader.pieces))


def numbers_in(text: str) -> Numbers:
    return tuple(dict.fromkeys(int(number) for number in CITATION.findall(text)))


class _ClaimReader:
    """Blocks → pieces, each with the numbers that cover it."""

    def __init__(self) -> None:
        self.pieces: list[Claim] = []
        self._section = 0
        """Index of the first piece after the last heading, before which no citation reaches."""

    def read(self, nodes: Sequence[SyntaxTreeNode], lead: Numbers, around: str) -> None:
        """`lead`, `around`: citation numbers and words of the text that introduces these blocks."""
        introduced, words = lead, around
        block: int | None = None
        """Index of the first piece of the block right before."""
        for place, node in enumerate(nodes):
            start = len(self.pieces)
            following = nodes[place + 1].type if place + 1 < len(nodes) else ""
            if node.type == "heading":
                self._section = len(self.pieces)
                introduced = lead = numbers_in(_content(node))
                words = around = CITATION.sub("", _content(node))
            elif node.type == "paragraph":
                introduced = self._paragraph(_content(node), following in _BLOCKS, lead, around)
                introduced = introduced or lead
                if block is not None:
                    self._cover_block(block, start, numbers_in(_content(node)))
                words = f"{around} {CITATION.sub('', _content(node))}"
            else:
                self._block(node, introduced, words)
                introduced, words = lead, around
            block = start if node.type in _BLOCKS else None

    def _block(self, node: SyntaxTreeNode, lead: Numbers, around: str) -> None:
        start = len(self.pieces)
        if node.type in ("bullet_list", "ordered_list"):
            for item in node.children:
                self.read(item.children, lead, around)
            self._reach_back(start)
        elif node.type == "table":
            self._table(node, lead, around)
        elif node.type == "blockquote":
            self.read(node.children, lead, around)
            self._reach_back(start)
        elif node.type in ("fence", "code_block"):
            code = Claim(text=node.content, numbers=lead, kind="code", around=around)
            self.pieces.append(code)

    def _paragraph(self, text: str, introduces: bool, lead: Numbers, around: str) -> Numbers:
        """Returns the numbers of a lead-in."""
        numbers = numbers_in(text)
        if _TITLE.fullmatch(CITATION.sub("", text).strip()):
            return numbers
        if numbers and _ONLY_A_SOURCE.fullmatch(CITATION.sub("", text)):
            self._cover(numbers)
            return ()
        text = _CITED_AFTER_THE_END.sub(lambda each: f" {each[2].strip()}{each[1]}", text)
        sentence_list = sentences(text)
        own = [numbers_in(one) for one in sentence_list]
        following: Numbers = lead
        for place in reversed(range(len(sentence_list))):
            following = own[place] = own[place] or following
        pieces = [
            Claim(text=CITATION.sub("", one).strip(), numbers=each, around=around)
            for one, each in zip(sentence_list, own, strict=True)
        ]
        if introduces and _LEAD_IN.search(pieces[-1].text):
            lead_in = pieces.pop()
            self.pieces += [*pieces, lead_in] if _has_figure(lead_in.text) else pieces
            return lead_in.numbers
        self.pieces += pieces
        return own[-1] if introduces else ()

    def _cover(self, numbers: Numbers) -> None:
        """A separate citation covers the pieces before it, back to the last one with a citation."""
        start = len(self.pieces)
        while start > self._section and not self.pieces[start - 1].numbers:
            start -= 1
        self._cite(start, numbers)

    def _cover_block(self, start: int, end: int, numbers: Numbers) -> None:
        """The citation of the paragraph after an uncited list or table covers it too."""
        pieces = self.pieces[start:end]
        if numbers and not any(one.numbers for one in pieces):
            self.pieces[start:end] = [replace(one, numbers=numbers) for one in pieces]

    def _reach_back(self, start: int) -> None:
        """A single citation at a block's end covers the block."""
        pieces = self.pieces[start:]
        if pieces and pieces[-1].numbers and not any(one.numbers for one in pieces[:-1]):
            self._cite(start, pieces[-1].numbers)

    def _cite(self, start: int, numbers: Numbers) -> None:
        self.pieces[start:] = [replace(one, numbers=numbers) for one in self.pieces[start:]]

    def _table(self, node: SyntaxTreeNode, lead: Numbers, around: str) -> None:
        rows = [
            [_content(cell) for cell in row.children]
            for part in node.children
            for row in part.children
        ]
        if not rows:
            return
        head, *body = rows
        start = len(self.pieces)
        covering = numbers_in(" ".join(head)) or lead
        columns = [CITATION.sub("", cell).strip() for cell in head]
        for row in body:
            cells = [CITATION.sub("", cell).strip() for cell in row]
            labeled_cells = tuple(pair for pair in zip(columns, cells, strict=False) if pair[1])
            numbers = numbers_in(" ".join(row)) or covering
            text = " | ".join(filter(None, cells))
            self.pieces.append(
                Claim(text=text, numbers=numbers, cells=labeled_cells, around=around)
            )
        self._reach_back(start)


def _claims(pieces: Sequence[Claim]) -> list[Claim]:
    claims: list[Claim] = []
    everything = tuple(dict.fromkeys(number for piece in pieces for number in piece.numbers))
    for place, piece in enumerate(pieces):
        numbers = piece.numbers
        if not numbers and _VERDICT.match(piece.text):
            numbers = everything
        if not numbers and _LEAD_IN.search(piece.text) and place + 1 < len(pieces):
            numbers = pieces[place + 1].numbers
        if piece.kind == "code":
            if numbers:
                claims.append(_claim(piece, numbers, piece.text))
        elif _says_something(piece.text):
            claims += _parts(piece, numbers)
    return claims


def _parts(piece: Claim, numbers: Numbers) -> list[Claim]:
    """The claims of a piece. Claims of absence are separated from the other parts of a sentence."""
    if not piece.cells and _ABSENT.search(piece.text):
        claims: list[Claim] = []
        for part in _PARTS.split(piece.text):
            if not naming_words(part) and not _has_figure(part):
                continue
            claim = _claim(piece, numbers, part.strip())
            claims.append(replace(claim, kind="absence") if _ABSENT.search(part) else claim)
        return claims or [replace(_claim(piece, numbers, piece.text), kind="absence")]
    claim = _claim(piece, numbers, piece.text)
    return [replace(claim, kind="sum") if _SUM.search(piece.text) else claim]


def _claim(piece: Claim, numbers: Numbers, text: str) -> Claim:
    return replace(piece, text=text, numbers=numbers, around=piece.around.strip())


def _says_something(text: str) -> bool:
    asks = text.rstrip(' *_`"”’)').endswith(("?", "？"))
    return not (asks or _DIFFER.fullmatch(text)) and (bool(naming_words(text)) or _has_figure(text))


def _has_figure(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _content(node: SyntaxTreeNode) -> str:
    return " ".join(child.content for child in node.children if child.type == "inline")


def source_label(claim: Claim) -> str:
    numbers = ", ".join(map(str, claim.numbers))
    return f"source{'s' * (len(claim.numbers) != 1)} {numbers}"
