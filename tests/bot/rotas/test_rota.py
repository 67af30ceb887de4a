"""Who is on call, from the rotas that teams already keep."""

from __future__ import annotations

import gzip
import re
import traceback
from datetime import UTC, datetime
from pathlib import Path
from socketserver import StreamRequestHandler, TCPServer
from threading import Thread

import pytest
from pytest_httpserver import HTTPServer

from bot.rotas.rota import RotaPlaces, on_call
from config.errors import ConfigError

HERE = RotaPlaces(inner_hosts=frozenset({"localhost", "127.0.0.1"}))
"""Servers of these tests are on loopback."""
NOON = datetime(2026, 11, 4, 12, tzinfo=UTC)

ICAL = """BEGIN:VCALENDAR\r
BEGIN:VEVENT\r
DTSTART:20261102T090000Z\r
DTEND:20261109T090000Z\r
SUMMARY:SecEng primary\r
ATTENDEE;CN=Ines:mailto:ines.okafor@tide\r
 water.example\r
END:VEVENT\r
BEGIN:VEVENT\r
DTSTART;TZID=Europe/Amsterdam:20261104T120000\r
DTEND;TZID=Europe/Amsterdam:20261104T140000\r
SUMMARY:override U0DANA00\r
END:VEVENT\r
BEGIN:VEVENT\r
DTSTART;VALUE=DATE:20261110\r
SUMMARY:a whole day U0MAREK0\r
END:VEVENT\r
END:VCALENDAR\r
"""


@pytest.mark.parametrize(
    ("at", "who"),
    [
        (datetime(2026, 11, 3, tzinfo=UTC), "ines.okafor@tidewater.example"),
        (NOON, "U0DANA00"),
        (datetime(2026, 11, 10, 20, tzinfo=UTC), "U0MAREK0"),
        (datetime(2026, 12, 1, tzinfo=UTC), ""),
    ],
)
def test_a_calendar_names_the_shift_or_its_override(tmp_path: Path, at: datetime, who: str) -> None:
    (tmp_path / "rota.ics").write_text(ICAL)
    assert on_call("rota.ics", at, relative_to=tmp_path) == who


def test_a_rota_may_be_yaml_behind_a_url(httpserver: HTTPServer) -> None:
    rota = "- {from: 2026-11-02, to: 2026-11-09T09:00+01:00, user: U0INES}"
    httpserver.expect_request("/rota.yaml").respond_with_data(rota)
    assert on_call(httpserver.url_for("/rota.yaml"), NOON, places=HERE) == "U0INES"


def refused(path: Path, text: str) -> str:
    (path / "rota.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"rota\.yaml") as caught:
        on_call("rota.yaml", NOON, relative_to=path)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
    return str(caught.value)


TIMES = "from: 2026-11-02, to: 2026-11-09"
SOUND = f"- {{{TIMES}, user: U0INES}}\n"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("- {from: yesterday, to: 2026-11-09, user: U0INES}", "its `from` is no time"),
        ("- {from: 2026-13-45, to: 2026-11-09, user: U0INES}", "its `from` is no time"),
        ("- {from: 5, to: 2026-11-09, user: U0INES}", "its `from` is no time"),
        ("- {from: 2026-11-02, to: [], user: U0INES}", "its `to` is no time"),
        ("- {from: 0001-01-01T00:00+14:00, to: 2026-11-09, user: U0INES}", "its `from` is no time"),
        ("- {from: 2026-11-09, to: 2026-11-02, user: U0INES}", "ends before it starts"),
        ("- {from: 2026-11-09, to: 2026-11-09, user: U0INES}", "ends before it starts"),
        (f"- {{{TIMES}, user: Ines}}", "its `user` is no Slack user"),
        (f"- {{{TIMES}, user: }}", "its `user` is no Slack user"),
        (f"- {{{TIMES}, user: ''}}", "its `user` is no Slack user"),
        (f"- {{{TIMES}, user: [U0INES]}}", "its `user` is no Slack user"),
        (f"- {{{TIMES}, user: C0SECURITY}}", "its `user` is no Slack user"),
        (f"- {{{TIMES}, user: 5}}", "its `user` is no Slack user"),
        (f"- {{{TIMES}}}", "it has no `user`"),
        (f"- {{{TIMES}, user: U0INES, usr: U0DANA}}", "other keys than from, to and user"),
        (f"- {{{TIMES}, user: U0INES, user: U0DANA}}", "`user` is given twice"),
        (f"- {{{TIMES}, ? [a] : b}}", "other keys than from, to and user"),
        (f"- {{<<: {{{TIMES}, user: U0INES}}}}", "other keys than from, to and user"),
        ("- 5", "expected from, to and user"),
        ("-", "expected from, to and user"),
        ("- " + "[" * 20_000, ""),
    ],
)
def test_a_wrong_shift_is_named_by_its_number_and_line(
    tmp_path: Path, entry: str, problem: str
) -> None:
    said = refused(tmp_path, f"# Ours\n{SOUND}{entry}\n")
    assert problem in said
    if problem:
        assert "shift 2 (line 3)" in said


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no shifts"),
        ("# nothing yet\n", "holds no shifts"),
        ("[]", "holds no shifts"),
        ("a: [", "neither an iCal calendar nor a list of shifts"),
        ("from: 2026-11-02", "neither an iCal calendar nor a list of shifts"),
        ("<html>\n<body>Sign in: &nbsp;</body>", "a web page"),
        ("\ufeff \n<!doctype html><title>Sign in</title>", "a web page"),
        ("[" * 20_000, "neither an iCal calendar nor a list of shifts"),
        ("\0" * 5_000, "neither an iCal calendar nor a list of shifts"),
        (f"{SOUND}# \x07 rings\n", "neither an iCal calendar nor a list of shifts"),
        (f"{SOUND}- &a {{<<: *a}}\n", "shift 2 (line 2)"),
    ],
)
def test_what_is_no_rota_is_said(tmp_path: Path, text: str, problem: str) -> None:
    assert problem in refused(tmp_path, text)


