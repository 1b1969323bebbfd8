"""The ObjectStore port over a bucket of S3 or what speaks like it. S3 numbers nothing: what is there is known by its
identity (ETag, size and, where the bucket keeps versions, version id), and generations are assigned to that (RULES 2).

S3's own events carry no generation either, so what is written or removed here, and what is found to be gone, is
announced here with its number. What others write, the bucket tells, and whoever hears of it asks `stat`. On a bucket
without versions the same bytes stored again by others are the same version still.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import ClientError

from common.adapters.s3.calls import status_of, translated
from common.domain.content_encoding import content_of
from common.domain.errors import ObjectGone, Superseded, Unavailable
from common.domain.keys import can_be_stored, check_key, object_at
from common.domain.limits import too_large
from common.domain.objects import ObjectChange, ObjectRef, ObjectStat, is_base_id
from common.domain.uploads import ANY_TYPE, UPLOAD_SECONDS, SignedUpload, check_media_type
from common.ports import Clock, Generations

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_MISSING: Final = 404
_DIFFERS: Final = 412
_STRIPES: Final = 32


class S3Generations(Generations, Protocol):
    """Generations that also tell of one object alone."""

    def current(self, ref: ObjectRef) -> tuple[str, int] | None:
        """Identity and generation of one object believed present, or None."""


@dataclass(frozen=True, slots=True)
class _Version:
    """What S3 says of an object: `updated_at` in whole seconds, which is all that it tells everywhere."""

    etag: str
    size: int
    version_id: str
    updated_at: float

    @property
    def content(self) -> str:
        """The part of the identity that listings tell too."""
        return f"{self.etag} {self.size} "

    @property
    def identity(self) -> str:
        return self.content + self.version_id


class S3ObjectStore:
    """ObjectStore in one bucket. `notify` gets finalize events of what is written here, and delete events."""

    def __init__(
        self,
        client: "S3Client",
        bucket: str,
        generations: S3Generations,
        notify: Callable[[ObjectChange], None],
        clock: Clock,
        *,
        page_size: int = 1000,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._generations = generations
        self._notify = notify
        self._clock = clock
        self._page_size = page_size
        # Others may always come between; among our own threads the number follows the version it is for.
        self._changing = tuple(threading.Lock() for _ in range(_STRIPES))

    def stat(self, ref: ObjectRef) -> ObjectStat | None:
        if not can_be_stored(ref):
            return None
        known = self._generations.current(ref)
        found = self._head(ref)
        if found is None:
            self._lost(ref, known)
            return None
        same = known is not None and known[0] == found.identity
        generation = known[1] if known and same else self._generations.assign(ref, found.identity)
        return ObjectStat(ref, generation, found.size, updated_at=found.updated_at)

    def read(self, ref: ObjectRef, generation: int, limit: int) -> bytes:
        """The content of that generation: what is stored with gzip comes out unfolded, within the same limit."""
        known = self._generations.current(ref) if can_be_stored(ref) else None
        if known is None or known[1] != generation:
            raise self._missed(ref, generation)
        etag = known[0].split(" ", 1)[0]
        with translated(f"{ref.key} cannot be read"):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=ref.key, IfMatch=f'"{etag}"')
            except ClientError as error:
                if status_of(error) in {_MISSING, _DIFFERS}:
                    raise self._missed(ref, generation) from error
                raise
            with closing(answer["Body"]) as body:
                found = _described(answer)
                if found.identity != known[0]:
                    raise Superseded(f"{ref.key} is no longer at generation {generation}.")
                if 0 < limit < found.size:
                    raise too_large(found.size, limit)
                stored = body.read()
        return content_of(stored, answer.get("ContentEncoding", ""), limit)

    def write(self, ref: ObjectRef, data: bytes, content_type: str = "") -> ObjectStat:
        key = check_key(ref)
        with self._changing[hash(ref) % _STRIPES]:
            before = self._generations.current(ref)
            with translated(f"{ref.key} cannot be written"):
                answer = self._client.put_object(
                    Bucket=self._bucket, Key=key, Body=data, ContentType=content_type or ANY_TYPE
                )
            identity = _described(answer, size=len(data)).identity
            if before is not None and before[0] == identity:
                # The same bytes again: S3 cannot tell them apart, but a new version was asked for.
                self._generations.absent(ref, before[1])
            change = ObjectChange("finalize", ref, self._generations.assign(ref, identity), len(data))
            self._notify(change)
        return ObjectStat(ref, change.generation, change.size, content_type, self._clock.now())

    def delete(self, ref: ObjectRef, generation: int) -> bool:
        if not can_be_stored(ref):
            return False
        with self._changing[hash(ref) % _STRIPES]:
            known = self._generations.current(ref)
            found = self._head(ref)
            if found is not None and known != (found.identity, generation):
                raise Superseded(f"{ref.key} is not at generation {generation}.")
            removed = found is not None and self._removed(ref, found)
            self._lost(ref, known)
        return removed

    def list(self, base: str) -> Iterator[ObjectStat]:
        if not is_base_id(base):
            return iter(())
        known = self._generations.known(base)
        with translated(f"The objects of base {base} cannot be listed"):
            pages = self._pages(f"{base}/")
            entries = [(object_at(entry["Key"]), _described(entry)) for p in pages for entry in p.get("Contents", ())]
        stats = [self._listed(ref, found, known) for ref, found in entries if ref is not None]
        return iter(sorted((stat for stat in stats if stat is not None), key=lambda stat: stat.ref))

    def bases(self) -> Sequence[str]:
        """As the port says, but that a folder marker alone is enough."""
        folders, _ = self._root()
        return [name for name in folders if is_base_id(name)]

    def foreign(self) -> Sequence[str]:
        """What lies at the bucket's root and belongs to no base: folders by name, then objects."""
        folders, objects = self._root()
        return [*(name for name in folders if not is_base_id(name)), *objects]

    def signed_upload(self, ref: ObjectRef, content_type: str, size: int) -> SignedUpload:
        """An address for one upload of this type and exactly `size` bytes (Signature Version 4, 15 minutes).

        S3 signs no range of sizes for a PUT. Raises Refused for a name or type that cannot be, Misconfigured without
        credentials, Unavailable.
        """
        key, media_type = check_key(ref), check_media_type(content_type)
        expires_at = self._clock.now() + UPLOAD_SECONDS
        with translated(f"An upload of {ref.key} cannot be signed"):
            url = self._client.generate_presigned_url(
                "put_object",
                Params={"Bucket": self._bucket, "Key": key, "ContentType": media_type, "ContentLength": size},
                ExpiresIn=UPLOAD_SECONDS,
                HttpMethod="PUT",
            )
        return SignedUpload(url, {"Content-Type": media_type, "Content-Length": str(size)}, expires_at)

    def _head(self, ref: ObjectRef) -> _Version | None:
        """The object's current version, or None."""
        with translated(f"{ref.key} cannot be looked up"):
            try:
                return _described(self._client.head_object(Bucket=self._bucket, Key=ref.key))
            except ClientError as error:
                if status_of(error) != _MISSING:
                    raise
            # A bucket that is missing answers just so; it must not look like one that was emptied.
            self._client.list_objects_v2(Bucket=self._bucket, Prefix=ref.key, MaxKeys=1)
        return None

    def _lost(self, ref: ObjectRef, known: tuple[str, int] | None) -> None:
        """Tell that this generation is gone, then record it: afterwards nobody could be asked for its number."""
        if known is not None:
            self._notify(ObjectChange("delete", ref, known[1]))
            self._generations.absent(ref, known[1])

    def _missed(self, ref: ObjectRef, generation: int) -> Exception:
        """Why a generation could not be read."""
        found = self._head(ref) if can_be_stored(ref) else None
        if found is None:
            return ObjectGone(f"{ref.key} is gone.")
        if self._generations.current(ref) == (found.identity, generation):
            return Unavailable(f"{ref.key} is there and cannot be read.")
        return Superseded(f"{ref.key} is not at generation {generation}.")

    def _removed(self, ref: ObjectRef, found: _Version) -> bool:
        """Remove the object if it still has that content; False when somebody else removed it."""
        with translated(f"{ref.key} cannot be removed"):
            try:
                self._client.delete_object(Bucket=self._bucket, Key=ref.key, IfMatch=f'"{found.etag}"')
            except ClientError as error:
                if status_of(error) == _DIFFERS:
                    raise Superseded(f"{ref.key} changed while it was being removed.") from error
                if status_of(error) == _MISSING:
                    return False
                raise
        return True

    def _listed(self, ref: ObjectRef, found: _Version, known: Mapping[ObjectRef, tuple[str, int]]) -> ObjectStat | None:
        """An entry with its generation. Listings tell no version id: equal content is the version known before."""
        identity, generation = known.get(ref, ("", 0))
        if not identity.startswith(found.content):
            return self.stat(ref)
        return ObjectStat(ref, generation, found.size, updated_at=found.updated_at)

    def _root(self) -> tuple[Sequence[str], Sequence[str]]:
        """The folders at the bucket's root, without their slash, and the objects beside them, each by name."""
        with translated("The bucket's root cannot be listed"):
            pages = [*self._pages("", delimiter="/")]
        folders = sorted(each["Prefix"].removesuffix("/") for page in pages for each in page.get("CommonPrefixes", ()))
        return folders, sorted(entry["Key"] for page in pages for entry in page.get("Contents", ()))

    def _pages(self, prefix: str, delimiter: str = "") -> Iterator[Mapping[str, Any]]:
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket,
            Prefix=prefix,
            Delimiter=delimiter,
            PaginationConfig={"PageSize": self._page_size},
        )
        return iter(pages)


def _described(answer: Mapping[str, Any], size: int | None = None) -> _Version:
    """The version that an answer speaks of: of a head, get or upload (whose `size` is known), or an entry of a list."""
    version_id = answer.get("VersionId", "")
    updated = answer.get("LastModified")
    return _Version(
        answer["ETag"].strip('"'),
        size if size is not None else answer.get("ContentLength", answer.get("Size", 0)),
        # What a bucket holds from before it kept versions is all called "null".
        "" if version_id == "null" else version_id,
        float(int(updated.timestamp())) if updated else 0.0,
    )
