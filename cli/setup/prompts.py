"""Questions on the terminal or over a pipe, validated at once and repeated; options of the command
line answer them in advance."""

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
    """The pipe has ended, or nothing may be asked."""


@dataclass(frozen=True)
class Prompter:
    """Lines are never broken by us: links and commands in them stay whole."""

    asks: bool = True
    """False: what has not been told is missing."""

    def say(self, text: str = "") -> None:
        typer.echo(text)

    def heading(self, text: str) -> None:
        typer.echo("\n" + typer.style(text, bold=True))

    def show(self, finding: Finding) -> None:
        print_finding(finding, indent="  ", named=False)

    def ask(self, prompt: str, *, hidden: bool = False, default: str = "", told_by: str) -> str:
        """The line that was typed, or `default` for an empty one; what is hidden is not shown.

        `told_by`: what could have told it. Raises OutOfAnswersError."""
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
        """Without a `decision`, Enter means yes, and a pipe that has ended no."""
        if decision is not None or not self.asks:
            return decision is not False
        try:
            answer = self.ask(f"{prompt} [Y/n]", told_by="")
        except OutOfAnswersError:
            return False
        return answer.lower() in {"", "y", "yes"}

    def agrees_to_more(self, prompt: str) -> bool:
        """Enter, or a pipe that has ended, means no."""
        try:
            return self.ask(f"{prompt} [y/N]", told_by="").lower() in {"y", "yes"}
        except OutOfAnswersError:
            return False


@dataclass(frozen=True, kw_only=True)
class ToBeTold:
    """One thing to be told."""

    prompt: str
    told_by: str
    """Variable or option that tells it unasked."""
    hidden: bool = False
    default: str = ""


def settled(
    asker: Prompter,
    question: ToBeTold,
    initial: str,
    check: Callable[[str], tuple[Finding, T | None]],
) -> T:
    """What `check` makes of the first answer that it finds right; `initial` is tried before asking.

    An empty line tries the answer before again: something was mended elsewhere. Raises ConfigError
    when nothing may be asked and `initial` is wrong."""
    last = initial
    text = initial or _ask(asker, question, last)
    while True:
        finding, value = _check(check, text)
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


def _check(check: Callable[[str], tuple[Finding, T | None]], text: str) -> tuple[Finding, T | None]:
    try:
        return check(text)
    except CopilotError as error:
        return of_error("", error), None


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    """Empty or None: asked for, or taken as it comes."""

    channel: str = ""
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    google_key: Path | None = None
    domain: str = ""
    title: str = ""
    admin: str = ""
    ingest: bool | None = None
    hello: bool | None = None
