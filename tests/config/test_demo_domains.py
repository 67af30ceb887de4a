"""Which domain files are the demo's, and where the demo works."""

from __future__ import annotations

import shutil
from pathlib import Path

from config.checks import SHIPPED, for_the_demo, holds_demo
from config.settings import Settings


def settings(folder: Path) -> Settings:
    return Settings(_env_file=None, config_dir=folder, data_dir=folder / "var")


def test_the_shipped_files_are_the_demos_in_any_copy_of_them(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "domains", tmp_path / "domains")
    assert holds_demo(SHIPPED)
    assert holds_demo(tmp_path)
    assert for_the_demo(settings(tmp_path)) == settings(tmp_path)


def test_an_edited_copy_is_somebodys_own(tmp_path: Path) -> None:
    (tmp_path / "domains").mkdir()
    mine = tmp_path / "domains" / "security.yaml"
    mine.write_text((SHIPPED / "domains" / "security.yaml").read_text() + "# mine\n")
    assert not holds_demo(tmp_path)


def test_beside_a_teams_own_domains_the_demo_works_apart_from_them(tmp_path: Path) -> None:
    (tmp_path / "domains").mkdir()
    text = "domain: tea\ntitle: Tea\nsources: {files: [tea.md]}\n"
    (tmp_path / "domains" / "tea.yaml").write_text(text)
    apart = for_the_demo(settings(tmp_path))
    assert apart.config_dir == SHIPPED
    assert apart.data_dir == tmp_path / "var" / "demo"


def test_where_there_is_no_domain_file_the_demo_has_its_own(tmp_path: Path) -> None:
    assert for_the_demo(settings(tmp_path)).config_dir == SHIPPED
