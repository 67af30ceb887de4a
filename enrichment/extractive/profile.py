"""A document's type, its share of technical terms, and its FAQs, by rule.

Questions come from headings that ask and sentences that define. A question that is unclear without
its page is worse than none: it displaces a better one and matches by chance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from enrichment.chunk import Faq
from enrichment.chunking.sections import sections
from enrichment.extractive.keyphrases import entities
from enrichment.language.words import prose_words, sentences, stems
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
_MIN_DEFINITION_WORDS = 5
_NEEDS_ITS_PAGE = re.compile(
    r"\b(?:it|its|this|that|these|those|they|them|one|here|the table)\b", re.I
)
_MAX_ANSWER_CHARS = 280
_MAX_FAQS = 8


def faqs(document: Document) -> tuple[Faq, ...]:
    """Headings that ask come first, then definitions; answers are verbatim."""
    by_question: dict[str, Faq] = {}
    for faq in [*_faqs_of_headings(document), *_faqs_of_definitions(document)]:
        by_question.setdefault(faq.question.lower(), faq)
    return tuple(by_question.values())[:_MAX_FAQS]


def _faqs_of_headings(document: Document) -> Iterator[Faq]:
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


def _faqs_of_definitions(document: Document) -> Iterator[Faq]:
    """Definitions of terms in the title or headings. Other sentences of this form rarely define
    their subject: `A contractor is a guest in the vault`."""
    for section in sections(document):
        about = stems(" ".join((document.title, *section.heading_path)))
        for block in section.blocks:
            if block.kind != "paragraph":
                continue
            for sentence in sentences(block.text)[:1]:
                match = _DEFINES.match(sentence)
                if not match or len(sentence) > _MAX_ANSWER_CHARS:
                    continue
                term = match["term"].replace("`", "")
                is_long = len(sentence[match.end() :].split()) >= _MIN_DEFINITION_WORDS
                if is_long and stems(term) and stems(term) <= about:
                    article = (match["article"] or "").lower()
                    yield Faq(question=f"What is {article}{term}?", answer=sentence)


def _opening(text: str) -> str:
    """Whole sentences, at most about 280 characters."""
    answer = ""
    for sentence in sentences(text):
        if answer and len(answer) + len(sentence) > _MAX_ANSWER_CHARS:
            break
        answer = f"{answer} {sentence}".strip()
    return answer if len(answer) <= 2 * _MAX_ANSWER_CHARS else ""


DocumentType = Literal[
    "policy", "standard", "runbook", "register", "guide", "procedure", "catalogue", "schedule",
    "other",
]  # fmt: skip
_TITLE_WORDS = {
    "policy": r"polic(?:y|ies)|rules?|terms",
    "standard": r"standards?|requirements?|baselines?|controls?|limits?|specification|matrix",
    "runbook": r"runbooks?|playbooks?|troubleshooting|failover|response plan",
    "register": r"registers?|inventory|directory|roster|list of",
    "guide": r"guides?|handbook|getting started|overview|introduction|how to|faq|best practices",
    "procedure": r"procedures?|process(?:es)?|reviews?|checks|checklist|workflow|lifecycle",
    "catalogue": r"catalogu?es?|index|mapping|reference|parameters|glossary",
    "schedule": r"schedules?|calendar|timetable|rota|roadmap",
}
_BODY_WORDS = {
    "policy": r"\b(?:must not|may not|is not allowed|are not allowed|exceptions?|approv\w+)\b",
    "standard": r"\b(?:shall|must|required|minimum|maximum|requirement)\b",
    "runbook": r"\b(?:page|alert|restart|roll ?back|mitigat\w+|escalat\w+|dashboard|symptom)\b",
    "procedure": r"\b(?:submit|request|form|ticket|step|approval|then)\b",
    "guide": r"\b(?:you can|you may|we recommend|for example|tips?|should)\b",
    "schedule": r"\b(?:\d{4}-\d{2}-\d{2}|days|weeks|months|monday|friday)\b",
}
_MAX_CHARACTERS = 60_000


def document_type(document: Document) -> str:
    """The type by the title's last matching word (`Incident Response Plan Guide` is a guide), else
    by the text."""
    names = [
        (match.end(), kind)
        for kind, pattern in _TITLE_WORDS.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", document.title, re.I)
    ]
    if names:
        return max(names)[1]
    text = "\n".join(block.text for block in document.blocks)[:_MAX_CHARACTERS]
    length = max(1, len(prose_words(text)))
    blocks = Counter(block.kind for block in document.blocks)
    rows = sum(len(block.table.rows) for block in document.blocks if block.table)
    if rows > 2 * (blocks["paragraph"] + blocks["list_item"]):
        return "register"
    rates = {
        kind: 100 * len(re.findall(pattern, text, re.I)) / length
        for kind, pattern in _BODY_WORDS.items()
    }
    best = max(rates, key=lambda kind: rates[kind])
    return best if rates[best] >= 1.0 else "other"


def technical_density(document: Document) -> float:
    """Share of codes, identifiers and commands among the words."""
    technical = total = 0
    for block in document.blocks:
        count = len(prose_words(block.text))
        total += count
        if block.kind == "code":
            technical += count
        else:
            block_entities = entities(block.markdown or block.text)
            technical += sum(len(prose_words(e.value)) for e in block_entities if e.kind == "code")
    return round(min(1.0, technical / total), 3) if total else 0.0
