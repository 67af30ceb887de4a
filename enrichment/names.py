"""Names of alerts in documents: how they are compared, and the places that one may name.

The index is built from these places and a lookup reads them again, so that both agree."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from enrichment.chunk import Chunk, ChunkTable, DocumentCard
from enrichment.language.words import word_table

PlaceKind = Literal["row", "column", "section", "page", "lead", "field", "mention"]
_WORDS: dict[str, str] = word_table(Path(__file__).with_name("names.yaml"))
_ALERTS, _IDS, _EVENTS, _FILLERS, _PRODUCTS = (
    frozenset(_WORDS[about].split(", "))
    for about in ("alert", "identifier", "event", "filler", "product")
)
_CONJUNCTIONS = _WORDS["conjunction"].split(", ")
_ANY_OF = {about: words.replace(", ", "|") for about, words in _WORDS.items()}
LINK = re.compile(r"\[([^\[\]]*)\]\(<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?\)")
"""A link in markdown: its text and target."""
SHORT_NAME = re.compile(r"[A-Z][A-Z0-9]{1,5}")
"""`DGO`: a name only where the documents say what it stands for."""
DITTO = re.compile(r"\s*(?:[\"“”〃″]|''|idem|dito|ditto)\s*", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[^\W\d_][^\W_]*(?:[-_.:/][^\W_]+)*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_URL = re.compile(r"\b[a-z][a-z\d+.-]*://([^\s?#]*)\S*")
_CODE_SPAN = re.compile(r"`([^`\n]{2,120})`")
_MARKS = re.compile(r"\*\*|~~|[\u2139\u2600-\u2bff\U0001f000-\U0001faff\ufe0f]|\B:[a-z_]+:\B")
_EDGES = " `*~\"'“”.,;:–—|-#"
_LINES = re.compile(r"\n|<br\s*/?>")
_FENCED = re.compile(r"^\s*(```|~~~).*?^\s*\1", re.DOTALL | re.MULTILINE)
_SIDES = re.compile(
    r"[:,;]\s+|(?<!\d)\s+[-–—|/]\s+|\s+[-–—|/]\s+(?!\S*\d)|\s*[|—`()\[\]]\s*"
    rf"|[\s,(]+(?=(?:{_ANY_OF['except']})\s)"
)
"""What separates a name from the rest; a dash between numbers is one of a range."""
_BRACKETS = re.compile(r"\s*(?:\(([^()]*)\)|\[([^\[\]]*)\])\s*")
_REMARKS = re.compile(
    rf"{_BRACKETS.pattern}|\s*(?<!\S)((?:(?:{_ANY_OF['limit']})\s|[<>≤≥]=?)\s*\d[^()]*)$",
    re.IGNORECASE,
)
_AROUND = re.compile(
    rf"^`?(?:(?:(?:{_ANY_OF['section']})\s+)?(?-i:[A-Z]{{1,6}}-?)?\d+(?:\.\d+)*[.:)]?\s+"
    rf"(?=[^\W\d]|`)|(?:(?:{_ANY_OF['kind']}|name)\s*)+(?:[:=]|\s[-–—]\s)\s*)+"
    rf"|^(?:(?:{_ANY_OF['asking']})\s+)+"
    rf"|(?:\s*[-–—:]?\s+(?:{_ANY_OF['kind']}|{_ANY_OF['happening']}))+$",
    re.IGNORECASE,
)
"""What may stand around a name, which is still the whole name."""
_OF_ALERTS = re.compile(r"\bal(?:erts?|arms?|erta|erte|arma|arme)\b", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]{1,6}-?\d{1,5}")
_LEAD = re.compile(
    r"(?P<item>(?:[-*•+>]|\d+[.)])\s+(?:\[.\]\s+)?)?"
    r"(?P<name>(?:(?:\*\*|__|`)+(?P<marked>.+?)(?:\*\*|__|`)+"
    r"|(?P<bare>[^\s:=|()–—][^:=|()–—]{2,78}?)(?=\s*[(:=]|\s+[-–—]\s|$))(?:\s*\([^()]*\))?)"
)
_NUMBERS = re.compile(
    r"([^\W\d_][\w-]*?)[ _-]?(\d{1,19})(x*)"
    r"(?:\s*(?:[-–—…]|\.\.+|\b(?:to|until|bis|à|hasta)\b)\s*(?:\1[ _-]?)?(\d{1,19}))?"
)
RATING = re.compile(rf"(?:sev\w*|[ps])[ -]?\d|{_ANY_OF['rating']}", re.IGNORECASE)
_NO_NAME = re.compile(rf"[\W\d_]+|{RATING.pattern}", re.IGNORECASE)
_MAX_KEY, _MAX_TEXT, _MAX_FORMS, _MAX_PARTS = 120, 300, 40, 12


@dataclass(frozen=True, kw_only=True)
class NamePlace:
    """A place that a name leads to."""

    key: str
    """`name_key` of the name."""
    text: str
    """The name as written."""
    kind: PlaceKind
    """row: a cell of a naming column. column: a header of a table that may be set on its side.
    section: a heading (`level`) or, with level -1, the tab. page: title or file, with the first
    chunk only. lead: the beginning of an item, or of a bold or code paragraph. field: `Alert: X`,
    in a table of two columns too. mention: an identifier in code, or the target of a link."""
    row: int = -1
    """Index in `chunk.table.rows`."""
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


def as_words(name: str) -> str:
    """`DiskAlmostFull` → `Disk Almost Full`."""
    return " ".join(re.sub(r"[-_./:]+", " ", _HUMP.sub(" ", name)).split())


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


def range_key(name: str) -> str:
    """The key under which a range of numbered names is found: equal for `MSG-1107`, `MSG-13xx` and
    `MSG-1100 – MSG-1119`, equal to no `name_key`; '' for a name without a number at its end."""
    numbers = numbers_in(name) or stem_and_number(name)
    return f"{numbers[0]}#" if numbers else ""


@lru_cache(maxsize=4_000)  # each chunk of a section has its headings
def name_forms(text: str) -> Sequence[tuple[str, str]]:
    """(name, remark) of each name that a heading or cell may state, the whole text first."""
    text = _MARKS.sub(" ", LINK.sub(r"\1", text[:_MAX_TEXT]))
    forms = dict[str, str]()
    for part, rest in (one for line in (text, *_LINES.split(text)) for one in _parts(line)):
        is_whole = not _plain(_BRACKETS.sub("", rest))
        remark = _plain(_BRACKETS.sub(r" \1\2 ", rest))
        for name in map(_plain, (part, _AROUND.sub("", part.strip()))):
            if name and (is_whole or is_telling(name)):
                forms.setdefault(name, "" if is_naming(remark) else remark)
    return list(forms.items())[:_MAX_FORMS]


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").strip(_EDGES).split())


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """(a part that may be a name, the rest): the whole, without remarks, identifiers, and what
    signs divide."""
    yield line, ""
    remarks = (_plain("".join(filter(None, one.groups()))) for one in _REMARKS.finditer(line))
    yield _REMARKS.sub(" ", line), f"({', '.join(filter(None, remarks))})"
    yield from _identifiers(line)
    sides = [match.span() for match in _SIDES.finditer(line)][:_MAX_PARTS]
    for (_, start), (end, _) in combinations([(0, 0), *sides, (len(line), len(line))], 2):
        if line[start:end].count("(") == line[start:end].count(")"):
            yield line[start:end], f"{line[:start]} {line[end:]}"
    words = _plain(line).split()
    coined = list(filter(is_identifier, words))
    if len(coined) == 1 and _OF_ALERTS.search(line):
        yield coined[0], ""


def _identifiers(line: str) -> Iterator[tuple[str, str]]:
    """Those that are all the words of a line, with the brackets behind them, or its first word,
    with a rating."""
    words = list(filter(None, map(_plain, re.split(r"[\s,;/]+", _BRACKETS.sub(" ", line)))))
    others = [word for word in words if not is_identifier(word) and word not in _CONJUNCTIONS]
    for word in words[: 1 if others else None]:
        end = line.find(word) + len(word)
        brackets = _BRACKETS.search(line, end)
        parts = len(as_words(word).split()) if is_identifier(word) else 0
        if not others:
            yield word, brackets[0] if brackets else ""
        elif _CODE.fullmatch(word) or (parts and RATING.fullmatch(_plain(line[end:]))):
            yield word, line[end:]
        elif parts > 2 and re.fullmatch(r"[\w-]+", word):
            yield word, ""


def name_places(chunk: Chunk, card: DocumentCard) -> Iterator[NamePlace]:
    """The places in a document's chunk that may name an alert."""
    places = list(_in_titles(chunk, card))
    if chunk.table is not None:
        places += _in_table(chunk.table, chunk.text)
    elif chunk.kind == "text":
        places += _in_text(chunk.text)
    if chunk.kind != "code":
        places += _mentions(chunk.text)
    return (place for place in places if 1 < len(place.key) <= _MAX_KEY)


