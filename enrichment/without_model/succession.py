"""Which document replaces which, read from what the documents say about each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from enrichment.chunk import DocumentCard
from enrichment.language.words import stems
from enrichment.standing import OUT_OF_FORCE
from loaders.document import Document

_LINK = r"\[(?P<label>[^\]]{1,200})\]\((?P<target>[^)\s]+)\)"
_GAP = r"[^.\[\]]{0,80}?"
_HAS_SUCCESSOR = (
    re.compile(rf"\b(?:superseded|replaced|obsoleted)\b{_GAP}\bby\b{_GAP}{_LINK}", re.I),
    re.compile(rf"\b(?:see|use|go to|moved to|continues in)\b{_GAP}{_LINK}{_GAP}\binstead\b", re.I),
    re.compile(
        rf"\b(?:current|new|newer|valid)\b[^.\[\]]{{0,60}}?\b(?:in|is|are|at)\b{_GAP}{_LINK}", re.I
    ),
)
_REPLACES = re.compile(
    rf"\b(?:it|this(?: \w+){{0,3}}) (?:replaces|supersedes)\b{_GAP}{_LINK}", re.I
)
_OUT_OF_FORCE = re.compile(
    r"^[^\w\n]*+(?:superseded|obsolete|deprecated|outdated|withdrawn|retired)\b"
    r"|\bis (?:superseded|obsolete|deprecated|withdrawn|no longer (?:in force|valid|current))\b"
    r"|\bdo not act on (?:it|this)\b|\bwas in force until\b",
    re.I | re.M,
)
_OPENING_BLOCKS = 6
_OPENING_CHARACTERS = 4_000
_DOCUMENT_ID = re.compile(r"(?:^doc:|/d/|[?&]id=)([\w-]+)")


def says_it_is_out_of_force(document: Document) -> bool:
    """By the source's own status, or by what the first lines say."""
    return document.status.lower() in OUT_OF_FORCE or bool(_OUT_OF_FORCE.search(_opening(document)))


def successor(document: Document) -> str:
    """Id of the document that this one names as its replacement, or ''.

    A mere `the current rules are in …`, or a link to a document of nearly the same name, counts
    only in a document that is out of force: anywhere else it points sideways."""
    opening = _opening(document)
    out_of_force = says_it_is_out_of_force(document)
    found = [
        match
        for pattern in (_HAS_SUCCESSOR if out_of_force else _HAS_SUCCESSOR[:1])
        for match in pattern.finditer(opening)
    ]
    if out_of_force:
        links = re.finditer(_LINK, opening)
        found += [match for match in links if _named_alike(match["label"], document.title)]
    targets = (document_id(match["target"]) for match in found)
    return next((target for target in targets if target and target != document.id), "")


def predecessors(document: Document) -> tuple[str, ...]:
    """Ids of documents that this one says it replaces."""
    found = (document_id(match["target"]) for match in _REPLACES.finditer(_opening(document)))
    return tuple(dict.fromkeys(target for target in found if target and target != document.id))


def with_successors(cards: Iterable[DocumentCard]) -> list[DocumentCard]:
    """Cards of a whole domain, joined: what a successor says of its predecessor counts too.

    Dates are not asked: a superseded page is often touched again after its successor was written.
    """
    known = list(cards)
    after = {old: card.id for card in known for old in card.replaces}
    return [
        card
        if card.id not in after and not card.superseded_by
        else replace(
            card,
            superseded_by=card.superseded_by or after[card.id],
            status=card.status or "superseded",
        )
        for card in known
    ]


def document_id(target: str) -> str:
    """`doc:ID`, a Google Docs or Drive address, or a relative file → the document's id."""
    if match := _DOCUMENT_ID.search(target):
        return match[1]
    file = re.fullmatch(r"(?:[\w./-]*/)?([\w-]+)\.(?:md|html?|docx|pdf|txt)(?:#.*)?", target)
    return file[1] if file and "//" not in target else ""


def _named_alike(label: str, title: str) -> bool:
    """Whether the shorter name, editions aside, is all in the longer: `Retention Schedule 2024`."""
    names = [{stem for stem in stems(name) if not stem.isdigit()} for name in (label, title)]
    return all(names) and len(names[0] & names[1]) == min(map(len, names))


def _opening(document: Document) -> str:
    said = [block for block in document.blocks if block.kind not in ("heading", "rule", "table")]
    opening = "\n".join(block.markdown or block.text for block in said[:_OPENING_BLOCKS])
    return opening[:_OPENING_CHARACTERS]
