"""Separates an alert's name from the rest of its title, which says where it fired.

A name that documents hold comes first; without one, the name is guessed from the title's form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from agents.alerts.alert import (
    SHORT_NAME,
    Label,
    as_words,
    condition_after,
    is_identifier,
    name_key,
    without_code,
)
from enrichment.chunk import Chunk
from enrichment.language.words import STOP_WORDS
from index.search import SearchQuery, Snapshot

_TAIL = re.compile(r"\s*\(([^()]*)\)\s*$")
_TAGS_AFTER = re.compile(r"\s+(?:on|for|in|at)\s+\{?((?:[\w.-]+\s*:\s*[^\s,{}]+[,\s]*)+)\}?\s*$")
_ON_HOST = re.compile(r"\s+(?:on|for|in|at|from)\s+(\S*[\d/.:@-]\S*)\s*$")
_BETWEEN = re.compile(r"\s+[-–—|/]\s+|:\s+|\s*\|\s*")
_PREFIX = re.compile(r"^(?:\[[^\]]*\]\s*)+")
_ANNOUNCEMENT = re.compile(
    r"^\W*(?:new |active )?(?:alert|alarm|warning|incident|event|problem)s? "
    r"(?:for|from|with|about) ",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")
_PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_CODE = re.compile(r"[A-Z][A-Z-]{0,9}\d{1,6}")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_COINED_WORD = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|_[A-Za-z0-9]")
_WORD = re.compile(r"[^\s,;|/@(){}\[\]\"“”–—]+")
_PLACE = re.compile(r"\(([^()]*)\)|([^()|;{}\[\]]+)")
_APART = re.compile(r",\s*|\s+[-–—/]\s+|:\s+$")
_SPACED_PAIR = re.compile(r"(\S+)\s+=\s+(\S+)")
_KEY_AND_VALUE = re.compile(r"(\S+\s+)?([A-Za-z][\w.-]{0,40})\s*[:=]\s+(\S+(?:\s+\S+){0,2})")
_TAG = re.compile(r"([A-Za-z][\w.-]*)[:=]([^\s:/=][^\s]*)")
_IN_TEXT = re.compile(
    r"\*\*([^*\n]{3,80})\*\*|`([^`\n]{3,80})`|:\s+([^:\n.;]{3,80})|([\w./-]{3,80})"
)
_SIDES = re.compile(r"\s*(?:[:|—–(]|\s-\s)\s*")
_LIST_SEPARATOR = re.compile(r"\s*(?:[,;/\n]|\band\b|\bor\b|<br>)\s*")
_ENDS = " \"'“”,;."
_MAX_CHARACTERS = 200
_MAX_WORDS, _MAX_WORDS_BEFORE = 10, 8
"""Maximum words of a documented name, and before it."""
_MAX_HITS, _MAX_DOCUMENTS, _MAX_NAMES = 40, 12, 8
_FILLERS = frozenset(("for", "on", "in", "at", "-", "–", "—", "|", "and", "the", "of", "is", "to"))
_IN_SENTENCES = STOP_WORDS - {"down", "up", "off", "over", "no", "not", "above", "below"}
"""Words after which the rest of a title is a sentence."""


def documented_names(title: str, snapshot: Snapshot) -> list[str]:
    """Runs of the title's words that a row or heading of the documents may be named by, in any
    spelling, longest first. The later match decides whether one is an alert's name there."""
    title, words = _words_of(title)
    begins = _may_begin([one[0] for one in words])
    runs: dict[str, str] = {}
    for at in begins:
        for one in words[at : at + _MAX_WORDS]:
            run = title[words[at].start() : one.end()]
            if "=" in one[0] or "(" in run or "{" in run:
                break  # values begin
            run = run.strip(_ENDS + ":")
            if _is_telling(run):
                runs.setdefault(name_key(run), run)
    if not begins:  # nothing but `code=E-17 line=4`
        values = (one[0].partition("=")[2].strip(_ENDS) for one in words[:_MAX_WORDS_BEFORE])
        runs = {name_key(one): one for one in values if _is_telling(one)}
    if len(runs) < 2:
        return list(runs.values())
    searched = words[: begins[-1] + _MAX_WORDS] if begins else words[:_MAX_WORDS_BEFORE]
    document_keys = _keys_in_documents([one[0] for one in searched], snapshot)
    matching = sorted((key for key in runs if key in document_keys), key=len, reverse=True)
    # A row may be for a range of codes.
    codes = [key for key in runs if begins and key not in document_keys and _is_code(runs[key])]
    return [runs[key] for key in (*matching, *codes)][:_MAX_NAMES]


