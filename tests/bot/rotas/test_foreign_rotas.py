"""Rotas of other calendars and programs, and who is on call by them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.rotas.rota import on_call
from config.errors import ConfigError
from tests.loaders.thoroughly import SHARED

FOLDER = SHARED / "foreign" / "rotas"


def cases() -> list[Any]:
    file = FOLDER / "cases.yaml"
    if not file.is_file():
        reason = f"no {file}; set ONCALL_SHARED_DIR"
        return [pytest.param({}, id="rotas", marks=pytest.mark.skip(reason))]
    listed = yaml.load(file.read_text(), yaml.CSafeLoader)["cases"]
    return [pytest.param(case, id=case["name"]) for case in listed]


def who(file: Path, at: str | datetime) -> str:
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return on_call(file.name, moment, relative_to=file.parent)


def is_refused_plainly(file: Path) -> bool:
    with pytest.raises(ConfigError) as caught:
        who(file, datetime(2026, 11, 25, 12))
    said = str(caught.value)
    return file.name in said and "\n" not in said and bool(caught.value.remedy)


@pytest.mark.parametrize("case", cases())
def test_a_rota_says_who_is_on_call(case: dict[str, Any]) -> None:
    file = FOLDER / case["input"]
    for one in case["expect"]:
        if "on_call" in one:
            assert who(file, one["on_call"]["at"]) == one["on_call"]["who"]
        else:
            assert one == {"refused_plainly": True}
            assert is_refused_plainly(file)
