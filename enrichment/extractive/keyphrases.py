"""Key phrases and entities of a document, by rule.

Key phrases are scored by C-value: frequent word runs, longer ones preferred, fragments discounted
(Frantzi, Ananiadou & Mima, Int. J. on Digital Libraries 3(2), 2000). Entities are names worth an
exact match: codes, systems, roles, teams, channels, people, laws, dates."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from enrichment.chunk import Entity, EntityKind
from enrichment.language.words import STOP_WORDS, prose_words, sentences, stems
from loaders.document import Document

_MAX_WORDS = 3
_BREAK = re.compile(r"[.,;:!?()\[\]{}|\"“”\n][^\w]*|\s[–—-]\s")
_MAX_CHARACTERS = 60_000
_VAGUE_LISTED = """
day days week weeks month months year years hour hours minute minutes second seconds thing
things way case cases number numbers example page section table row column cell new old first
last next time none n/a na
"""
_VAGUE = frozenset(_VAGUE_LISTED.split())


def document_keywords(document: Document) -> tuple[str, ...]:
    """Best first. Headings count three times, the title twice."""
    texts: list[str] = []
    characters = 0
    for block in document.blocks:
        texts += [block.text] * (3 if block.kind == "heading" else 1)
        characters += len(block.text)
        if block.table:
            rows = block.table.rows
            texts += [cell.text for row in rows for cell in dict.fromkeys(row)]
            characters += sum(len(cell.text) for row in rows for cell in row)
        if characters > _MAX_CHARACTERS:
            break
    return key_phrases([document.title, document.title, *texts])


def key_phrases(texts: Iterable[str], *, most: int = 12) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for phrase in _candidates(text):
            counts[phrase.lower()] += 1
            spellings[phrase.lower()][phrase] += 1
    inside: dict[str, list[int]] = defaultdict(list)
    for phrase, count in counts.items():
        for part in _parts(phrase):
            if part in counts:
                inside[part].append(count)
    scores = {
        phrase: _c_value(phrase, count, inside[phrase])
        for phrase, count in counts.items()
        if count > 1
    }
    ranked = sorted(scores, key=lambda phrase: (-scores[phrase], phrase))
    return tuple(spellings[phrase].most_common(1)[0][0] for phrase in _spread(ranked, most))


def _candidates(text: str) -> Iterator[str]:
    for span in _BREAK.split(text):
        run: list[str] = []
        for word in [*prose_words(span), ""]:
            if word.lower() not in STOP_WORDS and (len(word) > 2 or word.isupper()):
                run.append(word)
                continue
            for size in range(1, _MAX_WORDS + 1):
                for start in range(len(run) - size + 1):
                    phrase = run[start : start + size]
                    if phrase[-1].lower() not in _VAGUE and phrase[0].lower() not in _VAGUE:
                        yield " ".join(phrase)
            run = []


def _parts(phrase: str) -> set[str]:
    split = phrase.split()
    return {
        " ".join(split[start : start + size])
        for size in range(1, len(split))
        for start in range(len(split) - size + 1)
    }


def _c_value(phrase: str, count: int, hosts: list[int]) -> float:
    """`hosts`: counts of the longer phrases that contain this one."""
    independent = count - sum(hosts) / len(hosts) if hosts else count
    return math.log2(1 + len(phrase.split())) * independent


def _spread(ranked: Iterable[str], most: int) -> list[str]:
    """The first `most` phrases, without those whose words all occur in an earlier one."""
    result: list[str] = []
    stem_sets: list[set[str]] = []
    for phrase in ranked:
        phrase_stems = set(stems(phrase))
        if phrase_stems and not any(phrase_stems <= other for other in stem_sets):
            result.append(phrase)
            stem_sets.append(phrase_stems)
        if len(result) == most:
            break
    return result


_TICKED = re.compile(r"`([^`\n]{2,60})`")
_CODES = re.compile(
    r"""(?<![\w/.-])(
        [A-Z][A-Z0-9]{1,9}-\d++(?:\.++\d++(?![\w-]))*+  # SEC-1234
      | (?:P|S|T|L|SEV|PRIO|TIER)[-\s]?\d{1,2}   # P0, SEV1
      | [A-Z]{2,}+\.[A-Z0-9]++\.[\w.]*\w         # MS.AAD.5.2v1
      | [A-Z]{2,5}\d[A-Z0-9]*+                   # AAL2
      | [a-z]{2,}(?:-[a-z0-9]+)*-[a-z]*\d+       # web-eu1
      | (?:[A-Z][a-z0-9]++){2,}+[A-Z]?           # DiskAlmostFull
      | [a-z]++(?:_[a-z0-9]++)++                 # http_requests
      | --[a-z][\w-]++                           # --cluster
    )(?![\w-])""",
    re.X,
)
_ISO_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2})?\b")
_PERSON = re.compile(r"@([A-Z][\w'’-]+(?: [A-Z][\w'’-]+){1,2})")
_ROLE = re.compile(
    r"\b((?:[A-Z][\w-]{1,40}+ ){0,3}(?:Administrator|Analyst|Commander|Controller|Counsel|"
    r"Director|Engineer|Lead|Manager|Officer|Operator|Owner|Reviewer))\b"
)
_TEAM = re.compile(
    r"\b(Team [A-Z][\w&-]{1,40}+"
    r"|(?!(?:The|Your|Our|Each|Every|This|All|New) )[A-Z][\w&-]{1,40}+(?: [A-Z&][\w&-]{0,40}+){0,3}"
    r" (?:Team|Squad|Guild|Desk)(?! [A-Z])"
    r"|(?<=[a-z,;] )[A-Z][\w&-]{1,40}+(?: [A-Z&][\w&-]{0,40}+){0,3} team)\b"
)
_CHANNEL = re.compile(r"(?<![\w#&/(.-])#[a-z][a-z0-9_-]{1,79}\b")
_LAW = re.compile(
    r"""(?<![\w.])(
        (?:Article|Art\.|Section|Recital)\s\d++(?:\(\w+\))*+(?:\sof\sthe)?\s(?:[A-Z]{3,}|UK\sGDPR)
      | Article\s\d++(?:\(\w+\))*+
      | §{1,2}\s?\d++\w?(?:\sAbs\.\s\d++)?(?:\s[A-Z][A-Za-z]*[A-Z]\w*)?
      | (?:ISO|IEC|ISO/IEC|DIN|EN|BS)\s\d{3,}+(?:-\d++)?(?::\d{4})?
      | (?:NIST\s)?SP\s800-\d++[A-Z]?
      | (?:Regulation|Directive)\s\((?:EU|EC)\)\s(?:No\s)?\d++/\d++
      | \d++\s(?:U\.S\.C\.|CFR|C\.F\.R\.)\s(?:§{1,2}\s)?\d++(?:\.\d++)?
    )""",
    re.X,
)
_PATTERNS: Mapping[EntityKind, re.Pattern[str]] = {
    "role": _ROLE, "team": _TEAM, "channel": _CHANNEL, "law": _LAW, "person": _PERSON,
    "date": _ISO_DATE,
}  # fmt: skip
"""In the order of the result."""
_INSIDE_SENTENCE = re.compile(r"(?<=[a-z,;] )([A-Z][a-z]{2,}(?: [A-Z][a-z]+)?)\b")
_SMALL_WORD = re.compile(r"(?<![\w-])[a-z]{3,}(?![\w-])")
_MAX_ENTITIES = 40


def entities(markdown: str, *, systems: Iterable[str] = ()) -> tuple[Entity, ...]:
    """At most 40, by kind, then in order of appearance. `systems`: names to search for."""
    result: dict[Entity, None] = {}
    prose = _TICKED.sub(" ", markdown)
    for value in [*_TICKED.findall(markdown), *_CODES.findall(prose)]:
        result[Entity(kind="code", value=value)] = None
    for name in systems:
        if re.search(rf"\b{re.escape(name)}\b", prose):
            result[Entity(kind="system", value=name)] = None
    for kind, pattern in _PATTERNS.items():
        for value in pattern.findall(prose):
            result[Entity(kind=kind, value=value)] = None
    return tuple(result)[:_MAX_ENTITIES]


def system_names(document: Document) -> tuple[str, ...]:
    """Names used as proper nouns: capitalized inside sentences at least twice, never lower-case."""
    counts: Counter[str] = Counter()
    small: set[str] = set()
    for text in _prose(document):
        small.update(_SMALL_WORD.findall(text))
        for sentence in sentences(text):
            counts.update(_INSIDE_SENTENCE.findall(sentence))
    return tuple(
        name
        for name, count in counts.most_common(60)
        if count >= 2 and not any(word.lower() in small for word in name.split())
    )


def _prose(document: Document) -> Iterator[str]:
    for block in document.blocks:
        if block.table:
            for row in block.table.rows[block.table.header_rows :]:
                yield from (cell.text for cell in dict.fromkeys(row))
        elif block.kind not in ("heading", "code"):
            yield block.text
