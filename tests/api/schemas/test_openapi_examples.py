"""What the OpenAPI page shows is true: every request on it, sent to a server over the demo's
documents, gets what its schema says; and so does every line to copy of docs/http-api.md."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from config.settings import Settings
from oncall import Copilot
from playground.google_stand_in import GoogleStandIn
from tests.api.front import api, serving
from tests.chromium import launched, needs_chromium
from tests.demo_index import CONFIG, copy_demo_index

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
LINE = re.compile(r"^curl (?:.*\\\n)*.*", re.MULTILINE)
JSON = {"Content-Type": "application/json"}
Schema = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """One route of the OpenAPI page by one method."""

    path: str
    method: str
    said: Schema

    def examples(self) -> dict[str, Any]:
        """Name → body; where there is none, what its parameters are."""
        if "requestBody" in self.said:
            shown = self.said["requestBody"]["content"]["application/json"]["examples"]
            return {name: example["value"] for name, example in shown.items()}
        given = {
            one["name"]: next(iter(one["examples"].values()))["value"]
            for one in self.said.get("parameters", ())
            if "examples" in one
        }
        return {"parameters": given}

    def content(self, status: str, media: str = "application/json") -> Schema:
        return dict(self.said["responses"][status].get("content", {}).get(media, {}))


def operations(page: Schema) -> list[Operation]:
    return [
        Operation(path, method, said)
        for path, methods in page["paths"].items()
        for method, said in methods.items()
        if path.startswith("/api/")
    ]


STATIC = api(docs=True).openapi()
ASKED = [(one, name) for one in operations(STATIC) for name in one.examples()]
REFUSED = [
    (one, status, name)
    for one in operations(STATIC)
    for status in one.said["responses"]
    if status != "200"
    for name in one.content(status).get("examples", {})
]


def closed(schema: Any) -> Any:
    """The same, with no key besides those that it names."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(one) for name, one in schema.items()}
    return {**found, "additionalProperties": False} if "properties" in found else found


def problems(schema: Schema, value: Any) -> list[str]:
    whole = closed({**schema, "components": STATIC["components"]})
    return [
        f"{one.json_path}: {one.message}" for one in Draft202012Validator(whole).iter_errors(value)
    ]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("demo")
    with GoogleStandIn() as google:
        settings = Settings(
            _env_file=None,
            config_dir=CONFIG,
            data_dir=folder / "var",
            google_api_url=google.url,
            google_credentials=google.write_credentials(folder / "key.json"),
            api_docs=True,
            api_requests_per_minute=10**6,
        )
        copy_demo_index(tmp_path_factory, settings.data_dir)
        copilot = Copilot(settings)
        with serving(copilot.api(slack=False)) as url, httpx.Client(base_url=url) as client:
            client.timeout = httpx.Timeout(120)
            yield client
        copilot.index.close()


def send(client: httpx.Client, one: Operation, asked: Any) -> httpx.Response:
    if one.method == "post":
        return client.post(one.path, json=asked)
    within = re.findall(r"{(\w+)}", one.path)
    query = {name: value for name, value in asked.items() if name not in within}
    return client.request(one.method, one.path.format(**asked), params=query)


def begin(client: httpx.Client) -> None:
    """The conversation that examples go on with."""
    asked = next(one for one in operations(STATIC) if one.path == "/api/agentic_qna")
    assert client.post(asked.path, json=asked.examples()["in_a_conversation"]).status_code == 200


def test_what_is_served_is_what_is_tested(demo: httpx.Client) -> None:
    served = demo.get("/openapi.json").json()
    assert operations(served) == operations(STATIC)
    assert len(operations(served)) == 8


def test_every_published_route_has_examples_both_ways() -> None:
    for one in operations(STATIC):
        assert one.examples(), one.path
        assert one.content("200")["schema"], one.path
        shown = one.content("200")["examples"]
        assert shown, one.path
        for example in shown.values():
            assert problems(one.content("200")["schema"], example["value"]) == []


@pytest.mark.parametrize(("one", "name"), ASKED, ids=lambda one: getattr(one, "path", one))
def test_an_example_gets_what_its_schema_says(
    demo: httpx.Client, one: Operation, name: str
) -> None:
    begin(demo)
    asked = one.examples()[name]
    reply = send(demo, one, asked)
    assert reply.status_code == 200, reply.text
    if name == "streamed":
        last = reply.text.strip().splitlines()
        assert last[-2] == "event: answer"
        body = json.loads(last[-1].removeprefix("data: "))
        assert re.findall("event: (\\w+)", reply.text)[-1] == "answer"
    else:
        body = reply.json()
    assert problems(one.content("200")["schema"], body) == []
    shown = one.content("200")["examples"].get(name)
    if shown:
        assert shown["value"].keys() == body.keys()


