"""Checks of an installation besides Slack.

Some checks of a domain file depend on this machine: its files, its rota, its documents. The bot
skips these at its start, because it needs none of the files to answer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from sqlalchemy.exc import SQLAlchemyError

from agents.confidence import read_threshold
from bot.rotas.rota import RotaPlaces, is_address, on_call
from config.checks import Finding, attempted, fine, is_demo, of_error, skipped, wrong
from config.domain import Domain
from config.domain_files import Problem, check_domains, problem_at
from config.errors import ConfigError, CopilotError, LoadError
from config.providers import provider_and_model
from config.settings import Settings
from enrichment.references import find_document, suggest_document
from index.publish import published_documents
from jobs.golden.questions import load_golden
from loaders.files.local import find_files, load_file
from loaders.files.names import FilePlace, name_files, places_of
from loaders.registry import used_kinds

if TYPE_CHECKING:
    from index.store.documents import GenerationInfo
    from loaders.google.drive.access import AccessReport
    from loaders.google.drive.source import GoogleDrive
    from oncall import Copilot


def all_problems(settings: Settings) -> tuple[dict[str, Domain], list[Problem]]:
    """Returns the valid domains, and the problems of all files in file order.

    Raises ConfigError if there is no file or the database is unreachable."""
    from oncall import runtime_checks

    domains, problems = check_domains(settings.config_dir, runtime_checks(settings))
    for name, domain in domains.items():
        problems += misses(domain, published_documents(settings, name), settings)
    return domains, sorted(problems, key=lambda one: (one.path, one.line, one.column))


def misses(
    domain: Domain, published: Mapping[str, str] | None, settings: Settings | None = None
) -> Iterator[Problem]:
    """Yields missing targets of references. `published`: document id → path; None if unknown.
    `settings`: where files and rotas may lie."""
    allowed = settings.document_folders() if settings else None
    places = RotaPlaces.of(settings) if settings else RotaPlaces()
    files: list[FilePlace] = []
    kinds = used_kinds(domain)
    all_known = published is not None or all(kind.key == "files" for kind in kinds)
    for entry in domain.sources.files:
        try:
            files += places_of(find_files([entry.path], domain.path.absolute().parent, allowed))
        except ConfigError:
            all_known = False
    for kind in kinds:
        for place, message in kind.problems(domain, settings):
            yield problem_at(domain.path, ["sources", kind.key, *place], message)
    yield from _rotas(domain, places)
    yield from _golden(domain)
    if all_known:
        yield from _examples(domain, published or {}, name_files(files))


def reserve(domain: Domain, settings: Settings) -> Iterator[str]:
    """Describes the current effect of `answer.max_wrong` in one line. Creates nothing."""
    most = domain.answer.max_wrong
    if most is None:
        return
    model = settings.chat_model if settings.has_chat_model() else None
    name = provider_and_model(model)[1] if model else ""
    threshold = read_threshold(settings, domain.domain, name, most)
    yield f"{domain.path}: answer.max_wrong {most:g}: {threshold}"


def _rotas(domain: Domain, allowed: RotaPlaces) -> Iterator[Problem]:
    """Skips rotas behind a URL: checking a file must not send requests."""
    escalation = domain.escalation
    places: list[tuple[list[str | int], str]] = [(["escalation", "rota"], escalation.rota)]
    for number, level in enumerate(escalation.levels):
        places.append((["escalation", "levels", number, "rota"], level.rota))
    zone = ZoneInfo(escalation.time_zone or "UTC")
    for place, rota in places:
        try:
            if rota and not is_address(rota, allowed.inner_hosts):
                folder, now = domain.path.parent, datetime.now(UTC)
                on_call(rota, now, relative_to=folder, zone=zone, places=allowed)
        except ConfigError as error:
            message = " ".join(str(error).split())  # YAML errors have several lines
            yield problem_at(domain.path, place, message)


def _golden(domain: Domain) -> Iterator[Problem]:
    for place, file in enumerate(domain.golden_files):
        try:
            load_golden([file])
        except ConfigError as error:
            yield problem_at(domain.path, ["evaluation", "golden", place], str(error))


def _examples(
    domain: Domain, published: Mapping[str, str], files: Mapping[str, FilePlace]
) -> Iterator[Problem]:
    existing = dict(published)
    is_read = False
    for place, example in enumerate(domain.examples):
        for position, document in enumerate(example.documents):
            try:
                if find_document(document, existing):
                    continue
                if not is_read:  # slow, and needless while all that is named is published
                    existing |= {_document_id(name, one): name for name, one in files.items()}
                    is_read = True
                if find_document(document, existing):
                    continue
                message = f"no document {document!r}{suggest_document(document, existing)}"
            except ConfigError as error:
                message = str(error)
            else:
                if published:
                    message += "" if message.endswith("?") else "."
                    message += f" If it is new, run `oncall ingest {domain.domain}` first"
            yield problem_at(domain.path, ["examples", place, "documents", position], message)


def _document_id(name: str, file: FilePlace) -> str:
    """Returns the id also for an unreadable file, which the ingestion reports."""
    try:
        document = load_file(file.path)
    except LoadError:
        return name
    return document.id if document.id != document.path else name


GOOGLE_KEY = "Google key"
ATTEMPTS = 2
TIMEOUT = 15.0


def check_domain_files(settings: Settings) -> tuple[dict[str, Domain], list[Finding]]:
    """Returns the valid domains, and one finding per problem, or a single one if all is well."""

    check = "domain files"
    try:
        domains, problems = all_problems(settings)
    except CopilotError as error:
        return {}, [of_error(check, error)]
    if problems:
        return domains, [wrong(check, str(one)) for one in problems]
    if demo := sorted(name for name, domain in domains.items() if is_demo(domain)):
        own = len(demo) < len(domains)
        remedy = "take their files away" if own else "run `oncall init` to make your own"
        message = f"{', '.join(demo)} in {settings.config_dir / 'domains'} are the demo's"
        return domains, [wrong(check, message, remedy)]
    return domains, [fine(check, f"{', '.join(domains)} in {settings.config_dir / 'domains'}")]


def check_storage(settings: Settings) -> Iterator[Finding]:
    """Checks the data folder, the database and the index store."""
    from config.parsing.secret_files import private_folder
    from durable.connection_limits import accepts_writes, blockers, connection_sum
    from durable.failures import READ_ONLY
    from durable.heartbeat import CLOCK_SECONDS, clock_ahead
    from index.store.database import open_database

    def folder() -> Iterator[Finding]:
        where = private_folder(settings.data_dir)
        free = os.statvfs(where)
        yield fine("data folder", f"{where}, {free.f_bavail * free.f_frsize / 1e9:.0f} GB free")

    def database() -> Iterator[Finding]:
        engine = open_database(settings)
        total, holding = connection_sum(engine), blockers(engine)
        ahead, passive = clock_ahead(engine), not accepts_writes(engine)
        engine.dispose()
        if passive:
            yield wrong("database", READ_ONLY, "point DATABASE_URL to the primary, or promote it")
        else:
            kind = "PostgreSQL" if settings.database_url else "SQLite, for one worker"
            yield fine("database", kind)
        if abs(ahead) > CLOCK_SECONDS:
            wrong_by = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the database's"
            yield wrong("clock", wrong_by, "let NTP set the clocks of both machines")
        if total and (problem := total.problem()):
            yield wrong("database connections", *problem)
        elif settings.database_url:
            hidden = "not compared with the server's limit, which it or its pooler does not show"
            yield fine("database connections", str(total or hidden))
        for one in holding:
            end = f"end it, if nobody needs it: SELECT pg_terminate_backend({one.pid})"
            yield wrong("database locks", str(one), end)

    def index_store() -> Iterator[Finding]:
        from index.generations.shared import SharedGenerations

        if settings.index_store:
            SharedGenerations(settings.index_store).look()
            yield fine("index store", settings.index_store)

    yield from attempted("data folder", folder)
    yield from attempted("database", database)
    yield from attempted("index store", index_store)


def model_setting(settings: Settings) -> Finding:
    """Reports the configured chat model without calling it."""
    check, name = "language model", settings.chat_model
    if not name:
        return fine(
            check,
            "none: answers quote the documents; ONCALL_CHAT_MODEL and OPENAI_API_KEY add one",
        )
    if settings.has_chat_model():
        return fine(check, name)
    return wrong(
        check,
        f"none: ONCALL_CHAT_MODEL={name} is without effect, as there is nowhere to ask",
        "set OPENAI_API_KEY or OPENAI_BASE_URL, or write provider:model",
    )


def check_google(settings: Settings, domains: Mapping[str, Domain]) -> Iterator[Finding]:
    """Checks the key, and the folders of each domain that reads Google Drive."""
    reading = [
        domain for domain in domains.values() if "google_drive" in domain.sources.used_keys()
    ]
    if not reading:
        yield fine(GOOGLE_KEY, "not needed: no domain reads Google Drive")
        return
    try:
        with drive_to_check(settings) as drive:
            drive.reach()
            yield fine(GOOGLE_KEY, drive.account)
            for domain in reading:
                reports = drive.check(domain.sources.google_drive)
                yield from folder_findings(domain, reports)
    except CopilotError as error:
        yield of_error(GOOGLE_KEY, error)


def drive_to_check(settings: Settings) -> GoogleDrive:
    """Opens Drive with a short timeout, because a user waits. Raises the errors of `open_drive`."""
    from loaders.google.drive.source import open_drive

    return open_drive(settings, attempts=ATTEMPTS, timeout=TIMEOUT)


def folder_findings(domain: Domain, reports: Iterable[AccessReport]) -> list[Finding]:
    """Returns one finding per blocking folder or document; else one with the counts."""
    check, access = f"documents of {domain.domain}", list(reports)
    bad = [
        wrong(check, f"{one.kind} {one.name or one.id}: {one.problem}", one.remedy)
        for one in access
        if one.in_the_way(domain.access.audience)
    ]
    return bad or [fine(check, counted(access))]


def counted(reports: Iterable[AccessReport]) -> str:
    """E.g. `14 Google Docs, 2 PDF in 3 folders; 1 file is of no kind that is read`."""
    kinds: dict[str, int] = {}
    folders = unread = 0
    for report in reports:
        folders += report.kind == "folder"
        unread += sum(report.unsupported.values())
        for kind, count in report.documents.items():
            kinds[kind] = kinds.get(kind, 0) + count
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "no documents"
    where = f" in {folders} {'folder' if folders == 1 else 'folders'}" if folders else ""
    are = "1 file is" if unread == 1 else f"{unread} files are"
    return counts + where + (f"; {are} of no kind that is read" if unread else "")


def check_published(copilot: Copilot, names: Iterable[str]) -> Iterator[Finding]:
    """Checks each domain's published index and its freshness."""
    for name in names:

        def index(name: str = name) -> Iterator[Finding]:
            info = copilot.index.figures(name)
            summary = f"{info.documents} documents, generation {info.number}"
            fresh = copilot.freshness(name)
            yield fine(f"index of {name}", f"{summary}; {fresh.sentence()}")
            if absent := not_here(copilot, info):
                yield skipped(f"index of {name}", absent)
            if closed := _without_a_link(copilot, info):
                yield closed
            for complaint in fresh.complaints():
                yield wrong(f"index of {name}", complaint)

        yield from attempted(f"index of {name}", index)


