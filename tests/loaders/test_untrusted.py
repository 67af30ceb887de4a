"""URLs that lead inside a network, and servers that don't behave, on loopback."""

from __future__ import annotations

import socket
import time
from socketserver import StreamRequestHandler, TCPServer
from threading import Event, Thread
from typing import Any, ClassVar

import pytest
from pytest_httpserver import HTTPServer

from loaders.untrusted import NotAllowed, ReadRefused, Web, is_public

PUBLIC = ("8.8.8.8", "2606:4700:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1")
INSIDE = (
    "127.0.0.1", "127.8.8.8", "0.1.2.3", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "224.0.0.1",
    "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1",
    "::1", "::", "::7f00:1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0:7f00:1",
    "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::",
    "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
)  # fmt: skip
METADATA = (
    "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
    "fe80::1", "fe80::1%eth0", "0.0.0.0", "::", "ff02::1",  # noqa: S104 - nothing listens here
    "::169.254.169.254", "::ffff:169.254.169.254", "::ffff:0:169.254.169.254",
    "64:ff9b::169.254.169.254", "64:ff9b::168.63.129.16", "64:ff9b:1::169.254.169.254",
    "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:1:a9:fea9:fe00:0",
    "2002:a9fe:a9fe::", "2002:a83f:8110::1", "2001:0:a9fe:a9fe::1",
    "2001:0:808:808::5601:5601", "fd00::5efe:169.254.169.254", "fd00::200:5efe:168.63.129.16",
)  # fmt: skip
"""Metadata services, link-local addresses and such that are nobody's; also inside tunnels."""


def test_only_addresses_of_the_internet_are_public() -> None:
    assert [one for one in PUBLIC if not is_public(one)] == []
    assert [one for one in INSIDE if is_public(one)] == []


def web(**more: Any) -> Web:
    return Web(**{"allows": lambda url: True, "max_bytes": 1_000, "max_seconds": 20.0, **more})


@pytest.fixture
def secret(httpserver: HTTPServer) -> HTTPServer:
    """A server inside the network, which is asked for nothing."""
    httpserver.expect_request("/").respond_with_data("private-5f1c0ffee")
    return httpserver


def test_no_way_of_writing_a_host_leads_inside(secret: HTTPServer) -> None:
    port = secret.port
    hosts = ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0",
             "[::ffff:127.0.0.1]", "[::1]", "localhost.", "127.0.0.%31", "%6cocalhost",
             "example.com@127.0.0.1", "LOCALHOST"]  # fmt: skip
    for host in hosts:
        with pytest.raises(ReadRefused):
            web().download(f"http://{host}:{port}/")
    assert secret.log == []


def test_a_name_that_leads_inside_is_refused_when_it_is_connected_to(
    secret: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look-up gives a public address, all later ones a private one."""
    real, asked = socket.getaddrinfo, []

    def rebinding(host: str, port: int, *rest: Any) -> Any:
        asked.append(host)
        return real("127.0.0.1" if len(asked) > 1 else "127.0.0.2", port, *rest)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with pytest.raises(ReadRefused, match="leads to a private address"):
        web().download(f"http://rebinding.example:{secret.port}/")
    assert asked == ["rebinding.example"]
    assert secret.log == []


def test_a_redirect_leads_inside_no_more_than_an_address(secret: HTTPServer) -> None:
    to = {"Location": f"http://127.0.0.1:{secret.port}/"}
    secret.expect_request("/moved").respond_with_data("", 302, to)
    outside = web(is_inner=lambda host: host == "localhost")
    with pytest.raises(ReadRefused, match="leads to a private address"):
        outside.download(f"http://localhost:{secret.port}/moved")
    with pytest.raises(NotAllowed, match="HTTP 302, a redirect"):
        web(is_inner=lambda host: True, allows=lambda url: url.endswith("moved")).download(
            f"http://localhost:{secret.port}/moved"
        )
    assert [request.path for request, _ in secret.log] == ["/moved", "/moved"]


def test_a_proxy_is_not_asked_for_what_lies_inside(
    secret: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", secret.url_for(""))
    monkeypatch.setenv("no_proxy", "")
    for host in ("127.0.0.1:9", "169.254.169.254", "localhost:9", "127.0.0.%31:9"):
        with pytest.raises(ReadRefused):
            web().download(f"http://{host}/")
    assert secret.log == []
    assert web().download("http://8.8.8.8/").data == b"private-5f1c0ffee"  # by the proxy


class _Dropping(socket.socket):
    """Waits as a connection whose packets are dropped does."""

    tried: ClassVar[list[Any]] = []

    def connect(self, where: Any) -> None:
        self.tried.append(where)
        time.sleep(min(self.gettimeout() or 10.0, 10.0))
        raise TimeoutError


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is connected to, in vain."""
    _Dropping.tried.clear()
    monkeypatch.setattr(socket, "socket", _Dropping)
    return _Dropping.tried


def leads_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)