SECRET = "private-5f1c0ffee"
EVENT = "BEGIN:VCALENDAR\nVERSION:2.0\n{}BEGIN:VEVENT\nUID:1\n{}END:VEVENT\nEND:VCALENDAR\n"
ON = "DTSTART:20261102T090000Z\nDTEND:20261109T090000Z\n"


@pytest.mark.parametrize(
    "text",
    [
        f"API_TOKEN={SECRET}\n",
        f"{SECRET}: [",
        f"- {SECRET}\n- {{{SECRET}: {SECRET}}}\n",
        f"- {{{TIMES}, user: {SECRET}}}",
        f"- {{from: {SECRET}, to: 2026-11-09, user: U0INES}}",
        f"- {{from: 2026-11-02, to: !{SECRET} 5, user: U0INES}}",
        f"- {{{TIMES}, user: U0INES, {SECRET}: x}}",
        f"- *{SECRET}",
        f"%{SECRET} x\n---\n- 5",
        f"\x07{SECRET}",
        f"<html>{SECRET}",
        f"BEGIN:VCALENDAR\n{SECRET}\nEND:VCALENDAR\n",
        EVENT.format("", f"{ON}SUMMARY:{SECRET}\n"),
        EVENT.format("", f"SUMMARY:{SECRET}\n"),
        EVENT.format("", f"{ON}SUMMARY:{SECRET}\nRRULE:FREQ={SECRET}\n"),
        EVENT.format("", f"{ON}SUMMARY:{SECRET}\nRRULE:INTERVAL=2\n"),
        EVENT.format("", f"{ON}SUMMARY:{SECRET}\nRRULE:FREQ=DAILY;INTERVAL=0\n"),
        EVENT.format("", f"DTSTART:20261102T090000Z\nSUMMARY:{SECRET}\nDTEND:20201102T090000Z\n"),
        EVENT.format("", f"DTSTART:19700101T090000Z\nSUMMARY:{SECRET}\nRRULE:FREQ=SECONDLY\n"),
        EVENT.format("", f"DTSTART:{SECRET}\n"),
        EVENT.format("", f"{ON}EXDATE:{SECRET}\n"),
        EVENT.format("", f"DTSTART;TZID={SECRET}:20261102T090000\n"),
        EVENT.format(f"X-WR-TIMEZONE:{SECRET}\n", ON),
        EVENT.format(f"BEGIN:{SECRET}\n", ON),
    ],
)
def test_no_error_holds_a_byte_of_a_rota(tmp_path: Path, text: str) -> None:
    (tmp_path / "rota").write_text(text)
    with pytest.raises(ConfigError, match="'rota'") as caught:
        on_call("rota", NOON, relative_to=tmp_path)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("user", "called"),
    [
        ("U0INES", "U0INES"),
        ("W0INES00", "W0INES00"),
        ("S0TEAM", "S0TEAM"),
        ("'<@U0INES>'", "U0INES"),
        ("'<@U0INES|ines>'", "U0INES"),
        ("'<!subteam^S0TEAM>'", "S0TEAM"),
        ("ines.okafor@tidewater.example", "ines.okafor@tidewater.example"),
    ],
)
def test_a_written_shift_names_a_user_a_group_or_an_address(
    tmp_path: Path, user: str, called: str
) -> None:
    (tmp_path / "rota.yaml").write_text(f"- {{{TIMES}, user: {user}}}")
    assert on_call("rota.yaml", NOON, relative_to=tmp_path) == called


