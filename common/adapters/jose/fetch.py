"""Reads the document of keys that an issuer publishes: bounded in time and size, from the configured address alone."""

import time
from http.client import HTTPException, HTTPMessage
from typing import IO, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from common.domain.errors import Misconfigured, Unavailable
from common.identity import LOOPBACK

MAX_BYTES: Final = 256 * 1024
_OK: Final = 200
_CHUNK: Final = 64 * 1024


def check_address(url: str) -> str:
    """The address itself. Raises Misconfigured unless it is https, or http to a name of this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    secure = parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
    if not host or not secure or parts.username is not None:
        raise Misconfigured(
            "KB_JWKS_URL is an https address without user name; plain http is for names of this machine only."
        )
    return url


def read_document(url: str, seconds: float) -> bytes:
    """The body at `url`. No redirect is followed: it would choose another source of keys. Raises Unavailable."""
    deadline = time.monotonic() + seconds
    request = Request(url, headers={"Accept": "application/json", "User-Agent": "fichario"})  # noqa: S310 - checked
    try:
        with _opener(url).open(request, timeout=seconds) as response:
            if response.status != _OK:
                raise _silent(f"it answered {response.status}")
            body = b""
            while chunk := response.read1(_CHUNK):
                body += chunk
                if len(body) > MAX_BYTES:
                    raise _silent(f"it answered more than {MAX_BYTES:,} bytes")
                if time.monotonic() > deadline:
                    raise _silent(f"it took more than {seconds:g} s")
            return body
    except HTTPError as error:
        with error:
            raise _silent(f"it answered {error.code}") from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
        raise _silent(type(cause).__name__) from error


def _silent(reason: str) -> Unavailable:
    return Unavailable(f"The token issuer's keys cannot be read: {reason}.")


def _opener(url: str) -> OpenerDirector:
    """A proxy of the environment serves addresses outside; none stands between programs of one machine."""
    if urlsplit(url).hostname in LOOPBACK:
        return build_opener(_NoRedirect, ProxyHandler({}))
    return build_opener(_NoRedirect)


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self,
        req: Request,  # noqa: ARG002 - the library's signature
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return None