def test_an_inner_host_is_never_a_clouds_metadata(
    tried: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in METADATA:
        leads_to(monkeypatch, address)
        with pytest.raises(ReadRefused, match="private address"):
            web(is_inner=lambda host: True, max_seconds=20).download("http://inner.example/")
    assert tried == []
    leads_to(monkeypatch, "64:ff9b:1:a01:2:300::")  # 10.1.2.3
    with pytest.raises(ReadRefused):
        web(is_inner=lambda host: True, max_seconds=5.0).download("http://inner.example/")
    assert len(tried) == 1


def test_one_deadline_holds_for_all_addresses_of_a_host(
    tried: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    leads_to(monkeypatch, *(f"93.184.216.{number}" for number in range(1, 13)))
    waits: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: sum(waits))
    monkeypatch.setattr(time, "sleep", waits.append)
    with pytest.raises(ReadRefused, match=r"took too long|no answer"):
        web(max_seconds=20.0).download("https://rota.example/")
    assert waits == pytest.approx([5.0] * 4)
    assert [host for host, _ in tried] == [f"93.184.216.{number}" for number in range(1, 5)]


@pytest.mark.parametrize("proxy", ["", "http://proxy.example:3128"])
def test_the_deadline_holds_for_the_look_up_of_a_name(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Event()
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: done.wait(10.0) and [])
    began = time.monotonic()
    with pytest.raises(ReadRefused, match="took too long"):
        web(max_seconds=0.1).download("https://rota.example/")
    assert time.monotonic() - began < 5.0
    done.set()


def test_an_address_that_drops_packets_leaves_time_for_the_next(
    secret: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class First(socket.socket):
        def connect(self, where: Any) -> None:
            if where[0] == "127.0.0.9":
                time.sleep(self.gettimeout() or 10.0)
                raise TimeoutError
            super().connect(where)

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, secret.port))
             for one in ("127.0.0.9", "127.0.0.1")]  # fmt: skip
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "socket", First)
    inner = web(is_inner=lambda host: True, max_seconds=2.0)
    assert inner.download("http://inner.example/").data == b"private-5f1c0ffee"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.com/x", "data:,x", "x", ""])
def test_only_http_is_spoken(url: str) -> None:
    with pytest.raises(ReadRefused):
        web().download(url)


class _DribblingHeaders(StreamRequestHandler):
    def handle(self) -> None:
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                self.wfile.write(b"X: y\r")
        except OSError:
            return


def test_a_server_that_dribbles_its_headers_is_left_when_the_time_is_over() -> None:
    with TCPServer(("127.0.0.1", 0), _DribblingHeaders) as server:
        Thread(target=server.handle_request, daemon=True).start()
        slow = web(is_inner=lambda host: True, max_seconds=0.0)
        with pytest.raises(ReadRefused, match=r"took too long|no answer"):
            slow.download(f"http://127.0.0.1:{server.server_address[1]}/")
