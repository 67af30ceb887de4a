"""START HERE. The composition root, and the `oncall` command.

`Copilot` is the one place that builds clients and wires the layers together; the commands below
it are thin. Heavy libraries load when a part is first used: `oncall --help` is quick.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.errors import CopilotError, UsageError

if TYPE_CHECKING:
    from agents.answer import Ask
    from bot.app import Bot
    from config.domain import Domain
    from config.models import ChatModel, Embedder
    from config.settings import Settings
    from enrichment.enrich import Enriched
    from index.publish import Index
    from index.search import Snapshot
    from jobs.ingest import IngestReport, Source, Watch
    from loaders.document import Document


class Copilot:
    """Every part of the product, built from the settings when first used."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._asks: dict[str, Ask] = {}

    @cached_property
    def domains(self) -> dict[str, Domain]:
        from config.domain_files import load_domains

        return load_domains(self.settings.config_dir)

    @cached_property
    def embedder(self) -> Embedder:
        from config.embedding_models import build_embedder

        return build_embedder(self.settings)

    @cached_property
    def model(self) -> ChatModel | None:
        from config.chat_model import build_chat_model

        return build_chat_model(self.settings)

    @cached_property
    def index(self) -> Index:
        from index.publish import open_index

        return open_index(self.settings, self.embedder)

    def domain(self, name: str) -> Domain:
        """Raises UsageError that names the nearest domain."""
        from config.domain_files import nearest

        if name not in self.domains:
            raise UsageError(f"no domain {name!r}{nearest(name, sorted(self.domains))}")
        return self.domains[name]

    def ask(self, name: str) -> Ask:
        """The agents of one domain; its generation is looked up at each question."""
        from agents.graph import build_ask

        if name not in self._asks:
            self._asks[name] = build_ask(
                snapshot=lambda: self.index.snapshot(name),
                domain=self.domain(name),
                model=self.model,
            )
        return self._asks[name]

    def ingest(self, name: str, *, full: bool = False, watch: Watch | None = None) -> IngestReport:
        """One run of the ingestion job."""
        from enrichment.budget import Budget
        from enrichment.cache import ReplyCache
        from enrichment.chunker import ChunkOptions, split
        from enrichment.enrich import enrich
        from jobs.ingest import ingest

        options = ChunkOptions()
        budget = Budget()
        cache = ReplyCache(self.index.engine) if self.model else None

        def enriched(document: Document) -> Enriched:
            chunks = split(document, count_tokens=self.embedder.count_tokens, options=options)
            return enrich(document, chunks, model=self.model, cache=cache, budget=budget)

        return ingest(
            name,
            sources=self.sources(name),
            stage=self.index.stage,
            enrich=enriched,
            enriched_by=self.model.name if self.model else "extractive",
            pipeline=f"{options} {self.embedder.name}",
            spent=lambda: budget.usage,
            full=full,
            watch=watch,
        )

    def published(self) -> dict[str, Snapshot]:
        """The current generation of every domain that has one."""
        from config.errors import IndexUnavailable

        found: dict[str, Snapshot] = {}
        for name in self.domains:
            with suppress(IndexUnavailable):
                found[name] = self.index.snapshot(name)
        return found

    def sources(self, name: str) -> list[Source]:
        from jobs.sources import DriveSource, FileSource

        domain = self.domain(name)
        sources: list[Source] = []
        if domain.sources.google_drive.folders or domain.sources.google_drive.documents:
            from loaders.google_drive import open_drive

            sources.append(DriveSource(domain, open_drive(self.settings)))
        if domain.sources.files:
            sources.append(FileSource(domain))
        return sources

    def bot(self, *, socket: bool = True) -> Bot:
        from bot.app import build_bot

        return build_bot(
            self.settings,
            domains=self.domains,
            ask=self.ask,
            engine=self.index.engine,
            socket=socket,
        )


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A Slack on-call copilot that answers from your team's Google Docs.",
)
config_app = typer.Typer(no_args_is_help=True, help="Check and show the domain files.")
index_app = typer.Typer(no_args_is_help=True, help="Published generations.")
docs_app = typer.Typer(no_args_is_help=True, help="Documents as the bot sees them.")
google_app = typer.Typer(no_args_is_help=True, help="Access to Google Drive.")
app.add_typer(config_app, name="config")
app.add_typer(index_app, name="index")
app.add_typer(docs_app, name="docs")
app.add_typer(google_app, name="google")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DomainNames = Annotated[
    list[str] | None, typer.Argument(metavar="[DOMAIN]…", help="All domains by default.")
]
DomainName = Annotated[str, typer.Argument(help="Domain, as in its file.", metavar="DOMAIN")]


def _copilot() -> Copilot:
    from config.settings import read_settings

    return Copilot(read_settings())


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="Exit after the sample answer.")] = False,
) -> None:
    """Try it: local Slack and Google, the demo documents, a question answered in a thread."""
    from config.settings import read_settings
    from oncall_demo import run_demo

    run_demo(Copilot, read_settings(), once=once)


