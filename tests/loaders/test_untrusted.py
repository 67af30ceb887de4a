"""URLs that lead inside a network, and servers that don't behave, on loopback."""

from __future__ import annotations

import socket
from socketserver import StreamRequestHandler, TCPServer
from threading import Thread
from typing import Any

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


def test_an_inner_host_is_never_a_clouds_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("169.254.169.254", "168.63.129.16", "[fe80::1]", "0.0.0.0"):  # noqa: S104
        with pytest.raises(ReadRefused, match="private address"):
            web(is_inner=lambda host: True).download(f"http://{address}:9/")


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
