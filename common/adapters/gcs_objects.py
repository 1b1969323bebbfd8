"""The ObjectStore port over a Cloud Storage bucket: its generations are the product's. The bucket tells of its changes
itself, so nothing is announced here.
"""

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, Final

import google_crc32c
from google.api_core.exceptions import NotFound, PreconditionFailed
from google.auth.credentials import Signing
from google.cloud.storage import Blob, Client

from common.adapters.gcs.calls import bounded, translated
from common.adapters.gcs.signing import process_signer
from common.domain.content_encoding import content_of
from common.domain.errors import ObjectGone, Superseded, Unavailable
from common.domain.keys import can_be_stored, check_key, object_at
from common.domain.limits import too_large
from common.domain.objects import ObjectRef, ObjectStat, is_base_id
from common.domain.uploads import ANY_TYPE, UPLOAD_SECONDS, SignedUpload, check_media_type
from common.ports import Clock

_FIELDS: Final = "items(name,generation,size,contentType,updated),prefixes,nextPageToken"


class GcsObjectStore:
    """ObjectStore in one bucket, with or without versioning; a noncurrent generation counts as superseded.

    `deadline` is how many seconds one call is tried again; `signer` is asked for once, by the first signed upload.
    """

    def __init__(
        self,
        client: Client,
        bucket: str,
        clock: Clock,
        *,
        signer: Callable[[], Signing] = process_signer,
        deadline: float = 60.0,
        page_size: int = 1000,
    ) -> None:
        self.bucket = bucket
        self._client = client
        self._bucket = client.bucket(bucket)
        self._clock = clock
        self._signer = cache(signer)
        self._options = bounded(deadline)
        self._page_size = page_size

    def stat(self, ref: ObjectRef) -> ObjectStat | None:
        found = self._current(ref)
        return None if found is None else _stat(ref, found)

    def read(self, ref: ObjectRef, generation: int, limit: int) -> bytes:
        """The content of that generation: what is stored with gzip comes out unfolded, within the same limit."""
        found = self._current(ref)
        if found is None:
            raise ObjectGone(f"{ref.key} is gone.")
        if found.generation != generation:
            raise _superseded(ref, found.generation, generation)
        if 0 < limit < found.size:
            raise too_large(found.size, limit)
        arrived = self._download(ref, generation, limit)
        encoding = found.content_encoding or ""
        if len(arrived) == found.size and found.crc32c in {None, _crc32c(arrived)}:
            return content_of(arrived, encoding, limit)
        if encoding == "gzip":
            # Somebody on the way unfolded it; sizes and hashes are of the stored form.
            return arrived
        raise Unavailable(f"{ref.key} arrived damaged: {len(arrived)} bytes of {found.size}.")

    def write(self, ref: ObjectRef, data: bytes, content_type: str = "") -> ObjectStat:
        blob = self._bucket.blob(check_key(ref))
        with translated(f"{ref.key} cannot be written"):
            blob.upload_from_string(data, content_type or ANY_TYPE, checksum="crc32c", **self._options)
        return _stat(ref, blob)

    def delete(self, ref: ObjectRef, generation: int) -> bool:
        found = self._current(ref)
        if found is None:
            return False
        if found.generation != generation:
            raise _superseded(ref, found.generation, generation)
        with translated(f"{ref.key} cannot be removed"):
            try:
                self._bucket.delete_blob(ref.key, if_generation_match=generation, **self._options)
            except (NotFound, PreconditionFailed) as error:
                missed = self._missed(ref, generation)
                if isinstance(missed, ObjectGone):
                    return False
                raise missed from error
        return True

    def list(self, base: str) -> Iterator[ObjectStat]:
        if not is_base_id(base):
            return iter(())
        with translated(f"The objects of base {base} cannot be listed"):
            blobs = [(object_at(blob.name), blob) for blob in self._listing(prefix=f"{base}/")]
        return iter(sorted((_stat(ref, blob) for ref, blob in blobs if ref is not None), key=lambda stat: stat.ref))

    def bases(self) -> Sequence[str]:
        """As the port says, but that a folder marker alone is enough."""
        folders, _ = self._root()
        return [name for name in folders if is_base_id(name)]

    def foreign(self) -> Sequence[str]:
        """What lies at the bucket's root and belongs to no base: folders by name, then objects."""
        folders, objects = self._root()
        return [*(name for name in folders if not is_base_id(name)), *objects]

    def signed_upload(self, ref: ObjectRef, content_type: str, size: int) -> SignedUpload:
        """An address for one upload of this type and at most `size` bytes (V4, 15 minutes).

        Raises Refused for a name or type that cannot be, Misconfigured without a service account, Unavailable.
        """
        blob = self._bucket.blob(check_key(ref))
        headers = {
            "Content-Type": check_media_type(content_type),
            "x-goog-content-length-range": f"0,{size}",
        }
        expires_at = self._clock.now() + UPLOAD_SECONDS
        with translated(f"An upload of {ref.key} cannot be signed (by IAM: as roles/iam.serviceAccountTokenCreator)"):
            url = blob.generate_signed_url(
                version="v4",
                method="PUT",
                expiration=timedelta(seconds=UPLOAD_SECONDS),
                headers=dict(headers),
                credentials=self._signer(),
            )
        return SignedUpload(url, headers, expires_at)

    def _current(self, ref: ObjectRef) -> Blob | None:
        """The object's current version as the bucket describes it, or None."""
        if not can_be_stored(ref):
            return None
        with translated(f"{ref.key} cannot be looked up"):
            found = self._bucket.get_blob(ref.key, **self._options)
            if found is None:
                # A bucket that is missing answers just so; it must not look like one that was emptied.
                next(iter(self._listing(prefix=ref.key, max_results=1)), None)
        return found

    def _download(self, ref: ObjectRef, generation: int, limit: int) -> bytes:
        """The stored bytes, asked for with the generation as a precondition: it must be the current one."""
        blob, sink = self._bucket.blob(ref.key), _Bounded(limit)
        with translated(f"{ref.key} cannot be read"):
            try:
                blob.download_to_file(
                    sink, raw_download=True, checksum=None, if_generation_match=generation, **self._options
                )
            except (NotFound, PreconditionFailed) as error:
                raise self._missed(ref, generation) from error
        if blob.generation != generation:
            raise _superseded(ref, blob.generation, generation)
        return sink.content()

    def _missed(self, ref: ObjectRef, generation: int) -> Exception:
        """Why a version that was current a moment ago could not be read or removed."""
        found = self._current(ref)
        if found is None:
            return ObjectGone(f"{ref.key} is gone.")
        if found.generation != generation:
            return _superseded(ref, found.generation, generation)
        return Unavailable(f"{ref.key} is there, and the bucket denies it.")

    def _root(self) -> tuple[Sequence[str], Sequence[str]]:
        """The folders at the bucket's root, without their slash, and the objects beside them, each by name."""
        with translated("The bucket's root cannot be listed"):
            listing = self._listing(prefix="", delimiter="/")
            objects = sorted(blob.name for blob in listing)
            return sorted(folder.removesuffix("/") for folder in listing.prefixes), objects

    def _listing(self, **asked: str | int) -> Any:  # noqa: ANN401 - the library has no types
        return self._client.list_blobs(
            self._bucket, fields=_FIELDS, page_size=self._page_size, **asked, **self._options
        )


class _Bounded:
    """Where a download is written to: raises DocumentError TOO_LARGE for more than `limit` bytes (0: any number)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = io.BytesIO()

    def write(self, data: bytes) -> int:
        size = self._taken.tell() + len(data)
        if 0 < self._limit < size:
            raise too_large(size, self._limit)
        return self._taken.write(data)

    def seek(self, offset: int) -> int:
        return self._taken.seek(offset)

    def content(self) -> bytes:
        return self._taken.getvalue()


def _stat(ref: ObjectRef, blob: Blob) -> ObjectStat:
    return ObjectStat(ref, blob.generation, blob.size, blob.content_type or "", blob.updated.timestamp())


def _superseded(ref: ObjectRef, current: int | None, generation: int) -> Superseded:
    return Superseded(f"{ref.key} is at generation {current}, not {generation}.")


def _crc32c(data: bytes) -> str:
    """As Cloud Storage spells it: the checksum's four bytes, big-endian, in base64."""
    return base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()
