"""How S3 and its likes are asked: bounded in time, again when it fails in passing, errors in the product's words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    ParamValidationError,
)

from common.domain.errors import DocumentError, Misconfigured, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ATTEMPTS: Final = 4
CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 30.0
_NO_CREDENTIALS: Final = (NoCredentialsError, NoAuthTokenError, CredentialRetrievalError)
_REFUSED: Final = frozenset({401, 403})
_IN_PASSING: Final = frozenset({404, 408, 409, 429})
_ERRORS: Final = 400
_FAULTS: Final = 500


def connect(
    *, endpoint: str = "", region: str = "", session: boto3.Session | None = None, attempts: int = ATTEMPTS
) -> "S3Client":
    """A client for S3, or for what speaks like it at `endpoint`, with the credentials of the process or the session.

    Without `endpoint` it is found where boto3 looks for it, as in AWS_ENDPOINT_URL_S3.
    """
    session = session or boto3.Session()

    def client(*, compatible: bool) -> "S3Client":
        config = _config(attempts, compatible=compatible)
        return session.client("s3", endpoint_url=endpoint or None, region_name=region or None, config=config)

    found = client(compatible=bool(endpoint))
    if endpoint or _is_amazons(found.meta.endpoint_url):
        return found
    found.close()
    return client(compatible=True)


def _config(attempts: int, *, compatible: bool) -> Config:
    """S3's likes often know neither bucket host names nor the checksums that S3 has learnt since."""
    return Config(
        signature_version="s3v4",
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": attempts},
        # "auto" signs addresses for the global host, which redirects an upload to the bucket's region and so loses it.
        s3={"addressing_style": "path" if compatible else "virtual"},
        request_checksum_calculation="when_required" if compatible else "when_supported",
        response_checksum_validation="when_required" if compatible else "when_supported",
    )


def _is_amazons(address: str) -> bool:
    """Whether it is S3's public endpoint; a private one of a network has no names for buckets."""
    host = urlsplit(address).hostname or ""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn")) and ".vpce." not in host


def status_of(error: ClientError) -> int:
    """The HTTP status of the answer, 0 when it has none."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Raise what goes wrong inside as Unavailable, Misconfigured, DocumentError for what lies in an archive, or
    ValueError for a request that is wrong.

    A caller for whom 404 or 412 is an answer catches it inside; here a 404 can only mean the bucket.
    """
    try:
        yield
    except ClientError as error:
        raise _refusal(what, error) from error
    except _NO_CREDENTIALS as error:
        raise Misconfigured(f"{what}: {error}") from error
    except ParamValidationError as error:
        raise ValueError(f"{what}: {error}") from error
    except BotoCoreError as error:
        raise Unavailable(f"{what}: {error}") from error


def _refusal(what: str, error: ClientError) -> Exception:
    status = status_of(error)
    if error.response.get("Error", {}).get("Code") == "InvalidObjectState":
        return DocumentError(
            "UNSUPPORTED",
            "The file lies in an archive storage class, where it cannot be read.",
            "Restore it, then upload it again.",
        )
    if status in _REFUSED:
        return Misconfigured(
            f"{what}: S3 refuses these credentials; they need s3:ListBucket on the bucket and s3:GetObject, "
            f"s3:PutObject and s3:DeleteObject on its objects ({error})."
        )
    if _ERRORS <= status < _FAULTS and status not in _IN_PASSING:
        return ValueError(f"{what}: {error}")
    return Unavailable(f"{what}: {error}")
