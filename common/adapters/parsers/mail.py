"""E-mail (EML and S/MIME wrapped EML): headers, one body, attachments as documents of their own or noted."""

import datetime as dt
import email
import email.policy
import re
from collections.abc import Callable, Iterator
from email.errors import MessageError
from email.header import decode_header
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.html import add_html
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.refusals import encrypted, no_text
from common.adapters.parsers.sniff import wide_encoding
from common.domain.documents import Parsed, ParsedDocument
from common.domain.errors import DocumentError
from common.domain.languages import extension

AttachmentParser = Callable[[bytes, str, str], Parsed]
"""Bytes, source and content type of an attachment to its documents; raises DocumentError."""

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_SIGNATURES = {"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"}
_SIGNATURE_SUFFIXES = {"p7s", "asc", "sig"}
_ENCRYPTED = {"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"}
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]+")
_PICTURES = ("image/", "audio/", "video/")
_NAME_LENGTH = 120


def parse_mail(data: bytes, name: str, limits: Limits, parse_attachment: AttachmentParser) -> Parsed:
    """The mail as one document, then its attachments' ones. Raises DocumentError ENCRYPTED, NO_TEXT, BAD_ENCODING."""
    message = _read(data)
    if message.get_content_type() in _ENCRYPTED and "signed-data" not in str(message.get("Content-Type", "")):
        raise encrypted("mail")
    builder = TextBuilder("mail", characters=limits.characters)
    subject = header_text(message, "Subject")
    head = [f"{field}: {value}" for field in _SHOWN if (value := header_text(message, field))]
    bodied = _add_body(builder, message, head)
    documents: list[ParsedDocument] = []
    attachments = Attachments(name, builder, limits, parse_attachment)
    for part in _attached(message):
        documents.extend(_attachment(part, attachments))
    if not bodied and not documents:
        if builder.warnings:
            raise no_text("mail", "only attachments that are not read")
        if not subject:
            return Parsed(())
    if builder.empty:
        builder.add("\n".join(head))
    own = builder.document(name, "mail", title=subject, metadata=_metadata(message))
    return Parsed(((own,) if own.text else ()) + tuple(documents), () if own.text else tuple(builder.warnings))


class Attachments:
    """Parses what a mail carries, each as a document of its own, within the bounds; what is left out is noted."""

    def __init__(self, mail: str, builder: TextBuilder, limits: Limits, parse: AttachmentParser) -> None:
        self._mail = mail
        self._builder = builder
        self._limits = limits
        self._parse = parse
        self._names: set[str] = set()
        self._size = 0

    def read(self, data: bytes, name: str, content_type: str) -> tuple[ParsedDocument, ...]:
        """The attachment's documents, none when it is refused or past the bounds."""
        name = self._unique(_UNSAFE.sub("_", one_line(name)).strip(" .")[-_NAME_LENGTH:] or "attachment")
        self._size += len(data)
        if len(self._names) > self._limits.attachments or self._size > self._limits.attachment_bytes:
            self._builder.warn(f"Attachment '{name}' was not read: the mail carries more than is read of one.")
            return ()
        try:
            parsed = self._parse(data, f"{self._mail}!/{name}", content_type)
        except DocumentError as error:
            self._builder.warn(f"Attachment '{name}' was not read ({error.code}): {error.reason}")
            return ()
        if not parsed.documents:
            self._builder.warn(f"Attachment '{name}' is empty.")
        for warning in parsed.warnings:
            self._builder.warn(f"Attachment '{name}': {warning}")
        return parsed.documents

    def note(self, message: str) -> None:
        self._builder.warn(message)

    def _unique(self, name: str) -> str:
        stem, dot, suffix = name.rpartition(".")
        candidate, number = name, 1
        while candidate in self._names:
            number += 1
            candidate = f"{stem}-{number}{dot}{suffix}" if dot else f"{name}-{number}"
        self._names.add(candidate)
        return candidate


def _read(data: bytes) -> EmailMessage:
    encoding = wide_encoding(data)
    if encoding:
        data = decode_text(data).encode("utf-8")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    message = email.message_from_bytes(data, policy=email.policy.default)
    return message if isinstance(message, EmailMessage) else EmailMessage()


