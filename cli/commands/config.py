"""The domain files and the manifest."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.options import DomainName, print_json, wired

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

    folder = read_settings().config_dir
    # The app comes before the first domain file; a broken one is told by `config check`.
    domains = check_domains(folder)[0] if domain_paths(folder) else {}
    sys.stdout.write(manifest_yaml(url=url, domains=domains.values()))


@config_app.command("check")
def config_check() -> None:
    """Check every domain file, as a compiler would."""
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
