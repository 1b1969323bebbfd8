"""What people change by hand: upload, delete, reset. Each answers with the job that will say what became of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from common.domain import fencing
from common.domain.errors import DocumentError, ObjectGone, Refused, Superseded
from common.domain.fencing import Verdict
from common.domain.objects import (
    ObjectChange,
    ObjectRef,
    ObjectStat,
    check_base,
    check_source,
    document_id,
    ignored_name,
)
from common.domain.records import Decision, Held, touched
from common.domain.uploads import SignedUpload
from common.ports import Catalog, Clock, ObjectStore
from common.stages.quota import Quota
from common.stages.spaces import Spaces


@dataclass(frozen=True, slots=True)
class Manage:
    """Changes of the bucket on a caller's behalf. `announce` publishes a change that the bucket itself cannot tell of.

    `file_limit` is in bytes, 0 for none; `forget` lets go of the questions that were kept of a base.
    """

    store: ObjectStore
    catalog: Catalog
    spaces: Spaces
    clock: Clock
    announce: Callable[[ObjectChange], None]
    sign: Callable[[ObjectRef, str, int], SignedUpload]
    quota: Quota
    file_limit: int
    forget: Callable[[str], None]

    def upload(self, base: str, source: str, data: bytes, content_type: str) -> dict[str, Any]:
        """Store the file; equal content that already answers is left as it is (`unchanged`).

        Raises Refused for a source that cannot be, for too many bytes, when the base has another model, or when it is
        a foreign collection that was not adopted.
        """
        ref = self._accepted(base, source, len(data))
        stored = self._same(ref, data)
        known = self.catalog.object(ref) if stored else None
        if stored and known and known.live == known.newest == stored.generation:
            return {**self._named(ref, known.live_job), "unchanged": True}
        self._within_quota(ref, len(data))
        again = stored is not None and not (known and known.state == "failed")
        stored = stored if stored and again else self.store.write(ref, data, content_type)
        change = ObjectChange("finalize", ref, stored.generation, stored.size)
        self._enqueue(change)
        if again:
            self.announce(change)
        return {**self._named(ref, change.job_id), "unchanged": False}

    def sign_upload(self, base: str, source: str, content_type: str, size: int) -> dict[str, Any]:
        """An address for one upload past this function. Raises Refused as `upload` does."""
        ref = self._accepted(base, source, size)
        self._within_quota(ref, size)
        signed = self.sign(ref, content_type, size)
        named = {"source": ref.name, "document_id": document_id(ref, ref.name)}
        return {
            "url": signed.url,
            "method": "PUT",
            "headers": dict(signed.headers),
            **named,
            "expires_at": signed.expires_at,
        }

    def _accepted(self, base: str, source: str, size: int) -> ObjectRef:
        """The object an upload would make. Raises Refused."""
        ref = ObjectRef(check_base(base), check_source(source))
        ignored = ignored_name(source)
        if ignored:
            raise Refused(400, "BAD_SOURCE", f"This name would not be indexed: {ignored}.", "source")
        if self.file_limit and size > self.file_limit:
            raise Refused(413, "TOO_LARGE", f"A file has at most {self.file_limit // 2**20} MB (KB_MAX_FILE_MB).")
        differs = self.spaces.refusal(base)
        if differs:
            record = self.catalog.base(base)
            ours = record is not None and record.live is not None
            raise Refused(409, "OTHER_MODEL" if ours else "FOREIGN", differs)
        return ref

    def _within_quota(self, ref: ObjectRef, size: int) -> None:
        try:
            self.quota.check_size(ref, size)
            self.quota.check_documents(ref, 1)
        except DocumentError as error:
            raise Refused(409, error.code, f"{error.reason} {error.next_step}") from error

    def delete(self, base: str, key: str) -> dict[str, Any]:
        """Remove the object that `key` (document id, job id or source) names, from the bucket and so from all answers.

        Raises Refused 404, or 409 PART_OF_OBJECT for one document of several in its object.
        """
        return self._remove(self._object_named(base, key))

    def reset(self, base: str) -> dict[str, Any]:
        """Remove every object of the base, and its kept questions; the base itself stays."""
        names = {known.ref.name for known in self.catalog.objects(base) if known.state != "deleted"}
        names |= {stat.ref.name for stat in self.store.list(base)}
        if not names and self.catalog.base(base) is None:
            raise Refused(404, "NO_BASE", f"There is no base {base}.", sentinel="NO_KB_MATCH")
        jobs = [self._remove(ObjectRef(base, name))["job_id"] for name in sorted(names)]
        self.catalog.update_base(base, lambda known: (None, known), raise_epoch=True)
        self.forget(base)
        return {"base": base, "deleted": len(jobs), "job_ids": jobs}

    def _same(self, ref: ObjectRef, data: bytes) -> ObjectStat | None:
        """The stored version when it holds exactly these bytes already, so that no new one has to be made of it."""
        current = self.store.stat(ref)
        if current is None or current.size != len(data):
            return None
        try:
            same = self.store.read(ref, current.generation, self.file_limit) == data
        except (Superseded, ObjectGone, DocumentError):
            return None
        return current if same else None

    def _remove(self, ref: ObjectRef) -> dict[str, Any]:
        known, current = self.catalog.object(ref), self.store.stat(ref)
        generation = max(known.newest if known else 0, current.generation if current and known is None else 0)
        change = ObjectChange("delete", ref, generation)
        self._enqueue(change)
        try:
            told = self.store.delete(ref, generation)
        except Superseded:
            self.catalog.transact(ref, change.job_id, self._withdrawn)
        else:
            if not told:
                self.announce(change)
        return self._named(ref, change.job_id)

    def _withdrawn(self, held: Held) -> Decision[Verdict]:
        """A newer upload won: the removal's job ends superseded."""
        if held.job is None or held.job.terminal:
            return Decision("already_done", held)
        now = self.clock.now()
        job = replace(touched(held.job, now, state="superseded"), reason=fencing.PAST, swept=True, notified=True)
        return Decision("superseded", replace(held, job=job))

    def _object_named(self, base: str, key: str) -> ObjectRef:
        found = self.catalog.documents_named(base, key)
        objects = {record.object for record in found}
        if len(objects) > 1:
            raise Refused(409, "AMBIGUOUS", "Several documents have this name; use the document id.", "document_id")
        if objects:
            ref = ObjectRef(base, objects.pop())
            self._whole(ref)
            return ref
        job = self.catalog.job(base, key)
        if job is not None:
            return job.ref
        for known in self.catalog.objects(base):
            if known.state != "deleted" and key in {known.ref.name, document_id(known.ref, known.ref.name)}:
                self._whole(known.ref)
                return known.ref
        raise Refused(404, "NO_DOCUMENT", f"Base {base} has no such document.")

    def _whole(self, ref: ObjectRef) -> None:
        known = self.catalog.object(ref)
        if known is not None and known.documents > 1:
            raise Refused(
                409,
                "PART_OF_OBJECT",
                f"This document is one of {known.documents} in {ref.name}; delete that file, or upload it without it.",
            )

    def _enqueue(self, change: ObjectChange) -> None:
        now = self.clock.now()
        self.catalog.transact(change.ref, change.job_id, lambda held: fencing.enqueue(held, change, now))

    def _named(self, ref: ObjectRef, job_id: str) -> dict[str, Any]:
        return {"job_id": job_id, "document_id": document_id(ref, ref.name), "source": ref.name}