def test_a_missing_rota_is_named() -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        on_call("nowhere.ics", NOON)


def test_a_rota_lies_below_its_domains_folder_or_where_the_operator_allows(tmp_path: Path) -> None:
    domains, shared, private = (tmp_path / name for name in ("domains", "shared", "private"))
    for folder in (domains, shared, private):
        folder.mkdir()
        (folder / "rota.yaml").write_text(SOUND)
    (domains / "link.yaml").symlink_to(private / "rota.yaml")
    (domains / "inner.yaml").symlink_to("rota.yaml")
    (domains / "round.yaml").symlink_to("round.yaml")
    allowed = RotaPlaces(folders=(shared,))

    def who(rota: str) -> str:
        return on_call(rota, NOON, relative_to=domains, places=allowed)

    for rota in ("rota.yaml", "inner.yaml", "../shared/rota.yaml", str(shared / "rota.yaml")):
        assert who(rota) == "U0INES"
    # Whether a file outside exists is not said either.
    outside = ["../private/rota.yaml", str(private / "rota.yaml"), "link.yaml", "/etc/passwd",
               "../private/none.yaml", "/proc/self/environ", "../shared/../private/x"]  # fmt: skip
    for rota in outside:
        with pytest.raises(ConfigError, match="lies outside the folders that may be read"):
            who(rota)
    for rota in ("round.yaml", "rota.yaml\0", "x" * 5_000, ".", "rota.yaml/x"):
        with pytest.raises(ConfigError, match="the rota"):
            who(rota)


def test_a_rota_relative_to_the_working_directory_is_found_where_the_domains_folder_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    domains = tmp_path / "config" / "domains"
    (domains / "config").mkdir(parents=True)
    rotas = (tmp_path / "config" / "rota.yaml", domains / "config" / "rota.yaml")
    rotas[0].write_text(SOUND)
    monkeypatch.chdir(tmp_path)
    places = RotaPlaces(folders=(Path("config"),))

    def who(rota: str) -> str:
        return on_call(rota, NOON, relative_to=domains, places=places)

    assert who("config/rota.yaml") == "U0INES"
    rotas[1].write_text(SOUND.replace("U0INES", "U0DANA"))  # beside the domain file: comes first
    assert who("config/rota.yaml") == "U0DANA"
    for rota in ("config/none.yaml", "config"):
        with pytest.raises(ConfigError, match=r"could not be opened|is no file"):
            who(rota)


@pytest.mark.parametrize(
    "rota",
    [
        "calendar.example.com/ical/{}/basic.ics",
        "//calendar.example.com/{}.ics",
        "feed.ics?token={}",
        "https:/example.com/{}.ics",
        "example.com/{}?next=https://x",
        "webcals://example.com/{}.ics",
        "ines:{}@example.com",
    ],
)
def test_an_address_without_its_scheme_is_not_shown_either(rota: str) -> None:
    with pytest.raises(ConfigError, match="the rota") as caught:
        on_call(rota.format(SECRET), NOON)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_rota_by_http_is_refused_unless_the_operator_names_its_host() -> None:
    with pytest.raises(ConfigError, match="write https://, or name its host in ONCALL_INNER_HOSTS"):
        on_call(f"http://example.com/{SECRET}", NOON, places=HERE)


