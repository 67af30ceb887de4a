"""A collector that speaks OTLP over gRPC, on the loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from telemetry.tracing import export_traces, flush_traces


@dataclass(frozen=True, kw_only=True)
class Received:
    """One span."""

    name: str
    id: bytes
    parent: bytes
    trace: bytes
    kind: int
    failed: bool
    attributes: dict[str, Any]


@dataclass
class Collector(trace_service_pb2_grpc.TraceServiceServicer):  # type: ignore[misc]
    address: str = ""
    spans: list[Received] = field(default_factory=list)
    resource: dict[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        with self._lock:
            self.raw += request.SerializeToString()
            for resource in request.resource_spans:
                self.resource |= attributes(resource.resource)
                for scope in resource.scope_spans:
                    self.spans += [received(span) for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()

    def one(self, name: str) -> Received:
        (found,) = self.named(name)
        return found

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]

    def way_to(self, span: Received) -> list[str]:
        """Names from the root to it."""
        by_id = {one.id: one for one in self.spans}
        way = [span.name]
        while span.parent in by_id:
            span = by_id[span.parent]
            way.insert(0, span.name)
        return way


def attributes(holder: Any) -> dict[str, Any]:
    def value(one: Any) -> Any:
        kind = one.WhichOneof("value")
        held = getattr(one, kind)
        return [value(item) for item in held.values] if kind == "array_value" else held

    return {pair.key: value(pair.value) for pair in holder.attributes}


def received(span: Any) -> Received:
    return Received(
        name=span.name,
        id=span.span_id,
        parent=span.parent_span_id,
        trace=span.trace_id,
        kind=span.kind,
        failed=span.status.code == 2,
        attributes=attributes(span),
    )


@contextmanager
def collector() -> Iterator[Collector]:
    """Traces go nowhere yet: see `traced_to`."""
    found = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(found, server)
    port = server.add_insecure_port("127.0.0.1:0")
    found.address = f"http://127.0.0.1:{port}"
    server.start()
    try:
        yield found
    finally:
        server.stop(None).wait()


def traced(act: Callable[[], object]) -> Collector:
    """What a collector gets of it."""
    with collector() as found:
        export_traces(found.address)
        try:
            act()
            flush_traces()
        finally:
            export_traces(None)
    return found
