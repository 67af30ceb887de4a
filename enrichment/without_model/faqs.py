"""Questions that a document answers by its form: headings that ask, and sentences that define.

A question that is none, or that nobody understands away from its page, is worse than no question:
it takes the place of a better one, and matches by chance."""

from __future__ import annotations

import re
from collections.abc import Iterator

from enrichment.chunk import Faq
from enrichment.chunking.sections import sections
from enrichment.language.sentences import sentences
from enrichment.language.words import stems
from loaders.document import Document

_ASKS = re.compile(
    r"^(?:(?:how|what|when|where|which|who|why) )?"
    r"(?:can|could|do|does|did|is|are|was|were|may|must|should|will|to)\b",
    re.I,
)
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[A-Z][.)])\s+")
_DEFINES = re.compile(
    r"^(?P<article>An? )?(?P<term>[A-Z`a-z][\w`-]*(?: [\w`-]+){0,3}) "
    r"(?:is|means) (?:an? |any |what )"
)
_FEWEST_WORDS_OF_A_DEFINITION = 5
_NEEDS_ITS_PAGE = re.compile(
    r"\b(?:it|its|this|that|these|those|they|them|one|here|the table)\b", re.I
)
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
        alone = heading.count("?") <= 1 and not _NEEDS_ITS_PAGE.search(heading)
        prose = [b.text for b in section.blocks if b.kind in ("paragraph", "list_item")]
        if not (asks and alone and section.heading_path and prose):
            continue
        question = heading[:1].upper() + heading[1:].rstrip("?") + "?"
        if answer := _opening(" ".join(" ".join(text.split()) for text in prose[:3])):
            yield Faq(question=question, answer=answer)


def _defined(document: Document) -> Iterator[Faq]:
    """Only what a title or heading names: other sentences of this form rather say something of it
    (`A contractor is a guest in the vault`) than what it is."""
    for section in sections(document):
        about = stems(" ".join((document.title, *section.heading_path)))
        for block in section.blocks:
            if block.kind != "paragraph":
                continue
            for sentence in sentences(block.text)[:1]:
                match = _DEFINES.match(sentence)
                if not match or len(sentence) > _LONGEST_ANSWER:
                    continue
                term = match["term"].replace("`", "")
                said = sentence[match.end() :].split()
                if (
                    stems(term)
                    and stems(term) <= about
                    and len(said) >= _FEWEST_WORDS_OF_A_DEFINITION
                ):
                    article = (match["article"] or "").lower()
                    yield Faq(question=f"What is {article}{term}?", answer=sentence)


def _opening(text: str) -> str:
    """Whole sentences, at most about 280 characters."""
    said = ""
    for sentence in sentences(text):
        if said and len(said) + len(sentence) > _LONGEST_ANSWER:
            break
        said = f"{said} {sentence}".strip()
    return said if len(said) <= 2 * _LONGEST_ANSWER else ""
