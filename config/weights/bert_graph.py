"""Builds MiniLM as an ONNX graph over the weights of a published ONNX file.

The published graph splits attention and GELU into dozens of small steps. With onnxruntime's own
operators (`com.microsoft`), a text of 256 word pieces takes 30% less time (docs/decisions/090). The
weights stay unchanged: int8 with a scale per column. They are multiplied once when the graph is
loaded, so all arithmetic is float32.

The module writes protobuf's wire format itself, to avoid a dependency on the package `onnx`.
Source: onnx/onnx.proto; onnxruntime's docs/ContribOperators.md."""

from __future__ import annotations

import struct
from collections.abc import Iterator

LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12
INPUTS = ("ids", "kinds", "mask")
"""Word pieces, kinds of token (all 0) and 1 where there is a word piece; int32, texts x pieces."""
OUTPUT = "state"
"""float32, texts x pieces x WIDTH."""
IR_VERSION, OPSETS = 10, {"": 17, "com.microsoft": 1}
FLOAT, INT32 = 1, 6
PREFIX = "inner."
OF_A_LAYER = ("query", "key", "value", "mixed", "inner", "outer")
"""The matrices of a layer, in the file's order; the file numbers them instead of naming them."""

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def graph_over(published: bytes) -> bytes:
    """The ONNX model to run, with the weights of the published one.

    `published` is not validated: check the file's SHA-256 first."""
    graph = next(value for number, value in _fields(published) if number == 7)
    weights = [value for number, value in _fields(graph) if number == 5]
    names = [_name(weight) for weight in weights]
    nodes = _nodes([name[: -len("_q")] for name in names if name.endswith("_q")])
    inputs = [_value(name, INT32, ("texts", "pieces")) for name in INPUTS]
    output = _value(OUTPUT, FLOAT, ("texts", "pieces", WIDTH))
    body = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, "minilm"),
            *(_field(5, weight) for weight in weights),
            *(_field(11, value) for value in inputs),
            _field(12, output),
        ]
    )
    opsets = (_field(1, domain) + _field(2, version) for domain, version in OPSETS.items())
    return _field(1, IR_VERSION) + _field(7, body) + b"".join(_field(8, one) for one in opsets)


def _nodes(quantized: list[str]) -> Iterator[bytes]:
    """The nodes from word pieces to the state of the last layer."""
    for name in quantized:
        yield _node("Cast", [f"{name}_q"], f"{name}_f", to=FLOAT)
        yield _node("Mul", [f"{name}_f", f"{name}_scale"], name)
    matrices = iter([name for name in quantized if not name.startswith(PREFIX)])
    words, places, kinds = (
        f"{PREFIX}embeddings.{of}_embeddings.weight" for of in ("word", "position", "token_type")
    )
    norm = _norm(f"{PREFIX}embeddings.")
    state = "state.0"
    yield _node(
        "EmbedLayerNormalization",
        ["ids", "kinds", words, places, kinds, *norm, "mask"],
        state,
        "lengths",
        epsilon=EPSILON,
    )
    for layer in range(LAYERS):
        after = OUTPUT if layer == LAYERS - 1 else f"state.{layer + 1}"
        yield from _layer(layer, dict(zip(OF_A_LAYER, matrices, strict=False)), state, after)
        state = after


def _layer(layer: int, matrix: dict[str, str], state: str, after: str) -> Iterator[bytes]:
    of = f"{PREFIX}encoder.layer.{layer}."
    names = ("query", "key", "value")
    at = f"{layer}."
    yield _node("Concat", [matrix[one] for one in names], at + "asked", axis=1)
    biases = [f"{of}attention.self.{one}.bias" for one in names]
    yield _node("Concat", biases, at + "asked.bias", axis=0)
    yield _node(
        "Attention", [state, at + "asked", at + "asked.bias", "lengths"], at + "heads",
        num_heads=HEADS,
    )  # fmt: skip
    yield _node("MatMul", [at + "heads", matrix["mixed"]], at + "mixed")
    yield _node(
        "SkipLayerNormalization",
        [state, at + "mixed", *_norm(of + "attention.output."), f"{of}attention.output.dense.bias"],
        at + "attended",
        epsilon=EPSILON,
    )
    yield _node("MatMul", [at + "attended", matrix["inner"]], at + "inner")
    yield _node("BiasGelu", [at + "inner", f"{of}intermediate.dense.bias"], at + "gelu")
    yield _node("MatMul", [at + "gelu", matrix["outer"]], at + "outer")
    yield _node(
        "SkipLayerNormalization",
        [at + "attended", at + "outer", *_norm(of + "output."), f"{of}output.dense.bias"],
        after,
        epsilon=EPSILON,
    )


def _norm(of: str) -> tuple[str, str]:
    return f"{of}LayerNorm.weight", f"{of}LayerNorm.bias"


def _node(operator: str, inputs: list[str], *outputs: str, **attributes: float) -> bytes:
    own = operator not in {"Cast", "Concat", "MatMul", "Mul"}
    return b"".join(
        [
            *(_field(1, one) for one in inputs),
            *(_field(2, one) for one in outputs),
            _field(4, operator),
            *(_field(5, _attribute(name, value)) for name, value in attributes.items()),
            _field(7, "com.microsoft" if own else ""),
        ]
    )


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    return _field(1, name) + _field(2, value) + _field(20, 1)


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    dimensions = b"".join(_field(1, _field(2 if isinstance(one, str) else 1, one)) for one in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dimensions)))


def _name(tensor: bytes) -> str:
    return next(value for number, value in _fields(tensor) if number == 8).decode()


def _field(number: int, value: int | float | str | bytes) -> bytes:
    """Encodes one field of a message, with its number."""
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | _FOUR_BYTES) + struct.pack("<f", value)
    body = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _LENGTH) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low]) if not rest else bytes([low | 0x80]) + _varint(rest)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Each field's number and bytes; the bytes of a varint field are empty."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind, size = key & 7, {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(key & 7, 0)
        if kind == _VARINT:
            _, at = _read_varint(message, at)
        elif kind == _LENGTH:
            size, at = _read_varint(message, at)
        yield key >> 3, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """(the varint at this offset, the offset after it)."""
    value = shift = 0
    while True:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 0x80:
            return value, at
