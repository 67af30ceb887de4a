"""Commands that answer one question or past ones again, run one search, or read one file."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml

from cli.options import AnyDomain, AsJson, DomainName, plain_console, print_json, wired
from config.errors import UsageError

if TYPE_CHECKING:
    from agents.answer import Turn
    from bot.features.replay.service import EditPreview, ReplayReport
    from bot.features.replay.store import PastQuestion
    from config.domain import Domain
    from oncall import Copilot

app = typer.Typer()

_LINK = re.compile(r"/archives/(?P<channel>\w+)/p(?P<seconds>\d{10})(?P<fraction>\d{6})")


@app.command()
def ask(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DOMAIN] QUESTION", help="Without a domain, all of them are looked into."
        ),
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="JSON or YAML list of {role, content}, oldest first.")
    ] = None,
    with_steps: Annotated[bool, typer.Option("--explain", help="Show every step.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question in the terminal."""
    from agents.answer import Question
    from agents.ledger.ledger import QuestionOrigin
    from agents.response import to_full_response
    from agents.thread.turns import zone_of_this_machine
    from config.errors import new_reference

    copilot = wired(at_a_terminal="warning")
    turns = read_history(history) if history else ()
    domains, text = _domains_to_ask(copilot, *_domain_and_question(words or [], copilot.domains))
    question = Question(text=text, history=turns, time_zone=zone_of_this_machine())
    answer, domain = copilot.answering(
        QuestionOrigin(id=new_reference(), door="cli", text=text),
        domains,
        lambda domain: question,
        lambda domain, question: copilot.ask(domain.domain, unattended=with_steps)(question, None),
    )
    if as_json:
        print_json(to_full_response(answer))
        return
    if with_steps:
        from rich.console import Console

        from cli.output.explain import explain as print_steps

        print_steps(answer, copilot.index.snapshot(domain.domain).documents, Console())
    else:
        from cli.output.terminal import print_answer

        print_answer(answer, question=text, domain=domain.domain)


@app.command()
def explain(
    question: Annotated[
        str, typer.Argument(metavar="LINK", help="Slack's link to the question or its answer.")
    ],
) -> None:
    """Show how an answer in Slack was made.

    Kept for ONCALL_EXPLANATION_DAYS. Passages that were changed or deleted since have no text."""
    from rich.console import Console

    from bot.questions.explanations import with_explanation
    from bot.questions.store import QuestionStore, decode_answer
    from cli.output.explain import explain as print_steps

    match = _LINK.search(question)
    if not match:
        raise UsageError(
            f"{question!r} is no link to a message in Slack",
            remedy="copy it from the message's menu: https://….slack.com/archives/C…/p…",
        )
    copilot = wired(at_a_terminal="warning")
    channel, ts = match["channel"], f"{match['seconds']}.{match['fraction']}"
    records = QuestionStore(copilot.index.engine)
    record = records.get(f"{channel}:{ts}") or records.of_post(channel, ts)
    if record is None or not record.answer:
        raise UsageError("no answer of the bot is on record there", remedy="link another message")
    snapshot = copilot.snapshot(record.domain)
    with copilot.index.engine.connect() as connection:
        answer = with_explanation(
            connection, record.id, decode_answer(record.answer), snapshot.chunks
        )
    print_steps(answer, snapshot.documents, Console())


def read_history(path: Path) -> tuple[Turn, ...]:
    """Read a JSON or YAML list of {role: user | assistant, content}, oldest first.

    Raises a UsageError that names the file and the entry."""
    from pydantic import TypeAdapter, ValidationError

    from agents.answer import Turn

    turns = TypeAdapter(tuple[Turn, ...])
    try:
        return turns.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or [])
    except RecursionError:
        raise UsageError(f"history {path} can't be read: nested too deeply") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the top"
        raise UsageError(
            f"history {path}, at {place}: {first['msg'].lower()}",
            remedy='write a list of {"role": "user" or "assistant", "content": "…"}',
        ) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        detail = " ".join(str(error).split())
        raise UsageError(f"history {path} can't be read: {detail}") from None


def _domain_and_question(words: Sequence[str], domains: Collection[str]) -> tuple[str, str]:
    """Returns (domain, question), or (question, "") without a domain.

    Quotes around the question are optional."""
    from difflib import get_close_matches

    if not words:
        raise UsageError("what do you want to ask? Write: oncall ask QUESTION")
    first, *rest = words
    is_domain = first in domains or (
        len(rest) == 1 and (" " in rest[0] or bool(get_close_matches(first, domains, cutoff=0.6)))
    )
    return (first, " ".join(rest)) if is_domain else (" ".join(words), "")


def _domains_to_ask(copilot: Copilot, first: str, second: str) -> tuple[list[Domain], str]:
    """Returns the domains and the question.

    Loads no model. Raises an error if nothing is published."""
    if second:
        copilot.snapshot(first)
        return [copilot.domain(first)], second
    if first in copilot.domains:
        raise UsageError(f"what do you want to ask {first}? Write: oncall ask {first} QUESTION")
    published = copilot.published()
    if not published:
        copilot.snapshot(next(iter(copilot.domains), ""))
    return [copilot.domain(name) for name in published], first


