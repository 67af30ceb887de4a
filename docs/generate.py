"""Writes the parts of the documentation that code already knows: `make docs`.

A test holds README.md, CONTRIBUTING.md, docs/reference.md, docs/alerts.md, pages and the dashboard
of docs/operations/, docs/domain.schema.json, docs/report.schema.json and .env.example against these
functions."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
GROUPS = {
    "SLACK_BOT_TOKEN": "Slack",
    "OPENAI_API_KEY": "Models",
    "GOOGLE_APPLICATION_CREDENTIALS": "Google Docs and Drive",
    "ONCALL_API_TOKEN": "The HTTP API, and where things are kept",
    "ONCALL_LOG_LEVEL": "Logs, costs and traces",
}
"""First variable of a group in .env.example → the group's heading."""
UNITS = ("seconds", "bytes", "dollars")
"""Of metrics, as their names say; others are counts."""


def rooms() -> str:
    """Every folder of modules, with how many it holds and what for."""
    include = _pyproject()["tool"]["setuptools"]["packages"]["find"]["include"]
    lines = []
    for layer in sorted(pattern.removesuffix("*") for pattern in include):
        for package in sorted((ROOT / layer).rglob("__init__.py")):
            folder = package.parent.relative_to(ROOT)
            count = sum(path.name != "__init__.py" for path in package.parent.glob("*.py"))
            says = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
            name = "  " * (len(folder.parts) - 1) + folder.name + "/"
            lines.append(f"{name:<24}{count or '':>4}   {says}")
    return "```\n" + "\n".join(lines) + "\n```"


def graph() -> str:
    """The agents' graph as Mermaid, drawn from the compiled graph with everything in it."""
    from agents.graph import build_graph
    from config.domain import AnswerPolicy, Domain, Sources

    policy = AnswerPolicy(effort="thorough")
    domain = Domain(domain="example", title="Example", sources=Sources(), answer=policy)
    never_asked: Any = object()
    drawn = build_graph(domain, never_asked).get_graph().draw_mermaid(with_styles=False)
    return f"```mermaid\n{drawn.strip()}\n```"


def commands() -> str:
    """Every command with its arguments and the first line of its help."""
    from typer.main import get_command

    from cli.main import app

    rows = ["| command | does |", "|---|---|"]

    def visit(command: object, words: list[str]) -> None:
        for name, child in sorted(getattr(command, "commands", {}).items()):
            visit(child, [*words, name])
        if not hasattr(command, "commands"):
            usage = [*words]
            for parameter in command.params:  # type: ignore[attr-defined]  # click's, untyped
                if parameter.name == "help":
                    continue
                if parameter.param_type_name == "argument":
                    usage.append(parameter.metavar or parameter.name.upper())
                else:
                    usage.append(f"[{parameter.opts[0]}]")
            does = (command.help or "").splitlines()[0]  # type: ignore[attr-defined]
            shown = " ".join(usage).replace("|", "\\|")
            rows.append(f"| `{shown}` | {does} |")

    visit(get_command(app), ["oncall"])
    return "\n".join(rows)


def settings() -> str:
    """Every environment variable with its default and meaning."""
    from config.parsing.secret_files import SUFFIX
    from config.settings import Settings, is_secret

    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for key, field in Settings.model_fields.items():
        name = field.validation_alias.choices[0]  # type: ignore[union-attr]  # always AliasChoices
        default = "" if field.default is None else f"`{field.default}`"
        also = f", or `{name}{SUFFIX}`" if is_secret(key) else ""
        rows.append(f"| `{name}`{also} | {default} | {field.description} |")
    return "\n".join(rows)


def metrics() -> str:
    """Every metric with its type, its unit, what tells its series apart, and its meaning."""
    from prometheus_client import Counter, Gauge, Histogram

    import bot.features.registry  # noqa: F401 - features define their own
    import jobs.schedule.freshness  # noqa: F401 - as jobs do
    from telemetry.metrics import registry

    rows = []
    for one in registry._collector_to_names:
        if not isinstance(one, Counter | Gauge | Histogram):
            continue  # of the process, by the client library
        family = next(iter(one.describe()))
        name = f"{family.name}_total" if isinstance(one, Counter) else family.name
        unit = next((unit for unit in UNITS if unit in family.name.split("_")), "")
        labels = ", ".join(f"`{label}`" for label in one._labelnames)
        rows.append(f"| `{name}` | {family.type} | {unit} | {labels} | {family.documentation} |")
    # By name: the order in the registry is that of imports.
    head = ["| metric | type | unit | labels | meaning |", "|---|---|---|---|---|"]
    return "\n".join([*head, *sorted(rows)])


