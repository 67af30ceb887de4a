"""The API's tokens on disk: made, listed, revoked, read again."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from api.auth.tokens import FILE, LiveTokens, create_token, hash_of, read_tokens, revoke_token
from config.errors import ConfigError, CopilotError, UsageError
from tests.api.front import api, bearer, elsewhere, here


def write(folder: Path, text: str) -> None:
    path = folder / FILE
    path.write_text(text)
    path.chmod(0o600)


def entry(**more: str) -> str:
    values = {"name": "a", "sha256": f"'{'0' * 64}'", "domains": "all"} | more
    lines = [f"{key}: {value}" for key, value in values.items()]
    return "tokens:\n- " + "\n  ".join(lines) + "\n"


def test_a_token_is_shown_once_and_kept_as_a_hash(tmp_path: Path) -> None:
    token = create_token(tmp_path, "grafana", domains=["security"], identity="ines@x.example")
    text = (tmp_path / FILE).read_text()
    assert token.startswith("oncall_")
    assert len(token) == len("oncall_") + 43
    assert token not in text
    assert token.removeprefix("oncall_") not in text
    (kept,) = read_tokens(tmp_path)
    assert kept.sha256 == hash_of(token.encode())
    assert (kept.domains, kept.identity) == (["security"], "ines@x.example")
    assert (kept.speaks_for_people, kept.metrics) == (False, False)


def test_two_tokens_are_never_the_same(tmp_path: Path) -> None:
    assert len({create_token(tmp_path, f"t{n}") for n in range(20)}) == 20


def test_the_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        create_token(tmp_path, name)
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    revoke_token(tmp_path, "one")
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    create_token(tmp_path, "grafana")
    with pytest.raises(UsageError, match="already; revoke it first"):
        create_token(tmp_path, "grafana")
    for name in ("", "a b", "../a", "a\nb", "-a", "x" * 64):
        with pytest.raises(UsageError, match="no name of a token; use letters"):
            create_token(tmp_path, name)
    with pytest.raises(UsageError, match="no identity of a token; give an e-mail"):
        create_token(tmp_path, "b", identity="ines")


def test_a_name_of_none_can_t_be_revoked(tmp_path: Path) -> None:
    create_token(tmp_path, "grafana")
    with pytest.raises(UsageError, match="did you mean 'grafana'"):
        revoke_token(tmp_path, "grafanna")


def test_who_writes_at_the_same_time_loses_nothing(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(16)]
    threads = [threading.Thread(target=create_token, args=(tmp_path, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(token.name for token in read_tokens(tmp_path)) == sorted(names)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set ONCALL_CONFIG_DIR"):
        create_token(tmp_path / "none", "a")
    assert read_tokens(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1:1: expected keys"),
        ("tokens: [", "expected"),
        ("- a", "expected keys"),
        ("surprise: []\ntokens: []", ":1:1: surprise: extra inputs are not permitted"),
        ("tokens: {}", ":1:9: tokens: input should be a valid list"),
        (entry(sha256="oncall_secret"), ":3:11: tokens.0.sha256: string should match"),
        (entry(domains="security"), ":4:12: tokens.0.domains"),
        (entry(domains="[No Domain]"), "tokens.0.domains"),
        (entry(speaks_for_people="'yes'"), ":5:22: tokens.0.speaks_for_people"),
        (entry(speaks_for_people="1"), "tokens.0.speaks_for_people"),
        (entry(speak_for_people="true"), ":5:3: tokens.0.speak_for_people: extra inputs"),
        (entry(name="''"), "tokens.0.name"),
        (entry(identity="a@c.example", speaks_for_people="true"), ":2:3: tokens.0: a token is a"),
        (entry(identity="ine\u017f@c.example"), ":5:13: tokens.0.identity"),
        (entry() + "  name: b\n", ":5:3: key 'name' is given twice"),
        (entry() + entry(sha256=f"'{'1' * 64}'").removeprefix("tokens:\n"), "same name stands"),
        (entry() + entry(name="b").removeprefix("tokens:\n"), "the same sha256 stands above"),
    ],
)
def test_a_file_that_is_wrong_is_one_line_with_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_tokens(tmp_path)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(str(tmp_path / FILE))
    assert said in line
    assert "oncall_secret" not in line


def test_a_file_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    create_token(tmp_path, "a")
    path = tmp_path / FILE
    for mode in (0o620, 0o602, 0o666):
        path.chmod(mode)
        with pytest.raises(ConfigError, match="others may write it; chmod 600"):
            read_tokens(tmp_path)
    path.chmod(0o644)  # as secrets are mounted into a container
    assert len(read_tokens(tmp_path)) == 1


def test_a_revoked_token_ends_with_the_next_request(tmp_path: Path) -> None:
    tokens = {name: create_token(tmp_path, name) for name in ("kept", "gone")}
    client = elsewhere(api(tokens=LiveTokens(tmp_path)))
    path = "/api/documents?domain=security"
    assert client.get(path, headers=bearer(tokens["gone"])).status_code == 200
    revoke_token(tmp_path, "gone")
    assert client.get(path, headers=bearer(tokens["gone"])).status_code == 401
    assert client.get(path, headers=bearer(tokens["kept"])).status_code == 200
    assert client.get(path, headers=bearer(create_token(tmp_path, "new"))).status_code == 200


def test_without_its_last_token_an_api_is_closed_not_open(tmp_path: Path) -> None:
    token = create_token(tmp_path, "only")
    app = api(tokens=LiveTokens(tmp_path))
    (tmp_path / FILE).unlink()
    path = "/api/documents?domain=security"
    assert here(app).get(path).status_code == 401
    assert here(app).get(path, headers=bearer(token)).status_code == 401


def test_a_first_token_closes_the_api_to_those_without(tmp_path: Path) -> None:
    app = api(tokens=LiveTokens(tmp_path))
    path = "/api/documents?domain=security"
    assert here(app).get(path).status_code == 200
    create_token(tmp_path, "first")
    assert here(app).get(path).status_code == 401


def test_a_broken_edit_leaves_the_last_good_tokens(tmp_path: Path) -> None:
    token = create_token(tmp_path, "a")
    client = elsewhere(api(tokens=LiveTokens(tmp_path)), headers=bearer(token))
    write(tmp_path, "tokens: [")
    assert client.get("/api/documents?domain=security").status_code == 200
    with pytest.raises(CopilotError):
        LiveTokens(tmp_path)
