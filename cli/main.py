"""The `oncall` command: one module per group of commands.

Each command imports heavy libraries itself, so that `oncall --help` is quick."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer

from cli.commands import config, drill, gaps, index, jobs, privacy, questions, run, tokens
from cli.evaluation import evaluate, golden, history
from cli.setup import commands as setup
from config.errors import CopilotError
from config.parsing.secret_files import keep_to_owner

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Boxes around the help need rich, and loading rich took over half of the help's time.
    rich_markup_mode=None,
    context_settings={"max_content_width": 120},
    help="A Slack on-call copilot that answers from your team's Google Docs.",
)
app.add_typer(tokens.app, name="token")
for group in (
    setup,
    run,
    jobs,
    questions,
    golden,
    evaluate,
    config,
    index,
    drill,
    gaps,
    privacy,
):
    app.add_typer(group.app)
evaluate.evaluate_app.command("history")(history.evaluate_history)
evaluate.evaluate_app.command("show")(history.evaluate_show)


class _Output(io.FileIO):
    """Standard output that survives a closed reader such as `head`, so the command finishes."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)


def _outlive_readers() -> None:
    out = sys.stdout
    raw = _Output(out.fileno(), "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=out.encoding,
        errors=out.errors,
        line_buffering=out.isatty(),
    )


def main() -> None:
    """Run the command line; a failure is one line that says what, where and the remedy."""
    _outlive_readers()
    keep_to_owner()
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    try:
        ended = app(standalone_mode=False)
    except typer.Abort:
        sys.stderr.write("\noncall: stopped\n")
        sys.exit(1)
    except typer.TyperException as error:
        from cli.output.errors import usage_error

        sys.stderr.write(usage_error(error))
        sys.exit(error.exit_code)
    except Exception as error:
        failure = error if isinstance(error, CopilotError) else _failed_storage(error)
        if debug or failure is None:
            raise
        sys.stderr.write(f"oncall: {failure}\n")
        sys.exit(failure.exit_code)
    sys.exit(ended if isinstance(ended, int) else 0)


def _failed_storage(error: Exception) -> CopilotError | None:
    """Describes storage errors that commands do not handle: a full disk, a damaged database."""
    if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] not in {
        "sqlalchemy",
        "sqlite3",
        "dbos",
    }:
        return None
    from config.settings import read_settings
    from durable.failures import databases_in, storage_failure

    return storage_failure(error, databases_in(read_settings().data_dir))


if __name__ == "__main__":
    main()