def test_a_rota_follows_no_redirect(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/rota.yaml").respond_with_data(SOUND)
    to = {"Location": httpserver.url_for("/rota.yaml")}
    httpserver.expect_request("/moved").respond_with_data("", 302, to)
    with pytest.raises(ConfigError, match="HTTP 302, a redirect") as caught:
        on_call(httpserver.url_for("/moved"), NOON, places=HERE)
    assert "rota.yaml" not in str(caught.value)


def test_a_large_rota_is_not_read_to_its_end(httpserver: HTTPServer, tmp_path: Path) -> None:
    (tmp_path / "rota.yaml").write_bytes(b"#" * 100_000_000)
    with pytest.raises(ConfigError, match="has 100 MB, more than the 2"):
        on_call("rota.yaml", NOON, relative_to=tmp_path)
    bomb = gzip.compress(b"\0" * 50_000_000)
    httpserver.expect_request("/bomb").respond_with_data(
        bomb, headers={"Content-Encoding": "gzip", "Content-Type": "text/calendar"}
    )
    with pytest.raises(ConfigError, match="nor a list of shifts"):
        on_call(httpserver.url_for("/bomb"), NOON, places=HERE)


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        (f"https://example.com/{SECRET} y.ics", "space"),
        (f"https://example.com/{SECRET}ü.ics", "space or a letter"),
        (f"http://example.com:abc/{SECRET}", "wrong host or port"),
        (f"http://example.com:99999/{SECRET}", "wrong host or port"),
        (f"https:///{SECRET}.ics", "wrong host or port"),
        (f"http://[::1/{SECRET}", "wrong host or port"),
        (f"https://ines:{SECRET}@example.com/x.ics", "name or password"),
        (f"webcal://example.com/{SECRET}.ics", "write https://"),
        (f"WEBCAL://example.com/{SECRET}.ics", "write https://"),
        (f"ftp://example.com/{SECRET}.ics", "write https://"),
        (f"file:///etc/{SECRET}", "write https://"),
    ],
)
def test_what_is_no_address_is_refused_without_its_secret(address: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        on_call(address, NOON)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_kind_of_an_address_may_be_in_capitals(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/rota.yaml").respond_with_data(SOUND)
    address = httpserver.url_for("/rota.yaml").replace("http://", "HTTP://")
    assert on_call(address, NOON, places=HERE) == "U0INES"


@pytest.mark.parametrize("body", ["<html>", "- 5", ICAL[:60], "BEGIN:VCALENDAR\r\nx", ""])
@pytest.mark.parametrize("status", [200, 404, 500])
def test_the_secret_address_of_a_calendar_is_in_no_error(
    httpserver: HTTPServer, body: str, status: int
) -> None:
    httpserver.expect_request(f"/{SECRET}").respond_with_data(body, status)
    with pytest.raises(ConfigError, match=r"'http://localhost:\d+/…'") as caught:
        on_call(httpserver.url_for(f"/{SECRET}?key={SECRET}"), NOON, places=HERE)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"what?\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n- {",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: ftp://example.com/%b\r\n\r\n" % SECRET.encode(),
    ],
)
def test_a_server_that_speaks_nonsense_is_an_error_like_any_other(reply: bytes) -> None:
    class Nonsense(StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(reply)

    with TCPServer(("127.0.0.1", 0), Nonsense) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(ConfigError, match="the rota 'http://127") as caught:
            on_call(f"http://127.0.0.1:{server.server_address[1]}/{SECRET}", NOON, places=HERE)
        thread.join()
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


class _Dribbling(StreamRequestHandler):
    """A sound rota behind a comment, piece by piece."""

    def handle(self) -> None:
        self.rfile.readline()
        try:
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            for _ in range(300):
                self.wfile.write(b"# \n")
            self.wfile.write(b"- {from: 2026-11-02, to: 2026-11-09, user: U0INES}\n")
        except OSError:
            return  # nobody listens any more


class _HangingUp(StreamRequestHandler):
    """Half of what was announced."""

    def handle(self) -> None:
        self.rfile.readline()
        shift = b"- {from: 2026-11-02, to: 2026-11-09, user: U0INES}\n"
        self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 500\r\n\r\n" + shift)


@pytest.mark.parametrize(
    ("handler", "seconds", "why"),
    [
        (_Dribbling, -1.0, "it took too long"),
        (_HangingUp, 20.0, "it broke off"),
    ],
)
def test_a_server_that_dribbles_or_hangs_up_keeps_nobody_waiting(
    handler: type[StreamRequestHandler], seconds: float, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.rotas.rota.MAX_SECONDS", seconds)
    with TCPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(ConfigError, match=re.escape(why)):
            on_call(f"http://127.0.0.1:{server.server_address[1]}/rota.yaml", NOON, places=HERE)
