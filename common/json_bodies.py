"""The JSON bodies of requests: bounded, and read so that what they hold can be written again."""

import json
from typing import Any, Final

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Request
from werkzeug.wsgi import get_input_stream

from common.domain.errors import Refused

MAX_JSON: Final = 256 * 1024
JSON: Final = "application/json"
_MOST_DIGITS: Final = 12


def json_bytes(request: Request, most: int = MAX_JSON) -> bytes:
    """The bytes of a JSON body, `most` of them, not looked at. Raises Refused 413 or 415."""
    # Parsing what it says takes longer than reading most bodies.
    if request.environ.get("CONTENT_TYPE") != JSON and request.mimetype != JSON:
        raise Refused(415, "NOT_JSON", "Send the body as application/json.")
    length = request.environ.get("CONTENT_LENGTH", "")
    if _is_length(length) and "HTTP_TRANSFER_ENCODING" not in request.environ:
        # As below, in a fifth of the time.
        if int(length) > most:
            raise _too_large(most)
        plain: bytes = request.environ["wsgi.input"].read(int(length))
        return plain
    try:
        data = get_input_stream(request.environ, max_content_length=most + 1).read(most + 1)
    except RequestEntityTooLarge as error:
        raise _too_large(most) from error
    if len(data) > most:
        raise _too_large(most)
    return data


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def _too_large(most: int) -> Refused:
    return Refused(413, "TOO_LARGE", f"A JSON body has at most {most:,} bytes here.")


def json_body(request: Request) -> dict[str, Any]:
    """The request's JSON object. Raises Refused 400, 413 or 415."""
    body = _json_value(json_bytes(request))
    if not isinstance(body, dict):
        raise Refused(400, "BAD_JSON", "The body is a JSON object.", "body")
    return body


def json_list(request: Request, most: int) -> list[Any]:
    """The request's JSON array of at most `most` bytes. Raises Refused 400, 413 or 415."""
    body = _json_value(json_bytes(request, most))
    if not isinstance(body, list):
        raise Refused(400, "BAD_JSON", "The body is a JSON array.", "body")
    return body


def _json_value(data: bytes) -> Any:  # noqa: ANN401 - what JSON holds
    """What the JSON holds. Raises Refused 400."""
    try:
        return _DECODER.decode(text) if (text := _plain(data)) else _read_with_care(data)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "BAD_JSON", f"The body is not JSON: {_brief(error)}.", "body") from error


def _plain(data: bytes) -> str:
    """The bytes as text where JSON in them cannot hold half a surrogate pair; nothing otherwise. Those are rare, and
    looking for them takes longer than reading most bodies.
    """
    if b"\\ud" in data or b"\\uD" in data or b"\0" in data:
        return ""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return "" if text.startswith("\ufeff") else text


def _read_with_care(data: bytes) -> Any:  # noqa: ANN401 - what JSON holds
    """What the JSON holds, in whichever of its encodings. Raises ValueError or RecursionError for what could not be
    written again.
    """
    body = json.loads(data, parse_constant=_no_constant)
    json.dumps(body, ensure_ascii=False).encode()
    return body


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


def _brief(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
