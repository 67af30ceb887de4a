"""Known vulnerabilities of what constraints.txt pins, by pip-audit from OSV. `make audit`.

Fails on an advisory that `.ci/accepted.toml` doesn't accept, with a reason and up to a day. Where
OSV doesn't answer, it says so and checks nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OSV = "https://api.osv.dev/v1/query"


def answers(service: str) -> bool:
    """Whether an advisory can be asked for at all."""
    question = json.dumps({"package": {"ecosystem": "PyPI", "name": "pip"}, "version": "20.0"})
    request = urllib.request.Request(  # noqa: S310 - the address is the caller's own
        service, question.encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            json.load(answer)
    except (OSError, ValueError):
        return False
    return True


def advisories(pins: Path, service: str) -> dict[str, tuple[set[str], str]]:
    """Each advisory that holds: its id → all names it goes by, and a line that tells of it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            *(sys.executable, "-m", "pip_audit", "--requirement", pins, "--no-deps"),
            *("--disable-pip", "--vulnerability-service", "osv", "--osv-url", service),
            *("--format", "json", "--output", report, "--progress-spinner", "off"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if not report.exists():
            *_, last = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
            sys.exit(f"audit: pip-audit stopped with {last}; run it again")
        packages = json.loads(report.read_text(encoding="utf-8"))["dependencies"]
    return {
        found["id"]: (
            {found["id"], *found["aliases"]},
            f"{package['name']} {package['version']}: {found['id']}, "
            f"mended in {', '.join(found['fix_versions']) or 'no version yet'}",
        )
        for package in packages
        for found in package.get("vulns", ())
    }


def problems(
    found: dict[str, tuple[set[str], str]], accepted: Sequence[dict[str, object]], today: date
) -> list[str]:
    """What is not accepted, accepted for too long, or accepted and no longer there."""
    told = []
    names = {name for aliases, _ in found.values() for name in aliases}
    in_force = set()
    for entry in accepted:
        name, reason, until = entry.get("id"), entry.get("reason"), entry.get("until")
        if not isinstance(until, date) or not reason or not name:
            told.append(f".ci/accepted.toml: {name} needs an id, a reason and a day `until`")
        elif until < today:
            told.append(f".ci/accepted.toml: {name} was accepted until {until}: update, or decide")
        elif name not in names:
            told.append(f".ci/accepted.toml: {name} holds no longer: remove it")
        else:
            in_force.add(name)
    return told + [line for aliases, line in found.values() if not aliases & in_force]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pins", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--accepted", type=Path, default=ROOT / ".ci" / "accepted.toml")
    parser.add_argument("--service", default=OSV, help="an API like OSV's")
    asked = parser.parse_args(arguments)
    if not answers(asked.service):
        print(f"audit skipped: {asked.service} does not answer from here")  # noqa: T201
        return
    accepted = tomllib.loads(asked.accepted.read_text(encoding="utf-8")).get("advisory", [])
    found = advisories(asked.pins, asked.service)
    if told := problems(found, accepted, datetime.now(UTC).date()):
        sys.exit("\n".join(told))
    print(f"audit: nothing known against what {asked.pins.name} pins")  # noqa: T201


if __name__ == "__main__":
    main()
