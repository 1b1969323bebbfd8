"""Objects of the bucket and the events that speak of them: names, generations, what is ignored by name."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Literal

from common.domain.errors import Refused

BASE_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MAX_SOURCE_BYTES: Final = 1024
ChangeKind = Literal["finalize", "delete", "archive"]


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """One stored file: `name` is its path inside the base, so the bucket's key is `<base>/<name>`."""

    base: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.base}/{self.name}"


@dataclass(frozen=True, slots=True)
class ObjectStat:
    """What the store holds now: `generation` grows with each version, `size` in stored bytes."""

    ref: ObjectRef
    generation: int
    size: int
    content_type: str = ""
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One event of the bucket. `overwritten_by` is the newer generation when the event says so."""

    kind: ChangeKind
    ref: ObjectRef
    generation: int
    size: int = 0
    overwritten_by: int | None = None

    @property
    def removes(self) -> bool:
        return self.kind != "finalize"

    @property
    def job_id(self) -> str:
        return removal_job_id(self.ref, self.generation) if self.removes else job_id(self.ref, self.generation)


def is_base_id(base: str) -> bool:
    return BASE_ID.fullmatch(base) is not None


def check_base(base: str) -> str:
    """The base itself; raises Refused (400) when it is no base id."""
    if not is_base_id(base):
        raise Refused(400, "BAD_BASE", "A base id is 1 to 63 of a-z, 0-9, _ and -, not starting with _ or -.", "base")
    return base


def check_source(source: str) -> str:
    """The source itself; raises Refused (400) for absolute names, dot segments, control characters or 1,024+ bytes."""
    problem = source_problem(source)
    if problem:
        raise Refused(400, "BAD_SOURCE", problem, "source")
    return source


def source_problem(source: str) -> str | None:
    """Why `source` cannot name a document (RULES 1), or None when it can."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        return "A source must be valid Unicode."
    if not 1 <= size <= MAX_SOURCE_BYTES:
        return f"A source has 1 to {MAX_SOURCE_BYTES} bytes, this one has {size}."
    if any(part in {"", ".", ".."} for part in source.split("/")):
        return "A source is a relative path without empty, `.` or `..` segments."
    if any(ord(c) < ord(" ") or ord(c) == 127 for c in source):  # noqa: PLR2004 - DEL
        return "A source holds no control characters."
    return None


def ignored_name(name: str) -> str | None:
    """Why an object is skipped by its name alone (folder markers, temporary and system files), or None."""
    last = name.rsplit("/", 1)[-1]
    if not last or last.endswith("_$folder$"):
        return "a folder marker holds no document"
    if last.startswith(("~$", "._", ".~lock.")) or last.endswith((".tmp", ".crdownload", ".part", ".swp", "~")):
        return "a temporary file of another program"
    if last in {".DS_Store", "Thumbs.db", "desktop.ini", ".keep", ".gitkeep"} or last.startswith(".fichario"):
        return "a system file"
    return None


def digest(*parts: object) -> str:
    """Stable 32-hex-digit identity of the parts, separated so that no two lists collide by joining."""
    joined = "\x1f".join(str(part) for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def document_id(ref: ObjectRef, source: str) -> str:
    return digest("document", ref.base, ref.name, source)


def job_id(ref: ObjectRef, generation: int) -> str:
    return digest("job", ref.base, ref.name, generation)


def removal_job_id(ref: ObjectRef, generation: int) -> str:
    return digest("job", ref.base, ref.name, generation, "delete")
