"""Parsed documents and refusals as bytes: what a worker process answers is data and never code."""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import starmap
from operator import attrgetter
from typing import Any, get_args

from common.domain.codes import FailureCode
from common.domain.documents import Block, Dropped, Link, Parsed, ParsedDocument
from common.domain.errors import DocumentError

_BLOCK = tuple(entry.name for entry in fields(Block))
_LINK = tuple(entry.name for entry in fields(Link))
_DROPPED = tuple(entry.name for entry in fields(Dropped))
_DOCUMENT = tuple(entry.name for entry in fields(ParsedDocument))
_row = attrgetter(*_BLOCK)
_HEADINGS = _BLOCK.index("headings")
_LENGTH = struct.Struct(">Q")
_HEAD, _TAIL = b'{"documents":[', b"],"
_TUPLES = frozenset({"keywords", "aliases", "tags", "warnings"})


def encode(parsed: Parsed) -> bytearray:
    """The length of what follows as JSON, heading paths once each, and behind it the texts of the documents: escaping
    them and back would take as long as reading many a file.
    """
    paths: dict[tuple[str, ...], int] = {}
    # Each document by itself: one emoji would make the text of all of them together take four times its bytes.
    texts = [_bytes(document.text) for document in parsed.documents]
    documents = b",".join(
        _json({**_document_out(document, paths), "text": len(text)})
        for document, text in zip(parsed.documents, texts, strict=True)
    )
    value = _json({"paths": list(paths), "warnings": list(parsed.warnings)})
    out = bytearray(_LENGTH.pack(len(documents) + len(value) + len(_HEAD) + len(_TAIL) - 1))
    for part in (_HEAD, documents, _TAIL, value[1:], *texts):
        out += part
    return out


def _json(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    return _bytes(json.dumps(value, ensure_ascii=False))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes | bytearray) -> Parsed:
    """The documents again. Raises ValueError, KeyError, TypeError or IndexError for anything `encode` did not write."""
    if len(data) < _LENGTH.size:
        raise ValueError(len(data))
    start = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    value = json.loads(data[_LENGTH.size : start].decode("utf-8", "surrogatepass"))
    paths = [tuple(map(str, path)) for path in value["paths"]]
    texts, documents = memoryview(data), []
    for entry in value["documents"]:
        end = start + entry["text"]
        if not start <= end <= len(data):
            raise ValueError(end)
        entry["text"] = str(texts[start:end], "utf-8", "surrogatepass")
        documents.append(_document_in(entry, paths))
        start = end
    return Parsed(tuple(documents), tuple(map(str, value["warnings"])))


def encode_refusal(error: DocumentError) -> bytes:
    return json.dumps({"code": error.code, "reason": error.reason, "next_step": error.next_step}).encode()


def decode_refusal(data: bytes) -> DocumentError:
    """The refusal again. Raises ValueError or KeyError for anything `encode_refusal` did not write."""
    value = json.loads(data)
    if value["code"] not in get_args(FailureCode):
        raise ValueError(value["code"])
    return DocumentError(value["code"], str(value["reason"]), str(value["next_step"]))


def _document_out(document: ParsedDocument, paths: dict[tuple[str, ...], int]) -> dict[str, Any]:
    out = {name: getattr(document, name) for name in _DOCUMENT if name != "text"}
    out["blocks"] = _columns(document.blocks, paths)
    out["links"] = [[getattr(link, name) for name in _LINK] for link in document.links]
    out["dropped"] = [[getattr(entry, name) for name in _DROPPED] for entry in document.dropped]
    out["metadata"] = _plain(document.metadata)
    return out


def _columns(blocks: Sequence[Block], paths: dict[tuple[str, ...], int]) -> list[Sequence[Any]]:
    """The values of each field for all blocks, which JSON writes and reads faster than thousands of short rows."""
    columns: list[Sequence[Any]] = list(zip(*map(_row, blocks), strict=True))
    if columns:
        columns[_HEADINGS] = [paths.setdefault(path, len(paths)) for path in columns[_HEADINGS]]
    return columns


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    return value


def _document_in(entry: dict[str, Any], paths: list[tuple[str, ...]]) -> ParsedDocument:
    columns: list[Sequence[Any]] = entry["blocks"]
    if columns:
        columns[_HEADINGS] = [paths[number] for number in columns[_HEADINGS]]
    values: dict[str, Any] = {name: tuple(value) if name in _TUPLES else value for name, value in entry.items()}
    values["blocks"] = tuple(starmap(Block, zip(*columns, strict=True)))
    values["links"] = tuple(Link(*row) for row in entry["links"])
    values["dropped"] = tuple(Dropped(*row) for row in entry["dropped"])
    return ParsedDocument(**values)
