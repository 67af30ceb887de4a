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
    assert domain.answer.context_characters is None


def test_a_misspelt_key_is_placed_and_the_nearest_one_named(tmp_path: Path) -> None:
    assert problems_of(tmp_path, VALID + "answer:\n  efort: fast\n") == [
        "7:3: unknown key 'efort'; did you mean 'effort'?"
    ]


def test_where_a_file_was_read_from_is_no_key(tmp_path: Path) -> None:
    assert problems_of(tmp_path, VALID + "path: elsewhere.yaml\n")[0].startswith("6:1: unknown key")
    domain, _ = read_domain(write(tmp_path, VALID))
    assert domain is not None
    assert domain.path == tmp_path / "domains" / "security.yaml"


def test_a_misspelt_key_inside_a_list_is_placed(tmp_path: Path) -> None:
    text = VALID + "examples:\n  - {question: how, document: [a]}\n"
    assert problems_of(tmp_path, text) == [
        "7:5: missing key 'examples.0.documents'",
        "7:21: unknown key 'document'; did you mean 'documents'?",
    ]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            "files: [{path: docs, base_ulr: https://wiki.example.com}]",
            "4:24: unknown key 'base_ulr'; did you mean 'base_url'?",
        ),
        (
            "loader: {name: wiki, argments: {}, readers: everyone}",
            "4:24: unknown key 'argments'; did you mean 'arguments'?",
        ),
        (
            "loader: [{name: wiki, reader: everyone, readers: everyone}]",
            "4:25: unknown key 'reader'; did you mean 'readers'?",
        ),
    ],
)
def test_a_misspelt_key_of_a_source_is_placed_and_the_nearest_one_named(
    tmp_path: Path, source: str, problem: str
) -> None:
    text = f"domain: security\ntitle: Security\nsources:\n  {source}\n"
    assert problems_of(tmp_path, text) == [problem]


def test_a_wrong_value_is_placed_and_the_nearest_choice_named(tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, VALID + "answer: {when: mentions}\n")
    assert found.startswith("6:16: answer.when: ")
    assert found.endswith("did you mean 'mention'?")


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "domain: x\nsources: {}\n") == ["1:1: missing key 'title'"]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("refresh: daily\n", "6:10", "has 1 field, and a schedule has five"),
        ('refresh: "61 * * * *"\n', "6:10", "wrong in its minute: 61 is not from 0 to 59"),
        ('refresh: "0 0 31 2 *"\n', "6:10", "names a day that never comes"),
        ('refresh: "0 0 3 * * *"\n', "6:10", "has 6 fields, and a schedule has five"),
        ('refresh: "R * * * *"\n', "6:10", "'r' is no number from 0 to 59"),
        ('refresh: "*/90 * * * *"\n', "6:10", "a step of 90 is not from 1 to 59"),
        ('refresh: "0 3 L * *"\n', "6:10", "wrong in its day of the month"),
        ('refresh: "0 3 * mai *"\n', "6:10", "from 1 to 12, or jan to dec"),
        ('refresh: "0 3 , * *"\n', "6:10", "write a number, `*`, a range"),
        ('refresh: {cron: "0 3 * * *", time_zone: Berlin}\n', "6:41", "mean 'Europe/Berlin'?"),
        ('refresh: {cron: "0 3 * * *", time_zone: ../etc}\n', "6:41", "as in Europe/Berlin"),
        ('refresh: {cron: "0 3 * * *", jitter_minutes: 90}\n', "6:46", "60"),
        ('refresh: {cron: "*/15 * * * *", jitter_minutes: 15}\n', "6:10", "from one run to the"),
        ("refresh: {time_zone: UTC}\n", "6:10", "missing key"),
        ("gaps: {report: weekly}\n", "6:16", "has 1 field, and a schedule has five"),
        ('gaps: {report: "0 9 * * 1", time_zone: Berlin}\n', "6:40", "mean 'Europe/Berlin'?"),
        ('gaps: {report: "0 9 * * 1"}\n', "1:1", "gaps.report: nobody would get it"),
    ],
)
def test_a_time_that_never_comes_is_refused(
    tmp_path: Path, text: str, place: str, said: str
) -> None:
    (found,) = problems_of(tmp_path, VALID + text)
    assert found.startswith(f"{place}: ")
    assert said in found


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("admins: [U0INES, '@ines']\n", "6:18", "Copy member ID"),
        ("admins: [ines@tidewater.example]\n", "6:10", "Copy member ID"),
        ("escalation: {usergroup: '@seceng'}\n", "6:25", "Copy group ID"),
        ("escalation: {usergroup: U0INES}\n", "6:25", "Copy group ID"),
        ("escalation: {user: S0SECENG}\n", "6:20", "Copy member ID"),
        ("answer: {alert_bots: [pagerduty]}\n", "6:23", "starts with B or A"),
        ("answer: {links: ['https://wiki.example.com/x']}\n", "6:18", "wiki.example.com"),
        ("answer: {links: ['*.example.com']}\n", "6:18", "hosts below it count too"),
        ("chunks: {size: 100, overlap: 100}\n", "6:9", "smaller than size"),
    ],
)
def test_a_name_where_an_id_or_a_host_belongs_is_placed_with_its_remedy(
    tmp_path: Path, text: str, place: str, remedy: str
) -> None:
    (found,) = problems_of(tmp_path, VALID + text)
    assert found.startswith(f"{place}: ")
    assert remedy in found