def _is_telling(name: str) -> bool:
    """Whether it is more specific than a single everyday word."""
    return is_identifier(name) or len(name.split()) > 1 or bool(
        SHORT_NAME.fullmatch(name) or (len(name) > 2 and _is_code(name))
    )  # fmt: skip


def coined_name(title: str) -> str:
    """The first invented name before any sentence, such as `DISK_FULL`; '' without one."""
    words = [one[0] for one in _words_of(title)[1]]
    coined = (words[at].strip(_ENDS + ":") for at in _may_begin(words) if _is_coined(words[at]))
    return next(coined, "")


def stands_alone(title: str) -> bool:
    """Whether the title is about an invented name that is longer than a product's: `DiskFull on
    db-1`, `DISK_FULL host=db-1`, `QueueLagHigh …`."""
    coined = coined_name(title)
    then = title.partition(coined)[2].strip().split(" ")[0] if coined else ""
    alone = not then or "=" in then or then[0] in "(–—-{" or then in _FILLERS
    return bool(coined) and (alone or len(as_words(coined).split()) > 2)


def before_sentence(title: str) -> list[str]:
    """The title's words before the first one that continues a sentence."""
    words = [one[0] for one in _words_of(title)[1]]
    return [words[at].strip(_ENDS + ":") for at in _may_begin(words)]


def _words_of(title: str) -> tuple[str, list[re.Match[str]]]:
    """(title without prefixes and addresses, its words)."""
    title = _ADDRESS.sub(" ", _PREFIX.sub("", title[:_MAX_CHARACTERS]))
    title = _ANNOUNCEMENT.sub("", title)
    words = (one for one in _WORD.finditer(title) if any(map(str.isalnum, one[0])))
    return title, list(islice(words, 40))


def _may_begin(words: Sequence[str]) -> list[int]:
    """Places where a name may begin: outside sentences and values, and not after a name."""
    places: list[int] = []
    for at, word in enumerate(words[: _MAX_WORDS_BEFORE + 1]):
        spoken = word.strip(_ENDS + "?!").casefold() in _IN_SENTENCES and not word.isupper()
        if spoken or "=" in word:
            break
        places.append(at)
        if _is_coined(word):
            break
    return places


def _is_coined(word: str) -> bool:
    core = word.strip(_ENDS)
    return not core.endswith(":") and is_identifier(core) and bool(_COINED_WORD.search(core))


def _is_code(run: str) -> bool:
    return " " not in run and any(sign.isdigit() for sign in run) and run[0].isalpha()


def _keys_in_documents(words: Sequence[str], snapshot: Snapshot) -> set[str]:
    """Keys of all possible names in the documents that share words with a title."""
    text = " ".join(words)
    together = {"".join(words[at : at + size]) for at in range(3) for size in (2, 3, 4)}
    stripped = {word.rpartition("=")[2].strip(_ENDS + ":") for word in words}
    query = SearchQuery(
        variants=tuple(dict.fromkeys((text, as_words(text)))),
        keywords=tuple(sorted(together | set(filter(_is_telling, stripped)))),
        strategy="keyword", limit=_MAX_HITS,
    )  # fmt: skip
    documents = dict.fromkeys(hit.chunk.document_id for hit in snapshot.search(query))
    names: set[str] = set()
    for document in list(documents)[:_MAX_DOCUMENTS]:
        for chunk in snapshot.chunks(document):
            names.update(_may_be_names(chunk))
    return {name_key(one) for one in names}


def _may_be_names(chunk: Chunk) -> Iterator[str]:
    for heading in chunk.heading_path:
        for form in (heading, without_code(heading)):
            yield form
            yield from _SIDES.split(form)
    if chunk.table is None:
        for match in _IN_TEXT.finditer(chunk.text):
            yield next(filter(None, match.groups()))
        return
    for cells in (chunk.table.header, *chunk.table.rows):
        for cell in cells:
            if len(cell) <= 120:
                yield cell
                yield _TAIL.sub("", cell)
                yield cell.removesuffix(condition_after(cell))
                yield from _LIST_SEPARATOR.split(cell)


