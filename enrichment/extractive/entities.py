"""Names worth an exact match: codes, systems, roles, teams, channels, people, laws, dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from enrichment.chunk import Entity
from enrichment.language.words import sentences
from loaders.document import Document

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
_INSIDE_SENTENCE = re.compile(r"(?<=[a-z,;] )([A-Z][a-z]{2,}(?: [A-Z][a-z]+)?)\b")
_SMALL_WORD = re.compile(r"(?<![\w-])[a-z]{3,}(?![\w-])")
_MAX_ENTITIES = 40


def entities(markdown: str, *, systems: Iterable[str] = ()) -> tuple[Entity, ...]:
    """At most 40, in order of kind, then appearance. `systems`: names to look for."""
    result: dict[Entity, None] = {}
    ticked = [match[1] for match in _TICKED.finditer(markdown)]
    prose = _TICKED.sub(" ", markdown)
    for value in [*ticked, *(match[1] for match in _CODES.finditer(prose))]:
        result[Entity(kind="code", value=value)] = None
    for name in systems:
        if re.search(rf"\b{re.escape(name)}\b", prose):
            result[Entity(kind="system", value=name)] = None
    for match in _ROLE.finditer(prose):
        result[Entity(kind="role", value=match[1])] = None
    for match in _TEAM.finditer(prose):
        result[Entity(kind="team", value=match[1])] = None
    for match in _CHANNEL.finditer(prose):
        result[Entity(kind="channel", value=match[0])] = None
    for match in _LAW.finditer(prose):
        result[Entity(kind="law", value=match[1])] = None
    for match in _PERSON.finditer(prose):
        result[Entity(kind="person", value=match[1])] = None
    for match in _ISO_DATE.finditer(prose):
        result[Entity(kind="date", value=match[0])] = None
    return tuple(result)[:_MAX_ENTITIES]


def system_names(document: Document) -> tuple[str, ...]:
    """Names used like proper nouns: capitalized inside sentences, twice or more, never small."""
    counts: Counter[str] = Counter()
    small: set[str] = set()
    for text in _prose(document):
        small.update(_SMALL_WORD.findall(text))
        for sentence in sentences(text):
            counts.update(match[1] for match in _INSIDE_SENTENCE.finditer(sentence))
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
