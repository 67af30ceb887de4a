"""References to documents: in golden questions, domain files, commands, and links between files."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from urllib.parse import unquote

from config.domain_files import nearest
from config.errors import ConfigError
from enrichment.chunk import DocumentCard

_SUFFIX = re.compile(r"(?<=[^/])\.[^./]+$")
_MAX_CANDIDATES = 5
_RELATIVE_FILE = re.compile(r"(?!\w+:|//)[^?#]*\.\w{1,9}(?=$|[?#])")


def paths_of(cards: Iterable[DocumentCard]) -> dict[str, str]:
    """Id → path; empty for documents that are no files."""
    return {card.id: card.path for card in cards}


def names_of(path: str) -> set[str]:
    """`ops/README.md`, `ops/README`, `README.md` and `README`."""
    stem = _SUFFIX.sub("", path)
    both = (path.split("/"), stem.split("/"))
    return {"/".join(parts[count:]) for parts in both for count in range(len(parts))}


def find_document(name: str, documents: Mapping[str, str]) -> str:
    """The id of the document that a reference means; empty for none.

    `documents`: id → path, as `paths_of` returns them. An id comes before a path, a path before one
    without its suffix, and that before the end of a path. Raises ConfigError, which names the
    candidates, if several documents match equally well."""
    name = unicodedata.normalize("NFC", name.strip())
    if not name or name in documents:
        return name
    for matches in _WAYS:
        candidates = [one for one, path in documents.items() if matches(name, path)]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise _ambiguous(name, candidates)
    return ""


def suggest_document(name: str, documents: Mapping[str, str]) -> str:
    """For messages: the id of the document with the nearest name, or else the first ids."""
    forms = {form: one for one, path in documents.items() for form in {one, *names_of(path)}}
    close = get_close_matches(name, forms, n=1)
    return f"; did you mean {forms[close[0]]!r}?" if close else nearest(name, sorted(documents))


def as_ids(names: Iterable[str], cards: Iterable[DocumentCard]) -> list[str]:
    """The ids that references mean; one that means none, or several, stays as it is."""
    paths = paths_of(cards)

    def match(name: str) -> str:
        try:
            return find_document(name, paths)
        except ConfigError:
            return ""

    return [match(name) or name for name in names]


def _ambiguous(name: str, candidates: list[str]) -> ConfigError:
    listed = ", ".join(sorted(candidates)[:_MAX_CANDIDATES])
    more = len(candidates) - _MAX_CANDIDATES
    return ConfigError(
        f"{name!r} may be any of {listed}" + (f" and {more} more" if more > 0 else ""),
        remedy="write the id of one of them",
    )


_WAYS: tuple[Callable[[str, str], bool], ...] = (
    lambda name, path: name == path,
    lambda name, path: name == _SUFFIX.sub("", path),
    lambda name, path: name in names_of(path),
)


def linked_path(target: str, path: str) -> str:
    """The path of the file that a relative link in the file `path` leads to; empty for others."""
    match = _RELATIVE_FILE.match(target)
    if not match:
        return ""
    linked = unicodedata.normalize("NFC", unquote(match[0]))
    # A site's own links begin at its root, which is the root of the files.
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), linked)).lstrip("/")
    return "" if joined.startswith("../") else joined
