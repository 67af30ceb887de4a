"""Names of alerts in documents: how they are compared, and the places that one may name.

The index is built from these places and a lookup reads them again, so that both agree."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, combinations
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from enrichment.chunk import Chunk, ChunkTable, DocumentCard
from enrichment.language.words import word_table

PlaceKind = Literal["row", "section", "page", "lead", "field", "mention"]
_Above = dict[str, dict[int, str]]
"""Table → column → name of the row above, here and in the chunk before."""
_WORDS: dict[str, str] = word_table(Path(__file__).with_name("names.yaml"))
_ALERTS, _IDS, _EVENTS, _FILLERS = (
    frozenset(_WORDS[about].split(", ")) for about in ("alert", "identifier", "event", "filler")
)
_ANY_OF = {about: words.replace(", ", "|") for about, words in _WORDS.items()}
SHORT_NAME = re.compile(r"[A-Z][A-Z0-9]{1,5}")
"""`DGO`: a name only where the documents say what it stands for."""
_IDENTIFIER = re.compile(r"[^\W\d_][^\W_]*(?:[-_.:/][^\W_]+)*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_URL = re.compile(r"\b[a-z][a-z\d+.-]*://([^\s?#]*)\S*")
_LINK = re.compile(r"\[([^\[\]]+)\]\(<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?\)")
_CODE_SPAN = re.compile(r"`([^`\n]{2,120})`")
_MARKS = re.compile(r"\*\*|~~|[\u2600-\u2bff\U0001f000-\U0001faff\ufe0f]|\B:[a-z_]+:\B")
_EDGES = " `*~\"'“”.,;:–—|-#"
_LINES = re.compile(r"\n|<br\s*/?>")
_FENCED = re.compile(r"^\s*(```|~~~).*?^\s*\1", re.DOTALL | re.MULTILINE)
_LIST = re.compile(rf"\s*[,;/]\s*|\s+(?:{_ANY_OF['conjunction']})\s+")
_SIDES = re.compile(
    r"[:,;]\s+|(?<!\d)\s+[-–—|/]\s+|\s+[-–—|/]\s+(?!\S*\d)|\s*[|—`()\[\]]\s*"
    rf"|[\s,(]+(?=(?:{_ANY_OF['except']})\s)"
)
"""What separates a name from the rest; a dash between numbers is one of a range."""
_BRACKETS = re.compile(r"\s*(?:\(([^()]*)\)|\[([^\[\]]*)\])\s*")
_CODE = re.compile(r"`?([A-Z]{1,6}-?\d{1,5})[.:)]?\s+(?=[^\W\d]|`)")
_AROUND = re.compile(
    rf"{_BRACKETS.pattern}"
    rf"|^`?(?:(?:{_ANY_OF['section']})\s+)?(?-i:[A-Z]{{1,6}}-?)?\d+(?:\.\d+)*[.:)]?\s+(?=[^\W\d]|`)"
    rf"|^`?(?:{_ANY_OF['kind']})(?:\s+name)?\s*(?:[:=]|\s[-–—]\s)\s*"
    rf"|\s*[-–—:]?\s+(?:{_ANY_OF['kind']})$"
    rf"|(\s+(?:(?:{_ANY_OF['limit']})\s|[<>≤≥]=?)\s*\d[^()]*)$",
    re.IGNORECASE,
)
"""What stands around a name, its groups a remark; the rest is still the whole name."""
_ASKED = re.compile(rf"^(?:{_ANY_OF['asking']})\s+|\s+(?:{_ANY_OF['happening']})$", re.IGNORECASE)
_LEAD = re.compile(
    r"(?P<item>(?:[-*•+>]|\d+[.)])\s+(?:\[.\]\s+)?)?"
    r"(?P<name>(?:(?:\*\*|__|`)+(?P<marked>.+?)(?:\*\*|__|`)+"
    r"|(?P<bare>[^\s:=|()–—][^:=|()–—]{2,78}?)(?=\s*[(:=]|\s+[-–—]\s|$))(?:\s*\([^()]*\))?)"
)
_NUMBERS = re.compile(
    r"([^\W\d_][\w-]*?)[ _-]?(\d{1,19})(x*)"
    r"(?:\s*(?:[-–—…]|\.\.+|\b(?:to|until|bis|à|hasta)\b)\s*(?:\1[ _-]?)?(\d{1,19}))?"
)
DITTO = re.compile(r"\s*(?:[\"“”〃]|''|idem|dito|ditto)\s*", re.IGNORECASE)
_RATING = re.compile(rf"[\W\d_]+|(?:sev\w*|[ps])[ -]?\d|{_ANY_OF['rating']}", re.IGNORECASE)
_MAX_KEY, _MAX_TEXT, _MAX_FORMS, _MAX_PARTS = 120, 300, 40, 12


@dataclass(frozen=True, kw_only=True)
class NamePlace:
    """A place that a name leads to."""

    key: str
    """`name_key` of the name, or a range's `range_key`."""
    text: str
    """The name as written; a range in full."""
    kind: PlaceKind
    """row: a cell of a naming column. section: a heading (`level`) or, with level -1, the tab.
    page: title or file, with the first chunk only. lead: the beginning of an item, or of a
    paragraph in bold or code. field: `Alert: X`. mention: an identifier in code, or the target
    of a link."""
    row: int = -1
    """Index in `chunk.table.rows`. A row without a name has the name above."""
    column: int = -1
    level: int = -1
    """Index in `chunk.heading_path`."""
    remark: str = ""
    """The rest of the heading or cell: `prod`, `above 80 %`, `except MSG-1107`."""


