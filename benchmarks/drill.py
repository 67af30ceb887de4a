"""What a drill costs: every entry of a made-up catalogue is fired and checked, without a network.

    python -m benchmarks.drill [--rows 1000]

Beside it the same number of bare look-ups of an alert (`match_alerts`), and the ratio of both."""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from agents.alerts.reader import alerts_in
from agents.drill.checks import Drill, all_renames
from agents.drill.rows import made_up_alert
from agents.runbooks.matching import match_alerts
from config.settings import Settings
from oncall import Copilot

ROWS_EACH = 50
"""Rows of one document."""
_HEAD = """---
id: catalogue-{number}
title: Catalogue {number}
---
# Catalogue {number}

| Alert | Environment | Threshold | Opens as | First step |
|---|---|---|---|---|
"""
_ROW = (
    "| `Service{row}Slow` | prod, staging | above {row} ms | SEV3 "
    "| Run `servicectl drain --node {row}`, see [the page](https://wiki.example.com/{row}) |\n"
)
_DOMAIN = """domain: made-up
title: Made up
channels: [C0PLATFORM]
sources: {files: [made-up]}
"""


def furnish(folder: Path, rows: int) -> None:
    """A domain of that many alerts."""
    documents = folder / "config/domains/made-up"
    documents.mkdir(parents=True)
    documents.with_suffix(".yaml").write_text(_DOMAIN)
    for first in range(0, rows, ROWS_EACH):
        lines = (_ROW.format(row=row) for row in range(first, min(rows, first + ROWS_EACH)))
        text = _HEAD.format(number=first // ROWS_EACH) + "".join(lines)
        (documents / f"{first}.md").write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        furnish(Path(name), rows)
        settings = Settings(_env_file=None).model_copy(
            update={"config_dir": Path(name) / "config", "data_dir": Path(name) / "var"}
        )
        copilot = Copilot(settings)
        copilot.ingest("made-up")
        domain, snapshot = copilot.domain("made-up"), copilot.index.snapshot("made-up")
        started = time.perf_counter()
        drill = Drill(
            snapshot=snapshot, domain=domain, now=datetime.now(UTC), renames=all_renames(snapshot)
        )
        drilled = [row for document in sorted(snapshot.documents) for row in drill.rows(document)]
        wrong = sum(bool(drill.findings(row)) for row in drilled)
        whole = time.perf_counter() - started
        alerts = [alerts_in(made_up_alert(row.names[0], row.entry), by_bot=True) for row in drilled]
        started = time.perf_counter()
        for each in alerts:
            match_alerts(each, snapshot, domain)
        bare = time.perf_counter() - started
        copilot.index.close()
    print(f"{len(drilled):,} entries, {wrong} with findings")
    print(f"drill {whole:.2f} s, bare look-ups {bare:.2f} s, ratio {whole / bare:.2f}")


if __name__ == "__main__":
    main()
