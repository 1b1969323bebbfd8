"""All that a machine holds and answers, without what differs between two clean runs (times, epochs, attempts, and the
order of passages whose scores are equal).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isclose
from typing import Any

from common.domain.search import Search, SearchFilter
from common.domain.typed_json import to_json
from common.runtime import LocalRuntime
from tests.integration.one_machine import BASE

QUESTIONED = 25
"""Of how many documents the fixed questions ask."""
SUMMED = 1e-5
"""How far a score may differ: the engine adds a question's terms in an order that depends on where a point lies."""


@dataclass(frozen=True)
class Snapshot:
    """Documents by source, points by id (vector, lexical weights, payload), the state of each job, the answer to each
    question, and what should be empty: messages, dead letters, leases.
    """

    documents: Mapping[str, Any]
    points: Mapping[str, Any]
    jobs: Mapping[str, str]
    answers: Mapping[str, Any]
    left_over: Mapping[str, int]

    @property
    def places(self) -> Counter[tuple[str, int]]:
        """How many points stand for each (source, ordinal)."""
        return Counter((payload["source"], payload["ordinal"]) for _, _, payload in self.points.values())


@dataclass(frozen=True)
class Faults:
    """What must be nought after any kill."""

    lost: int = 0
    duplicated: int = 0
    stale: int = 0
    half_seen: int = 0


def take(runtime: LocalRuntime, phase: Mapping[str, tuple[int, int]]) -> Snapshot:
    """Everything as it is now; the questions are made of the documents that the phase wants."""
    catalog, queue = runtime.catalog, runtime.queue
    topics = runtime.settings.kb_topic_events, runtime.settings.kb_topic_reindex
    record = catalog.base(BASE)
    documents = {d.source: {**asdict(d), "updated_at": 0.0} for d in catalog.documents(BASE)}
    return Snapshot(
        documents=documents,
        points=_points(runtime),
        jobs={job.job_id: job.state for job in catalog.jobs(BASE)},
        answers=answers(runtime, phase),
        left_over={
            "messages": sum(queue.waiting(topic) for topic in topics),
            "dead letters": sum(len(queue.dead(topic)) for topic in topics),
            "leases": sum(known.leased for known in catalog.objects(BASE)),
            "collections": len(set(runtime.index.collections(BASE)) - {record.live if record else None}),
        },
    )


def _points(runtime: LocalRuntime) -> dict[str, Any]:
    record = runtime.catalog.base(BASE)
    if record is None or record.live is None:
        return {}
    versions = runtime.index.generations(BASE, record.live)
    return {
        point.id: (point.vector, point.lexical, point.payload)
        for name, generation in versions
        for point in runtime.index.stored(BASE, record.live, name, generation)
    }


def answers(runtime: LocalRuntime, phase: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """For each of some documents its best passage among all, and all of its passages: where a question asks for more
    than that, equal scores decide what comes back.
    """
    asked = [Search("xilofone marciano quantico")]
    for name, (version, parts) in sorted(phase.items())[:: max(1, len(phase) // QUESTIONED)]:
        words = f"doc{name} version{version} part{parts // 2}of{parts} lugar numero {parts // 2}"
        whole = SearchFilter(source_prefix=f"{name}.md")
        for mode in ("hybrid", "lexical", "dense"):
            asked.append(Search(words, top_k=1, mode=mode, threshold=None))
            asked.append(Search(words, top_k=parts, mode=mode, threshold=None, filter=whole))
        asked.append(Search(words, top_k=1))
    return {repr(search): _answer(runtime, search) for search in asked}


def _answer(runtime: LocalRuntime, search: Search) -> dict[str, Any]:
    answer = to_json(runtime.answers.answer(BASE, search))
    for changing in ("epoch", "timings_ms", "cache", "embedded"):
        del answer[changing]
    return {**answer, "passages": {passage["id"]: passage for passage in answer["passages"]}}


def count_faults(phase: Mapping[str, tuple[int, int]], found: Snapshot, findings: Counter[str]) -> Faults:
    """What the end state lacks, has twice or has of a version that the folder does not hold, with what readers met on
    the way.
    """
    wanted = {(f"{name}.md", ordinal) for name, (_, parts) in phase.items() for ordinal in range(parts)}
    sources = {f"{name}.md": f"version{version} " for name, (version, _) in phase.items()}
    payloads = [payload for _, _, payload in found.points.values()]
    old = sum(sources.get(payload["source"], "\0") not in payload["text"] for payload in payloads)
    return Faults(
        lost=len(wanted - found.places.keys()) + findings["lost"],
        duplicated=sum(number - 1 for number in found.places.values()),
        stale=old + findings["stale"],
        half_seen=findings["half_seen"],
    )


def differences(clean: object, found: object, place: str = "") -> list[str]:
    """Every value that is not equal, by where it stands, with both sides."""
    if isinstance(clean, Snapshot) and isinstance(found, Snapshot):
        return differences(asdict(clean), asdict(found))
    if isinstance(clean, Mapping) and isinstance(found, Mapping):
        keys = sorted(clean.keys() | found.keys(), key=str)
        return [line for key in keys for line in differences(clean.get(key), found.get(key), f"{place}/{key}")]
    if isinstance(clean, list | tuple) and isinstance(found, list | tuple) and len(clean) == len(found):
        pairs = enumerate(zip(clean, found, strict=True))
        return [line for at, (one, other) in pairs for line in differences(one, other, f"{place}/{at}")]
    if isinstance(clean, float) and isinstance(found, float) and place.startswith("/answers"):
        return [] if isclose(clean, found, rel_tol=SUMMED) else [f"{place}: {clean} became {found}"]
    return [] if clean == found else [f"{place}: {str(clean)[:100]} became {str(found)[:100]}"]
