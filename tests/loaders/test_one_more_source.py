"""A source that one module adds: seen by every part that knows sources."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.contracts.product_code import ROOT

TICKETS = '''
import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from config.parsing.fields import NonBlank
from config.sections import Section
from loaders.document import Permission
from loaders.files.markdown import parse_markdown
from loaders.source import EVERYBODY, SourceChanges, SourceKind


class Tickets(Section):
    folder: NonBlank
    """Where the tickets are, a JSON file each"""
    readers: list[NonBlank] = []
    """Who may read them"""


class TicketSource:
    name = "tickets"

    def __init__(self, folder, permissions):
        self.folder, self.permissions = folder, permissions

    def changes(self, *, cursor, indexed, settled):
        paths = {f"ticket {path.stem}": path for path in sorted(self.folder.glob("*.json"))}
        return SourceChanges(changed={one: partial(self.load, one, paths[one]) for one in paths})

    def load(self, name, path):
        ticket = json.loads(path.read_text())
        return parse_markdown(
            ticket["text"], id=name, title=ticket["title"], source=self.name,
            permissions=self.permissions,
        )


class TicketKind(SourceKind):
    key = "tickets"
    section = Tickets | None
    empty = None
    description = "Tickets, a JSON file each"
    example = "{folder: tickets}"
    tells_changes = "content"
    told_readers = "`readers`"
    proposal = "a folder of tickets"

    def open(self, domain, settings, pictures):
        return TicketSource(Path(self.of(domain).folder), self.readers(domain, None))

    def readers(self, domain, document):
        return tuple(Permission(kind="user", value=one) for one in self.of(domain).readers)

    def problems(self, domain, settings):
        if not Path(self.of(domain).folder).is_dir():
            yield ("folder",), "there is no such folder"

    def recognize(self, text, settings):
        return {"folder": text} if text.endswith("tickets") else None


SOURCE = TicketKind()
'''

LOOK_AT_ALL = """
import json, sys
from pathlib import Path

import loaders.sources

loaders.sources.__path__.append(sys.argv[1])

from cli.setup.checks import all_problems
from config.domain import Domain
from config.domain_files import read_domain
from config.settings import Settings
from docs.generate import sources
from index.permissions.live import LivePermissions
from jobs.ingest.executors import attempt
from loaders.document import Document
from loaders.registry import KINDS, open_sources, stated_readers

settings = Settings(_env_file=None)
file = Path("config/domains/tea.yaml")
text = file.read_text()
file.write_text(text.replace("tickets", "tikets").replace("tikets:", "tickets:"))
problems = [problem.message for problem in all_problems(settings)[1]]
file.write_text(text.replace("folder", "place"))
problems += [problem.message for problem in all_problems(settings)[1]]
file.write_text(text)
domain, _ = read_domain(file)
(source,) = open_sources(domain, settings)
changes = source.changes(cursor="", indexed={}, settled=())
loaded = {name: attempt(name, load, 5) for name, load in changes.changed.items()}
cards = {name: one for name, one in loaded.items() if isinstance(one, Document)}
live = LivePermissions(cards, stated=lambda card: stated_readers(domain, card), check=None)
print(json.dumps({
    "problems": problems,
    "loaded": list(cards),
    "failed": [str(one) for name, one in loaded.items() if name not in cards],
    "readable": {
        who: list(live.open_to(frozenset([who])))
        for who in ("ines@example.com", "dana@example.com")
    },
    "schema": Domain.model_json_schema()["$defs"]["Tickets"]["properties"],
    "page": sources(),
    "init": KINDS["tickets"].recognize("old/tickets", settings),
}))
"""


def test_one_module_adds_a_source(tmp_path: Path) -> None:
    more = tmp_path / "more"
    tickets, domains = tmp_path / "tickets", tmp_path / "config/domains"
    for folder in (more, tickets, domains):
        folder.mkdir(parents=True)
    (more / "tickets.py").write_text(TICKETS, encoding="utf-8")
    kettle = {"title": "Kettle leaks", "text": "Close the lid."}
    (tickets / "17.json").write_text(json.dumps(kettle), encoding="utf-8")
    (tickets / "18.json").write_text("{", encoding="utf-8")
    (domains / "tea.yaml").write_text(
        "domain: tea\ntitle: Tea help\naccess: {audience: asker}\n"
        "sources: {tickets: {folder: tickets, readers: [ines@example.com]}}\n",
        encoding="utf-8",
    )
    looked = subprocess.run(
        [sys.executable, "-c", LOOK_AT_ALL, str(more)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert looked.returncode == 0, looked.stderr
    seen_by_all = json.loads(looked.stdout.splitlines()[-1])
    assert seen_by_all["problems"] == [
        "there is no such folder",
        "missing key 'sources.tickets.folder'",
        "unknown key 'place'; known: folder, readers",
    ]
    assert seen_by_all["loaded"] == ["ticket 17"]
    assert "ticket 18" in seen_by_all["failed"][0]
    assert seen_by_all["readable"] == {"ines@example.com": ["ticket 17"], "dana@example.com": []}
    assert (
        seen_by_all["schema"]["folder"]["description"] == "Where the tickets are, a JSON file each"
    )
    assert "| `tickets: {folder: tickets}` | Tickets, a JSON file each |" in seen_by_all["page"]
    assert "| `tickets.readers` | Who may read them |" in seen_by_all["page"]
    assert seen_by_all["init"] == {"folder": "old/tickets"}
