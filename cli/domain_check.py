"""What only the place where it runs can tell of a domain file: its files, its rota, its documents.

Not asked at the start of the bot, which needs none of the files to answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.confidence import kept_threshold
from bot.handoff.rota import is_address, on_call
from config.domain import Domain
from config.domain_files import Problem, check_domains, nearest, problem_at
from config.errors import ConfigError, LoadError
from config.providers import provider_and_model
from config.settings import Settings
from index.publish import published_documents
from jobs.golden.questions import load_golden
from loaders.files.local import find_files, load_file


def all_problems(settings: Settings) -> tuple[dict[str, Domain], list[Problem]]:
    """The valid domains, and what is wrong with any file, in the order of the files.

    Raises ConfigError where there is no file, or the database can't be reached."""
    from oncall import beyond_the_file

    domains, problems = check_domains(settings.config_dir, beyond_the_file(settings))
    for name, domain in domains.items():
        problems += misses(domain, published_documents(settings, name))
    return domains, sorted(problems, key=lambda one: (one.path, one.line, one.column))


def misses(domain: Domain, published: frozenset[str] | None) -> Iterator[Problem]:
    """What the file refers to and isn't there. `published`: document ids; None when unknown."""
    paths: list[Path] = []
    drive = domain.sources.google_drive
    all_known = published is not None or not (drive.folders or drive.documents)
    for place, entry in enumerate(domain.sources.files):
        try:
            paths += find_files([entry], domain.path.absolute().parent)[0]
        except ConfigError as error:
            all_known = False
            yield problem_at(domain.path, ["sources", "files", place], str(error))
    yield from _closed_files(domain)
    yield from _rotas(domain)
    yield from _golden(domain)
    if all_known:
        yield from _examples(domain, published or frozenset(), paths)


def reserve(domain: Domain, settings: Settings) -> Iterator[str]:
    """What `answer.max_wrong` comes to at present, in one line. Creates nothing."""
    most = domain.answer.max_wrong
    if most is None:
        return
    model = settings.chat_model if settings.has_chat_model() else None
    name = provider_and_model(model)[1] if model else ""
    found = kept_threshold(settings, domain.domain, name, most)
    yield f"{domain.path}: answer.max_wrong {most:g}: {found}"


def _closed_files(domain: Domain) -> Iterator[Problem]:
    access = domain.access
    if (
        access.audience == "asker"
        and domain.sources.files
        and "files" not in access.model_fields_set
    ):
        yield problem_at(
            domain.path,
            ["sources", "files"],
            "files answer nobody with `access: {audience: asker}`; write `access.files: everyone` "
            "if everyone who may ask may read them, or `nobody` if that is meant",
        )


def _rotas(domain: Domain) -> Iterator[Problem]:
    """A rota behind a URL is left alone: to check a file should ask nobody else."""
    escalation = domain.escalation
    places: list[tuple[list[str | int], str]] = [(["escalation", "rota"], escalation.rota)]
    for number, level in enumerate(escalation.levels):
        places.append((["escalation", "levels", number, "rota"], level.rota))
    zone = ZoneInfo(escalation.time_zone or "UTC")
    for place, rota in places:
        try:
            if rota and not is_address(rota):
                on_call(rota, datetime.now(UTC), relative_to=domain.path.parent, zone=zone)
        except ConfigError as error:
            said = " ".join(str(error).split())  # YAML errors have several lines
            yield problem_at(domain.path, place, said)


def _golden(domain: Domain) -> Iterator[Problem]:
    for place, file in enumerate(domain.golden_files):
        try:
            load_golden([file])
        except ConfigError as error:
            yield problem_at(domain.path, ["evaluation", "golden", place], str(error))


def _examples(
    domain: Domain, published: frozenset[str], paths: Sequence[Path]
) -> Iterator[Problem]:
    wanted = {document for example in domain.examples for document in example.documents}
    if wanted <= published:
        return
    known = published | {_document_id(path) for path in paths}
    for place, example in enumerate(domain.examples):
        for position, document in enumerate(example.documents):
            if document in known:
                continue
            message = f"no document {document!r}{nearest(document, sorted(known))}"
            if published:
                message += "" if message.endswith("?") else "."
                message += f" If it is new, run `oncall ingest {domain.domain}` first"
            yield problem_at(domain.path, ["examples", place, "documents", position], message)


def _document_id(path: Path) -> str:
    """A file that can't be read is reported by the ingestion; its name is known all the same."""
    try:
        return load_file(path).id
    except LoadError:
        return path.stem
