"""JSON log lines with allow-listed fields only: never a document's text or name, never a key; bases are hashed."""

import json
import logging
import sys
from contextvars import ContextVar
from typing import Final

from common.domain.objects import digest

_FIELDS: Final = (
    "base",
    "job_id",
    "kind",
    "verdict",
    "state",
    "code",
    "reason",
    "took_ms",
    "request_id",
    "error",
    "error_type",
    "file",
    "line",
    "count",
    "topic",
    "attempt",
    "method",
    "route",
    "status",
    "timings_ms",
)
_KNOWN: Final = frozenset(_FIELDS)
TRACE: Final = ContextVar("trace", default="")
"""The trace of the request being served, as its `traceparent` header names it."""
_events = logging.getLogger("fichario.event")


class JsonFormatter(logging.Formatter):
    """One JSON object per line, in the fields that Cloud Logging reads."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"severity": record.levelname, "message": record.getMessage(), "logger": record.name}
        if TRACE.get():
            line["logging.googleapis.com/trace"] = TRACE.get()
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            line["error_type"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False, default=str)


def configure(level: str) -> None:
    """Send our loggers to standard error as JSON, whatever the root logger is set to."""
    logger = logging.getLogger("fichario")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False


def trace_of(header: str) -> str:
    """The trace id of a W3C `traceparent` header, or nothing."""
    parts = header.split("-")
    valid = len(parts) == 4 and len(parts[1]) == 32 and all(c in "0123456789abcdef" for c in parts[1])  # noqa: PLR2004
    return parts[1] if valid else ""


def log_event(message: str, **fields: object) -> None:
    """One line about one event; `base` is hashed. Fields outside the allow-list are a bug and raise KeyError."""
    if not fields.keys() <= _KNOWN:
        raise KeyError(f"log fields not on the allow-list: {sorted(fields.keys() - _KNOWN)}")
    if "base" in fields:
        fields["base"] = digest("base", fields["base"])[:12]
    _events.info(message, extra=fields)
