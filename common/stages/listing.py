"""What the catalog says of bases, documents and jobs, as JSON-ready data in the shapes of CONTRACT.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from common.domain.errors import Refused
from common.domain.links import Graph
from common.domain.objects import document_id
from common.domain.records import DocumentRecord, Gate, JobRecord, ObjectRecord
from common.domain.usage import Count, Prices
from common.ports import Catalog
from common.stages.addressing import Addressing
from common.stages.candidates import View
from common.stages.contents import Library


@dataclass(frozen=True, slots=True)
class Listing:
    """Reads for people: every method answers plain data. `view` gives a base at its current epoch, and at `prices` jobs
    are told what they cost.
    """

    catalog: Catalog
    addressing: Addressing
    library: Library
    view: Callable[[str], View]
    prices: Prices

    def base(self, base: str) -> dict[str, Any]:
        """One base with the sums over what answers."""
        record, totals = self.catalog.base(base), self.catalog.totals(base)
        stored = self.catalog.collection(base, record.live) if record and record.live else None
        return {
            "base": base,
            "documents": totals.documents,
            "passages": totals.passages,
            "tokens": totals.tokens,
            "epoch": self.catalog.epoch(base),
            "fingerprint": stored.space.fingerprint if stored else None,
            "model": stored.space.embedding.model if stored else None,
            "mode": "hybrid" if stored and stored.space.embedding.dimension else "lexical",
        }

    def documents(self, base: str, after: tuple[str, str] | None, limit: int) -> list[dict[str, Any]]:
        """Every document by (source, object): those that answer, and the objects whose newest version does not."""
        self.require(base)
        objects = {known.ref.name: known for known in self.catalog.objects(base)}
        start = after or ("", "")
        live = (record.live or "") if (record := self.catalog.base(base)) else ""
        rows = [
            _document(record.within(live), objects.get(record.object))
            for record in self.catalog.documents(base, after=start, limit=limit)
        ]
        silent = [_silent(known) for known in objects.values() if _is_silent(known)]
        rows += [row for row in silent if after is None or (row["source"], row["object"]) > after]
        rows.sort(key=lambda row: (row["source"], row["object"]))
        return rows[:limit] if limit else rows

    def jobs(
        self, base: str, state: str | None, after: tuple[float, str] | None, limit: int
    ) -> list[tuple[dict[str, Any], tuple[float, str]]]:
        """Jobs newest first, each with the position that the next page continues behind."""
        self.require(base)
        found = self.catalog.jobs(base, state=state, after=after, limit=limit)
        return [(job_view(job, self.prices), (job.created_at, job.job_id)) for job in found]

    def job(self, base: str, job_id: str) -> dict[str, Any]:
        """One job. Raises Refused 404."""
        job = self.catalog.job(base, job_id)
        if job is None:
            raise Refused(404, "NO_JOB", f"Base {base} has no job {job_id[:40]}.")
        return job_view(job, self.prices)

    def links(self, base: str, name: str) -> dict[str, Any]:
        """What one document refers to and what refers to it, by source (CONTRACT "links").

        Raises Refused 404 NOT_FOUND, or 409 AMBIGUOUS with the candidates when documents of several sources are meant.
        """
        view = self.view(base)
        addressed = self.addressing.find(view, name)
        record = addressed.records[0]
        if any(other.source != record.source for other in addressed.records):
            addressed.one()
        graph, source = self.library.at(base, view.epoch).graph, record.source
        return {"source": source, **{part: list(graph_part(graph, part).get(source, ())) for part in GRAPH_PARTS}}

    def require(self, base: str) -> None:
        """Raises Refused 404 NO_BASE for a base that never held an object, or whose adoption was cancelled."""
        record = self.catalog.base(base)
        if record is not None and record.live is not None:
            return
        if not any(record is None or known.state != "deleted" for known in self.catalog.objects(base)):
            raise Refused(404, "NO_BASE", f"There is no base {base}.", sentinel="NO_KB_MATCH")


GRAPH_PARTS: Final = ("links", "backlinks", "unresolved", "attachments")


def graph_part(graph: Graph, part: str) -> Mapping[str, tuple[str, ...]]:
    """One of the four tables of a graph by its name."""
    table: Mapping[str, tuple[str, ...]] = getattr(graph, part)
    return table


def job_view(job: JobRecord, prices: Prices) -> dict[str, Any]:
    """A job as CONTRACT.md has it."""
    cost = prices.cost("ingest", Count(tokens=job.embedded_tokens))
    return {
        "job_id": job.job_id,
        "document_id": document_id(job.ref, job.ref.name),
        "base": job.ref.base,
        "source": job.ref.name,
        "generation": job.generation,
        "kind": "delete" if job.removal else "ingest",
        "state": job.state,
        "code": job.code,
        "reason": job.reason or None,
        "next_step": job.next_step or None,
        "attempts": job.attempts,
        "progress": dict(job.progress),
        "passages": job.passages,
        "new_passages": job.new_passages,
        "tokens_in_source": job.tokens_in_source,
        "tokens_embedded": job.tokens_embedded,
        "usage": {"embedded_tokens": job.embedded_tokens, "estimated_cost": cost},
        "timings_ms": dict(job.timings_ms),
        "warnings": list(job.warnings),
        "writeback_status": job.writeback_status,
        "writeback_error": job.writeback_error,
        "created_at": iso(job.created_at),
        "updated_at": iso(job.updated_at),
    }


def gate_view(gate: Gate) -> dict[str, Any]:
    """A fitted gate: its constants, what it was fitted on, and its error rates on questions held out of the fit."""
    return {
        "fitted": gate.fitted,
        "cut": gate.cut,
        "med": gate.med,
        "sd": gate.sd,
        "passages": gate.passages,
        "rates": dict(gate.rates),
    }


def iso(seconds: float) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC; None for never."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds") if seconds else None


def _document(record: DocumentRecord, known: ObjectRecord | None) -> dict[str, Any]:
    stale = known is not None and known.stale
    return {
        "source": record.source,
        "document_id": record.document_id,
        "object": record.object,
        "generation": record.generation,
        **described(record),
        "external_id": record.external_id or None,
        "state": "indexed",
        "code": known.code if known and stale else None,
        "reason": (known.reason or None) if known and stale else None,
        "stale": stale,
        "kind": record.kind,
        "passages": record.passages,
        "tokens_in_source": record.tokens_in_source,
        "tokens_embedded": record.tokens_embedded,
        "warnings": list(record.warnings),
        "updated_at": iso(record.updated_at),
    }


def described(record: DocumentRecord) -> dict[str, Any]:
    """What a document says of itself; `id` is that of its front matter or its line of a corpus."""
    return {
        "title": record.title,
        "id": record.external_id or None,
        "category": record.category or None,
        "keywords": list(record.keywords),
        "pinned": record.pinned,
        "headings": list(record.headings),
        "metadata": dict(record.metadata),
    }


def _is_silent(known: ObjectRecord) -> bool:
    """Whether an object stands in the bucket without any document that answers."""
    return not known.documents and known.state not in {"deleted", "superseded", "indexed"} and not known.stale


def _silent(known: ObjectRecord) -> dict[str, Any]:
    empty: Mapping[str, Any] = {"id": None, "external_id": None, "category": None, "keywords": [], "headings": []}
    return {
        "source": known.ref.name,
        "document_id": document_id(known.ref, known.ref.name),
        "object": known.ref.name,
        "generation": known.newest,
        "title": known.ref.name,
        **empty,
        "pinned": False,
        "metadata": {},
        "state": known.state,
        "code": known.code,
        "reason": known.reason or None,
        "stale": False,
        "kind": None,
        "passages": 0,
        "tokens_in_source": 0,
        "tokens_embedded": 0,
        "warnings": [],
        "updated_at": iso(known.updated_at),
    }
