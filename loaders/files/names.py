"""Names of files: the path below the root of their entry, the same on every machine."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from loaders.files.patterns import Expanded

MAX_NAME_CHARS = 190
"""Characters of an id. The tables store 200, with a source before it."""
_HEAD, _TAIL = 76, 100
"""Characters of a longer name that stay."""
_JOINERS = "\u200c\u200d"
"""Part of words in Persian and Indic scripts, and of emoji."""


@dataclass(frozen=True, kw_only=True)
class FilePlace:
    """A file, and the entry of the domain file that it is read for."""

    path: Path
    """Without links."""
    root: Path
    """Folder of the entry, without links."""
    url: str = ""
    """Its address on the web; empty for none."""


def places_of(files: Expanded, base_url: str = "") -> list[FilePlace]:
    return [
        FilePlace(path=path, root=root, url=web_address(path, root, base_url))
        for path, root in files.roots.items()
    ]


def web_address(path: Path, root: Path, base_url: str) -> str:
    """`base_url` opens `root`; empty for nowhere."""
    below = os.fsencode(path.relative_to(root).as_posix())
    return f"{base_url.rstrip('/')}/{quote(below)}" if base_url else ""


def name_files(places: Iterable[FilePlace]) -> dict[str, FilePlace]:
    """Name → file, in order of the paths.

    `places`: in order of the entries. A file of several entries is named below the outermost root,
    and has the address that one of them gives it. Where two entries have the same path below their
    roots, the name of the later one begins with as many folders of its root as it takes."""
    entries: dict[Path, list[FilePlace]] = {}
    for place in places:
        entries.setdefault(place.path, []).append(place)
    named: dict[str, FilePlace] = {}
    for of_file in entries.values():
        of_file.sort(key=lambda one: len(one.root.parts))
        place = replace(of_file[0], url=next((one.url for one in of_file if one.url), ""))
        named[next(one for one in _candidates(place) if one not in named)] = place
    return dict(sorted(named.items(), key=lambda item: item[1].path))


def _candidates(place: FilePlace) -> Iterator[str]:
    """The shortest first. The last belongs to no other file, not even to one whose name differs in
    its encoding alone."""
    below, folders = place.path.relative_to(place.root), place.root.parts[1:]
    for count in range(len(folders) + 1):
        yield file_name(Path(*folders[len(folders) - count :], below))
    digest = hashlib.sha256(os.fsencode(place.path)).hexdigest()[:12]
    yield file_name(Path(f"{digest}-{below.name}"))


def file_name(path: Path) -> str:
    """A relative path as an id: composed Unicode (NFC), without what no reader sees."""
    text = unicodedata.normalize("NFC", path.as_posix())
    name = "".join(map(_visible, text))
    if len(name) <= MAX_NAME_CHARS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{name[:_HEAD]}…{digest}…{name[-_TAIL:]}"


def _visible(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    is_space = unicodedata.category(char) == "Zs"
    return " " if is_space else char.encode("unicode_escape").decode("ascii")
