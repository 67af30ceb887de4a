"""What of an alert's title is its name, and what only says where it fired.

First of all a name is what documents know as one; where they know none, it is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from agents.alerts.alert import SHORT_NAME, Label, is_identifier, name_key, spelled_out, uncoded
from agents.alerts.amounts import condition_after
from enrichment.chunk import Chunk
from enrichment.language.words import STOP_WORDS
from index.search import SearchQuery, Snapshot

_TAIL = re.compile(r"\s*\(([^()]*)\)\s*$")
_TAGGED = re.compile(r"\s+(?:on|for|in|at)\s+\{?((?:[\w.-]+\s*:\s*[^\s,{}]+[,\s]*)+)\}?\s*$")
_ON_HOST = re.compile(r"\s+(?:on|for|in|at|from)\s+(\S*[\d/.:@-]\S*)\s*$")
_BETWEEN = re.compile(r"\s+[-–—|/]\s+|:\s+|\s*\|\s*")
_PREFIX = re.compile(r"^(?:\[[^\]]*\]\s*)+")
_ANNOUNCED = re.compile(
    r"^\W*(?:new |active )?(?:alert|alarm|warning|incident|event|problem)s? "
    r"(?:for|from|with|about) ",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")
_PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_CODE = re.compile(r"[A-Z][A-Z-]{0,9}\d{1,6}")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_COINED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|_[A-Za-z0-9]")
_WORD = re.compile(r"[^\s,;|/@(){}\[\]\"“”–—]+")
_PLACE = re.compile(r"\(([^()]*)\)|([^()|;{}\[\]]+)")
_APART = re.compile(r",\s*|\s+[-–—/]\s+|:\s+$")
_SPACED = re.compile(r"(\S+)\s+=\s+(\S+)")
_KEYED = re.compile(r"(\S+\s+)?([A-Za-z][\w.-]{0,40})\s*[:=]\s+(\S+(?:\s+\S+){0,2})")
_TAG = re.compile(r"([A-Za-z][\w.-]*)[:=]([^\s:/=][^\s]*)")
_IN_TEXT = re.compile(
    r"\*\*([^*\n]{3,80})\*\*|`([^`\n]{3,80})`|:\s+([^:\n.;]{3,80})|([\w./-]{3,80})"
)
_SIDES = re.compile(r"\s*(?:[:|—–(]|\s-\s)\s*")
_LISTED = re.compile(r"\s*(?:[,;/\n]|\band\b|\bor\b|<br>)\s*")
_ENDS = " \"'“”,;."
_MOST_CHARACTERS = 200
_MOST_WORDS, _MOST_BEFORE = 10, 8
"""Of a documented name, and before it."""
_MOST_FOUND, _MOST_DOCUMENTS, _MOST_NAMES = 40, 12, 8
_FILLERS = frozenset(("for", "on", "in", "at", "-", "–", "—", "|", "and", "the", "of", "is", "to"))
_IN_SENTENCES = STOP_WORDS - {"down", "up", "off", "over", "no", "not", "above", "below"}
"""What is said behind such a word is said of something."""


def documented_names(title: str, snapshot: Snapshot) -> list[str]:
    """Runs of its words that a row, a heading or the like may be called by, in any spelling: the
    longest first. Whether it is an alert's name there, only the match knows."""
    title, words = _words_of(title)
    begins = _may_begin([one[0] for one in words])
    runs: dict[str, str] = {}
    for at in begins:
        for one in words[at : at + _MOST_WORDS]:
            run = title[words[at].start() : one.end()]
            if "=" in one[0] or "(" in run or "{" in run:
                break  # values begin
            run = run.strip(_ENDS + ":")
            if _is_telling(run):
                runs.setdefault(name_key(run), run)
    if not begins:  # nothing but `code=E-17 line=4`
        values = (one[0].partition("=")[2].strip(_ENDS) for one in words[:_MOST_BEFORE])
        runs = {name_key(one): one for one in values if _is_telling(one)}
    if len(runs) < 2:
        return list(runs.values())
    said = words[: begins[-1] + _MOST_WORDS] if begins else words[:_MOST_BEFORE]
    known = _known_beside([one[0] for one in said], snapshot)
    found = sorted((key for key in runs if key in known), key=len, reverse=True)
    # A row may be for a range of codes.
    codes = [key for key in runs if begins and key not in known and _is_code(runs[key])]
    return [runs[key] for key in (*found, *codes)][:_MOST_NAMES]


