"""Answers of the query function as JSON-ready data, in the shape of CONTRACT.md."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import orjson

from common.domain.gate import GateDecision
from common.domain.search import NO_MATCH, Answer, AnswerPassage, BaseShare, Related
from common.domain.usage import FREE, Count, Prices

_RELATED: Final = tuple(field.name for field in fields(Related))
_SHARE: Final = tuple(field.name for field in fields(BaseShare))


def as_json(body: Mapping[str, Any]) -> bytes:
    """What is said of a question as JSON; the standard library would take ten times as long."""
    return orjson.dumps(body)


def answer_json(answer: Answer, took_ms: float, prices: Prices = FREE) -> bytes:
    """The whole answer as JSON."""
    return as_json(encode_answer(answer, took_ms, prices))


def encode_answer(answer: Answer, took_ms: float, prices: Prices = FREE) -> dict[str, Any]:
    """The whole answer; `took_ms` is the handler's own time."""
    body: dict[str, Any] = {
        "match": answer.match,
        "sentinel": None if answer.match else NO_MATCH,
        "passages": [encode_passage(passage) for passage in answer.passages],
        "related": [{name: getattr(each, name) for name in _RELATED} for each in answer.related],
        "gate": encode_gate(answer.gate),
        "mode": answer.mode,
        "degraded": answer.degraded,
        "cache": answer.cache,
        "fingerprint": answer.fingerprint,
        "epoch": answer.epoch,
        "usage": _usage(answer, prices),
        "timings_ms": dict(answer.timings_ms),
        "took_ms": round(took_ms, 3),
        "warnings": list(answer.warnings),
    }
    if answer.bases:
        body["bases"] = [_share(share) for share in answer.bases]
    return body


def encode_gate(gate: GateDecision) -> dict[str, Any]:
    """The decision with all that went into it."""
    return gate._asdict()


def _usage(answer: Answer, prices: Prices) -> dict[str, Any]:
    """What the question cost: its embedding, and apart from it what a reranking model read and wrote."""
    usage: dict[str, Any] = {"query_tokens": answer.query_tokens, "embedded": answer.embedded}
    cost = prices.cost("questions", Count(tokens=answer.query_tokens)) if answer.embedded else 0.0
    if answer.rerank_tokens:
        prompt, completion = answer.rerank_tokens
        cost += prices.cost("rerank", Count(tokens=prompt, written=completion))
        usage["rerank"] = {"prompt_tokens": prompt, "completion_tokens": completion}
    return {**usage, "estimated_cost": cost}


def _share(share: BaseShare) -> dict[str, Any]:
    """What one of several bases said."""
    return {**{name: getattr(share, name) for name in _SHARE}, "gate": encode_gate(share.gate)}


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
