"""Expands the `files:` of a domain to paths. No path leaves the root of its entry.

The root of an entry is the folder that contains its first wildcard: `docs` for `docs/**/*.md`. The
root of a folder is the folder itself, and the root of a file is its parent folder."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from config.errors import ConfigError
from loaders.untrusted import is_below

_MAX_PATTERN_CHARS = 100
"""Characters of an entry in an error message."""
_MAX_NOTES = 20
_EVERYTHING = ("**", "*")


@dataclass(frozen=True, kw_only=True)
class Expanded:
    roots: dict[Path, Path]
    """Loadable file → root of the first entry that it matches; both without links, sorted."""
    notes: list[str]
    """A line for each file that was left out."""
    unread: dict[str, str]
    """Folders below an entry that can't be listed → why."""

    @property
    def paths(self) -> list[Path]:
        return list(self.roots)


def expand_paths(
    patterns: Iterable[str],
    base: Path,
    suffixes: Collection[str],
    allowed: Sequence[Path] | None = None,
) -> Expanded:
    """The files of all entries.

    `allowed`: folders that contain the roots of all entries; None for no limit. Outside nothing is
    looked at.

    A folder means all files below it. Entries are relative to `base`, or to the working directory
    where what they begin with is not below `base`. Links are followed only to files and folders
    below the entry's root. Devices and pipes are never read. Raises ConfigError for an entry
    without matches, for a single file without a loader, for `..` after a wildcard, and for one
    outside `allowed`."""
    roots: dict[Path, Path] = {}
    notes: dict[str, None] = {}
    unread: dict[str, str] = {}
    for pattern in patterns:
        is_long = len(pattern) > _MAX_PATTERN_CHARS
        excerpt = f"{pattern[: _MAX_PATTERN_CHARS - 1]}…" if is_long else pattern
        if ".." in Path(pattern).parts[_fixed(Path(pattern).parts) :]:
            raise ConfigError(
                f"{excerpt!r} goes up behind a wildcard", remedy="begin with the folder it means"
            )
        matches = _matches(pattern, base, suffixes, allowed)
        is_here = _begins_below(base, pattern)
        if not matches.paths and (matches.outside or not is_here):
            elsewhere = _matches(pattern, Path.cwd(), suffixes, allowed)
            if matches.outside and not elsewhere.paths:
                raise ConfigError(
                    f"{excerpt!r} lies outside the folders that documents may be read from",
                    remedy="name its folder in ONCALL_FOLDERS",
                )
            matches = elsewhere if elsewhere.paths or not matches.notes else matches
        if not matches.paths:
            left_out = f"left out: {matches.notes[0]}; " if matches.notes else ""
            raise ConfigError(
                f"no files match {excerpt!r}",
                remedy=f"{left_out}looked in {base}" + ("" if is_here else f" and in {Path.cwd()}"),
            )
        for path in matches.paths:
            if path.suffix.lower() not in suffixes:
                raise ConfigError(
                    f"no loader reads {excerpt!r}", remedy="supported: " + ", ".join(suffixes)
                )
        roots = dict.fromkeys(matches.paths, matches.root) | roots
        notes |= dict.fromkeys(matches.notes)
        unread |= matches.unread
    lines = list(notes)
    if len(lines) > _MAX_NOTES:
        lines = [*lines[:_MAX_NOTES], f"… and {len(lines) - _MAX_NOTES} more files left out"]
    return Expanded(roots=dict(sorted(roots.items())), notes=lines, unread=unread)


def _fixed(parts: Sequence[str]) -> int:
    """The number of parts before the first wildcard."""
    return next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))


def _begins_below(base: Path, pattern: str) -> bool:
    """Whether the folder or file before the first wildcard exists below `base`."""
    parts = Path(pattern).parts
    fixed = parts[: _fixed(parts)]
    with suppress(OSError, ValueError):  # a name that is too long
        return bool(fixed) and base.joinpath(*fixed).exists()
    return False


def entry_root(pattern: str, base: Path) -> Path:
    """The folder that an entry's files never leave, without links."""
    return _root_and_parts(base / Path(pattern).expanduser())[0].resolve()


def _root_and_parts(path: Path) -> tuple[Path, Sequence[str]]:
    fixed = _fixed(path.parts)
    if fixed < len(path.parts):
        return Path(*path.parts[:fixed]), path.parts[fixed:]
    if path.is_dir():
        return path, _EVERYTHING
    return path.parent, (glob.escape(path.name),)


def _matches(
    pattern: str, base: Path, suffixes: Collection[str], allowed: Sequence[Path] | None
) -> _Matches:
    try:
        path = base / Path(pattern).expanduser()
        if allowed is not None and not is_below(Path(*path.parts[: _fixed(path.parts)]), allowed):
            return _Matches(base, suffixes, outside=True)
        root, parts = _root_and_parts(path)
        single = _fixed(path.parts) == len(path.parts) and parts is not _EVERYTHING
        matches = _Matches(root.resolve(), suffixes, single=single)
        matches.take(root, parts)
    except (OSError, RuntimeError, ValueError):  # a name that is too long, an unknown `~user`
        return _Matches(base, suffixes)
    return matches


@dataclass
class _Matches:
    root: Path
    """Link targets must be below it."""
    suffixes: Collection[str]
    single: bool = False
    """The entry names one file. Its problems are reported for any suffix."""
    outside: bool = False
    """The entry is in no allowed folder."""
    paths: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)

    def take(self, folder: Path, parts: Sequence[str]) -> None:
        """Collects the matches below a folder. `**` does not follow links to folders."""
        part, rest = parts[0], parts[1:]
        if part == "**":
            if rest[:1] != ("**",):
                self.take(folder, rest or ("*",))
            for entry in self._entries(folder):
                if entry.is_symlink():
                    self._is_below(entry)
                elif entry.is_dir() and not entry.name.startswith("."):
                    self.take(Path(entry.path), parts)
            return
        for entry in self._entries(folder):
            hidden = entry.name.startswith(".") and not part.startswith(".")
            if hidden or not fnmatch.fnmatchcase(entry.name, part):
                continue
            if not rest:
                self._file(entry)
            elif self._is_below(entry) and entry.is_dir():
                self.take(Path(entry.path), rest)

    def _entries(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.unread[str(folder)] = f"it can't be listed: {error.strerror}"
            self.notes.append(f"{folder}: can't be listed: {error.strerror}")
            return
        yield from listed

    def _file(self, entry: os.DirEntry[str]) -> None:
        path = Path(entry.path)
        is_hidden = entry.name.startswith((".", "~$"))
        is_readable = path.suffix.lower() in self.suffixes and not is_hidden
        if not (is_readable or self.single) or not self._is_below(entry) or entry.is_dir():
            return
        if entry.is_file():
            self.paths.append(path.resolve())
        else:
            self.notes.append(f"{entry.path}: neither a file nor a folder, so it was not read")

    def _is_below(self, entry: os.DirEntry[str]) -> bool:
        """Whether a link's target is below the root; True for other entries. Notes the reason."""
        if not entry.is_symlink():
            return True
        try:
            real = Path(entry.path).resolve(strict=True)
        except (OSError, RuntimeError):
            self.notes.append(f"{entry.path}: a link to nothing, or to itself")
            return False
        if real.is_relative_to(self.root):
            return True
        self.notes.append(f"{entry.path}: a link out of {self.root}, so it was not followed")
        return False