def header_text(message: Message, field: str) -> str:
    """A header as people read it, encoded words decoded, "" when it is not there or cannot be read."""
    try:
        value = message.get(field)
        return one_line(str(value)) if value is not None else ""
    except (MessageError, ValueError, LookupError, IndexError, AttributeError, TypeError):
        # The policy's own parser fails on some malformed headers; their raw words still tell something.
        raw = next((value for key, value in message.raw_items() if key.lower() == field.lower()), "")
        return one_line(_decoded_words(str(raw)))


def _decoded_words(raw: str) -> str:
    try:
        parts = decode_header(raw)
        return "".join(
            part.decode(charset or "utf-8", "ignore") if isinstance(part, bytes) else part for part, charset in parts
        )
    except (MessageError, ValueError, LookupError):
        return raw


def _metadata(message: Message) -> dict[str, str]:
    found = {key.lower(): value for key in ("From", "To", "Cc") if (value := header_text(message, key))}
    date = _date(header_text(message, "Date"))
    return {**found, "date": date} if date else found


def _date(written: str) -> str:
    """The date in ISO form, "" when it cannot be read."""
    for read in (parsedate_to_datetime, dt.datetime.fromisoformat):
        try:
            return read(written).isoformat()
        except (ValueError, TypeError, IndexError):
            continue
    return ""


def _add_body(builder: TextBuilder, message: EmailMessage, head: list[str]) -> bool:
    """The headers, then one body: HTML only where there is no plain text. False when no part says anything."""
    parts = list(_bodies(message, builder))
    plain = [text for kind, text in parts if kind == "plain" and text.strip()]
    pages = [text for kind, text in parts if kind == "html" and text.strip()]
    if not plain and not pages:
        return False
    builder.add("\n".join(head))
    for text in plain:
        for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
            builder.add(paragraph)
    if not plain:
        for text in pages:
            add_html(builder, text)
    return True


def _bodies(message: EmailMessage, builder: TextBuilder) -> Iterator[tuple[str, str]]:
    for part in _leaves(message):
        if part.get_content_maintype() == "text" and not _is_attachment(part):
            kind = part.get_content_subtype()
            if kind not in {"plain", "html"}:
                continue
            try:
                yield kind, _text_of(part)
            except DocumentError as error:
                builder.warn(f"A part of the mail was left out: {error.reason}")


def _leaves(message: Message) -> Iterator[Message]:
    """Parts that hold content, those inside an attached mail not among them."""
    stack: list[Message] = [message]
    while stack:
        part = stack.pop()
        attached = part is not message and (_is_attachment(part) or part.get_content_type() == "message/rfc822")
        payload = part.get_payload()
        if part.is_multipart() and not attached and isinstance(payload, list):
            stack.extend(entry for entry in reversed(payload) if isinstance(entry, Message))
        else:
            yield part


def _is_attachment(part: Message) -> bool:
    try:
        return part.get_content_disposition() == "attachment" or bool(part.get_filename())
    except (MessageError, ValueError, LookupError, IndexError, AttributeError, TypeError):
        return False


def _payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text_of(part: Message) -> str:
    data = _payload(part)
    declared = str(part.get_content_charset("") or "").split(";")[0].split()
    return decode_text(data, declared[0] if declared else "") if data.strip() else ""


def _attached(message: EmailMessage) -> Iterator[Message]:
    for part in _leaves(message):
        if part is not message and (_is_attachment(part) or part.get_content_maintype() not in {"text", "multipart"}):
            yield part


def _attachment(part: Message, attachments: Attachments) -> tuple[ParsedDocument, ...]:
    kind = part.get_content_type()
    name = _name_of(part)
    if kind in _SIGNATURES or extension(name) in _SIGNATURE_SUFFIXES:
        attachments.note(f"The signature '{name}' was left out.")
        return ()
    if kind.startswith(_PICTURES):
        attachments.note(f"The attachment '{name}' ({kind}) holds no text and was left out.")
        return ()
    if part.is_multipart():
        inner = part.get_payload(0) if kind == "message/rfc822" else part
        data = inner.as_bytes() if isinstance(inner, Message) else b""
        return attachments.read(data, name, "message/rfc822")
    return attachments.read(_payload(part), name, kind)


def _name_of(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (MessageError, ValueError, LookupError, IndexError, AttributeError, TypeError):
        name = ""
    suffix = ".eml" if part.is_multipart() else ""
    return one_line(name) or f"attachment{suffix}"
