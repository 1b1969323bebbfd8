"""Answers of the query function as JSON-ready data, in the shape of CONTRACT.md."""

from dataclasses import fields
from typing import Any, Final

from common.domain.gate import GateDecision
from common.domain.search import NO_MATCH, Answer, AnswerPassage

_GATE: Final = tuple(field.name for field in fields(GateDecision))


def encode_answer(answer: Answer, took_ms: float) -> dict[str, Any]:
    """The whole answer; `took_ms` is the handler's own time."""
    return {
        "match": answer.match,
        "sentinel": None if answer.match else NO_MATCH,
        "passages": [encode_passage(passage) for passage in answer.passages],
        "related": [],
        "gate": {name: getattr(answer.gate, name) for name in _GATE},
        "mode": answer.mode,
        "degraded": answer.degraded,
        "cache": answer.cache,
        "fingerprint": answer.fingerprint,
        "epoch": answer.epoch,
        "usage": {"query_tokens": answer.query_tokens, "embedded": answer.embedded},
        "timings_ms": dict(answer.timings_ms),
        "took_ms": round(took_ms, 3),
        "warnings": list(answer.warnings),
    }


def encode_passage(passage: AnswerPassage) -> dict[str, Any]:
    """One passage; `stale` only where an older generation still answers (RULES 4)."""
    body: dict[str, Any] = {
        "id": passage.id,
        "text": passage.text,
        "score": passage.score,
        "dense_score": passage.dense_score,
        "lexical_score": passage.lexical_score,
        "terms": list(passage.terms),
        "base": passage.base,
        "source": passage.source,
        "title": passage.title,
        "headings": list(passage.headings),
        "page": passage.page,
        "lines": list(passage.lines) if passage.lines else None,
        "citation": passage.citation,
        "document_id": passage.document_id,
        "generation": passage.generation,
    }
    if passage.stale:
        body["stale"] = True
    return body