@pytest.mark.parametrize("channel", ["'#help-security'", "help-security", "D0INES", "c0security"])
def test_a_channel_is_given_by_its_id(tmp_path: Path, channel: str) -> None:
    text = VALID.replace("[C0SECURITY]", f"[C0SECURITY, {channel}]")
    (found,) = problems_of(tmp_path, text)
    assert found.startswith("3:24: channels.1: ")
    assert "Copy channel ID" in found


def test_ids_of_all_kinds_are_taken(tmp_path: Path) -> None:
    text = VALID.replace("[C0SECURITY]", "[C0SECURITY, G024BE91L]") + (
        "admins: [U0INES, W012A3CDE]\n"
        "answer: {alert_bots: [B0BEACON, A0BEACON, U0BEACON], links: [localhost, 10.0.0.1]}\n"
        'escalation: {usergroup: S0SECENG, user: ""}\n'
    )
    assert problems_of(tmp_path, text) == []


def test_the_same_question_in_two_examples_is_found(tmp_path: Path) -> None:
    text = VALID + (
        "examples:\n"
        "  - {question: 'How often?', documents: [a]}\n"
        "  - {question: who, documents: [a]}\n"
        "  - {question: 'how  often?', documents: [b]}\n"
    )
    assert problems_of(tmp_path, text) == [
        "9:16: the same question is the example on line 7; merge their documents"
    ]


def test_a_channel_listed_twice_is_found(tmp_path: Path) -> None:
    text = VALID.replace("[C0SECURITY]", "[C0SECURITY, C0OTHER, C0SECURITY]")
    assert problems_of(tmp_path, text) == [
        "3:33: channel 'C0SECURITY' is already on line 3; leave one of them out"
    ]


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
        ("domain: \x00\n", "1:9"),
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
    first = write(tmp_path, VALID, "a.yaml")
    same = write(tmp_path, f"# The same again\n{VALID}", "b.yaml")
    other = VALID.replace("domain: security", "domain: other")
    second = write(
        tmp_path, other.replace("[C0SECURITY]", "\n  - C0OTHER\n  - C0SECURITY"), "c.yaml"
    )
    domains, problems = check_domains(tmp_path)
    assert set(domains) == {"security", "other"}
    assert [str(problem) for problem in problems] == [
        f"{same}:2:9: domain 'security' is already defined in {first}; give each its own name",
        f"{second}:5:5: channel 'C0SECURITY' already belongs to {first}; "
        "one domain answers in a channel",
    ]


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
        ("{KEK: [one key], kek: [other key]}", "6:28: short form 'kek' is already on line 6"),
        ("{KEK: one key}", "list"),
        (f"{{KEK: [{'k' * 81}]}}", "at most 80 characters"),
        (f"{{{', '.join(f's{n}: [m{n}]' for n in range(201))}}}", "201 entries; at most 200"),
    ],
)
def test_a_glossary_is_bounded_and_says_nothing_twice(
    tmp_path: Path, glossary: str, problem: str
) -> None:
    found = problems_of(tmp_path, VALID + f"glossary: {glossary}\n")
    assert len(found) == 1
    assert problem in found[0]
    assert found[0].startswith("6:")
    assert "value error" not in found[0]


