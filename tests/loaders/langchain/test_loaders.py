"""Classes of LangChain as sources: what they yield, and what they may not do."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.setup.checks import misses
from cli.setup.files import _flow
from config.domain import Domain, Example
from config.domain_files import read_domain
from config.errors import ConfigError
from config.settings import Settings
from loaders import registry
from loaders.document import Document
from loaders.langchain.process import without_secrets
from loaders.source import SourceChanges
from tests.loaders.langchain import loaders_of_ours

OURS = loaders_of_ours.__name__
TICKETS = "tests.loaders.langchain.tickets:Tickets"
TOKEN = "letmein-2026-okay"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a team: what domain files name lies below it."""
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    monkeypatch.chdir(home)
    return home


def settings(may: str = "", *, wiki: str = "Wiki", **values: Any) -> Settings:
    loader = wiki if ":" in wiki else f"{OURS}:{wiki}"
    return Settings(_env_file=None, loaders=f"wiki={loader} {may}", **values)


def domain(entries: Any, access: Any = None) -> Domain:
    values = {"domain": "tea", "title": "Tea help", "sources": {"loader": entries}}
    one = Domain.model_validate({**values, "access": access or {}})
    return one.read_from(Path("config/domains/tea.yaml"))


def entry(then: str = "", value: Any = None, **keys: Any) -> dict[str, Any]:
    arguments = {"then": then, "value": value} if then else {}
    return {"name": "wiki", "arguments": arguments, "readers": "everyone", **keys}


def listed(
    one: Domain, allowed: Settings, before: dict[str, Document] | None = None
) -> SourceChanges:
    (source,) = registry.open_sources(one, allowed)
    indexed = before or {}
    return source.changes(cursor="", indexed=indexed, settled=indexed.keys())


def reason(then: str, value: Any = None, may: str = "", **values: Any) -> str:
    """Why an entry can't be read. None of its documents is deleted."""
    changes = listed(domain(entry(then, value)), settings(may, **values))
    assert (changes.changed, list(changes.lost)) == ({}, ["wiki"])
    assert changes.failed[0].refused
    return str(changes.failed[0])


def test_a_page_becomes_a_document_with_what_its_metadata_say(home: Path) -> None:
    changes = listed(domain(entry()), settings())
    (name, load), *_ = changes.changed.items()
    document = load()
    assert name == document.id == "wiki:https://wiki.example.com/kettle"
    assert (document.title, document.owner, document.source) == ("Kettle", "Ines Mora", "loader")
    assert document.url == "https://wiki.example.com/kettle"
    assert document.modified_at == datetime(2026, 3, 1, 7, tzinfo=UTC)
    assert [block.text for block in document.blocks] == ["Kettle", "Descale it on Mondays."]
    assert (changes.complete, changes.skipped, changes.failed) == (True, (), ())


def test_what_did_not_change_is_not_loaded_again(home: Path) -> None:
    first = listed(domain(entry()), settings())
    before = {name: load() for name, load in first.changed.items()}
    again = listed(domain(entry()), settings(), before)
    assert (again.changed, again.unchanged) == ({}, before.keys())
    for other in (entry(arguments={"value": 1}), entry(readers=["dana@example.com"])):
        assert listed(domain([other]), settings(), before).changed.keys() == before.keys()


def test_a_class_of_langchain_core_is_read(home: Path) -> None:
    (home / "tickets").mkdir()
    (home / "tickets/a.txt").write_text("Descale it.", encoding="utf-8")
    one = domain(entry(arguments={"folder": "tickets"}))
    assert list(listed(one, settings(wiki=TICKETS)).changed) == ["wiki:a.txt"]


