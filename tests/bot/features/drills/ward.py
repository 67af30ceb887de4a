"""The real bot over runbooks that are drilled, and a server with the pages that they link to."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.features.drills.service import DRILL
from bot.features.drills.store import DrillResult, DrillStore
from tests.bot.features.alerts import office
from tests.bot.features.alerts.office import PLATFORM, AlertHouse, alert_house
from tests.bot.features.handoff.rewound import rewind

NIGHTLY = (
    "answer: {alert_bots: [B0BEACON]}\n"
    "runbooks: {drill: {cron: '30 2 * * *', link_hosts: [localhost]}}\n"
)
HEAD = """---
id: ward-alerts
title: Ward Alerts
owner: Platform Reliability (PRE)
---
# Ward Alerts

| Alert | Opens as | First step | If not cleared |
|---|---|---|---|
"""
DAY = 24 * 60


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/slow":
            time.sleep(8)  # longer than a drill waits
        status = {"/gone": 404, "/locked": 403, "/busy": 503, "/login": 302}.get(path, 200)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "https://sso.elsewhere.example/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def pages() -> Iterator[str]:
    """The address of a wiki at a private host."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def alerts(*rows: Sequence[str]) -> str:
    return HEAD + "".join(f"| `{name}` | {' | '.join(rest)} |\n" for name, *rest in rows)


@contextmanager
def ward(
    folder: Path, documents: Sequence[str], more: str = NIGHTLY, **options: bool
) -> Iterator[AlertHouse]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONCALL_INNER_HOSTS", "localhost")
        patch.setitem(office.DOMAINS, "ward", (PLATFORM, more))
        texts: Mapping[str, Sequence[str]] = {"ward": documents}
        with alert_house(folder, texts, **options) as house:
            yield house


def night(house: AlertHouse) -> None:
    """The next drill is due, and done."""
    house.bot.clock.tick()
    rewind(house.bot.engine, DAY)
    house.bot.clock.tick()
    house.settle()


def again(house: AlertHouse, due: str) -> None:
    """A drill that is due then (`20990101T023000`), and done."""
    house.feature(DRILL).timers[DRILL](f"ward@{due}")
    house.settle()


def results(house: AlertHouse) -> dict[str, DrillResult]:
    """By the alert's name, those with findings."""
    found = DrillStore(house.bot.engine).to_mend("ward")
    return {one.title.partition(", ")[0]: one for one in found}


def sentences(house: AlertHouse, name: str) -> list[str]:
    one = results(house).get(name)
    return [each.sentence for each in one.findings] if one else []