def is_identifier(word: str) -> bool:
    """Whether it has a form that no ordinary word has: `KeyOverdue`, `disk-full`, `HTTP_5XX`."""
    if not _IDENTIFIER.fullmatch(word) or len(word) < 4:
        return False
    mixed = any(c.isdigit() for c in word) and sum(c.isalpha() for c in word) >= 3
    return bool(re.search(r"[-_.:/]", word) or _HUMP.search(word)) or mixed


def is_telling(name: str) -> bool:
    """Whether it is more specific than a single everyday word."""
    is_code = len(name) > 2 and name[0].isalpha() and any(map(str.isdigit, name))
    has_form = is_code or bool(SHORT_NAME.fullmatch(name)) or is_identifier(name)
    return len(name.split()) > 1 or "://" in name or has_form


@lru_cache(maxsize=20_000)
def name_key(name: str) -> str:
    """Key for comparison across spellings: equal for `DiskAlmostFull`, `disk-almost-full` and
    `Disk almost full`, and for a URL and its host and path; different for `Disk9` and `Disk95`,
    `9-5` and `95`, `> 90%` and `< 90%`."""
    plain = unicodedata.normalize("NFKC", name).casefold().strip(" `*_\"'“”.:")
    apart = re.sub(r"(?<=\d)[\W_]+(?=\d)", "=", _URL.sub(r"\1", plain))
    return re.sub(r"[^\w<>%+=&]|_", "", apart)


def range_key(name: str) -> str:
    """The key under which a range of numbered names is found: equal for `MSG-1107`, `MSG-13xx` and
    `MSG-1100 – MSG-1119`, equal to no `name_key`; '' for a name without a number at its end."""
    match = _NUMBERS.fullmatch(name.strip(" `").casefold())
    return f"{match[1]}#" if match else ""


def as_words(name: str) -> str:
    """`DiskAlmostFull` → `Disk Almost Full`."""
    return " ".join(re.sub(r"[-_./:]+", " ", _HUMP.sub(" ", name)).split())


def parts_of_name(name: str) -> list[str]:
    """The runs of two parts or more of an identifier that signs join, without the whole, longest
    first: `prod-api-errors` → `prod-api`, `api-errors`."""
    parts = list(re.finditer(r"[^-_./]+", name))[:_MAX_PARTS] if is_identifier(name) else []
    runs = [name[first.start() : last.end()] for first, last in combinations(parts, 2)]
    return sorted(runs, key=len, reverse=True)[1:]


