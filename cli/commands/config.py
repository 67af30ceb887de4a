"""`oncall config`: checks, prints and compares domain files; prints the Slack manifest."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import DomainName, WithJudge, print_json, wired

if TYPE_CHECKING:
    from config.domain import Domain
    from jobs.canary.diff import ConfigChange
    from jobs.evaluation.report import EvaluationReport
    from jobs.golden.questions import GoldenQuestion
    from oncall import Copilot

app = typer.Typer()
config_app = typer.Typer(no_args_is_help=True, help="Check and show the domain files.")
app.add_typer(config_app, name="config")


@config_app.command("manifest")
def config_manifest(
    url: Annotated[str, typer.Option(help="Public address of `oncall serve`, for HTTP mode.")] = "",
) -> None:
    """Print the manifest of the Slack app."""
    from bot.slack.manifest import manifest_yaml
    from config.domain_files import check_domains, domain_paths
    from config.settings import read_settings

    settings = read_settings()
    folder, pages = settings.config_dir, settings.public_url or ""
    # The app is created before any domain file; `config check` reports a broken one.
    domains = check_domains(folder)[0] if domain_paths(folder) else {}
    sys.stdout.write(manifest_yaml(url=url, domains=domains.values(), pages=pages))


@config_app.command("check")
def config_check() -> None:
    """Check every domain file, as a compiler would.

    Rows of alert tables in Markdown files that can't be read are listed; they are no error."""
    from cli.output.terminal import visible
    from cli.setup.alert_tables import unclear_rows
    from cli.setup.checks import all_problems, reserve
    from config.settings import read_settings

    settings = read_settings()
    domains, problems = all_problems(settings)
    for problem in problems:
        typer.echo(problem, err=True)
    wrong = {problem.path for problem in problems}
    for name, domain in domains.items():
        if domain.path not in wrong:
            typer.echo(f"{domain.path}: ok ({name}, {len(domain.channels)} channels)")
            for line in reserve(domain, settings):
                typer.echo(line)
            for line in unclear_rows(domain, settings):
                typer.echo(visible(line))
    if problems:
        raise typer.Exit(2)


@config_app.command("schema")
def config_schema() -> None:
    """Print the JSON Schema of a domain file, for editors."""
    from config.domain import Domain

    print_json(Domain.model_json_schema())


@config_app.command("show")
def config_show(domain: DomainName) -> None:
    """Print a domain with every default filled in."""
    print_json(wired().domain(domain).model_dump(mode="json"))


@config_app.command("diff-eval")
def config_diff_eval(
    old: Annotated[Path, typer.Argument(help="Domain file or config folder, as it was.")],
    new: Annotated[Path, typer.Argument(help="As it is to be.")],
    golden: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[GOLDEN]…", help="evaluation.golden of NEW by default."),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=X", help="Exit 1 below it: acceptable=0.9."),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="evaluation.canary.max_drop of NEW by default."),
    ] = None,
    max_changed: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Exit 1 where a larger share of answers is another: without a model they change "
            "only by the edit.",
        ),
    ] = None,
    judge: WithJudge = False,
    out: Annotated[Path | None, typer.Option(help="Also write the Markdown here.")] = None,
) -> None:
    """Say what an edit of a domain file does to its answers.

    Its golden questions are asked with both versions; what changes is printed as Markdown for a
    pull request. Exits 1 when answers get worse beyond the limit."""
    from config.errors import UsageError
    from jobs.canary.diff import DomainDiff, config_changes, edited_domains
    from jobs.evaluation.evaluate import broken, parse_limits
    from jobs.golden.questions import load_golden

    limits = parse_limits(fail_under or [])
    diffs: list[DomainDiff] = []
    for name, (was, now) in edited_domains(old, new).items():
        if was is None or now is None:
            typer.echo(f"{name} is in one of the two alone: nothing is compared", err=True)
            continue
        changes = config_changes(was, now)
        if not any(one.has_effect for one in changes):
            diffs.append(DomainDiff(domain=name, changes=changes))
            continue
        if not (files := golden or now.golden_files):
            raise UsageError(
                f"no golden questions for {name}",
                remedy="name golden files, or write them in the domain file: evaluation.golden",
            )
        questions = load_golden(files)
        # An unmerged file must not start programs or send tokens.
        was, now = (one.model_copy(update={"tools": []}) for one in (was, now))
        report = partial(_report, questions=questions, judge=judge)
        before, after = _reports(was, now, changes, report)
        policy = now.evaluation.canary
        if max_drop is not None:
            policy = policy.model_copy(update={"max_drop": max_drop})
        below = tuple(broken(after, limits))
        diffs.append(
            DomainDiff(
                domain=name,
                changes=changes,
                before=before,
                after=after,
                limits=policy,
                below=below,
                max_changed=max_changed,
            )
        )
    text = "\n\n".join(one.markdown() for one in diffs) or "Both say the same."
    sys.stdout.write(f"{text}\n")
    if out:
        out.write_text(f"{text}\n", encoding="utf-8")
    if any(one.fails for one in diffs):
        raise typer.Exit(1)