def test_a_glossary_is_kept_as_written(tmp_path: Path) -> None:
    domain, problems = read_domain(write(tmp_path, VALID + "glossary: {KEK: [Key encryption key]}"))
    assert problems == []
    assert domain is not None
    assert domain.glossary == {"KEK": ["Key encryption key"]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("glossary: {NO: [Norway]}\n", "6:12: `NO` means false in YAML; write `'NO':`"),
        ("glossary: {ON: [Ontario]}\n", "6:12: `ON` means true in YAML; write `'ON':`"),
        ("glossary: {404: [not found]}\n", "6:12: `404` means a number in YAML; write `'404':`"),
        ("~: x\n", "6:1: `~` means nothing in YAML; write `'~':`"),
        ("glossary: {SG: Singapore}\n", "6:16: glossary.SG: expected a list; write [Singapore]"),
        ("glossary: {SG: ['a\\\n\n  b']}\n", "6:17: glossary.SG.0: has a line break"),
        ("admins: U0INES\n", "6:9: admins: expected a list; write [U0INES]"),
        ("admins: ['']\n", "6:10: admins.0: is blank"),
        ("admins:\n", "is empty; write a value, or leave the key out"),
        ("escalation: S0PRE\n", "6:13: escalation: expected keys such as usergroup:"),
        ("limits:\n  tokens_per_day: 2,000,000\n", "7:19: limits.tokens_per_day: "),
        ("limits:\n  tokens_per_day: 2,000,000\n", "write 2000000"),
        ("limits: {tokens_per_day: yes}\n", "6:26: limits.tokens_per_day: expected a whole"),
        ("limits: {tokens_per_day: 0160}\n", "6:26: `0160` is no plain decimal number"),
        ("limits: {tokens_per_day: 1:30}\n", "6:26: `1:30` is no plain decimal number"),
        (f"limits: {{tokens_per_day: {'9' * 5000}}}\n", "6:26: `9999"),
        ("retrieval: {hyde: 1}\n", "6:19: retrieval.hyde: expected true or false"),
        ("chunks: {semantic_threshold: true}\n", "6:30: chunks.semantic_threshold: expected"),
        ("answer: {links: [com]}\n", "6:18: answer.links.0: 'com' is no host"),
        ("answer: {links: ['-']}\n", "6:18: answer.links.0: '-' is no host"),
        ("answer: {instructions: 5}\n", "6:24: answer.instructions: expected text; write '5'"),
        ('answer: {instructions: "D \\ud800"}\n', "6:24: holds half a character"),
        ("answer:\n  instructions: a\x07b\n", "7:18: holds the control character U+0007"),
        ("---\ntitle: other\n", "6:1: a second document begins here"),
        ("examples: [{question: ' ', documents: [a]}]\n", "6:23: examples.0.question: is blank"),
        ("examples: [{question: q, documents: ['']}]\n", "6:38: examples.0.documents.0: is"),
        ("examples: [{question: q, documents: [a, a]}]\n", "6:41: document 'a' is in this exam"),
    ],
)
def test_a_likely_mistake_is_placed_and_explained(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, VALID + text)
    assert problem in found


@pytest.mark.parametrize(
    ("sources", "problem"),
    [
        ("{}", "4:1: sources: no documents to answer from"),
        ("{files: [], google_drive: {folders: []}}", "4:1: sources: no documents to answer from"),
        ("{files: ['']}", "4:19: sources.files.0.path: is blank"),
        (
            "{files: [{path: a, base_url: docs}]}",
            "4:39: sources.files.0.base_url: 'docs' is no web",
        ),
        ("{files: [{path: a, base_url: 'https://u:p@x.io/a'}]}", "holds a name or password"),
        ("{files: [{path: a, base_url: 'https://x.io/a?b'}]}", "behind which no path can be added"),
        ("{files: [{path: a, base_url: 'javascript:alert(1)'}]}", "is no web address"),
        ("{google_drive: {folders: ['']}}", "4:36: sources.google_drive.folders.0: is blank"),
        ("{google_drive: {folders: [a b]}}", "after /folders/ or /d/"),
        (
            "{google_drive: {folders: ['https://drive.google.com/drive/folders/1AbC?usp=sharing']}}",
            "write the id alone: 1AbC",
        ),
        (
            "{google_drive: {documents: ['https://docs.google.com/document/d/1x-_Y/edit']}}",
            "write the id alone: 1x-_Y",
        ),
    ],
)
def test_sources_that_cannot_work_are_refused(tmp_path: Path, sources: str, problem: str) -> None:
    head, _ = VALID.split("sources:")
    (found,) = problems_of(tmp_path, f"{head}sources: {sources}\n")
    assert problem in found


@pytest.mark.parametrize("domain", ["Security", "help desk", "a_b", "x" * 64])
def test_a_domain_id_is_explained_in_words(tmp_path: Path, domain: str) -> None:
    (found,) = problems_of(tmp_path, VALID.replace("domain: security", f"domain: {domain}"))
    assert "lower-case letters, digits and hyphens" in found


