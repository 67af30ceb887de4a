"""Questions on the terminal or over a pipe. Each answer is validated at once; a wrong one is asked
again. Command line options answer questions in advance."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import typer

from cli.setup.doctor import print_finding
from config.checks import Finding, bare, of_error
from config.errors import ConfigError, CopilotError, UsageError

T = TypeVar("T")


class OutOfAnswersError(UsageError):
    """The pipe has ended, or questions are disabled."""


@dataclass(frozen=True)
class Prompter:
    """Asks and prints without wrapping, so that links and commands stay whole."""

    asks: bool = True
    """False: a question without an answer in advance is an error."""

    def say(self, text: str = "") -> None:
        typer.echo(text)

    def heading(self, text: str) -> None:
        typer.echo("\n" + typer.style(text, bold=True))

    def show(self, finding: Finding) -> None:
        print_finding(finding, indent="  ", named=False)

    def ask(self, prompt: str, *, hidden: bool = False, default: str = "", told_by: str) -> str:
        """Returns the typed line, or `default` for an empty one. `hidden`: do not echo the input.

        `told_by`: the variable or option that answers in advance. Raises OutOfAnswersError."""
        if not self.asks:
            raise OutOfAnswersError(f"{prompt}: not told", remedy=f"set {told_by}")
        if sys.stdin.isatty():
            return str(
                typer.prompt(
                    f"  {prompt}", hide_input=hidden, default=default, show_default=bool(default)
                )
            )
        typer.echo(f"  {prompt}" + (f" [{default}]:" if default else ":"))
        line = sys.stdin.readline()
        if not line:
            raise OutOfAnswersError(
                f"{prompt}: the input ended before an answer",
                remedy=f"pipe one in, or set {told_by}",
            )
        return line.strip() or default

    def agrees(self, prompt: str, decision: bool | None) -> bool:
        """Returns `decision`; yes if it may not ask. Enter means yes, the end of a pipe no."""
        if decision is not None or not self.asks:
            return decision is not False
        try:
            answer = self.ask(f"{prompt} [Y/n]", told_by="")
        except OutOfAnswersError:
            return False
        return answer.lower() in {"", "y", "yes"}

    def agrees_to_more(self, prompt: str) -> bool:
        """Asks; Enter or the end of a pipe means no."""
        try:
            return self.ask(f"{prompt} [y/N]", told_by="").lower() in {"y", "yes"}
        except OutOfAnswersError:
            return False


@dataclass(frozen=True, kw_only=True)
class ToBeTold:
    """One question."""

    prompt: str
    told_by: str
    """Variable or option that answers in advance."""
    hidden: bool = False
    default: str = ""


def settled(
    asker: Prompter,
    question: ToBeTold,
    initial: str,
    check: Callable[[str], tuple[Finding, T | None]],
) -> T:
    """Ask until `check` accepts an answer, and return its value. `initial` is tried first.

    An empty line tries the previous answer again, after a fix elsewhere. Raises ConfigError if
    `initial` is wrong and questions are disabled."""
    last = initial
    text = initial or _ask(asker, question, last)
    while True:
        try:
            finding, value = check(text)
        except CopilotError as error:
            finding, value = of_error("", error), None
        asker.show(finding)
        if value is not None:
            return value
        if not asker.asks:
            raise ConfigError(f"{question.told_by}: {finding.said}", remedy=finding.remedy)
        last = text
        text = _ask(asker, question, last)


def _ask(asker: Prompter, question: ToBeTold, last: str) -> str:
    again = f"{question.prompt}, or Enter to try again" if last else question.prompt
    while True:
        text = asker.ask(
            again,
            hidden=question.hidden,
            default="" if last else question.default,
            told_by=question.told_by,
        )
        if text := bare(text) or last:
            return text


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    """Answers given as options. Empty or None: ask, or use the default."""

    channel: str = ""
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    google_key: Path | None = None
    domain: str = ""
    title: str = ""
    admin: str = ""
    ingest: bool | None = None
    hello: bool | None = None
