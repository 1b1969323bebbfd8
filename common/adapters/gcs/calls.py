"""How Cloud Storage is asked: bounded in time, again when it fails in passing, its errors in the product's words."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from google.api_core.exceptions import Forbidden, GoogleAPICallError, RetryError, Unauthorized
from google.auth.exceptions import GoogleAuthError
from google.cloud.storage import Client
from google.cloud.storage.exceptions import DataCorruption
from google.cloud.storage.retry import DEFAULT_RETRY
from requests import RequestException
from urllib3.exceptions import HTTPError

from common.domain.errors import Misconfigured, Unavailable

_NO_BUCKET_LOOKUP: Final = "DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA"
"""Else a client asks for the bucket in a thread of its own, for the sake of traces and even without any."""
CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 30.0
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_MISSING: Final = 404
_OURS: Final = frozenset({400, 405, 409, 411, 413, 416})
"""Statuses that no other attempt would change: the request itself is wrong."""


def connect(project: str, **options: Any) -> Client:  # noqa: ANN401 - the library has no types
    """A client with the credentials of the process, or as the library's own `options` say.

    STORAGE_EMULATOR_HOST is the library's own setting.
    """
    os.environ.setdefault(_NO_BUCKET_LOOKUP, "true")
    return Client(project=project or None, **options)


def bounded(deadline: float) -> dict[str, Any]:
    """The options of one call: each request has its own time-outs, and none is begun `deadline` seconds after it."""
    retry = DEFAULT_RETRY.with_timeout(deadline).with_delay(initial=_FIRST_PAUSE, maximum=_LONGEST_PAUSE)
    return {"timeout": (CONNECT_SECONDS, READ_SECONDS), "retry": retry}


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Raise what goes wrong inside as Unavailable, Misconfigured, or ValueError for a request that is wrong.

    A caller for whom 404 or 412 is an answer catches it inside; here a 404 can only mean the bucket.
    """
    try:
        yield
    except (Unauthorized, Forbidden) as error:
        raise Misconfigured(
            f"{what}: Cloud Storage refuses this service account; it needs roles/storage.objectUser on the bucket "
            f"({error.message})."
        ) from error
    except GoogleAPICallError as error:
        if error.code in _OURS:
            raise ValueError(f"{what}: {error}") from error
        reason = "the bucket does not exist" if error.code == _MISSING else str(error)
        raise Unavailable(f"{what}: {reason}") from error
    except (RetryError, DataCorruption, GoogleAuthError, RequestException, HTTPError, ConnectionError) as error:
        raise Unavailable(f"{what}: {error}") from error
