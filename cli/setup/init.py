"""`oncall init`: from a Slack app to the first answer. Steps that already work are skipped."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bot.setup_checks import SlackApp, check_channel, say_hello
from cli.setup.checks import check_google
from cli.setup.documents import documents_step
from cli.setup.files import DomainDraft, EnvFile, TeamPlace, as_written, place_for, write_domain
from cli.setup.prompts import InitOptions, Prompter, ToBeTold, settled
from cli.setup.slack import (
    admin_step,
    channel_step,
    checked_name,
    name_of_domain,
    slack_step,
    title_of,
)
from config.checks import Finding, fine, of_error
from config.domain import Domain, domain_of
from config.domain_files import read_domain
from config.errors import ConfigError, CopilotError
from config.settings import Settings, read_settings
from loaders.files.patterns import entry_root
from loaders.untrusted import is_below
from telemetry.logs import log_to_stderr

ADDRESSES = {"slack_api_url": "SLACK_API_URL", "google_api_url": "GOOGLE_API_URL"}
"""Settings for the services' URLs; saved if they differ from the defaults."""


def run_init(asker: Prompter, options: InitOptions) -> None:
    """Raises UsageError for a missing answer, ConfigError for a wrong one if asking again is
    impossible."""
    begun = time.monotonic()
    settings = read_settings()
    log_to_stderr("error", settings.log_format, secrets=settings.secrets())
    place = place_for(settings)
    asker.say("Four steps: Slack, a channel, documents, the first answer. Ctrl-C stops; what is")
    asker.say("done by then is kept, and `oncall init` goes on from there.")
    env_file = EnvFile(Path(".env"))
    try:
        settings = _settled_down(asker, place, settings, env_file)
        app, settings = slack_step(asker, settings, env_file, place.config_dir)
        domain, settings = domain_step(asker, app, place, settings, env_file, options)
    finally:
        for line in env_file.lines():
            asker.say(f"  {line}")
    asker.heading("First answer")
    documents = _ingested(asker, settings, domain, options)
    if documents:
        _greeted(asker, app, domain, documents, options)
    _what_next(asker, app, domain, time.monotonic() - begun, ready=bool(documents))


def _settled_down(
    asker: Prompter, place: TeamPlace, settings: Settings, env_file: EnvFile
) -> Settings:
    if place.apart:
        asker.say(
            f"{settings.config_dir / 'domains'} holds the demo's domains, so yours go to "
            f"{place.config_dir}/"
        )
        env_file.keep("ONCALL_CONFIG_DIR", str(place.config_dir))
        env_file.keep("ONCALL_DATA_DIR", str(place.data_dir))
    for field, variable in ADDRESSES.items():
        address = getattr(settings, field)
        if address and address != Settings.model_fields[field].default:
            env_file.keep(variable, address)
    return place.applied(settings)


def domain_step(
    asker: Prompter,
    app: SlackApp,
    place: TeamPlace,
    settings: Settings,
    env_file: EnvFile,
    options: InitOptions,
) -> tuple[Domain, Settings]:
    """Returns the existing domain, or a new one with its file."""
    if place.domains and not (options.channel or options.domain):
        asker.heading("Domains")
        for domain in place.domains:
            asker.show(fine("", f"{domain.path}: {domain.title}"))
            for channel in domain.channels:
                asker.show(check_channel(app, channel))
        for finding in check_google(settings, {one.domain: one for one in place.domains}):
            asker.show(finding)
        # Enter selects the existing domain: a second run seldom adds another channel.
        if not asker.asks or not asker.agrees_to_more("Another channel?"):
            return place.domains[0], settings
    channel, name = channel_step(asker, app, options)
    if owner := domain_of(place.domains, channel):
        asker.show(fine("", f"{owner.path} answers there already, and stays as it is"))
        return owner, settings
    sources, settings = documents_step(asker, settings, env_file, options)
    asker.heading("Domain")
    files = [as_written(file, place.config_dir) for file in sources.get("files", ())]
    chosen = _named(asker, place, name, options)
    draft = DomainDraft(
        domain=chosen,
        title=options.title or title_of(chosen),
        channel=channel,
        channel_name=name,
        admin=admin_step(asker, app, options),
        sources={**sources, "files": files} if files else sources,
    )
    settings = _with_folders(files, place, settings, env_file)
    path = write_domain(place.config_dir, draft)
    asker.show(fine("", f"{path} is written; edit it as you like"))
    new_domain, problems = read_domain(path)
    if new_domain is None:
        raise ConfigError("\n".join(map(str, problems)))
    return new_domain, settings