@pytest.mark.skipif(not find_spec("langchain_community"), reason="needs the extra `bench`")
def test_a_class_of_langchain_community_is_read(home: Path) -> None:
    (home / "teas.csv").write_text("tea,minutes\nsencha,1\noolong,4\n", encoding="utf-8")
    one = domain(entry(arguments={"file_path": "teas.csv"}))
    allowed = settings(wiki="langchain_community.document_loaders:CSVLoader")
    document = listed(one, allowed).changed["wiki:teas.csv"]()
    text = " ".join(block.text for block in document.blocks)
    assert all(cell in text for cell in ("sencha", "oolong", "minutes: 4"))


def test_lies_about_ids_are_left_out_and_counted(home: Path) -> None:
    changes = listed(domain(entry("lies")), settings())
    documents = {name: load() for name, load in changes.changed.items()}
    assert list(documents) == [
        "wiki:https://wiki.example.com/kettle", "wiki:half", "wiki:same#One", "wiki:same#Other",
        "wiki:handbook.pdf", "wiki:1AbCdEf",
    ]  # fmt: skip
    assert [one.text for one in documents["wiki:handbook.pdf"].blocks] == ["Page one.", "Page two."]
    assert documents["wiki:half"].title == "\ufffd\ufffd"
    assert documents["wiki:half"].blocks[0].text == "half \ufffd and \ufffd"
    assert changes.skipped == (
        "wiki: 1 page left out: no text",
        "wiki: 1 page left out: no document of LangChain (AttributeError)",
        "wiki: 2 pages left out: no `source` in the metadata",
        "wiki: 1 page left out: a `source` of more than 1,000 characters",
        "wiki: 1 page left out: a `source` that is no line of text",
    )
    assert not changes.complete, "what can't be read may be there"


