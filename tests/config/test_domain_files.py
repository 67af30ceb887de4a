from __future__ import annotations

from pathlib import Path

import pytest

from config.domain_files import check_domains, load_domains, read_domain
from config.errors import ConfigError

VALID = """\
domain: security
title: Security help
channels: [C0SECURITY]
sources:
  files: [documents]
"""


def write(folder: Path, text: str, name: str = "security.yaml") -> Path:
    path = folder / "domains" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def problems_of(folder: Path, text: str) -> list[str]:
    path = write(folder, text)
    return [f"{p.line}:{p.column}: {p.message}" for p in read_domain(path)[1]]


def test_the_shipped_domains_are_valid() -> None:
    assert set(load_domains(Path(__file__).parents[2] / "config")) == {
        "security",
        "privacy",
        "platform",
    }


def test_a_short_file_gets_every_default(tmp_path: Path) -> None:
    domain, problems = read_domain(write(tmp_path, VALID))
    assert problems == []
    assert domain is not None
    assert domain.answer.effort == "standard"
    assert domain.answer.context_characters == 12_000


def test_a_misspelt_key_is_placed_and_the_nearest_one_named(tmp_path: Path) -> None:
    assert problems_of(tmp_path, VALID + "answer:\n  efort: fast\n") == [
        "7:3: unknown key 'efort'; did you mean 'effort'?"
    ]


def test_a_misspelt_key_inside_a_list_is_placed(tmp_path: Path) -> None:
    text = VALID + "examples:\n  - {question: how, document: [a]}\n"
    assert problems_of(tmp_path, text) == [
        "7:5: missing key 'examples.0.documents'",
        "7:21: unknown key 'document'; did you mean 'documents'?",
    ]


def test_a_wrong_value_is_placed_and_the_nearest_choice_named(tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, VALID + "answer: {when: mentions}\n")
    assert found.startswith("6:16: answer.when: ")
    assert found.endswith("did you mean 'mention'?")


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "domain: x\nsources: {}\n") == ["1:1: missing key 'title'"]


def test_a_key_given_twice_is_found(tmp_path: Path) -> None:
    assert problems_of(tmp_path, VALID + "title: Other\n") == ["6:1: key 'title' is given twice"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("domain: [1,\ntitle: x", "2:"),
        ("\tdomain: x", "1:1"),
        ("- a\n- b\n", "1:1"),
        ("", "1:1"),
        ("a: &a [*a]\n", "1:"),
        ("domain: \x00\n", "1:1"),
        ("[" * 5000, "1:"),
    ],
)
def test_what_is_not_a_domain_is_placed_too(tmp_path: Path, text: str, place: str) -> None:
    assert problems_of(tmp_path, text)[0].startswith(place)


def test_bytes_that_are_no_text_are_a_problem_not_a_crash(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"\xff\xfe\x00domain")
    assert "can't be read" in read_domain(path)[1][0].message


def test_two_files_may_not_share_a_domain_or_a_channel(tmp_path: Path) -> None:
    write(tmp_path, VALID, "a.yaml")
    write(tmp_path, VALID, "b.yaml")
    write(tmp_path, VALID.replace("domain: security", "domain: other"), "c.yaml")
    _, problems = check_domains(tmp_path)
    assert [p.message.split(" ")[0] for p in problems] == ["domain", "channel"]


def test_a_folder_without_domains_says_where_to_point(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ONCALL_CONFIG_DIR"):
        load_domains(tmp_path)


def test_every_problem_is_raised_at_once(tmp_path: Path) -> None:
    write(tmp_path, VALID + "title: Other\n", "a.yaml")
    write(tmp_path, "domain: x\n", "b.yaml")
    with pytest.raises(ConfigError) as caught:
        load_domains(tmp_path)
    assert caught.value.exit_code == 2
    assert len(caught.value.problem.splitlines()) == 3


@pytest.mark.parametrize(
    ("glossary", "problem"),
    [
        ("{KEK: []}", "at least 1 item"),
        ("{KEK: ['  ']}", "at least 1 character"),
        ("{KEK: [kek]}", "repeats"),
        ("{KEK: [Key, key]}", "repeats"),
        ("{KEK: [one key], kek: [other key]}", "twice"),
        ("{KEK: one key}", "list"),
        (f"{{KEK: [{'k' * 81}]}}", "at most 80 characters"),
        (f"{{{', '.join(f's{n}: [m{n}]' for n in range(201))}}}", "at most 200 items"),
    ],
)
def test_a_glossary_is_bounded_and_says_nothing_twice(
    tmp_path: Path, glossary: str, problem: str
) -> None:
    found = problems_of(tmp_path, VALID + f"glossary: {glossary}\n")
    assert len(found) == 1
    assert problem in found[0]
    assert found[0].startswith("6:")


def test_a_glossary_is_kept_as_written(tmp_path: Path) -> None:
    domain, problems = read_domain(write(tmp_path, VALID + "glossary: {KEK: [Key encryption key]}"))
    assert problems == []
    assert domain is not None
    assert domain.glossary == {"KEK": ["Key encryption key"]}