def names_of(chunk: Chunk, card: DocumentCard) -> dict[str, bool]:
    """Key → whether the chunk is about that name; False: it only mentions it."""
    names = dict[str, bool]()
    for place in name_places(chunk, card):
        names[place.key] = names.get(place.key, False) or place.kind != "mention"
    return names


def _in_titles(chunk: Chunk, card: DocumentCard) -> Iterator[NamePlace]:
    if chunk.position == 0:
        for title in dict.fromkeys((card.title, chunk.document_title, _file_name(card.path))):
            yield from _named(title, "page")
    for level, heading in enumerate((chunk.tab, *chunk.heading_path), start=-1):
        yield from _named(heading, "section", level=level)


def _mentions(text: str) -> Iterator[NamePlace]:
    targets = [to for _, to in LINK.findall(text) if not to.startswith("#")]
    names = [*_CODE_SPAN.findall(LINK.sub(r"\1", text))]
    names += (name for target in targets for name in link_names(target))
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
        for key in (name_key(name), range_key(name) if numbers_in(name) else ""):
            yield NamePlace(key=key, text=name, kind=kind, remark=remark, **at)


def _in_table(table: ChunkTable, text: str) -> Iterator[NamePlace]:
    labels = [path.rpartition("›")[2] for path in table.header]
    rows = written_rows(table, text)
    for column in naming_columns(labels, table.rows):
        for row, cells in enumerate(rows):
            if column < len(cells):
                yield from _named(cells[column], "row", row=row, column=column)
    for column, label in enumerate(labels):
        if column and is_telling(label):
            yield from _named(label, "column", column=column)
    for cells in (labels, *rows) if len(labels) == 2 else ():
        if says_alert(cells[0]):
            yield from _named(cells[1], "field", column=1)