def _reports(
    was: Domain,
    now: Domain,
    changes: Sequence[ConfigChange],
    report: Callable[[Copilot, Domain], EvaluationReport],
) -> tuple[EvaluationReport, EvaluationReport]:
    """Evaluate both versions, over the published index unless the edit needs its own index."""
    from config.errors import CopilotError
    from config.settings import read_settings
    from oncall import Copilot

    copilot = Copilot(read_settings())
    needs_index = any(one.of_the_index for one in changes)
    if not needs_index:
        try:
            copilot.snapshot(now.domain)
        except CopilotError as error:
            typer.echo(f"{error}; both are indexed in a folder that is removed again", err=True)
            needs_index = True
    if not needs_index:
        return report(copilot, was), report(copilot, now)
    with tempfile.TemporaryDirectory(prefix="oncall-diff-eval-") as folder:
        # In sequence and in one folder, so that shared texts are embedded once.
        before, after = (
            _report_of_its_own(copilot, domain, Path(folder) / which, report)
            for which, domain in (("old", was), ("new", now))
        )
    return before, after


def _report_of_its_own(
    copilot: Copilot,
    domain: Domain,
    folder: Path,
    report: Callable[[Copilot, Domain], EvaluationReport],
) -> EvaluationReport:
    """Evaluate over documents ingested for this purpose.

    Raises the errors of an ingestion: Drive folders need Google's credentials."""
    import yaml

    from config.errors import CopilotError
    from oncall import Copilot

    (folder / "domains").mkdir(parents=True)
    values = domain.model_dump(mode="json", exclude_unset=True, exclude={"evaluation"})
    here = domain.path.absolute().parent
    files = [
        entry.model_dump() | {"path": str(here / entry.path)}
        if list(here.glob(entry.path)) or (here / entry.path).exists()
        else entry.model_dump()
        for entry in domain.sources.files
    ]
    values["sources"] = {**values["sources"], "files": files}
    path = folder / "domains" / f"{domain.domain}.yaml"
    path.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    apart = {
        "config_dir": folder,
        "folders": os.pathsep.join(map(str, copilot.settings.document_folders())),
        "data_dir": folder.parent / "data",
        "database_url": None,
        "chroma_url": None,
        "index_store": None,
        "vector_engine": "local",
    }
    scratch = Copilot(copilot.settings.model_copy(update=apart))
    try:
        failed = scratch.ingest(domain.domain).failed
        if failed:
            raise CopilotError(f"{len(failed)} documents can't be read: {failed[0]}")
        return report(scratch, scratch.domain(domain.domain))
    finally:
        scratch.index.close()


def _report(
    copilot: Copilot, domain: Domain, *, questions: Sequence[GoldenQuestion], judge: bool
) -> EvaluationReport:
    from cli.evaluation.systems import agents, at_a_time, judge_of
    from enrichment.references import paths_of
    from jobs.evaluation.evaluate import AskingOptions, evaluate

    options = AskingOptions(
        parallel=at_a_time(copilot), judge=judge_of(copilot, domain) if judge else None
    )
    paths = paths_of(copilot.snapshot(domain.domain).documents.values())
    return evaluate(
        agents(copilot, domain),
        [one.with_ids(paths) for one in questions],
        domain=domain.domain,
        model=copilot.model_name,
        asking=options,
    )