def helm_values() -> str:
    """Every value of the chart: the comment above it in values.yaml, and its default."""
    text = (ROOT / "deploy/helm/oncall-copilot/values.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    rows, comment = ["| value | default | meaning |", "|---|---|---|"], ""
    path: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            comment = f"{comment} {line.lstrip(' #')}".strip()
        elif key := re.match(r"( *)(\w+):", line):
            path = [*path[: len(key[1]) // 2], key[2]]
            if comment:
                default = reduce(getitem, path, values)
                shown = json.dumps(default) if default not in ("", [], {}) else ""
                rows.append(f"| `{'.'.join(path)}` | {f'`{shown}`' if shown else ''} | {comment} |")
            comment = ""
        else:
            comment = ""
    return "\n".join(rows)


def columns() -> str:
    """Whose words each column of text holds, and until when."""
    from bot.features.registry import FEATURE_TABLES
    from bot.privacy.other_tables import columns_as_markdown

    return columns_as_markdown({one.table.name: one for one in FEATURE_TABLES.every})


def environment() -> str:
    """Every variable with its meaning and default, as a file to copy to `.env`."""
    from config.settings import Settings

    lines = ["# Copy to .env and fill in what you use. What is empty counts as not set."]
    for field in Settings.model_fields.values():
        name = field.validation_alias.choices[0]  # type: ignore[union-attr]  # always AliasChoices
        default = "" if field.default is None else field.default
        if name in GROUPS:
            lines += ["", f"# --- {GROUPS[name]} ---"]
        lines += ["", f"# {field.description}", f"{name}={default}"]
    return "\n".join(lines) + "\n"


def schema() -> str:
    """JSON Schema of a domain file."""
    from config.domain import Domain

    return json.dumps(Domain.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def report_schema() -> str:
    """JSON Schema of report.json, which an evaluation writes."""
    from jobs.evaluation.report import EvaluationReport

    described = EvaluationReport.model_json_schema(mode="serialization")
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def sources() -> str:
    """Every key below `sources` of a domain file, as the sources describe themselves."""
    from pydantic import TypeAdapter

    from loaders.registry import KINDS

    head = ["| source | what it reads | tells changes by | who may read, with `audience: asker` |"]
    keys = ["| key | meaning |", "|---|---|"]
    for kind in KINDS.values():
        example = f"`{kind.key}: {kind.example}`"
        head.append(
            f"| {example} | {kind.description} | {kind.tells_changes} | {kind.told_readers} |"
        )
        schema = TypeAdapter(kind.section).json_schema()
        for section in [schema, *schema.get("$defs", {}).values()]:
            for name, one in section.get("properties", {}).items():
                keys.append(f"| `{kind.key}.{name}` | {one.get('description', '')} |")
    return "\n".join([head[0], "|---|---|---|---|", *head[1:], "", *keys])


def alert_sources() -> str:
    """Every form of a monitoring product's message, with its example and what is read of it."""
    from agents.alerts.forms import BODIES, FORMS

    posts = [(one.product, one.example, one.name, one.status) for one in FORMS]
    bodies = [(f"{one.product}, webhook", one.example, one.name, one.status) for one in BODIES]
    rows = ["| product | message as posted | name | state |", "|---|---|---|---|"]
    for product, message, name, status in sorted([*posts, *bodies], key=lambda one: one[0].lower()):
        lines = "<br>".join(f"`{line}`" for line in message.replace("|", "\\|").splitlines())
        rows.append(f"| {product} | {lines} | {name} | {status} |")
    return "\n".join(rows)


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def filled(text: str) -> str:
    """`text` with what stands between `<!-- name -->` and `<!-- end -->` made anew."""
    makers = {
        "graph": graph,
        "commands": commands,
        "settings": settings,
        "rooms": rooms,
        "metrics": metrics,
        "helm-values": helm_values,
        "columns": columns,
        "sources": sources,
        "alert-sources": alert_sources,
    }

    def fresh(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n{makers[found[1]]()}\n<!-- end -->"

    names = "|".join(makers)
    return re.sub(rf"<!-- ({names}) -->\n.*?<!-- end -->", fresh, text, flags=re.DOTALL)


def generated() -> dict[Path, str]:
    """Path → what it should say."""
    from docs.dashboard import dashboard

    docs = ROOT / "docs"
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        docs / "reference.md",
        docs / "alerts.md",
        docs / "privacy.md",
        docs / "operations" / "logs-and-metrics.md",
        docs / "operations" / "kubernetes.md",
    ]
    made = {page: filled(page.read_text(encoding="utf-8")) for page in pages}
    made[ROOT / "docs" / "domain.schema.json"] = schema()
    made[ROOT / "docs" / "report.schema.json"] = report_schema()
    made[ROOT / ".env.example"] = environment()
    made[docs / "operations" / "dashboard.json"] = dashboard()
    return made


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
