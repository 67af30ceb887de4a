"""`oncall init` against Slack's and Google's stand-ins: what is wrong is said at once, and asked
again; what is right is kept."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from config.domain_files import read_domain
from config.settings import read_settings
from playground.google_stand_in import GoogleFault, GoogleStandIn
from playground.slack import tidewater
from playground.slack_stand_in import SlackStandIn
from tests.cli.setup.installing import KEPT, Newcomer, another_key, arrived, services

ROOT = Path(__file__).parents[3]
SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SlackStandIn, GoogleStandIn]]:
    with services(tmp_path_factory.mktemp("services")) as found:
        slack = found[0].workspace
        slack.add_channel(
            tidewater.Channel(
                id="C0OLD", name="help-old", archived=True, members={tidewater.BOT_USER_ID}
            )
        )
        slack.add_channel(tidewater.Channel(id="C0SECRETS", name="hidden", kind="group"))
        yield found


@pytest.fixture
def newcomer(
    both: tuple[SlackStandIn, GoogleStandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Newcomer]:
    with arrived(tmp_path, *both, monkeypatch) as one:
        yield one


Wrong = Callable[[Newcomer], list[str]]


def at(place: int, *wrong: str) -> Wrong:
    """Wrong answers before the right one at this question."""
    return lambda one: [*one.right[:place], *wrong, *one.right[place:]]


BOT, APP, CHANNEL, DOCUMENTS, KEY = range(5)

MISTAKES: dict[str, tuple[Wrong, str, str]] = {
    "the app token for the bot token": (
        lambda one: [one.slack.app_token, *one.right],
        "that is an app-level token",
        "copy the one that begins with xoxb-",
    ),
    "a person's token": (at(BOT, "xoxp-123-456-abcdefghij"), "a person's token", "xoxb-"),
    "a browser's token": (at(BOT, "xoxc-123-456-abcdefghij"), "a token of another kind", "xoxb-"),
    "a rotating token": (at(BOT, "xoxe.xoxb-1-abcdefghij"), "token rotation", "xoxb-"),
    "the signing secret": (at(BOT, SECRET), "a signing secret", "Bot User OAuth Token"),
    "half a token": (at(BOT, "xoxb-123"), "not copied whole", "Install App"),
    "a placeholder": (at(BOT, "xoxb-your-token-here"), "a placeholder", "Install App"),
    "a token that Slack doesn't know": (
        at(BOT, "xoxb-123456-abcdefghijkl"),
        "Slack refused SLACK_BOT_TOKEN: invalid_auth",
        "copy it again from api.slack.com/apps",
    ),
    "the bot token for the app token": (
        lambda one: [one.slack.bot_token, one.slack.bot_token, *one.right[1:]],
        "that is a bot token",
        "App-Level Tokens",
    ),
    "an app token that Slack doesn't know": (
        at(APP, "xapp-1-A0COPILOT-abcdefghijkl"),
        "Slack refused SLACK_APP_TOKEN: invalid_auth",
        "App-Level Tokens",
    ),
    "a channel that the bot is not in": (
        at(CHANNEL, "#quiet-corner"),
        "the bot is not in #quiet-corner",
        "write /invite @copilot there",
    ),
    "a channel's name with a slip": (
        at(CHANNEL, "help-securty"),
        "no channel #help-securty; did you mean #help-security?",
        "",
    ),
    "a name of no channel": (at(CHANNEL, "#zzz"), "no channel #zzz", "paste the channel's link"),
    "an archived channel": (at(CHANNEL, "C0OLD"), "#help-old is archived", "choose another"),
    "a private channel": (at(CHANNEL, "C0SECRETS"), "sees no such channel", "/invite @copilot"),
    "an id of no channel": (at(CHANNEL, "C0NOBODY"), "sees no such channel", "copy its id again"),
    "a folder that is not shared": (
        lambda one: [*one.right[:3], "https://drive.google.com/drive/folders/1nobodys",
                     str(one.key), "demo-security", *one.right[5:]],
        "folder 1nobodys: it is deleted or not shared with us",
        "share it with oncall-copilot@",
    ),
    "a path to nothing": (at(DOCUMENTS, "nowhere/at"), "nowhere/at is neither", "folder's link"),
    "a key file that is none": (at(KEY, "/etc/hostname"), "it is not JSON", "service account"),
    "a key file that is not there": (at(KEY, "none.json"), "No such file", "service account"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_answer_is_told_with_its_remedy_and_asked_again(
    newcomer: Newcomer, mistake: str
) -> None:
    answers, said, remedy = MISTAKES[mistake]
    done = newcomer.init(*answers(newcomer))
    assert (done.error, done.code) == ("", 0), done.text
    (line,) = [one for one in done.text.splitlines() if "✗" in one]
    assert said in line
    assert remedy in done.text[done.text.index(line) :].split("\n")[1] or not remedy
    assert read_domain(newcomer.folder / "config/domains/security.yaml")[1] == []


KEYS = {
    "an OAuth client's": ({"installed": {"client_secret": SECRET}}, "by which people sign in"),
    "a web client's": ({"web": {"client_secret": SECRET}}, "by which people sign in"),
    "a person's login": ({"type": "authorized_user", "refresh_token": SECRET}, "a person's own"),
    "of a federation": ({"type": "external_account"}, "workload identity federation"),
    "damaged": ({"type": "service_account", "private_key": SECRET}, "missing or damaged"),
    "of something else": ({"key": SECRET}, "it is something else"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_file_of_another_kind_is_called_by_what_it_is(newcomer: Newcomer, kind: str) -> None:
    held, said = KEYS[kind]
    other = another_key(newcomer.folder / "other.json", **held)
    done = newcomer.init(*at(KEY, other)(newcomer))
    assert (done.error, done.code) == ("", 0)
    assert "other.json is not a service account's JSON key: " in done.text
    assert said in done.text
    assert SECRET not in done.text


def test_a_revoked_token_is_named_so(newcomer: Newcomer) -> None:
    newcomer.slack.api.revoked.add("xoxb-it-was-good-once")
    done = newcomer.init("xoxb-it-was-good-once", *newcomer.right)
    assert "Slack refused SLACK_BOT_TOKEN: token_revoked" in done.text
    assert "install the app again" in done.text


def test_missing_permissions_are_named_and_enter_asks_slack_again(newcomer: Newcomer) -> None:
    newcomer.slack.api.scopes -= {"channels:read", "users:read"}
    done = newcomer.init(newcomer.slack.bot_token, "")
    assert done.text.count("✗ missing: channels:read, users:read") == 2
    assert "Install App › Reinstall" in done.text
    assert "SLACK_BOT_TOKEN" not in (newcomer.env() if Path(".env").exists() else "")


def test_tokens_of_two_apps_are_told_apart(newcomer: Newcomer) -> None:
    other = "xapp-1-A0OTHERAPP-0123456789abcdef"
    newcomer.slack.api.app_token = other
    done = newcomer.init(newcomer.slack.bot_token, other)
    assert "✗ it is of the app A0OTHERAPP, and the bot token of A0COPILOT" in done.text


def test_a_key_of_an_account_that_google_refuses(newcomer: Newcomer) -> None:
    text = newcomer.key.read_text().replace("tidewater-demo.iam", "elsewhere.iam")
    other = newcomer.folder / "other.json"
    other.write_text(text)
    done = newcomer.init(*at(KEY, str(other))(newcomer))
    assert (done.error, done.code) == ("", 0)
    assert "✗ Google refuses the service account" in done.text
    assert "check the key, this machine's clock" in done.text


def test_a_docs_api_that_is_not_switched_on(newcomer: Newcomer) -> None:
    newcomer.google.faults.add(
        GoogleFault(method="documents.get", status=403, reason="SERVICE_DISABLED")
    )
    answers = [*newcomer.right[:5], "", *newcomer.right[5:]]
    done = newcomer.init(*answers)
    assert (done.error, done.code) == ("", 0)
    assert "can't be opened" in done.text
    assert "→ switch on the Google Docs API" in done.text


@pytest.mark.parametrize(
    "pasted",
    ["  {} ", '"{}"', "'{}'", "SLACK_BOT_TOKEN={}", 'export SLACK_BOT_TOKEN="{}"', "\u200b{}"],
)
def test_what_comes_along_with_a_token_is_left_away(newcomer: Newcomer, pasted: str) -> None:
    done = newcomer.init(pasted.format(newcomer.slack.bot_token), *newcomer.right[1:])
    assert (done.error, done.code) == ("", 0)
    assert "✗" not in done.text
    assert read_settings().slack_bot_token is not None
    assert f"SLACK_BOT_TOKEN='{newcomer.slack.bot_token}'\n" in newcomer.env()


@pytest.mark.parametrize(
    "channel",
    ["C0SECURITY", "help-security", "#Help-Security", "<#C0SECURITY|help-security>",
     "https://tidewater.slack.com/archives/C0SECURITY/p1763000000000000",
     "https://app.slack.com/client/T0TIDEWATER/C0SECURITY"],
)  # fmt: skip
@pytest.mark.parametrize(
    "folder",
    ["https://drive.google.com/drive/u/1/folders/demo-security?usp=sharing", "demo-security"],
)
def test_links_and_names_become_ids(newcomer: Newcomer, channel: str, folder: str) -> None:
    done = newcomer.init(*newcomer.right[:2], channel, folder, *newcomer.right[4:])
    assert (done.error, done.code) == ("", 0)
    written, _ = read_domain(newcomer.folder / "config/domains/security.yaml")
    assert written is not None
    assert written.channels == ["C0SECURITY"]
    assert written.sources.google_drive.folders == ["demo-security"]


def test_secrets_are_written_for_the_owner_alone_and_shown_nowhere(newcomer: Newcomer) -> None:
    done = newcomer.init(*newcomer.right)
    assert not any(token in done.text for token in newcomer.tokens)
    assert stat.S_IMODE(Path(".env").stat().st_mode) == 0o600
    assert "only you can read it" in done.text


def test_an_existing_env_keeps_every_other_line(newcomer: Newcomer) -> None:
    before = (
        "# ours\nOPENAI_BASE_URL=http://127.0.0.1:1/v1\nexport TEAM='a b'\n\nSLACK_BOT_TOKEN=\n"
    )
    Path(".env").write_text(before)
    Path(".env").chmod(0o644)
    done = newcomer.init(*newcomer.right)
    assert (done.error, done.code) == ("", 0)
    kept = [line for line in before.splitlines() if line and "SLACK" not in line]
    assert [line for line in newcomer.env().splitlines() if line in kept] == kept
    assert newcomer.env().count("SLACK_BOT_TOKEN") == 1
    assert stat.S_IMODE(Path(".env").stat().st_mode) == 0o600
    assert ".env was readable by others, and is no longer" in done.text


def test_a_token_in_env_that_is_wrong_is_replaced_and_said_to_be(newcomer: Newcomer) -> None:
    Path(".env").write_text("SLACK_BOT_TOKEN=xoxb-012345-of-long-ago\n")
    done = newcomer.init(*newcomer.right)
    assert "Slack refused SLACK_BOT_TOKEN: invalid_auth" in done.text
    assert ".env: SLACK_BOT_TOKEN replaced" in done.text
    assert "of-long-ago" not in newcomer.env() + done.text


def test_an_env_that_is_a_link_stays_one(newcomer: Newcomer) -> None:
    real = newcomer.folder / "keys" / "real.env"
    real.write_text("A=1\n")
    Path(".env").symlink_to(real)
    assert newcomer.init(*newcomer.right).code == 0
    assert Path(".env").is_symlink()
    assert "SLACK_APP_TOKEN" in real.read_text()


def test_the_shells_own_token_is_named_where_it_would_win(
    newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-012345-of-the-shell")
    done = newcomer.init(*newcomer.right)
    assert "SLACK_BOT_TOKEN in this shell's environment is another one" in done.text


def test_no_network_is_one_line_with_what_to_look_at(
    newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.setup_checks.PATIENCE", 0.0)
    monkeypatch.setenv("SLACK_API_URL", "http://127.0.0.1:9/api/")
    monkeypatch.setenv("SLACK_BOT_TOKEN", newcomer.slack.bot_token)
    done = newcomer.run("init", "--yes")
    assert done.code != 0
    assert "could not reach Slack" in done.error
    assert "check the network, HTTPS_PROXY and SLACK_API_URL" in done.error
    assert len(done.error.splitlines()) == 1


def test_unasked_a_missing_answer_names_what_would_have_told_it(newcomer: Newcomer) -> None:
    done = newcomer.run("init", "--yes")
    assert done.error.endswith("not told; set SLACK_BOT_TOKEN")
    done = newcomer.init(*newcomer.tokens)
    assert done.error.endswith("pipe one in, or set --channel")
    assert newcomer.slack.bot_token in newcomer.env()


def test_run_again_it_goes_on_where_it_was_stopped(newcomer: Newcomer) -> None:
    newcomer.init(*newcomer.tokens)
    again = newcomer.init(*newcomer.right[2:])
    assert (again.error, again.code) == ("", 0)
    before = newcomer.env(), Path("config/domains/security.yaml").read_text()
    third = newcomer.run("init", "--yes", "--no-ingest")
    assert (third.error, third.code) == ("", 0)
    assert "✗" not in third.text
    assert (newcomer.env(), Path("config/domains/security.yaml").read_text()) == before


def test_a_domain_file_is_never_written_over(newcomer: Newcomer) -> None:
    newcomer.init(*newcomer.right)
    mine = Path("config/domains/security.yaml")
    mine.write_text(mine.read_text() + "# mine\n")
    done = newcomer.run("init", "--yes", "--channel", "help-security", "--no-ingest")
    assert "answers there already, and stays as it is" in done.text
    done = newcomer.run(
        "init", "--yes", "--channel", "help-privacy", "--folder", "demo-security",
        "--domain", "security", "--no-ingest",
    )  # fmt: skip
    assert "there is a domain 'security' already" in done.error
    assert mine.read_text().endswith("# mine\n")


def test_without_google_files_on_this_machine_do(newcomer: Newcomer) -> None:
    Path("handbook").mkdir()
    Path("handbook/tea.md").write_text("# Tea\n\nGreen tea steeps for two minutes.\n")
    done = newcomer.init(*newcomer.right[:3], "handbook", "tea", "", "y", "n")
    assert (done.error, done.code) == ("", 0)
    assert "handbook: 1 file" in done.text
    written, _ = read_domain(Path("config/domains/tea.yaml"))
    assert written is not None
    assert [entry.path for entry in written.sources.files] == ["../../handbook"]
    asked = newcomer.run("ask", "how", "long", "does", "green", "tea", "steep?")
    assert "two minutes" in asked.text.replace("**", "")


def test_a_folder_elsewhere_is_allowed_with_the_operators_answer(
    newcomer: Newcomer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("handbook")
    (elsewhere / "tea.md").write_text("# Tea\n\nGreen tea steeps for two minutes.\n")
    done = newcomer.init(*newcomer.right[:3], str(elsewhere), "tea", "", "y", "n")
    assert (done.error, done.code) == ("", 0)
    assert f"ONCALL_FOLDERS='{elsewhere}'" in newcomer.env()
    asked = newcomer.run("ask", "how", "long", "does", "green", "tea", "steep?")
    assert "two minutes" in asked.text.replace("**", "")


def test_it_ends_with_documents_to_answer_from_and_one_hello(newcomer: Newcomer) -> None:
    answers = [*newcomer.right[:6], "ines.okafor@tidewater.example", "y", "y"]
    done = newcomer.init(*answers)
    assert (done.error, done.code) == ("", 0)
    written = yaml.safe_load(Path("config/domains/security.yaml").read_text())
    assert written["admins"] == ["U0INES"]
    (hello,) = newcomer.slack.messages("C0SECURITY")
    assert "from one document (Security help)" in hello["text"]
    again = newcomer.run("init", "--yes")
    assert "it has said hello before" in again.text
    assert len(newcomer.slack.messages("C0SECURITY")) == len(KEPT)
    assert newcomer.run("doctor").code == 0


def test_the_editors_schema_is_where_the_domain_file_says(newcomer: Newcomer) -> None:
    newcomer.init(*newcomer.right)
    file = Path("config/domains/security.yaml")
    first = file.read_text().splitlines()[0]
    schema = file.parent / first.removeprefix("# yaml-language-server: $schema=")
    assert schema.resolve().read_text() == (ROOT / "docs/domain.schema.json").read_text()
    manifest = Path("config/slack-manifest.yaml").read_text()
    assert manifest == (ROOT / "manifest.yaml").read_text()
    for shared in (file, schema, file.parent):
        assert shared.stat().st_mode & stat.S_IROTH, "a container's user reads it"


def test_beside_the_demos_domains_a_teams_own_go_to_a_place_of_their_own(
    newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCALL_CONFIG_DIR", str(ROOT / "config"))
    done = newcomer.init(*newcomer.right)
    assert (done.error, done.code) == ("", 0)
    assert "holds the demo's domains, so yours go to team/" in done.text
    assert "ONCALL_CONFIG_DIR=team\n" in newcomer.env()
    monkeypatch.delenv("ONCALL_CONFIG_DIR")
    checked = newcomer.run("config", "check")
    assert checked.text.splitlines() == ["team/domains/security.yaml: ok (security, 1 channels)"]