def numbers_in(text: str) -> tuple[str, int, int] | None:
    """(stem, first, last) of a numbered range: `fe01 – fe08`, `MSG-1100 to 1119`, `MSG-13xx`."""
    match = _NUMBERS.fullmatch(text.strip(" `").casefold())
    if not match or bool(match[3]) == bool(match[4]):
        return None
    any_digits = len(match[3])
    first, last = match[2] + "0" * any_digits, match[4] or match[2] + "9" * any_digits
    return (match[1], int(first), int(last)) if int(first) <= int(last) else None


def stem_and_number(name: str) -> tuple[str, int] | None:
    """`fe10` and `fe10:9100` → (`fe`, 10)."""
    match = _NUMBERS.fullmatch(re.split("[:.]", name)[0].strip(" `").casefold())
    return (match[1], int(match[2])) if match and not match[3] and not match[4] else None


@lru_cache(maxsize=4_000)  # each chunk of a section has its headings
def name_forms(text: str) -> Sequence[tuple[str, str]]:
    """(name, remark) of each name that a heading or cell may state, the whole text first."""
    text = _MARKS.sub(" ", _LINK.sub(r"\1", text[:_MAX_TEXT]))
    forms = dict[str, str]()
    for part, rest in (one for line in (text, *_LINES.split(text)) for one in _parts(line)):
        is_whole = not _plain(_BRACKETS.sub("", rest))
        remarks = [_plain(_BRACKETS.sub(r" \1\2 ", rest))]
        while name := _plain(part):
            if is_whole or is_telling(name):
                forms.setdefault(name, ", ".join(filter(None, remarks)))
            part = part.strip()
            if not (match := _AROUND.search(part) or _ASKED.search(part)):
                break
            is_whole = is_whole and match.re is _AROUND
            remarks += map(_plain, filter(None, match.groups()))
            part = f"{part[: match.start()]} {part[match.end() :]}"
    return list(forms.items())[:_MAX_FORMS]


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").strip(_EDGES).split())


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """(a part that may be a name, the rest): the whole, members of a list, a code, and sides."""
    yield line, ""
    bare, brackets = _BRACKETS.subn("", line)
    members = [part.strip(_EDGES) for part in _LIST.split(bare)]
    if len(members) > 1 and all(map(is_identifier, filter(None, members))):
        shared = _BRACKETS.search(line) if brackets == 1 else None
        parts = _LIST.split(bare if shared else line)
        yield from ((part, shared[0] if shared else "") for part in parts)
    if code := _CODE.match(line):
        yield code[1], line[code.end() :]
    sides = [match.span() for match in _SIDES.finditer(line)][:_MAX_PARTS]
    for (_, start), (end, _) in combinations([(0, 0), *sides, (len(line), len(line))], 2):
        if line[start:end].count("(") == line[start:end].count(")"):
            yield line[start:end], f"{line[:start]} {line[end:]}"


def name_places(chunks: Iterable[Chunk], card: DocumentCard) -> Iterator[tuple[Chunk, NamePlace]]:
    """The places that may name an alert, with their chunks.

    `chunks`: all or one of a document's, in order. `card`: the document's."""
    above: _Above = {}
    for chunk in chunks:
        places = list(_in_titles(chunk, card))
        if chunk.table is not None:
            places += _in_table(chunk.table, chunk.text, above)
        elif chunk.kind == "text":
            places += _in_text(chunk.text)
        own = {place.key for place in places}
        if chunk.kind != "code":
            places += (place for place in _mentions(chunk.text) if place.key not in own)
        yield from ((chunk, place) for place in places if 1 < len(place.key) <= _MAX_KEY)


def names_of(chunk: Chunk, card: DocumentCard) -> dict[str, bool]:
    """Key → whether the chunk is about that name; False: it only mentions it."""
    return {place.key: place.kind != "mention" for _, place in name_places([chunk], card)}


def _in_titles(chunk: Chunk, card: DocumentCard) -> Iterator[NamePlace]:
    if chunk.position == 0:
        for title in dict.fromkeys((card.title, chunk.document_title, _file_name(card.path))):
            yield from _named(title, "page")
    for level, heading in enumerate((chunk.tab, *chunk.heading_path), start=-1):
        yield from _named(heading, "section", level=level)


