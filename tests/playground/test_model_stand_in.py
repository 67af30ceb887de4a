"""The stand-in of a model's server behaves as such servers do."""

from __future__ import annotations

import json
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from playground.openai_stand_in import OpenAIStandIn, Request


def test_a_slow_reply_holds_up_no_other() -> None:
    together = threading.Barrier(3, timeout=120)

    def script(request: Request) -> str:
        together.wait()
        return "tea"

    def ask(server: OpenAIStandIn) -> str:
        body = json.dumps({"messages": []}).encode()
        asked = urllib.request.Request(f"{server.base_url}/chat/completions", data=body)  # noqa: S310
        with urllib.request.urlopen(asked, timeout=60) as reply:  # noqa: S310
            return str(json.load(reply)["choices"][0]["message"]["content"])

    with OpenAIStandIn(script) as server, ThreadPoolExecutor(3) as pool:
        assert list(pool.map(ask, [server] * 3)) == ["tea"] * 3
