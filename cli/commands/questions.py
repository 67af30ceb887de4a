"""Commands that answer one question, run one search, or read one file."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml

from cli.options import AsJson, DomainName, print_json, wired
from config.errors import UsageError

if TYPE_CHECKING:
    from agents.answer import Turn
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