def _is_telling(name: str) -> bool:
    """Whether it says more than one word of everyday language."""
    return is_identifier(name) or len(name.split()) > 1 or bool(
        SHORT_NAME.fullmatch(name) or (len(name) > 2 and _is_code(name))
    )  # fmt: skip


def coined_in(title: str) -> str:
    """The first word before any sentence that somebody made up for a name: `DiskFull`, `DISK_FULL`;
    '' where there is none."""
    words = [one[0] for one in _words_of(title)[1]]
    coined = (words[at].strip(_ENDS + ":") for at in _may_begin(words) if _is_coined(words[at]))
    return next(coined, "")


def stands_alone(title: str) -> bool:
    """Whether it is about a coined name, which is more than a product's: `DiskFull on db-1`,
    `DISK_FULL host=db-1`, `QueueLagHigh …`."""
    coined = coined_in(title)
    then = title.partition(coined)[2].strip().split(" ")[0] if coined else ""
    alone = not then or "=" in then or then[0] in "(–—-{" or then in _FILLERS
    return bool(coined) and (alone or len(spelled_out(coined).split()) > 2)


def before_sentence(title: str) -> list[str]:
    """Its words up to the first with which a sentence goes on."""
    words = [one[0] for one in _words_of(title)[1]]
    return [words[at].strip(_ENDS + ":") for at in _may_begin(words)]


def _words_of(title: str) -> tuple[str, list[re.Match[str]]]:
    """And the title without what stands before it."""
    title = _ADDRESS.sub(" ", _PREFIX.sub("", title[:_MOST_CHARACTERS]))
    title = _ANNOUNCED.sub("", title)
    words = (one for one in _WORD.finditer(title) if any(map(str.isalnum, one[0])))
    return title, list(islice(words, 40))


def _may_begin(words: Sequence[str]) -> list[int]:
    """Where a name may begin: neither within a sentence or values, nor behind a name."""
    found: list[int] = []
    for at, word in enumerate(words[: _MOST_BEFORE + 1]):
        spoken = word.strip(_ENDS + "?!").casefold() in _IN_SENTENCES and not word.isupper()
        if spoken or "=" in word:
            break
        found.append(at)
        if _is_coined(word):
            break
    return found


def _is_coined(word: str) -> bool:
    bare = word.strip(_ENDS)
    return not bare.endswith(":") and is_identifier(bare) and bool(_COINED.search(bare))


def _is_code(run: str) -> bool:
    return " " not in run and any(sign.isdigit() for sign in run) and run[0].isalpha()


def _known_beside(words: Sequence[str], snapshot: Snapshot) -> set[str]:
    """Keys of all that may be a name in documents that share words with a title."""
    said = " ".join(words)
    together = {"".join(words[at : at + size]) for at in range(3) for size in (2, 3, 4)}
    bare = {word.rpartition("=")[2].strip(_ENDS + ":") for word in words}
    query = SearchQuery(
        variants=tuple(dict.fromkeys((said, spelled_out(said)))),
        keywords=tuple(sorted(together | set(filter(_is_telling, bare)))),
        strategy="keyword", limit=_MOST_FOUND,
    )  # fmt: skip
    documents = dict.fromkeys(hit.chunk.document_id for hit in snapshot.search(query))
    names: set[str] = set()
    for document in list(documents)[:_MOST_DOCUMENTS]:
        for chunk in snapshot.chunks(document):
            names.update(_may_be_names(chunk))
    return {name_key(one) for one in names}


def _may_be_names(chunk: Chunk) -> Iterator[str]:
    for heading in chunk.heading_path:
        for said in (heading, uncoded(heading)):
            yield said
            yield from _SIDES.split(said)
    if chunk.table is None:
        for found in _IN_TEXT.finditer(chunk.text):
            yield next(filter(None, found.groups()))
        return
    for cells in (chunk.table.header, *chunk.table.rows):
        for cell in cells:
            if len(cell) <= 120:
                yield cell
                yield _TAIL.sub("", cell)
                yield cell.removesuffix(condition_after(cell))
                yield from _LISTED.split(cell)


