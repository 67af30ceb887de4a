"""The `oncall` command: thin commands over the composition root in `oncall.py`.

Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from oncall import Copilot

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A Slack on-call copilot that answers from your team's Google Docs.",
)
config_app = typer.Typer(no_args_is_help=True, help="Check and show the domain files.")
index_app = typer.Typer(no_args_is_help=True, help="Published generations.")
docs_app = typer.Typer(no_args_is_help=True, help="Documents as the bot sees them.")
golden_app = typer.Typer(no_args_is_help=True, help="Golden questions.")
google_app = typer.Typer(no_args_is_help=True, help="Access to Google Drive.")
app.add_typer(config_app, name="config")
app.add_typer(index_app, name="index")
app.add_typer(docs_app, name="docs")
app.add_typer(golden_app, name="golden")
app.add_typer(google_app, name="google")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DomainNames = Annotated[
    list[str] | None, typer.Argument(metavar="[DOMAIN]…", help="All domains by default.")
]
DomainName = Annotated[str, typer.Argument(help="Domain, as in its file.", metavar="DOMAIN")]


def _copilot() -> Copilot:
    from config.settings import read_settings
    from oncall import Copilot

    return Copilot(read_settings())


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="Exit after the sample answer.")] = False,
) -> None:
    """Try it: local Slack and Google, the demo documents, a question answered in a thread."""
    from config.settings import read_settings
    from oncall import Copilot
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

    copilot = _copilot()
    turns = read_history(history) if history else ()
    answer = copilot.ask(domain)(Question(text=question, history=turns), None)
    if as_json:
        _print_json(to_full_response(answer))
        return
    if explain:
        from rich.console import Console

        from agents.explain import explain as print_steps

        print_steps(answer, copilot.index.snapshot(domain).documents, Console())
    else:
        from jobs.inspect import print_answer

        print_answer(answer)


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
    from index.pipelines import print_retrieved

    found = _copilot().retrieve(domain, question, pipeline=pipeline, top_k=top_k)
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


@app.command()
def bot(
    health_port: Annotated[
        int, typer.Option(help="Port of /healthz, /readyz and /metrics; 0 for none.")
    ] = 8080,
) -> None:
    """Answer in Slack over Socket Mode until stopped."""
    _copilot().bot().run(health_port=health_port or None)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8080,
) -> None:
    """Serve the HTTP API, and Slack's events at /slack/events when Slack is configured."""
    import uvicorn

    copilot = _copilot()
    slack = copilot.settings.slack_bot_token is not None
    uvicorn.run(copilot.api(slack=slack), host=host, port=port, log_level="warning")


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


@config_app.command("manifest")
def config_manifest(
    url: Annotated[str, typer.Option(help="Public address of `oncall serve`, for HTTP mode.")] = "",
) -> None:
    """Print the manifest of the Slack app."""
    from bot.manifest import manifest_yaml

    sys.stdout.write(manifest_yaml(url=url))


@golden_app.command("propose")
def golden_propose(
    domain: Annotated[str | None, typer.Option(help="One domain only.")] = None,
) -> None:
    """Print what people corrected or answered as golden questions, for an expert to complete."""
    from bot.golden import propose, to_yaml

    copilot = _copilot()
    sys.stdout.write(to_yaml(propose(copilot.index.engine, domain)))


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