@app.command("ingest")
def ingest_command(
    names: DomainNames = None,
    full: Annotated[bool, typer.Option("--full", help="Do every document again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the ingestion job once: load, split, enrich, publish."""
    from jobs.report import ProgressBar, print_reports, to_json

    copilot = _copilot()
    chosen = [copilot.domain(name).domain for name in names or copilot.domains]
    reports = []
    for name in chosen:
        with ProgressBar(name, shown=not as_json) as bar:
            reports.append(copilot.ingest(name, full=full, watch=bar))
    if as_json:
        _print_json([to_json(report) for report in reports])
    else:
        print_reports(reports)
    if any(report.failed for report in reports):
        raise typer.Exit(1)


@app.command()
def ask(
    domain: DomainName,
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    history: Annotated[
        Path | None, typer.Option(help="JSON or YAML list of {role, content}, oldest first.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every step.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question in the terminal."""
    from agents.answer import Question
    from agents.history import read_history
    from agents.response import to_full_response

    turns = read_history(history) if history else ()
    answer = _copilot().ask(domain)(Question(text=question, history=turns), None)
    if as_json:
        _print_json(to_full_response(answer))
        return
    from agents.explain import print_answer, print_explanation

    (print_explanation if explain else print_answer)(answer)


@app.command()
def retrieve(
    domain: DomainName,
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    top_k: Annotated[int, typer.Option(min=1, max=200, help="Passages to return.")] = 8,
    pipeline: Annotated[
        str, typer.Option(help="standard, rerank, advanced or facets.")
    ] = "standard",
    as_json: AsJson = False,
) -> None:
    """Find passages without answering."""
    from index.pipelines import print_retrieved, retrieve

    copilot = _copilot()
    snapshot = copilot.index.snapshot(copilot.domain(domain).domain)
    found = retrieve(snapshot, question, pipeline=pipeline, top_k=top_k, model=copilot.model)
    if as_json:
        _print_json(found)
    else:
        print_retrieved(found)


@app.command()
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print blocks as JSON.")] = False,
) -> None:
    """Show a file as markdown: a saved Docs response, HTML, Markdown, docx, PDF, CSV or text."""
    from loaders.files import load_file
    from loaders.render import document_to_json, document_to_markdown

    document = load_file(file)
    for warning in document.warnings:
        sys.stderr.write(f"oncall: {file}: {warning}\n")
    if as_json:
        _print_json(document_to_json(document))
    else:
        sys.stdout.write(document_to_markdown(document))


@app.command("bot")
def bot_command() -> None:
    """Answer in Slack over Socket Mode until stopped."""
    _copilot().bot().run()


@app.command()
def evaluate(
    golden: Annotated[list[Path], typer.Argument(metavar="GOLDEN…", help="Golden question files.")],
    domain: Annotated[str, typer.Option(help="The domain that answers.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.json and report.html.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="An earlier report.json to hold against.")
    ] = None,
) -> None:
    """Ask the golden questions and score the answers."""
    from jobs.evaluate import run_evaluation

    copilot = _copilot()
    run_evaluation(
        copilot.ask(domain),
        golden,
        domain=domain,
        model=copilot.model.name if copilot.model else "",
        out=out,
        compare=compare,
    )


@index_app.command("list")
def index_list(domain: DomainName) -> None:
    """List a domain's generations, newest first."""
    from jobs.inspect import print_generations

    copilot = _copilot()
    print_generations(domain, copilot.index.generations(copilot.domain(domain).domain))


@index_app.command("rollback")
def index_rollback(domain: DomainName) -> None:
    """Answer from the generation before the current one."""
    copilot = _copilot()
    info = copilot.index.rollback(copilot.domain(domain).domain)
    typer.echo(f"{domain} answers from generation {info.number} now")


@docs_app.command("list")
def docs_list(domain: DomainName) -> None:
    """List a domain's documents with their summaries."""
    from jobs.inspect import print_documents

    copilot = _copilot()
    print_documents(copilot.index.snapshot(copilot.domain(domain).domain))


@docs_app.command("show")
def docs_show(document: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Show a document's card and chunks as the bot sees them."""
    from jobs.inspect import print_document

    print_document(_copilot().published(), document)


@google_app.command("check")
def google_check(names: DomainNames = None) -> None:
    """Say what the credentials can read, folder by folder, with the remedy."""
    from jobs.inspect import print_access
    from loaders.google_drive import open_drive

    copilot = _copilot()
    fine = True
    with open_drive(copilot.settings) as drive:
        for name in names or copilot.domains:
            source = copilot.domain(name).sources.google_drive
            fine &= print_access(name, drive.check(source))
    if not fine:
        raise typer.Exit(1)


@app.command()
def status() -> None:
    """Say what is configured, published and reachable."""
    from jobs.status import print_status

    copilot = _copilot()
    print_status(copilot.settings, copilot.domains, copilot.index)


@config_app.command("check")
def config_check() -> None:
    """Check every domain file, as a compiler would."""
    from config.domain_files import check_domains
    from config.settings import read_settings

    domains, problems = check_domains(read_settings().config_dir)
    for problem in problems:
        typer.echo(problem, err=True)
    for name, domain in domains.items():
        typer.echo(f"{domain.path}: ok ({name}, {len(domain.channels)} channels)")
    if problems:
        raise typer.Exit(2)


@config_app.command("schema")
def config_schema() -> None:
    """Print the JSON Schema of a domain file, for editors."""
    from config.domain import Domain

    _print_json(Domain.model_json_schema())


@config_app.command("show")
def config_show(domain: DomainName) -> None:
    """Print a domain with every default filled in."""
    _print_json(_copilot().domain(domain).model_dump(mode="json"))


def main() -> None:
    """Run the command line; a failure is one line that says what, where and the remedy."""
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    try:
        app()
    except CopilotError as error:
        if debug:
            raise
        typer.echo(f"oncall: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
