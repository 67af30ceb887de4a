"""OpenTelemetry spans. Without an endpoint OpenTelemetry is not imported.

The provider is private: spans of other libraries in this process don't reach it. No attribute holds
text of a question, an answer or a document, or an exception's message. A model call is both a
metric and a span."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from telemetry import metrics
from telemetry.logs import product_version

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


Attributes = Mapping[str, str | int | float | bool | Sequence[str]]
Kind = Literal["internal", "client", "producer", "consumer"]
FLUSH_SECONDS = 2.0


class Span:
    """A span of OpenTelemetry; None when tracing is off, and then nothing happens."""

    def __init__(self, span: Any = None) -> None:
        self.span = span

    def set(self, attributes: Attributes) -> None:
        if self.span is not None:
            self.span.set_attributes(dict(attributes))

    def end(self, error: BaseException | None = None) -> None:
        """`error`: its type is recorded, never its message."""
        if self.span is None:
            return
        if error is not None:
            from opentelemetry.trace import Status, StatusCode

            self.span.set_attribute("error.type", type(error).__name__)
            self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()


_UNTRACED = Span()
_exporting: _Exporting | None = None


def export_traces(endpoint: str | None) -> None:
    """Export this process's spans to an OTLP endpoint over gRPC from now on; None stops exporting.

    OpenTelemetry reads certificates, headers, the sampler and the service name from its own
    variables, `OTEL_…`."""
    global _exporting
    if endpoint == (_exporting.endpoint if _exporting else None):
        return
    if _exporting:
        _bounded(_exporting.provider.shutdown)
    _exporting = _Exporting(endpoint) if endpoint else None
    atexit.unregister(flush_traces)
    atexit.register(flush_traces)


def flush_traces() -> None:
    """Send the remaining spans. Call it before a process ends without running `atexit`."""
    if _exporting:
        _bounded(_exporting.provider.force_flush)


def _bounded(send: Callable[[], object]) -> None:
    # OpenTelemetry retries an unreachable collector for ten seconds, whatever the timeout.
    sending = threading.Thread(target=send, name="traces", daemon=True)
    sending.start()
    sending.join(FLUSH_SECONDS)


@contextmanager
def span(
    name: str, attributes: Attributes | None = None, *, kind: Kind = "internal", within: str = ""
) -> Iterator[Span]:
    """A span around a step; spans that start inside are its children.

    `within`: the result of `carried` in the parent step, which may be in another process."""
    if _exporting is None:
        yield _UNTRACED
        return
    from opentelemetry import trace

    entry = _exporting.begun(name, attributes, kind, within)
    try:
        with trace.use_span(
            entry.span, end_on_exit=False, record_exception=False, set_status_on_exception=False
        ):
            yield entry
    except BaseException as error:
        entry.end(error)
        raise
    entry.end()


def begun_span(name: str, attributes: Attributes, *, kind: Kind) -> Span:
    """A span for a step that its caller can interrupt, such as a stream. It has no children, and
    the caller must call `end`."""
    return _exporting.begun(name, attributes, kind, "") if _exporting else _UNTRACED


def carried() -> str:
    """The current span as a W3C `traceparent`; empty when tracing is off."""
    if _exporting is None:
        return ""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers.get("traceparent", "")


class _Exporting:
    def __init__(self, endpoint: str) -> None:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        ours = Resource({"service.name": "oncall-copilot", "service.version": product_version()})
        self.endpoint = endpoint
        self.provider: TracerProvider = TracerProvider(
            shutdown_on_exit=False,  # it would wait for an unreachable collector
            resource=Resource.create().merge(ours).merge(OTELResourceDetector().detect()),
        )
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self.provider.get_tracer("oncall", product_version())

    def begun(self, name: str, attributes: Attributes | None, kind: Kind, within: str) -> Span:
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        around = (
            TraceContextTextMapPropagator().extract({"traceparent": within}) if within else None
        )
        return Span(
            self._tracer.start_span(
                name,
                context=around,
                kind=SpanKind[kind.upper()],
                attributes=dict(attributes or {}),
            )
        )


class ModelCall:
    """One call of a chat model, from its request to its last token."""

    def __init__(self, model: str, *, provider: str, prompt: str, max_tokens: int) -> None:
        """`prompt`: the prompt's name."""
        self._model = model
        self._began = time.monotonic()
        self._span = begun_span(
            f"chat {model}",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider,
                "gen_ai.request.model": model,
                "gen_ai.request.max_tokens": max_tokens,
                "oncall.prompt": prompt,
            },
            kind="client",
        )

    def used(self, input_tokens: int, output_tokens: int) -> None:
        self._span.set(
            {
                "gen_ai.usage.input_tokens": input_tokens,
                "gen_ai.usage.output_tokens": output_tokens,
            }
        )

    def end(self, outcome: str, error: BaseException | None = None) -> None:
        """`outcome`: a label of `metrics.MODEL_CALL`."""
        metrics.MODEL_CALL.labels(self._model, outcome).observe(time.monotonic() - self._began)
        self._span.end(error)