@pytest.mark.parametrize(
    ("then", "value", "why"),
    [
        ("dies", None, "its process ended with status 3 before its last document"),
        ("refuse", 5, "Wiki doesn't take these arguments: TypeError: unexpected value 5"),
        ("reads", "/etc/passwd", "it wanted to read /etc/passwd, which ONCALL_LOADERS doesn't"),
        ("reads", ".env", "home/.env, which ONCALL_LOADERS doesn't allow"),
        ("reads", "var/jobs.sqlite", "var/jobs.sqlite, which ONCALL_LOADERS doesn't allow"),
        ("reads", "google.json", "google.json, which ONCALL_LOADERS doesn't allow"),
        ("reads", "token.txt", "token.txt, which ONCALL_LOADERS doesn't allow"),
        ("reads", "link.md", "it wanted to read /etc/hostname, which"),
        ("reads", "/proc/self/environ", "environ, which ONCALL_LOADERS doesn't allow"),
        ("writes", "config/domains/tea.yaml", "it wanted to write to "),
        ("starts", None, "it wanted to start another program, which ONCALL_LOADERS doesn't"),
        ("reaches", "169.254.169.254", "add host=169.254.169.254 behind it"),
        ("reaches", "wiki.internal", "it wanted to reach wiki.internal, which"),
        ("reaches", "localhost", "it wanted to reach localhost, which"),
    ],
)
def test_what_fails_or_is_not_allowed_is_told(
    home: Path, then: str, value: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("google.json", "token.txt"):
        (home / name).write_text("secret", encoding="utf-8")
    monkeypatch.setenv("ONCALL_API_TOKEN_FILE", "token.txt")
    (home / ".env").write_text("SLACK_BOT_TOKEN=xoxb-1", encoding="utf-8")
    (home / "var").mkdir()
    (home / "var/jobs.sqlite").write_text("rows", encoding="utf-8")
    (home / "link.md").symlink_to("/etc/hostname")
    key = home / "google.json"
    assert why in reason(then, value, may="host=wiki.example.com", google_credentials=key)


def test_what_the_operator_allows_is_had(home: Path, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export/tea.md").write_text("Two minutes.", encoding="utf-8")
    may = f"folder={tmp_path / 'export'} programs host=localhost"
    one = domain([entry("reads", f"{tmp_path}/export/tea.md"), entry("starts")])
    assert {"wiki:file", "wiki:id"} <= listed(one, settings(may)).changed.keys()
    assert "Connection refused" in reason("reaches", "localhost", may=may)


def test_a_class_that_goes_on_without_what_it_was_refused_deletes_nothing(home: Path) -> None:
    changes = listed(domain(entry("shrugs", "wiki.internal")), settings())
    assert "wiki:cups" in changes.changed
    assert not changes.complete
    assert "it wanted to reach wiki.internal" in changes.skipped[0]


def test_a_class_that_hangs_or_never_ends_is_ended(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = reason("hangs", loader_seconds=0.5)
    assert "it took more than 0.5 s; narrow its arguments, or give it longer by ONCALL_L" in said
    monkeypatch.setattr("loaders.langchain.pages.MAX_PAGES", 50)
    assert "it lists more than 50 pages; narrow its arguments" in reason("never_ends")


def test_a_class_that_lists_nothing_is_lost(home: Path) -> None:
    changes = listed(domain(entry()), settings(wiki="Empty"))
    assert "it lists no document; look whether its arguments are right" in str(changes.failed[0])


@pytest.mark.parametrize(
    ("loaders", "why"),
    [
        ("", "ONCALL_LOADERS names no loader 'wiki'; have the operator add it"),
        ("wiki=langchain_atlantis.loaders:Wiki", "pip install langchain-atlantis"),
        (f"wiki={OURS}:Wikki", f"{OURS} has no Wikki; did you mean Wiki?; correct ONCALL"),
        (f"wiki={OURS}:Page", "Page is no loader: it has no `lazy_load`"),
        (f"wiki={OURS}.more:Wiki", f"there is no module {OURS}.more; correct ONCALL_LOADERS"),
    ],
)
def test_a_class_that_is_not_there_says_what_to_do(home: Path, loaders: str, why: str) -> None:
    allowed = Settings(_env_file=None, loaders=loaders)
    assert why in str(listed(domain(entry()), allowed).failed[0])


def test_one_of_two_that_fails_leaves_the_other(home: Path) -> None:
    changes = listed(domain([entry("dies"), entry()]), settings())
    assert list(changes.lost) == ["wiki 1"]
    assert list(changes.changed) == ["wiki:https://wiki.example.com/kettle"]


def test_a_class_gets_the_variables_that_the_operator_names_and_no_other(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKI_TOKEN", TOKEN)
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-0000000000000")
    one = domain(entry("surroundings", {"env": "WIKI_TOKEN"}))
    document = listed(one, settings("env=WIKI_TOKEN")).changed["wiki:variables"]()
    names = {block.text for block in document.blocks}
    assert "WIKI_TOKEN" in names
    assert "SLACK_BOT_TOKEN" not in names
    for name in ("SLACK_BOT_TOKEN", "HOME"):
        said = reason("surroundings", [{"env": name}], may="env=WIKI_TOKEN")
        assert f"have the operator add env={name} behind wiki in ONCALL_LOADERS" in said
    monkeypatch.delenv("WIKI_TOKEN")
    assert "WIKI_TOKEN is not set" in reason("raises", {"env": "WIKI_TOKEN"}, may="env=WIKI_TOKEN")


def test_no_error_quotes_a_secret_or_a_part_of_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKI_TOKEN", TOKEN)
    said = reason("raises", {"env": "WIKI_TOKEN"}, may="env=WIKI_TOKEN")
    assert "401: the token [hidden]… of Basic Om[hidden]5= fails" in said
    assert TOKEN in settings("env=WIKI_TOKEN").secrets()
    for before in ("", "u:", "me:"):
        encoded = b64encode(f"{before}{TOKEN}".encode()).decode()
        assert without_secrets(encoded, [TOKEN], in_parts=True).count("[hidden]") == 1
    assert without_secrets("https://x/?t=a%2Fb%2Fc", ["a/b/c"]) == "https://x/?t=[hidden]"


def test_who_may_read_is_said_by_the_domain_file_as_it_is_now(home: Path) -> None:
    asker = {"audience": "asker", "groups": {"tea@example.com": ["dana@example.com"]}}
    those = ["Ines@example.com", "tea@example.com", "group:sec@example.com"]
    one = domain(entry(readers=those), asker)
    document = next(iter(listed(one, settings()).changed.values()))()
    named = [(each.kind, each.value) for each in document.permissions]
    assert named == [
        ("user", "ines@example.com"), ("group", "tea@example.com"), ("group", "sec@example.com")
    ]  # fmt: skip
    narrower = domain(entry(readers=["dana@example.com"]), asker)
    (only,) = registry.stated_readers(narrower, document) or ()
    assert only.value == "dana@example.com"
    elsewhere = domain(entry(arguments={"value": "HR"}), asker)
    assert registry.stated_readers(elsewhere, document) == ()


def test_before_the_first_run_nobody_knows_which_documents_there_are(home: Path) -> None:
    example = {"question": "When is it descaled?", "documents": ["wiki:cups"]}
    one = domain(entry()).model_copy(update={"examples": [Example.model_validate(example)]})
    assert not list(misses(one, None, settings()))
    (unknown,) = misses(one, {"wiki:cup": ""}, settings())
    assert "did you mean 'wiki:cup'?" in unknown.message


def test_init_takes_a_loader_with_its_readers() -> None:
    kind = registry.KINDS["loader"]
    (value,) = kind.recognize("wiki readers=everyone limit=10 space_key=0160", settings())
    assert value["arguments"] == {"limit": 10, "space_key": "0160"}
    assert _flow([value]) == (
        '[{name: wiki, arguments: {limit: 10, space_key: "0160"}, readers: everyone}]'
    )
    assert kind.recognize("handbook/wiki", settings()) is None
    with pytest.raises(ConfigError, match="write it as in `wiki readers=everyone space_key=OPS`"):
        kind.recognize("wiki space_key=OPS", settings())


def problems(home: Path, sources: Any, **keys: Any) -> list[str]:
    path = home / "config/tea.yaml"
    values = {"domain": "tea", "title": "Tea help", "sources": {"loader": sources}, **keys}
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return [problem.message for problem in read_domain(path)[1]]


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        ({"name": "wiki"}, "missing key 'sources.loader.0.readers'"),
        (entry(readers="all"), "write `everyone`, or a list: [all]"),
        (entry(readers=["U0DANA"]), "is no reader; write an e-mail address, a group"),
        (entry(readers=[]), "readers"),
        (entry(name="os:system"), "is no loader's name; the operator gives it in ONCALL_LOADERS"),
        (entry(**{"class": "os:system"}), "unknown key 'class'"),
        (entry(value="x" * 30_000, then="x"), "has more than 20,000 characters"),
        (entry(arguments={"api_key": "sk-1"}), "write `api_key: {env: VARIABLE}`"),
        ([entry(), entry()], "wiki is there twice with the same arguments"),
        (entry(readers=["dana@example.com"]), "write `access: {audience: asker}`, or"),
    ],
)
def test_what_a_domain_file_may_not_say(home: Path, sources: Any, why: str) -> None:
    assert any(why in one for one in problems(home, sources)), problems(home, sources)


@pytest.mark.parametrize(
    ("loaders", "why"),
    [
        ("ConfluenceLoader", "'ConfluenceLoader' begins no NAME=MODULE:CLASS"),
        ("a=b:C, a=b:D", "a is there twice"),
        ("a=b:C host=https://wiki.example.com", "'host' after a is neither host=wiki.example.com"),
        ("a=b:C env=sk-0123456789abcdef", "'env' after a is neither"),
    ],
)
def test_a_wrong_list_of_loaders_is_refused(loaders: str, why: str) -> None:
    with pytest.raises(ValueError, match="loaders") as refused:
        Settings(_env_file=None, loaders=loaders)
    assert why in str(refused.value.errors()[0]["msg"])  # type: ignore[attr-defined]