def names_in(title: str) -> Iterator[str]:
    """What may be its name: the whole first, then without what stands around it, then the parts
    that are a name by their form. A name within a sentence is none."""
    title = title[:_MOST_CHARACTERS].strip(_ENDS)
    if not title:
        return
    seen = [title]
    short = _PREFIX.sub("", title).strip(_ENDS)
    for cut in (_TAIL, _TAGGED, _ON_HOST):
        seen.append(short)
        short = cut.sub("", short).strip(_ENDS)
    seen.append(short)
    first = short.split(" ")[0].strip(_ENDS + ":,")
    if is_identifier(first) and not _is_thing(short):
        # What follows an identifier is values of labels, or a sentence about it.
        yield first
        return
    parts = [part.strip(_ENDS) for part in _BETWEEN.split(short)]
    inside = [match.strip(_ENDS) for match in re.findall(r"[(\[]([^()\[\]]+)[)\]]", title)]
    named = [part for part in (*parts, *inside) if is_identifier(part)]
    before = _before_values(short)
    yield from dict.fromkeys(one for one in (*reversed(seen), *before, *named) if one)
    told = sum(bool(_PLAIN_WORD.fullmatch(word)) for word in short.split()[len(parts[0].split()) :])
    if len(parts) > 1 and len(parts[0].split()) > 1 and told < 2:
        yield parts[0]


def _is_thing(title: str) -> bool:
    """`store-api latency` is called by both words; `disk-full on db-1` by the first."""
    first, _, rest = title.partition(" ")
    word = rest.split(" ")[0]
    plain = word.isalpha() and word.islower() and word not in _FILLERS
    return bool(_KEBAB.fullmatch(first)) and plain


def _before_values(title: str) -> Iterator[str]:
    """`Queue depth` of `Queue depth orders.new = 14220`; `PL03` of `PL03 in export.ts:12`."""
    words = title.split()
    plain = next((at for at, word in enumerate(words) if not _PLAIN_WORD.fullmatch(word)), 0)
    if plain > 1:
        yield " ".join(words[:plain])
    if len(words) > 1 and _CODE.fullmatch(words[0]):
        yield words[0]


def values_beside(title: str, name: str) -> Iterator[Label]:
    """All that stands beside a name, with its key or by its place alone: `KeyOverdue lockbox (sg
    RC)` says three values, `CREW MSG-7 ROSTER LOCKED` some, and *ROSTER LOCKED* as one."""
    title = _PREFIX.sub("", title[:_MOST_CHARACTERS])
    at = title.casefold().find(name.casefold())
    sides = (title[:at], title[at + len(name) :]) if at >= 0 else (title,)
    for inside, outside in (found.groups() for side in sides for found in _PLACE.finditer(side)):
        text = inside or outside or ""
        parts = _APART.split(text)
        for part in parts:
            yield from _values(part, together=not inside or len(parts) > 1)


def _values(part: str, *, together: bool) -> Iterator[Label]:
    """`together`: words beside each other may be one value."""
    for name, _ in _SPACED.findall(part):
        yield "", name
    part = _SPACED.sub(" ", part)
    if keyed := _KEYED.fullmatch(part.strip()):
        yield keyed[2], keyed[3].strip(_ENDS)
        yield from _values(keyed[1] or "", together=False)
        return
    phrases: list[list[str]] = [[]]
    for said in part.split():
        word = said.strip(_ENDS + ":()'/@")
        if tag := _TAG.fullmatch(word):
            yield tag[1], tag[2].strip(_ENDS)
        elif word and word not in _FILLERS and any(sign.isalnum() for sign in word):
            yield "", word
            if _PLAIN_WORD.fullmatch(word):
                phrases[-1].append(word)
                continue
        phrases.append([])
    yield from (("", " ".join(one)) for one in phrases if together and 1 < len(one) <= 4)
