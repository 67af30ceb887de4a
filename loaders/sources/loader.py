"""Classes of LangChain that the operator allows: Confluence, Notion, GitHub and many more."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from config.errors import ConfigError, LoadError
from config.parsing.fields import ADDRESS, Shape, invalid
from config.parsing.loader_list import LOADER_NAME, AllowedLoader
from config.parsing.secret_files import SUFFIX, environment
from config.sections import Section
from loaders.document import Permission
from loaders.source import EVERYBODY, DomainFile, IndexedDocument, SourceKind, Wrong

if TYPE_CHECKING:
    from config.settings import Settings
    from loaders.langchain.process import LoaderOrder
    from loaders.langchain.source import LangChainSource
    from loaders.pictures.document_pictures import PictureCollector

_GROUP = "group:"
_MAX_CHARACTERS = 20_000
_OF_A_SECRET = re.compile(r"(api_?key|token|secret|password)$", re.IGNORECASE)

Reader = Annotated[
    str,
    Shape(
        f"({_GROUP})?{ADDRESS}",
        "is no reader; write an e-mail address, a group that `access.groups` names, or "
        "group:sec-team@example.com for one that Google's directory knows",
    ),
]


def _short(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if len(json.dumps(value)) > _MAX_CHARACTERS:
        raise invalid(f"has more than {_MAX_CHARACTERS:,} characters")
    return value


def _all_of_them(value: object) -> object:
    if isinstance(value, str) and value != "everyone":
        raise invalid(f"write `everyone`, or a list: [{value}]")
    return value


class LoaderEntry(Section):
    """Documents that a class of LangChain reads. It runs apart, with what the operator allows."""

    name: Annotated[
        str, Shape(LOADER_NAME, "is no loader's name; the operator gives it in ONCALL_LOADERS")
    ]
    """A name of `ONCALL_LOADERS`"""
    arguments: Annotated[dict[str, JsonValue], AfterValidator(_short)] = Field({})
    """Arguments of the class; `{env: NAME}` stands for a variable that the operator gives it"""
    readers: Annotated[
        Literal["everyone"] | Annotated[list[Reader], Field(min_length=1, max_length=500)],
        BeforeValidator(_all_of_them),
    ]
    """Who may read them with `audience: asker`: `everyone` who may ask, or a list of e-mail
    addresses and groups"""

    @property
    def digest(self) -> str:
        """Of what it reads: who may read it is looked up by this."""
        what = json.dumps([self.name, self.arguments], sort_keys=True)
        return hashlib.sha256(what.encode()).hexdigest()[:16]

    def permissions(self, groups: Mapping[str, object]) -> tuple[Permission, ...]:
        """`groups`: those of `access.groups`."""
        if self.readers == "everyone":
            return EVERYBODY
        named = {one.lower() for one in groups}
        return tuple(
            Permission(
                kind="group" if one.startswith(_GROUP) or one.lower() in named else "user",
                value=one.removeprefix(_GROUP).lower(),
            )
            for one in self.readers
        )

    def open_secrets(self) -> list[str]:
        """Arguments that hold a secret, by their names."""
        return [
            name
            for name, value in self.arguments.items()
            if isinstance(value, str) and _OF_A_SECRET.search(name)
        ]

    def variables(self) -> set[str]:
        """Those that its arguments name."""
        return set(_variables(self.arguments))


def _variables(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict) and value.keys() == {"env"}:
        yield str(value["env"])
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _variables(one)


def _one_alone(value: object) -> object:
    return [value] if isinstance(value, dict | LoaderEntry) else value


class LoaderKind(SourceKind[list[LoaderEntry]]):
    key = "loader"
    section = Annotated[
        list[LoaderEntry],
        Field(max_length=20),
        BeforeValidator(_one_alone, json_schema_input_type=LoaderEntry | list[LoaderEntry]),
    ]
    empty: ClassVar[list[LoaderEntry]] = []
    description = (
        "Documents that classes of LangChain read; the operator names them in `ONCALL_LOADERS`"
    )
    example = "{name: confluence, arguments: {space_key: OPS}, readers: everyone}"
    tells_changes = "content; every run lists all"
    told_readers = "`readers` of the entry"
    proposal = "a loader of ONCALL_LOADERS and who may read, as in `wiki readers=everyone`"

    def open(
        self, domain: DomainFile, settings: Settings, pictures: PictureCollector | None
    ) -> LangChainSource:
        from loaders.langchain.process import Limits
        from loaders.langchain.source import LangChainSource, LoaderRun

        allowed = settings.allowed_loaders()
        runs = [
            LoaderRun(
                order=_order(entry, allowed, settings),
                name=entry.name,
                digest=entry.digest,
                permissions=entry.permissions(domain.access.groups),
            )
            for entry in self.of(domain)
        ]
        limits = Limits(
            seconds=settings.loader_seconds,
            folders=settings.document_folders(),
            closed=list(_closed(settings)),
        )
        return LangChainSource(runs, limits)

    def readers(self, domain: DomainFile, document: IndexedDocument) -> tuple[Permission, ...]:
        digest = document.version.partition(" ")[0]
        entries = (one for one in self.of(domain) if one.digest == digest)
        entry = next(entries, None)
        # Documents of arguments that are no longer there are nobody's until the next run.
        return entry.permissions(domain.access.groups) if entry else ()

    def recognize(self, text: str, settings: Settings) -> list[dict[str, Any]] | None:
        """`NAME readers=everyone space_key=OPS`; several readers with commas between them."""
        name, *words = text.split()
        if name not in settings.allowed_loaders():
            return None
        pairs = {key: value for key, _, value in (word.partition("=") for word in words)}
        readers = pairs.pop("readers", "")
        if not readers or "" in pairs.values():
            raise ConfigError(
                f"{name}: it is not clear who may read its documents",
                remedy=f"write it as in `{name} readers=everyone space_key=OPS`",
            )
        those = readers if readers == "everyone" else readers.split(",")
        arguments = {key: _plain(value) for key, value in pairs.items()}
        return [{"name": name, "arguments": arguments, "readers": those}]

    def contradictions(self, domain: DomainFile) -> Iterator[Wrong]:
        seen_before = set[str]()
        for place, entry in enumerate(self.of(domain)):
            if entry.digest in seen_before:
                yield (place,), f"{entry.name} is there twice with the same arguments"
            seen_before.add(entry.digest)
            for name in entry.open_secrets():
                yield (
                    (place, "arguments", name),
                    f"{name} would be a secret in a file; write `{name}: {{env: VARIABLE}}`, and "
                    "have the operator allow the variable in ONCALL_LOADERS",
                )
            if entry.readers != "everyone" and domain.access.audience == "channel":
                yield (
                    (place, "readers"),
                    "with `audience: channel` everyone in the channel gets answers from all "
                    "documents; write `access: {audience: asker}`, or `readers: everyone`",
                )

    def problems(self, domain: DomainFile, settings: Settings | None) -> Iterator[Wrong]:
        if settings is None:
            return
        allowed = settings.allowed_loaders()
        for place, entry in enumerate(self.of(domain)):
            problem = _problem_of(entry, allowed, settings)
            if problem:
                yield (place,), f"{problem.reason}; {problem.remedy}"


def _closed(settings: Settings) -> Iterator[Path]:
    """What lies in folders of documents, and is for nobody: data, keys, and files of secrets."""
    yield settings.data_dir.absolute()
    if settings.google_credentials:
        yield settings.google_credentials.absolute()
    for name, value in environment().items():
        if name.endswith(SUFFIX) and value:
            yield Path(value).absolute()


def _plain(word: str) -> object:
    """A number or a switch, if it looks like one."""
    try:
        return json.loads(word)
    except ValueError:
        return word


def _order(
    entry: LoaderEntry, allowed: Mapping[str, AllowedLoader], settings: Settings
) -> LoaderOrder | LoadError:
    from loaders.langchain.process import LoaderOrder

    if problem := _problem_of(entry, allowed, settings):
        return problem
    loader = allowed[entry.name]
    variables = loader.variables_in(environment())
    return LoaderOrder(allowed=loader, arguments=entry.arguments, variables=variables)


def _problem_of(
    entry: LoaderEntry, allowed: Mapping[str, AllowedLoader], settings: Settings
) -> LoadError | None:
    """Looks at the settings and at what is installed, and imports nothing."""

    def problem(reason: str, remedy: str) -> LoadError:
        return LoadError(entry.name, reason, remedy=remedy, refused=True)

    loader = allowed.get(entry.name)
    if loader is None:
        names = ", ".join(sorted(allowed)) or "none"
        return problem(
            f"ONCALL_LOADERS names no loader {entry.name!r}",
            f"have the operator add it, or write one that is there: {names}",
        )
    variables = loader.variables_in(environment())
    for name in sorted(entry.variables()):
        if name not in loader.variables:
            return problem(
                f"{entry.name} may not have the variable {name}",
                f"have the operator add env={name} behind {entry.name} in ONCALL_LOADERS",
            )
        if name not in variables:
            return problem(f"{name} is not set", "export it, or put it in .env")
    package = loader.module.partition(".")[0]
    try:
        is_installed = find_spec(package) is not None
    except ValueError:  # of a module that was loaded in an unusual way
        is_installed = True
    if not is_installed:
        return problem(f"{package} is not installed", f"pip install {package.replace('_', '-')}")
    return None


SOURCE = LoaderKind()