def _mentions(text: str) -> Iterator[NamePlace]:
    targets = [to for _, to in _LINK.findall(text) if not to.startswith("#")]
    names = (*_CODE_SPAN.findall(_LINK.sub(r"\1", text)), *chain(*map(link_names, targets)))
    for name in filter(is_identifier, dict.fromkeys(names)):
        yield NamePlace(key=name_key(name), text=name, kind="mention")


def link_names(target: str) -> tuple[str, str]:
    """(last segment of a link's path without its suffix, fragment), '' for each that it lacks.
    A fragment like `heading=h.x1` is no name."""
    path, _, fragment = target.partition("#")
    path = unquote(re.sub(r"^[a-z][a-z\d+.-]*://[^/?]*|\?.*", "", path))
    return _file_name(path.strip("/")), "" if "=" in fragment else unquote(fragment)


def _file_name(path: str) -> str:
    """`ops/DiskFull.md` and `DiskFull/README.md` → `DiskFull`."""
    *folders, last = ("", *path.split("/"))
    stem = re.sub(r"(?<=.)\.[A-Za-z]\w{0,8}$", "", last)
    return folders[-1] if stem.casefold() in {"readme", "index", "_index"} else stem


def _named(text: str, kind: PlaceKind, **at: int) -> Iterator[NamePlace]:
    for name, remark in name_forms(text):
        place = NamePlace(key=name_key(name), text=name, kind=kind, remark=remark, **at)
        yield place
        if numbers_in(name):
            yield replace(place, key=range_key(name))


def _in_table(table: ChunkTable, text: str, above: _Above) -> Iterator[NamePlace]:
    naming = naming_columns([path.rpartition("›")[2] for path in table.header], table.rows)
    for row, cells in enumerate(written_rows(table, text)):
        own = {at: cells[at] for at in naming if at < len(cells) and cells[at].strip()}
        above[table.id] = own if naming[0] in own else above.get(table.id, {}) | own
        for column, name in above[table.id].items():
            yield from _named(name, "row", row=row, column=column)


def naming_columns(labels: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns whose header names an alert, else the first that has more than numbers and
    ratings."""
    wordy = {at for row in rows for at, cell in enumerate(row) if not _RATING.fullmatch(cell)}
    usable = [at for at in range(len(labels)) if at in wordy]
    last = [_words(label.rpartition(" ")[2]) for label in labels]
    naming = [at for at in usable if is_naming(labels[at]) or last[at] & _ALERTS]
    return naming or usable[:1] or [0]


def is_naming(label: str) -> bool:
    """Whether a header or field label names an alert: `Alert name`, `Nom de l'alerte`, `Check`."""
    words = _words(label)
    return bool(words) and words <= _ALERTS | _IDS | _EVENTS


def _words(label: str) -> set[str]:
    words = re.findall(r"[^\W_]+", _BRACKETS.sub(" ", label).casefold())
    return {word.removesuffix("s") for word in words} - _FILLERS


def written_rows(table: ChunkTable, text: str) -> Sequence[Sequence[str]]:
    """The cells in markdown where the lines can be read, else without code marks; '' for marks
    that repeat the cell above."""
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    same = list(map(len, rows)) == list(map(len, table.rows))
    rows = [[cell.replace("\\|", "|") for cell in row] for row in (rows if same else table.rows)]
    return [["" if DITTO.fullmatch(cell) else cell for cell in row] for row in rows]


def _in_text(text: str) -> Iterator[NamePlace]:
    lines = _FENCED.sub("", text).splitlines()
    for line in (" ".join(line[:1_000].split()) for line in lines):
        has_words = any(map(str.isalpha, _LINK.sub("", line)))  # a list of links names nothing
        if has_words and (lead := _LEAD.match(_LINK.sub(r"\1", line))):
            name = (lead["marked"] or lead["bare"]).strip(_EDGES)
            if is_naming(name) and _words(name) & (_ALERTS | {"name"}):
                yield from _named(lead.string[lead.end() :], "field")
            elif (is_telling if lead["item"] or lead["marked"] else is_identifier)(name):
                yield from _named(lead["name"], "lead")