@app.command()
def retrieve(
    domain: DomainName,
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    top_k: Annotated[
        int | None,
        typer.Option(min=1, max=200, help="Passages to return; the domain's own by default."),
    ] = None,
    pipeline: Annotated[
        str, typer.Option(help="standard, rerank, advanced or facets.")
    ] = "standard",
    as_json: AsJson = False,
) -> None:
    """Find passages without answering."""
    from cli.output.inspection import print_retrieved

    passages = wired().retrieve(domain, question, pipeline=pipeline, top_k=top_k)
    if as_json:
        print_json(passages)
    else:
        print_retrieved(passages)


@app.command()
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print blocks as JSON.")] = False,
) -> None:
    """Show a file as markdown, the way the bot reads it.

    A saved Docs response, HTML, Markdown, docx, PDF, CSV or plain text."""
    from loaders.files.local import load_file
    from loaders.output import document_to_json, document_to_markdown

    document = load_file(file)
    for warning in document.warnings:
        sys.stderr.write(f"oncall: {file}: {warning}\n")
    if as_json:
        print_json(document_to_json(document))
    else:
        sys.stdout.write(document_to_markdown(document))


@app.command("replay")
def replay_edit(
    domain: AnyDomain = "",
    document: Annotated[str, typer.Option(metavar="ID", help="The document that is edited.")] = "",
    edited: Annotated[
        Path | None, typer.Option("--as", metavar="FILE", help="Its whole text after the edit.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How far back to look.")] = 30,
    limit: Annotated[
        int, typer.Option(min=1, help="Most questions asked again: hand-offs, then the newest.")
    ] = 50,
    all_documents: Annotated[
        bool,
        typer.Option(
            "--all-documents", help="With access.audience asker: also what not everyone may read."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask a model without a question.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask past questions again, as if a document had been edited.

    Compares the answers of today's documents with those after the edit: which hand-offs would have
    been answered, which answers change, which get worse. Publishes and stores nothing."""
    from bot.features.replay.service import ReplayReport
    from bot.features.replay.views import as_json as to_json
    from bot.features.replay.views import details, summary
    from cli.output.terminal import visible
    from index.permissions.words import Operator, visible_text

    if not document or edited is None:
        raise UsageError("what is edited? Write: oncall replay --document ID --as FILE")
    copilot = wired(at_a_terminal="warning")
    name, document = _edited_document(copilot, domain, document)
    report = ReplayReport(changes=(), totals={})
    if past := _past_questions(copilot, name, days):
        previews = copilot.previews
        with previews.of_file(name, document, edited, all_documents=all_documents) as preview:
            if not preview.after.chunks(document):
                typer.echo(f"{edited} holds no text: as if the document were deleted", err=True)
            report = _replay(copilot, preview, past, limit=limit, yes=yes)
    if as_json:
        values = to_json(report, lambda words: visible_text(words, Operator()))
        print_json({"domain": name, "document": document, "days": days, **values})
        return
    console = plain_console()
    console.print(f"{name}: {document} as {edited}, the last {days} days")
    console.print(summary(report) if past else "Nothing to replay: no question is on record.")
    for line in details(report, lambda words: visible_text(words, Operator())):
        console.print(visible(line))


def _edited_document(copilot: Copilot, domain: str, document: str) -> tuple[str, str]:
    """(domain, id) of the document. Raises UsageError, which names the nearest id."""
    from enrichment.references import find_document, paths_of, suggest_document

    names = [copilot.domain(domain).domain] if domain else list(copilot.published())
    snapshots = {name: copilot.index.snapshot(name) for name in names}
    paths: dict[str, str] = {}
    for snapshot in snapshots.values():
        paths |= paths_of(snapshot.documents.values())
    identity = find_document(document, paths)
    holders = [name for name, snapshot in snapshots.items() if identity in snapshot.documents]
    if not holders:
        raise UsageError(f"no document {document!r}{suggest_document(document, paths)}")
    if len(holders) > 1:
        raise UsageError(
            f"{identity!r} is in {' and '.join(holders)}",
            remedy=f"name one of them: oncall replay {holders[0]} --document …",
        )
    return holders[0], identity


def _past_questions(copilot: Copilot, name: str, days: int) -> list[PastQuestion]:
    from bot.features.alerts.history import AlertCounts
    from bot.features.alerts.store import create_tables
    from bot.features.replay.store import PastQuestions
    from bot.questions.store import QuestionStore
    from durable.database import now

    engine = copilot.index.engine
    QuestionStore(engine)  # creates its tables where no bot has run
    create_tables(engine)
    past = PastQuestions(engine, AlertCounts(engine).question_ids)
    return past.since(name, now() - timedelta(days=days))


def _replay(
    copilot: Copilot, preview: EditPreview, past: Sequence[PastQuestion], *, limit: int, yes: bool
) -> ReplayReport:
    from agents.ledger.runs import TOKENS_OF_A_RUN
    from bot.features.replay.service import plan_replay, replay
    from cli.evaluation.systems import at_a_time

    plan = plan_replay(preview, past, limit=limit)
    if plan.answers and copilot.model and not yes:
        tokens = plan.answers * TOKENS_OF_A_RUN
        cost = f"{plan.answers} answers by {copilot.model_name}, about {tokens:,} tokens"
        if not sys.stdin.isatty():
            raise UsageError(f"this takes {cost}", remedy="add --yes, or a lower --limit")
        typer.confirm(f"This takes {cost}. Go on?", abort=True, err=True)
    with ThreadPoolExecutor(at_a_time(copilot), thread_name_prefix="replay") as pool:
        return replay(plan, pool.map)