def test_a_date_is_text(tmp_path: Path) -> None:
    text = VALID + "answer: {instructions: 2026-13-45}\nglossary: {GA: [2026-11-02]}\n"
    domain, problems = read_domain(write(tmp_path, text))
    assert problems == []
    assert domain is not None
    assert domain.answer.instructions == "2026-13-45"


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, VALID + "#" * 1_000_000 + "\nanswre: {}\n")
    assert "larger than 1 MB" in found


def test_bytes_of_another_encoding_are_placed(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(VALID.encode() + "# ü\nanswer: {instructions: ".encode() + b"caf\xe9}\n")
    (problem,) = read_domain(path)[1]
    assert (problem.line, problem.column) == (7, 27)
    assert "save the file as UTF-8" in problem.message


def test_many_aliases_of_aliases_are_read_in_time(tmp_path: Path) -> None:
    deep = "".join(f"x{n}: &x{n} [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 60))
    assert len(problems_of(tmp_path, f"{VALID}x0: &x0 [a]\n{deep}")) == 60


def test_a_file_with_an_ending_in_capitals_is_reported_and_hidden_ones_are_nobodys(
    tmp_path: Path,
) -> None:
    write(tmp_path, VALID, "a.yaml")
    write(tmp_path, "domain: [", ".a.yaml")
    loud = write(tmp_path, VALID, "b.YAML")
    domains, problems = check_domains(tmp_path)
    assert set(domains) == {"security"}
    assert [str(one) for one in problems] == [
        f"{loud}:1:1: this file is ignored; rename it to b.yaml"
    ]


ON_CALL = VALID + "escalation:\n  user: U0INES\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            ON_CALL + "  levels:\n    - {users: U0DANA, after_minutes: 5}\n",
            "9:8: unknown key 'users'; did you mean 'user'?",
        ),
        (
            ON_CALL + "  levels:\n    - {user: U0DANA}\n",
            "9:7: missing key 'escalation.levels.0.after_minutes'",
        ),
        (
            ON_CALL + "  levels:\n    - {name: Leads, after_minutes: 5}\n",
            "9:7: escalation.levels.0: write one of user, usergroup and rota; for more of them, "
            "more levels",
        ),
        (
            ON_CALL + "  levels:\n    - {usergroup: U0DANA, after_minutes: 5}\n",
            "9:19: escalation.levels.0.usergroup: 'U0DANA' is no user group id (S…); in Slack: "
            "People › User groups › ⋮ › Copy group ID",
        ),
        (
            ON_CALL + "  levels:\n    user: U0DANA\n",
            "9:5: escalation.levels: expected a list, as in [one, other]",
        ),
        (
            ON_CALL + "  remind_minute: 5\n",
            "8:3: unknown key 'remind_minute'; did you mean 'remind_minutes'?",
        ),
        (
            ON_CALL + "  remind_minutes: 5m\n",
            "8:19: escalation.remind_minutes: expected a whole number",
        ),
        (
            ON_CALL + "  timezone: Europe/Berlin\n",
            "8:3: unknown key 'timezone'; did you mean 'time_zone'?",
        ),
        (
            ON_CALL + "  time_zone: Europe/Belrin\n",
            "8:14: escalation.time_zone: 'Europe/Belrin' is no time zone of the IANA database; did "
            "you mean 'Europe/Berlin'?",
        ),
        (
            VALID + "digest: shift-change\n",
            "6:9: digest.at: 'shift-change' is no time; did you mean `shift_change`?",
        ),
        (
            VALID + "digest: shift_change\n",
            "1:1: digest: shift_change needs escalation.rota; add it, or write a cron expression",
        ),
        (
            VALID + "digest: true\n",
            "6:9: digest: write `shift_change` or a cron expression, or leave it out for none",
        ),
        (
            VALID + "digest: {at: 0 9 * * *, to: oncall}\n",
            "6:29: digest.to: input should be 'channel' or 'on_call'; did you mean 'on_call'?",
        ),
        (
            VALID + "digest: {at: 0 9 * * *, to: on_call}\n",
            "1:1: digest.to: on_call needs escalation.rota or escalation.user; add one, or write "
            "`channel`",
        ),
    ],
)
def test_what_is_wrong_with_levels_and_digests_is_one_line_with_its_remedy(
    tmp_path: Path, text: str, problem: str
) -> None:
    assert problems_of(tmp_path, text) == [problem]
