"""Downloads of pictures from servers that don't behave, on loopback."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from loaders.untrusted import ReadRefused, Web


class Dripping(http.server.BaseHTTPRequestHandler):
    """Sends byte after byte, and never all of it."""

    given_up = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        if self.path == "/told":
            self.send_header("Content-Length", "1000000")
        self.end_headers()
        with suppress(OSError):
            while not self.given_up.wait(0.01):
                self.wfile.write(b"x")
                self.wfile.flush()

    def log_message(self, *words: object) -> None:
        """Silent."""


@contextmanager
def dripping() -> Iterator[str]:
    Dripping.given_up.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dripping) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_address[1]}"
        finally:
            Dripping.given_up.set()
            found.shutdown()
            thread.join(10)


@pytest.mark.parametrize("path", ["/told", "/untold"])
def test_a_server_that_sends_byte_after_byte_is_left_when_the_time_is_over(path: str) -> None:
    web = Web(
        allows=lambda url: True, is_inner=lambda host: True, max_bytes=1_000_000, max_seconds=0.05
    )
    watchdog = threading.Timer(60.0, Dripping.given_up.set)  # else it would never end
    with dripping() as url:
        watchdog.start()
        with pytest.raises(ReadRefused, match="it took too long"):
            web.download(f"{url}{path}")
        watchdog.cancel()
