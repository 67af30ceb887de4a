"""Findings of setup checks, cleanup of pasted tokens and ids, and the demo's domains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import config
from config.domain import Domain
from config.domain_files import domain_paths, read_domain
from config.errors import CopilotError
from config.parsing.schedules import CHANNEL
from config.settings import Settings

SHIPPED = Path(config.__file__).parent
"""The folder of the demo's `domains/`, which the image lacks."""


def is_demo(domain: Domain) -> bool:
    """Whether the domain's file is the demo file shipped with the source, or a copy of it."""
    shipped = SHIPPED / "domains" / domain.path.name
    return (
        domain.sources.google_drive.folders == [f"demo-{domain.domain}"]
        and shipped.is_file()
        and shipped.read_bytes() == domain.path.read_bytes()
    )


def holds_demo(config_dir: Path) -> bool:
    domains = (read_domain(path)[0] for path in domain_paths(config_dir))
    return any(domain is not None and is_demo(domain) for domain in domains)


def for_the_demo(settings: Settings) -> Settings:
    """Settings with the demo's domains.

    If the team has its own domains, the demo's data goes into a subfolder, to keep them apart."""
    if holds_demo(settings.config_dir):
        return settings
    return settings.model_copy(
        update={"config_dir": SHIPPED, "data_dir": settings.data_dir / "demo"}
    )


State = Literal["ok", "wrong", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One result of a check, for display and for JSON."""

    check: str
    """What was checked, in a few words."""
    state: State
    """`skipped`: not checked, because of another problem."""
    said: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.said}; {self.remedy}" if self.remedy else self.said


def fine(check: str, message: str) -> Finding:
    return Finding(check=check, state="ok", said=message)


def wrong(check: str, message: str, remedy: str = "") -> Finding:
    return Finding(check=check, state="wrong", said=message, remedy=remedy)


def skipped(check: str, message: str, remedy: str = "") -> Finding:
    return Finding(check=check, state="skipped", said=message, remedy=remedy)


def of_error(check: str, error: CopilotError) -> Finding:
    return wrong(check, error.problem, error.remedy)


def attempted(check: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yields the findings of `look`. A CopilotError ends it and becomes a finding."""
    try:
        yield from look()
    except CopilotError as error:
        yield of_error(check, error)


_QUOTES = "\"'`“”‘’"
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
_ASSIGNED = re.compile(r"(?:export\s+)?[A-Z][A-Z0-9_]+\s*=\s*(?=\S)")
_CHANNEL_LINK = re.compile(rf"(?:/archives/|/client/[TE][A-Z0-9]+/|<#)({CHANNEL})")

_BOT_TOKEN_AT = "api.slack.com/apps › your app › Install App › Bot User OAuth Token"  # noqa: S105 - where Slack shows it
_APP_TOKEN_AT = "api.slack.com/apps › your app › Basic Information › App-Level Tokens"  # noqa: S105
WHERE = {"SLACK_BOT_TOKEN": _BOT_TOKEN_AT, "SLACK_APP_TOKEN": _APP_TOKEN_AT}
"""Variable → where Slack shows it."""
_STARTS = {"SLACK_BOT_TOKEN": "xoxb-", "SLACK_APP_TOKEN": "xapp-"}
_KINDS = (
    (r"xoxb-", "a bot token"),
    (r"xapp-", "an app-level token"),
    (r"xoxp-", "a person's token"),
    (r"xoxe", "a token of an app with token rotation, which ends after some hours"),
    (r"xox[a-z]-", "a token of another kind"),
    (r"[0-9a-f]{32}$", "a signing secret, client secret or the like"),
    (r"[0-9]+\.[0-9]+$", "a client id"),
    (r"A[A-Z0-9]{8,}$", "the app's id"),
    (r"https?://", "an address"),
)


def bare(text: str) -> str:
    """Pasted text without surrounding blanks, quotes and a leading `NAME=`."""
    text = text.translate(_INVISIBLE).strip()
    text = _ASSIGNED.sub("", text, count=1) if _ASSIGNED.match(text) else text
    return text.strip().strip(_QUOTES).strip()


def misplaced(variable: str, token: str) -> str:
    """Why this can't be the variable's token; empty when it may be.

    The text never contains the token or a part of it."""
    start = _STARTS[variable]
    if re.search(r"…|\.\.\.|your|<.*>", token):
        return "that is a placeholder"
    if any(mark.isspace() for mark in token):
        return "there is a blank or a line break inside it: it was not copied whole"
    if not token.isascii():
        return "there are characters in it that no token has"
    if token.startswith(start):
        return "" if len(token) >= len(start) + 10 else "it was not copied whole"
    kind = next((kind for shape, kind in _KINDS if re.match(shape, token)), "no token of Slack")
    return f"that is {kind}"


def token_remedy(variable: str) -> str:
    return f"copy the one that begins with {_STARTS[variable]}: {WHERE[variable]}"


def channel_id_in(text: str) -> str:
    """The channel id in pasted text: alone, in a link or in a mention; empty for a name."""
    text = bare(text)
    if re.fullmatch(CHANNEL, text):
        return text
    match = _CHANNEL_LINK.search(text)
    return match[1] if match else ""
