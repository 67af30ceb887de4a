"""Sections of a domain file: what all have in common, MCP servers that the answerer may call, and
what the bot does about runbooks."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from config.parsing.fields import Cron, Host, Switch, TimeZone, invalid
from config.parsing.secret_files import TOKEN_VARIABLE

_HERE = {"localhost", "127.0.0.1", "::1"}

ServerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _-]{0,38}[A-Za-z0-9]$")]
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_./-]{1,128}$")]
Word = Annotated[str, Field(min_length=1, max_length=1_000)]


def describe_fields(model: type[BaseModel]) -> None:
    """Makes the docstring of each field its description, on one line. `model`: with `defer_build`.

    pydantic's `use_attribute_docstrings` keeps line breaks, and would add 50 ms to each start: it
    reads a module again for each of its classes."""
    docstrings = _attribute_docstrings(str(sys.modules[model.__module__].__file__))
    for name, field in model.model_fields.items():
        field.description = docstrings.get((model.__name__, name), field.description)
    model.model_rebuild()


@cache
def _attribute_docstrings(module: str) -> dict[tuple[str, str], str]:
    """(class, attribute) → docstring, on one line; none where only compiled code is installed."""
    docstrings: dict[tuple[str, str], str] = {}
    source = Path(module)
    tree = ast.parse(source.read_text(encoding="utf-8") if source.is_file() else "")
    for each in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for pair in pairwise(each.body):
            match pair:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    docstrings[each.name, name] = " ".join(text.split())
    return docstrings


class Section(BaseModel):
    """Its fields' docstrings are the descriptions in the JSON schema of domain files."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        describe_fields(cls)


class ToolServer(Section):
    """An MCP server. Of its tools the listed ones are asked, if they only read."""

    name: ServerName
    """What replies call it, e.g. `PagerDuty`"""
    what: Annotated[str, Field(pattern=r"^\S[^\r\n]{1,78}\S$")]
    """What it is asked about, e.g. `who is on call`: the model and people read it"""
    allow: list[ToolName] = Field(min_length=1, max_length=10)
    """Tools that may be asked, by name; only those that the server marks as reading
    (`readOnlyHint`) are"""
    url: str = Field("", max_length=2_000)
    """Its address (streamable HTTP); https, or this machine"""
    command: list[Word] = Field([], max_length=30)
    """Or a command that is started as the server (stdio), each word by itself; needs
    `ONCALL_TOOL_COMMANDS`"""
    token: str = Field("", pattern=f"^({TOKEN_VARIABLE})?$")
    """Variable that holds its token, `ONCALL_TOOL_…_TOKEN`: sent as a bearer token, or handed to
    the command"""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.url) == bool(self.command):
            raise invalid("give either url or command")
        if self.url and (problem := _problem_of(self.url)):
            raise invalid(f"url {problem}")
        return self


def _problem_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in {"http", "https"} or not host or re.search(r"\s", url):
        return "is no address; write it in full, as in https://mcp.example.com/mcp"
    if parts.username or parts.password:
        return "holds a name or password; name a variable in `token` instead"
    if parts.scheme == "http" and host not in _HERE:
        return "is not encrypted; write https"
    return ""


class DrillPolicy(Section):
    """When all runbook entries are tried. A text alone is `cron`."""

    cron: Cron = Field(json_schema_extra={"examples": ["30 2 * * *"]})
    """Five fields: minute, hour, day of the month, month, day of the week"""
    time_zone: TimeZone = "UTC"
    """Whose clock `cron` is read by, as in Europe/Berlin"""
    link_hosts: list[Host] = Field([])
    """Hosts whose links in runbooks are tried; links to other hosts are not"""


def cron_alone(value: object) -> object:
    return {"cron": value} if isinstance(value, str) else value


class RunbookPolicy(Section):
    """What the bot does about runbooks and alerts beyond answering them; all off until set."""

    drill: Annotated[
        DrillPolicy | None, BeforeValidator(cron_alone, json_schema_input_type=str | DrillPolicy)
    ] = None
    """When every runbook entry is tried with a made-up alert, e.g. `30 2 * * *`; left out: never"""
    track_record: Switch = False
    """Whether an alert's answer says how often its entry was used and helped, and people are asked
    how it went"""
    step_counts: Switch = False
    """Whether steps that most people skip or report are suggested to the document's owner"""
    snooze: Switch = False
    """Whether a kind of alert can be snoozed in its thread"""
    timeline: Switch = False
    """Whether a timeline of an incident's thread can be asked for"""
    timeline_folder: str = ""
    """Id of the Drive folder in which timelines may be saved as Google Docs; left out: nowhere"""
    rehearsal: Switch = False
    """Whether members may rehearse with past alerts, in a direct message"""
