"""`ONCALL_LOADERS`: classes of LangChain by the names that domain files use, and what each may do.

confluence=langchain_community.document_loaders:ConfluenceLoader
    host=example.atlassian.net env=CONFLUENCE_TOKEN"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

LOADER_NAME = r"[a-z][a-z0-9_-]{0,39}"
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_DOTTED = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
_LOADER = re.compile(rf"(?P<name>{LOADER_NAME})=(?P<module>{_DOTTED}):(?P<class>{_DOTTED})")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]+")
_MAY = {"host", "env", "folder"}
_EXAMPLE = "confluence=langchain_community.document_loaders:ConfluenceLoader"


@dataclass(frozen=True, kw_only=True)
class AllowedLoader:
    """What the operator allows under one name."""

    name: str
    module: str
    class_name: str
    hosts: tuple[str, ...] = ()
    """Hosts that it may reach, in lower case; hosts below them count too. Without any it has no
    network."""
    variables: tuple[str, ...] = ()
    """Environment variables that it gets."""
    folders: tuple[Path, ...] = ()
    """Folders that it may read, besides those of documents."""
    programs: bool = False
    """Whether it may start other programs, which then may do all that this process may."""

    def variables_in(self, environment: Mapping[str, str | None]) -> dict[str, str]:
        """Those of its variables that are set."""
        return {name: value for name in self.variables if (value := environment.get(name))}


def read_loader_list(text: str) -> Mapping[str, AllowedLoader]:
    """By name. Raises ValueError for what is wrong in it."""
    loaders: dict[str, AllowedLoader] = {}
    current = ""
    for word in filter(None, re.split(r"[\s,]+", text)):
        key, _, value = word.partition("=")
        if (match := _LOADER.fullmatch(word)) and key not in _MAY:
            current = match["name"]
            if current in loaders:
                raise ValueError(f"{current} is there twice; give each its own name")
            loaders[current] = AllowedLoader(
                name=current, module=match["module"], class_name=match["class"]
            )
        elif current:
            loaders[current] = _with_leave(loaders[current], word, key, value)
        else:
            raise ValueError(f"{key!r} begins no NAME=MODULE:CLASS; write it as in {_EXAMPLE}")
    return loaders


def _with_leave(loader: AllowedLoader, word: str, key: str, value: str) -> AllowedLoader:
    if word == "programs":
        return replace(loader, programs=True)
    if key == "host" and _HOST.fullmatch(value):
        return replace(loader, hosts=(*loader.hosts, value.lower()))
    if key == "env" and re.fullmatch(VARIABLE, value):
        return replace(loader, variables=(*loader.variables, value))
    if key == "folder" and (folder := Path(value).expanduser()).is_absolute():
        return replace(loader, folders=(*loader.folders, folder))
    # Only what stands before `=` is quoted: somebody may have pasted a token behind it.
    raise ValueError(
        f"{key!r} after {loader.name} is neither host=wiki.example.com, env=VARIABLE, "
        f"folder=/srv/export or programs, nor another loader, as in {_EXAMPLE}"
    )
