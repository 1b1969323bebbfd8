"""What the work on one generation of an object comes to, as its job and its record will say it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from common.domain.codes import FailureCode, JobState
from common.domain.objects import ObjectChange
from common.domain.records import Counts, DocumentRecord, JobRecord, touched


@dataclass(frozen=True, slots=True)
class Result:
    """What the work on one generation came to, as its job will say it, and the few documents to store with it. `counts`
    are of collections beside the one that answers, `pending` says why some were not written.
    """

    state: JobState
    code: FailureCode | None = None
    reason: str = ""
    next_step: str = ""
    documents: int = 0
    passages: int = 0
    new_passages: int = 0
    tokens_in_source: int = 0
    tokens_embedded: int = 0
    embedded_tokens: int = 0
    size: int = 0
    timings_ms: Mapping[str, float] | None = None
    warnings: tuple[str, ...] = ()
    rows: tuple[DocumentRecord, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=dict)
    pending: Mapping[str, str] = field(default_factory=dict)


def outcome(passages: int, tokens: int, warnings: tuple[str, ...]) -> tuple[JobState, FailureCode | None, str, str]:
    """State, code, reason and next step of a file that could be read."""
    if passages:
        return "indexed", None, "", ""
    if tokens:
        reason = warnings[0] if warnings else "Nothing in the file can be embedded."
        return "skipped", "UNSUPPORTED", reason, "Upload the text that people would ask about."
    return "empty", None, "The file holds no text.", "Upload a version with text if it should answer questions."


def skipped(change: ObjectChange, reason: str, now: float) -> JobRecord:
    """The job of an object whose name says that it is not to be indexed: over before it began."""
    job = JobRecord(change.job_id, change.ref, change.generation, created_at=now)
    return replace(
        touched(job, now, state="skipped"),
        code="UNSUPPORTED",
        reason=f"Not indexed: {reason}.",
        next_step="Nothing to do.",
        swept=True,
        notified=True,
    )