def _without_a_link(copilot: Copilot, info: GenerationInfo) -> Finding | None:
    """Documents whose citations open nothing."""
    count = sum(not one.url for one in copilot.index.cards(info))
    if not count:
        return None
    missing = "ONCALL_PUBLIC_URL, SLACK_CLIENT_ID and SLACK_CLIENT_SECRET"
    return skipped(
        f"index of {info.domain}",
        f"{count} documents have no web address, so their citations are paths without a link",
        remedy=f"set {missing}, see “Pages of documents” in docs/slack-setup.md",
    )


def not_here(copilot: Copilot, info: GenerationInfo) -> str:
    """What a question on this machine waits for first; empty when the index is here."""
    if copilot.index.is_here(info):
        return ""
    if copilot.settings.index_store and info.manifest:
        how = "fetches it from the index store"
    elif copilot.settings.chroma_url:
        how = "builds it, with vectors from the Chroma server"
    else:
        how = f"builds it, which embeds {info.chunks + info.units} texts"
    return f"not on this machine yet: the first question, or a process that starts, {how}"


def running_bots(settings: Settings) -> int | None:
    """How many give signs of life in the database; None while it can't be read."""
    from durable.heartbeat import last_signs
    from index.store.database import open_database

    try:
        engine = open_database(settings)
        try:
            return sum(one.is_alive for one in last_signs(engine, "bot"))
        finally:
            engine.dispose()
    except (CopilotError, SQLAlchemyError):
        return None


def runner_state(copilot: Copilot) -> Finding:
    """Whether a job runner keeps the schedules, by its signs of life in the database."""
    check = "job runner"
    if not any(domain.refresh for domain in copilot.domains.values()):
        return fine(check, "not needed: no domain has a `refresh`")
    signs = sorted(copilot.runners(), key=lambda one: one.age_seconds)
    alive = [one for one in signs if one.is_alive]
    if alive:
        return fine(check, f"{len(alive)} running, on {', '.join({one.host for one in alive})}")
    last = f"; {signs[0].host} was silent for {signs[0].age_seconds:.0f} s" if signs else ""
    remedy = "start `oncall jobs run`"
    if signs:
        remedy = (
            f"see what it waits for, by /readyz on its port or its log; if it is gone, {remedy}"
        )
    return wrong(check, f"none runs, so nothing is refreshed{last}", remedy)
