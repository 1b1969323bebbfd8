"""Requests of the manage function: uploads, pages and states."""

from collections.abc import Mapping
from dataclasses import dataclass

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Request

from common.domain.codes import STATES
from common.domain.errors import Refused
from common.paging import Page


@dataclass(frozen=True, slots=True)
class Upload:
    """One file to store under its source."""

    source: str
    data: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Signing:
    """An upload to be signed: at most `size` bytes of this type under this source."""

    source: str
    content_type: str
    size: int


def decode_signing(body: Mapping[str, object]) -> Signing:
    """`{"source", "content_type", "size"}`. Raises Refused 400 naming the field."""
    source, content_type, size = body.get("source"), body.get("content_type", ""), body.get("size")
    if not isinstance(source, str):
        raise Refused(400, "BAD_REQUEST", "source is a text.", "source")
    if not isinstance(content_type, str):
        raise Refused(400, "BAD_REQUEST", "content_type is a text.", "content_type")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Refused(400, "BAD_REQUEST", "size is a whole number of bytes.", "size")
    return Signing(source, content_type, size)


@dataclass(frozen=True, slots=True)
class Repair:
    """What to do about drift: mend it, even where most of a base would go."""

    repair: bool
    yes: bool


def decode_repair(body: Mapping[str, object]) -> Repair:
    """`{"repair": bool, "yes": bool}`, both false where absent. Raises Refused 400."""
    for name, value in body.items():
        if name not in {"repair", "yes"} or not isinstance(value, bool):
            raise Refused(400, "BAD_REQUEST", "The body holds repair and yes, each true or false.", str(name)[:100])
    return Repair(bool(body.get("repair", False)), bool(body.get("yes", False)))


@dataclass(frozen=True, slots=True)
class Start:
    """A migration to `model`, the configured one when None."""

    model: str | None
    auto_switch: bool


def decode_start(body: Mapping[str, object]) -> Start:
    """`{"model": text, "auto_switch": bool}`, both optional. Raises Refused 400 naming the field."""
    _only(body, "model", "auto_switch")
    model, auto = body.get("model"), body.get("auto_switch", False)
    if model is not None and (not isinstance(model, str) or not model.strip()):
        raise Refused(400, "BAD_REQUEST", "model is the name of a model.", "model")
    if not isinstance(auto, bool):
        raise Refused(400, "BAD_REQUEST", "auto_switch is true or false.", "auto_switch")
    return Start(model, auto)


def decode_force(body: Mapping[str, object]) -> bool:
    """`{"force": bool}`, false where absent. Raises Refused 400 naming the field."""
    _only(body, "force")
    force = body.get("force", False)
    if not isinstance(force, bool):
        raise Refused(400, "BAD_REQUEST", "force is true or false.", "force")
    return force


def _only(body: Mapping[str, object], *known: str) -> None:
    for name in body:
        if name not in known:
            raise Refused(400, "BAD_REQUEST", f"The body holds {' and '.join(known)} only.", str(name)[:100])


def decode_upload(request: Request, limit: int, source: str = "") -> Upload:
    """A multipart `file` (its name, or a `source` field), or a raw body with `X-Source`, unless `source` is given.
    `limit` in bytes, 0 for none.

    Raises Refused 400 naming the field, or 413.
    """
    if limit and (request.content_length or 0) > limit + 2**20:
        raise Refused(413, "TOO_LARGE", f"A file has at most {limit // 2**20} MB (KB_MAX_FILE_MB).")
    if request.mimetype == "multipart/form-data":
        return _multipart(request)
    named = source or request.headers.get("X-Source")
    if not named:
        raise Refused(400, "BAD_REQUEST", "Send a multipart `file`, or the bytes with the header X-Source.", "X-Source")
    if limit:
        request.max_content_length = limit + 1
    try:
        data = request.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise Refused(413, "TOO_LARGE", f"A file has at most {limit // 2**20} MB (KB_MAX_FILE_MB).") from error
    if limit and len(data) > limit:
        raise Refused(413, "TOO_LARGE", f"At most {limit:,} bytes are taken here.")
    return Upload(source or _as_utf8(named), data, request.mimetype)


def decode_state(request: Request) -> str | None:
    """The `state` to list jobs of, or None for all. Raises Refused 400."""
    state = request.args.get("state")
    if state is not None and state not in STATES:
        raise Refused(400, "BAD_REQUEST", f"state is one of {', '.join(STATES)}.", "state")
    return state


def position(page: Page) -> tuple[float, str] | None:
    """The cursor of a job listing. Raises Refused 400 for a cursor of another listing."""
    if page.cursor is None:
        return None
    try:
        return float(page.cursor[0]), page.cursor[1]
    except ValueError:
        raise Refused(400, "BAD_REQUEST", "cursor is not one of this listing.", "cursor") from None


def _multipart(request: Request) -> Upload:
    file = request.files.get("file")
    if file is None:
        raise Refused(400, "BAD_REQUEST", "The form has no part named file.", "file")
    source = request.form.get("source") or file.filename or ""
    with file.stream as stream:
        return Upload(source, stream.read(), file.mimetype or "")


def _as_utf8(header: str) -> str:
    """Headers arrive as Latin-1; a source is UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        raise Refused(400, "BAD_SOURCE", "X-Source is not UTF-8.", "X-Source") from None
