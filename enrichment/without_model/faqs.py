"""Questions that a document answers by its form: headings that ask, and sentences that define."""

from __future__ import annotations

import re
from collections.abc import Iterator

from enrichment.chunk import Faq
from enrichment.chunking.sections import sections
from enrichment.language.sentences import sentences
from loaders.document import Document

_ASKS = re.compile(
    r"^(?:how|what|when|where|which|who|whom|why|can|could|do|does|is|are|may|must|should|will)\b",
    re.I,
)
_DIRECT = re.compile(
    r"^(?:(?:how|what|when|where|which|who|why) )?"
    r"(?:can|could|do|does|did|is|are|was|were|may|must|should|will|to)\b",
    re.I,
)
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z])[.)]?\s+")
_DEFINES = re.compile(
    r"^(?:An? |The )?(?P<term>[A-Za-z`][\w`-]*(?: [\w`-]+){0,3}) (?:is|are|means|refers to) "
    r"(?:an? |the |our |any |how |what |every )"
)
_POINTS_BACK = re.compile(r"^(?:it|this|that|these|those|there|they|he|she|we|you|here)\b", re.I)
_LONGEST_ANSWER = 280


def faqs(document: Document, *, most: int = 8) -> tuple[Faq, ...]:
    """Headings that ask come first, then definitions; answers are verbatim."""
    found: dict[str, Faq] = {}
    for faq in [*_asked(document), *_defined(document)]:
        found.setdefault(faq.question.lower(), faq)
    return tuple(found.values())[:most]


def _asked(document: Document) -> Iterator[Faq]:
    for section in sections(document):
        heading = _NUMBERING.sub("", section.title).strip()
        asks = heading.endswith("?") or (_ASKS.match(heading) and len(heading.split()) >= 3)
        prose = [b.text for b in section.blocks if b.kind in ("paragraph", "list_item")]
        if not (asks and section.heading_path and prose):
            continue
        direct = heading.endswith("?") or _DIRECT.match(heading)
        question = heading[:1].upper() + heading[1:].rstrip("?") + ("?" if direct else "")
        if answer := _opening(" ".join(" ".join(text.split()) for text in prose[:3])):
            yield Faq(question=question, answer=answer)


def _defined(document: Document) -> Iterator[Faq]:
    for block in document.blocks:
        if block.kind != "paragraph":
            continue
        for sentence in sentences(block.text)[:2]:
            match = _DEFINES.match(sentence)
            if match and not _POINTS_BACK.match(sentence) and len(sentence) <= _LONGEST_ANSWER:
                term = match["term"].strip("`")
                yield Faq(question=f"What is {term}?", answer=sentence)


def _opening(text: str) -> str:
    """Whole sentences, at most about 280 characters."""
    said = ""
    for sentence in sentences(text):
        if said and len(said) + len(sentence) > _LONGEST_ANSWER:
            break
        said = f"{said} {sentence}".strip()
    return said if len(said) <= 2 * _LONGEST_ANSWER else said[:_LONGEST_ANSWER].rstrip() + " …"
