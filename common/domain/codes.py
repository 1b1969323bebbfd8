"""The words of a job: its states and its failure codes, with whose fault each is."""

from typing import Final, Literal

JobState = Literal["queued", "processing", "indexed", "empty", "skipped", "failed", "superseded", "deleted"]
FailureCode = Literal[
    "ENCRYPTED",
    "CORRUPT",
    "NO_TEXT",
    "UNSUPPORTED",
    "TOO_LARGE",
    "GONE",
    "BAD_ENCODING",
    "PARSER_LIMIT",
    "EMBEDDING_INVALID",
    "ATTEMPTS_EXHAUSTED",
    "QUOTA",
    "INTERNAL",
]

STATES: Final[tuple[JobState, ...]] = (
    "queued",
    "processing",
    "indexed",
    "empty",
    "skipped",
    "failed",
    "superseded",
    "deleted",
)
TERMINAL: Final = frozenset(STATES) - {"queued", "processing"}

# The file's own fault: its generation is published with no passages, the older one stops answering.
# Every other code is ours: the older generation keeps answering, marked `stale`.
FILE_FAULTS: Final[frozenset[FailureCode]] = frozenset(
    {"ENCRYPTED", "CORRUPT", "NO_TEXT", "UNSUPPORTED", "TOO_LARGE", "BAD_ENCODING", "QUOTA"}
)