def _with_folders(
    files: Sequence[str], place: TeamPlace, settings: Settings, env_file: EnvFile
) -> Settings:
    """Allows the folders of files elsewhere on this machine, which the operator has just named."""
    allowed = place.applied(settings).document_folders()
    roots = [entry_root(one, place.config_dir / "domains") for one in files]
    others = [str(root) for root in roots if not is_below(root, allowed)]
    if not others:
        return settings
    folders = os.pathsep.join(dict.fromkeys([*filter(None, [settings.folders]), *others]))
    env_file.keep("ONCALL_FOLDERS", folders)
    return settings.model_copy(update={"folders": folders})


def _named(asker: Prompter, place: TeamPlace, channel: str, options: InitOptions) -> str:
    names = {one.domain for one in place.domains}
    usual = name_of_domain(channel)

    def name(text: str) -> tuple[Finding, str | None]:
        file = place.config_dir / "domains" / f"{checked_name(text, names)}.yaml"
        return fine("", f"its file will be {file}"), text

    question = ToBeTold(prompt="Name of the domain", told_by="--domain", default=usual)
    return settled(asker, question, options.domain or ("" if asker.asks else usual), name)


def _ingested(asker: Prompter, settings: Settings, domain: Domain, options: InitOptions) -> int:
    """Returns the number of published documents; 0 if none was loaded."""
    if not asker.agrees("Read the documents now?", options.ingest):
        return 0
    from cli.output.ingest import ProgressBar, print_reports
    from oncall import Copilot

    copilot = Copilot(settings.model_copy(update={"log_level": settings.log_level or "error"}))
    try:
        with ProgressBar(domain.domain) as bar:
            report = copilot.ingest(domain.domain, watch=bar)
        print_reports([report])
        return len(copilot.index.snapshot(domain.domain).documents)
    except CopilotError as error:
        asker.show(of_error("", error))
        return 0


def _greeted(
    asker: Prompter, app: SlackApp, domain: Domain, documents: int, options: InitOptions
) -> None:
    if not domain.channels or not asker.agrees("Say hello in the channel?", options.hello):
        return
    try:
        channel = domain.channels[0]
        problem = say_hello(app, channel, title=domain.title, documents=documents)
    except CopilotError as error:
        asker.show(of_error("", error))
        return
    asker.show(fine("", "said" if problem else "it has said hello before"))


def _what_next(
    asker: Prompter, app: SlackApp, domain: Domain, seconds: float, *, ready: bool
) -> None:
    oncall = "oncall" if shutil.which("oncall") else sys.argv[0]
    minutes = (
        f"{seconds / 60:.0f} min {seconds % 60:.0f} s" if seconds >= 60 else f"{seconds:.0f} s"
    )
    asker.heading(f"Done in {minutes}")
    following = {
        f"{oncall} ingest {domain.domain}": "reads the documents",
        f"{oncall} bot": "answers in Slack: leave it running",
        f"{oncall} doctor": "looks it all over again",
    }
    left = [*following.items()][ready:]
    width = max(len(command) for command, _ in left)
    for command, does in left:
        asker.say(f"  {command:<{width}}   {does}")
    asker.say(f"  In the channel, write: @{app.identity.name} and your question")