def naming_columns(labels: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns whose header names an alert, else the first that has more than numbers and
    ratings."""
    wordy = {at for row in rows for at, cell in enumerate(row) if not _NO_NAME.fullmatch(cell)}
    usable = [at for at in range(len(labels)) if at in wordy]
    naming = [at for at in usable if is_naming(labels[at]) or says_alert(labels[at])]
    return naming or usable[:1] or [0]


def is_naming(label: str) -> bool:
    """Whether a header or field label names an alert: `Alert name`, `Nom de l'alerte`, `Check`."""
    words = _words(label)
    return bool(words) and words <= _ALERTS | _IDS | _EVENTS


def says_alert(label: str) -> bool:
    """Whether it names an alert by such a word: `Alert ID`, `Datadog monitor`, `Name in Zabbix`."""
    before, _, last = label.strip(_EDGES).rpartition(" ")
    by_end = _ALERTS | _PRODUCTS if before else _ALERTS
    own = bool(_words(label) & (_ALERTS | {"name"}))
    return (is_naming(label) and own) or (bool(_words(last)) and _words(last) <= by_end)


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
        has_words = any(map(str.isalpha, LINK.sub("", line)))  # a list of links names nothing
        if has_words and (lead := _LEAD.match(LINK.sub(r"\1", line))):
            name = (lead["marked"] or lead["bare"]).strip(_EDGES)
            if says_alert(name):
                yield from _named(lead.string[lead.end() :], "field")
            elif (is_telling if lead["item"] or lead["marked"] else is_identifier)(name):
                yield from _named(lead["name"], "lead")