def names_in(title: str) -> Iterator[str]:
    """Candidates for the name: the whole title, then without its surroundings, then the parts that
    have the form of a name. A name inside a sentence does not count."""
    title = title[:_MAX_CHARACTERS].strip(_ENDS)
    if not title:
        return
    candidates = [title]
    shortened = _PREFIX.sub("", title).strip(_ENDS)
    for cut in (_TAIL, _TAGS_AFTER, _ON_HOST):
        candidates.append(shortened)
        shortened = cut.sub("", shortened).strip(_ENDS)
    candidates.append(shortened)
    first = shortened.split(" ")[0].strip(_ENDS + ":,")
    if is_identifier(first) and not _is_thing(shortened):
        # Label values or a sentence about it follow an identifier.
        yield first
        return
    parts = [part.strip(_ENDS) for part in _BETWEEN.split(shortened)]
    in_brackets = [match.strip(_ENDS) for match in re.findall(r"[(\[]([^()\[\]]+)[)\]]", title)]
    identifiers = [part for part in (*parts, *in_brackets) if is_identifier(part)]
    before = _before_values(shortened)
    yield from dict.fromkeys(one for one in (*reversed(candidates), *before, *identifiers) if one)
    plain_words = sum(
        bool(_PLAIN_WORD.fullmatch(word)) for word in shortened.split()[len(parts[0].split()) :]
    )
    if len(parts) > 1 and len(parts[0].split()) > 1 and plain_words < 2:
        yield parts[0]


def _is_thing(title: str) -> bool:
    """Whether a second word is part of the name: `store-api latency`, not `disk-full on db-1`."""
    first, _, rest = title.partition(" ")
    word = rest.split(" ")[0]
    is_plain = word.isalpha() and word.islower() and word not in _FILLERS
    return bool(_KEBAB.fullmatch(first)) and is_plain


def _before_values(title: str) -> Iterator[str]:
    """`Queue depth orders.new = 14220` → `Queue depth`; `PL03 in export.ts:12` → `PL03`."""
    words = title.split()
    first_value = next((at for at, word in enumerate(words) if not _PLAIN_WORD.fullmatch(word)), 0)
    if first_value > 1:
        yield " ".join(words[:first_value])
    if len(words) > 1 and _CODE.fullmatch(words[0]):
        yield words[0]


def values_around(title: str, name: str) -> Iterator[Label]:
    """Values around a name, with their key or without: `KeyOverdue lockbox (sg RC)` has three
    values, `CREW MSG-7 ROSTER LOCKED` several, with *ROSTER LOCKED* as one of them."""
    title = _PREFIX.sub("", title[:_MAX_CHARACTERS])
    at = title.casefold().find(name.casefold())
    sides = (title[:at], title[at + len(name) :]) if at >= 0 else (title,)
    for in_parentheses, unbracketed in (
        match.groups() for side in sides for match in _PLACE.finditer(side)
    ):
        text = in_parentheses or unbracketed or ""
        parts = _APART.split(text)
        for part in parts:
            yield from _values(part, together=not in_parentheses or len(parts) > 1)


def _values(part: str, *, together: bool) -> Iterator[Label]:
    """`together`: adjacent words may be one value."""
    for name, _ in _SPACED_PAIR.findall(part):
        yield "", name
    part = _SPACED_PAIR.sub(" ", part)
    if pair := _KEY_AND_VALUE.fullmatch(part.strip()):
        yield pair[2], pair[3].strip(_ENDS)
        yield from _values(pair[1] or "", together=False)
        return
    phrases: list[list[str]] = [[]]
    for raw in part.split():
        word = raw.strip(_ENDS + ":()'/@")
        if tag := _TAG.fullmatch(word):
            yield tag[1], tag[2].strip(_ENDS)
        elif word and word not in _FILLERS and any(sign.isalnum() for sign in word):
            yield "", word
            if _PLAIN_WORD.fullmatch(word):
                phrases[-1].append(word)
                continue
        phrases.append([])
    yield from (("", " ".join(one)) for one in phrases if together and 1 < len(one) <= 4)
