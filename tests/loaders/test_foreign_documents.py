"""Documents in the shapes that other tools write, and what has to come out of each."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.errors import LoadError
from config.settings import Settings
from loaders.files.local import load_file
from oncall import Copilot
from tests.loaders.reading import Reading
from tests.loaders.thoroughly import SHARED

FOLDER = SHARED / "foreign"
KINDS = (
    "csv", "docx", "front-matter", "html", "markdown-dialects", "markdown-tables-and-notes",
    "not-text", "pdf", "xlsx",
)  # fmt: skip


def cases(kind: str) -> list[Any]:
    file = FOLDER / kind / "cases.yaml"
    if not file.is_file():
        reason = f"no {file}; set ONCALL_SHARED_DIR"
        return [pytest.param("", {}, id=kind, marks=pytest.mark.skip(reason))]
    listed = yaml.load(file.read_text(), yaml.CSafeLoader)["cases"]
    return [pytest.param(kind, case, id=f"{kind}-{case['name']}") for case in listed]


def read(path: Path) -> Reading:
    try:
        return Reading(load_file(path))
    except LoadError as error:
        return Reading(None, refusal=str(error))


@pytest.mark.parametrize(("kind", "case"), [one for kind in KINDS for one in cases(kind)])
def test_a_file_comes_out_as_people_see_it(kind: str, case: dict[str, Any]) -> None:
    reading = read(FOLDER / kind / case["input"])
    assert not reading.problems(case["expect"]), reading.refusal or reading.markdown


@pytest.mark.parametrize(("kind", "case"), cases("same-names"))
def test_every_file_of_a_folder_is_published(
    kind: str, case: dict[str, Any], tmp_path: Path
) -> None:
    domains = tmp_path / "domains"
    domains.mkdir()
    shutil.copytree(FOLDER / kind / case["input"], domains / "docs", copy_function=shutil.copyfile)
    (domains / "tea.yaml").write_text("domain: tea\ntitle: Tea\nsources: {files: [docs]}\n")
    copilot = Copilot(Settings(_env_file=None, config_dir=tmp_path, data_dir=tmp_path / "var"))
    report = copilot.ingest("tea")
    snapshot = copilot.index.snapshot("tea")
    words = " ".join(
        " ".join(chunk.text.split()) for one in snapshot.documents for chunk in snapshot.chunks(one)
    )
    for one in case["expect"]:
        if "documents" in one:
            assert len(snapshot.documents) == one["documents"], report.failed
        else:
            assert one["indexed"] in words
