"""`oncall golden`: checks, imports and proposes golden questions."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cli.options import AsJson, print_json, wired

app = typer.Typer()
golden_app = typer.Typer(no_args_is_help=True, help="Golden questions.")
app.add_typer(golden_app, name="golden")


@golden_app.command("check")
def golden_check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Golden files.")],
    domain: Annotated[
        str, typer.Option(help="Also look for every quote in what this domain publishes.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with golden files, line by line.

    Exits with 1 when anything is."""
    from jobs.golden.check import check_golden

    copilot = wired() if domain else None
    result = check_golden(files, copilot.snapshot(domain) if copilot else None)
    if as_json:
        print_json(
            {
                "files": {str(path): dict(kinds) for path, kinds in result.kinds.items()},
                "stale": result.stale,
                "problems": [vars(problem) for problem in result.problems],
            }
        )
    else:
        for problem in result.problems:
            typer.echo(problem, err=True)
        for path, kinds in result.kinds.items():
            typer.echo(_held(path, kinds))
        if result.stale:
            rests = "answer rests" if result.stale == 1 else "answers rest"
            typer.echo(f"{result.stale} golden {rests} on text that changed", err=True)
    if result.problems:
        raise typer.Exit(1)


@golden_app.command("import")
def golden_import(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A CSV file, or a Google Sheet's link or id.")
    ],
    domain: Annotated[str, typer.Option(help="Begins the ids of rows that have none.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="The golden file to write; standard output without it.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there; it isn't merged.")
    ] = False,
) -> None:
    """Make golden questions of a spreadsheet, a row each.

    Columns: question, and as far as they are there id, kind, answer, facts, document, heading,
    quote, instructions, tags. Rows without a kind become `proposed`. Exits with 1 when a row had
    to be left out."""
    from config.errors import UsageError
    from jobs.golden.imports import decoded, read_table, to_golden_yaml

    if out and out.exists() and not force:
        raise UsageError(f"{out} is there already", remedy="name another file, or add --force")
    table = read_table(decoded(_table_at(source)), domain=domain)
    for problem in table.problems:
        typer.echo(f"{source}: {problem}", err=True)
    if table.ignored:
        typer.echo(f"not imported: the columns {', '.join(table.ignored)}", err=True)
    text = to_golden_yaml(table.questions) if table.questions else ""
    if out:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"{out}: {len(table.questions)} questions; `oncall golden check {out}` next")
    else:
        sys.stdout.write(text)
    if table.problems:
        raise typer.Exit(1)


def _table_at(source: str) -> bytes:
    """Returns the bytes of a file, or of the first sheet of a Google spreadsheet."""
    import re

    from config.errors import ConfigError
    from config.settings import read_settings
    from loaders.google.drive.source import open_drive

    path = Path(source)
    link = re.search(r"docs\.google\.com/spreadsheets/d/([A-Za-z0-9_-]+)", source)
    by_id = re.fullmatch(r"[A-Za-z0-9_-]{20,}", source)
    if path.is_file() or not (link or by_id):
        try:
            return path.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"{source}: {error.strerror}", remedy="name a CSV file, or a Google Sheet's link"
            ) from error
    with open_drive(read_settings()) as drive:
        return drive.sheet(link[1] if link else source)


def _held(path: Path, kinds: Counter[str]) -> str:
    """E.g. `security.yaml: 61 questions: 20 table, 18 lookup, 3 proposed (not counted …)`."""
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    later = " (not counted until somebody confirms them)" if kinds["proposed"] else ""
    noun = "question" if kinds.total() == 1 else "questions"
    return f"{path}: {kinds.total()} {noun}{': ' if named else ''}{named}{later}"


@golden_app.command("propose")
def golden_propose(
    domain: Annotated[str | None, typer.Option(help="One domain only.")] = None,
    unanswerable: Annotated[
        int,
        typer.Option(
            min=0, max=300, help="So many questions without an answer, written by the model."
        ),
    ] = 0,
) -> None:
    """Print what people corrected or answered as golden questions.

    An expert completes them: evidence and rubric are left empty. Nothing that is `proposed`
    counts until somebody gives it a kind."""
    from bot.features.owner_drafts.proposals import propose, to_yaml
    from config.errors import ConfigError, UsageError
    from index.permissions.rules import all_may_read

    copilot = wired()
    chosen = copilot.domain(domain).domain if domain else None
    if unanswerable:
        from jobs.golden.imports import to_golden_yaml
        from jobs.golden.unanswerable import propose_unanswerable

        if chosen is None:
            raise UsageError("--unanswerable asks about one domain's documents; add --domain")
        if copilot.model is None:
            raise ConfigError(
                "--unanswerable needs a language model, and none is connected",
                remedy="set ONCALL_CHAT_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL",
            )
        proposals = propose_unanswerable(
            copilot.model,
            copilot.snapshot(chosen),
            domain=chosen,
            title=copilot.domain(chosen).title,
            count=unanswerable,
        )
        sys.stdout.write(to_golden_yaml(list(proposals)))
        return

    def may_read(name: str, documents: frozenset[str]) -> bool:
        of = copilot.domains.get(name)
        if of is None or of.access.audience == "channel":
            return of is not None
        return all_may_read(copilot.snapshot(name), documents)

    sys.stdout.write(to_yaml(propose(copilot.index.engine, chosen, may_read)))