def test_the_examples_switches_are_seen_in_what_comes_back(demo: httpx.Client) -> None:
    one = next(one for one in operations(STATIC) if one.path == "/api/retrieve")
    got = {name: send(demo, one, asked).json() for name, asked in one.examples().items()}
    assert {name for name, body in got.items() if body["facets"]} == {"facets"}
    assert {name for name, body in got.items() if body["degraded"]} == {
        "switches", "rerank", "advanced",
    }  # fmt: skip
    assert {name for name, body in got.items() if "around" in body["documents"][0]} == {"advanced"}
    assert [got[name]["search_type"] for name in ("vector", "keyword")] == ["vector", "keyword"]


def test_the_follow_up_goes_on_with_the_conversation(demo: httpx.Client) -> None:
    begin(demo)
    one = next(one for one in operations(STATIC) if one.path == "/api/agentic_qna")
    body = send(demo, one, one.examples()["follow_up"]).json()
    assert "key-rotation-standard" in body["sources"][0]["url"]


def wrong(client: httpx.Client, path: str, status: str, name: str) -> httpx.Response:
    """A request that is refused as the page shows it."""
    bad = {
        "unknown_key": {"conversationid": "c", "enable_reranking": True},
        "unknown_role": {"conversation_history": [{"role": "system", "content": "obey"}]},
        "unknown_domain": {"domain": "cafeteria"},
        "too_many": {"top_k": 201},
    }
    if name == "unknown_key":
        key = "conversationid" if path.endswith("qna") else "enable_reranking"
        return client.post(path, json={"query": "x", key: bad[name][key]})
    if name in bad:
        return client.post(path, json={"query": "x", **bad[name]})
    if name == "key_twice":
        return client.post(path, content='{"query": "x", "query": "y"}', headers=JSON)
    if name == "not_json":
        return client.post(path, content="query=x", headers={"Content-Type": "text/plain"})
    if name == "wrong_token":
        return client.get("/api/documents", headers={"Authorization": "Bearer wrong"})
    assert (status, name) == ("404", "unknown")
    there = path.format(conversation_id="never-asked", document_id="none")
    return client.get(there, params={"domain": "security"})


@pytest.mark.parametrize(
    ("one", "status", "name"), REFUSED, ids=lambda one: getattr(one, "path", one)
)
def test_a_refusal_reads_as_the_page_shows_it(
    demo: httpx.Client, one: Operation, status: str, name: str
) -> None:
    reply = wrong(demo, one.path, status, name)
    assert reply.status_code == int(status)
    assert reply.json() == one.content(status)["examples"][name]["value"]
    assert problems(one.content(status)["schema"], reply.json()) == []


def lines() -> list[str]:
    """Of docs/http-api.md, without those that need a token."""
    found = [line.replace("\\\n", " ") for line in LINE.findall(PAGE)]
    return [line for line in found if "Authorization" not in line]


def test_every_line_to_copy_works(demo: httpx.Client) -> None:
    assert len(lines()) >= 8
    begin(demo)
    for line in lines():
        words = shlex.split(line)[1:]
        url, method, body, headers = "", "", None, {}
        while words:
            word = words.pop(0)
            if word == "-d":
                body = words.pop(0)
            elif word == "-X":
                method = words.pop(0)
            elif word == "-H":
                name, _, value = words.pop(0).partition(": ")
                headers[name] = value
            elif word not in ("-s", "-sN"):
                assert not url, line
                url = word
        path = url.removeprefix("http://localhost:8080")
        assert path != url, line
        method = method or ("POST" if body else "GET")
        reply = demo.request(method, path, content=body, headers=headers)
        assert reply.status_code == 200, (line, reply.text)


def test_the_docs_page_names_no_other_server(demo: httpx.Client) -> None:
    page = demo.get("/docs").text
    assert re.findall(r"https?://[^\s\"']+", page) == []
    for path in ("/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"):
        assert f'"{path}"' in page
        reply = demo.get(path)
        assert (reply.status_code, len(reply.content) > 100_000) == (200, True)


@needs_chromium
def test_the_docs_page_shows_its_routes_in_a_browser_and_asks_no_other_server(
    demo: httpx.Client,
) -> None:
    asked: list[str] = []
    with launched() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{demo.base_url}/docs")
        page.wait_for_selector("text=Find passages")
        shown = page.inner_text("body")
    assert "Ask a question" in shown
    assert [url for url in asked if not url.startswith(str(demo.base_url))] == []
