"""Sending spans away, for the workers that dibs starts itself: `dibs worker`, `dibs run`.

An app that sets up OpenTelemetry itself is left alone. Else it is set up as its own environment variables say, if they
say where spans go; without them nothing is imported.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

_WHERE = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_INSTALL = "install it with `pip install 'dibs[otel]'`, or unset it"


def set_up(service: str) -> Callable[[], None]:
    """Export this process's spans, if `$OTEL_EXPORTER_OTLP_ENDPOINT` says where. What it answers sends the last ones.

    `service` is what it is called, unless `$OTEL_SERVICE_NAME` says otherwise. Raises Unavailable without the extra.
    """
    where = next((name for name in _WHERE if os.environ.get(name)), None)
    if where is None or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return lambda: None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise Unavailable(f"${where} is set, which needs OpenTelemetry: {_INSTALL}.")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise Unavailable(f"${where} is set, which needs OpenTelemetry's exporter: {_INSTALL}.") from None
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return lambda: None
    os.environ.setdefault("OTEL_SERVICE_NAME", service)
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider.shutdown
