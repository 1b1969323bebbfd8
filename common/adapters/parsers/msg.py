"""Outlook messages (MSG) through python-oxmsg: the same document as the mail would be, attachments likewise."""

import io
from typing import Any

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.html import add_html
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.mail import AttachmentParser, Attachments
from common.adapters.parsers.refusals import corrupt
from common.domain.documents import Parsed, ParsedDocument


def parse_msg(data: bytes, name: str, limits: Limits, parse_attachment: AttachmentParser) -> Parsed:
    """The message as one document, then those of its attachments. Raises DocumentError CORRUPT, PARSER_LIMIT."""
    from oxmsg import Message  # noqa: PLC0415 - only Outlook files need it

    builder = TextBuilder("Outlook message", characters=limits.characters)
    try:
        message = Message.load(io.BytesIO(data))
        head = _head(message)
        plain, page = message.body or "", message.html_body or ""
        subject, files = one_line(message.subject or ""), list(message.attachments)
    except (OSError, ValueError, KeyError, IndexError, AttributeError, TypeError, NotImplementedError) as error:
        raise corrupt("Outlook message") from error
    builder.add("\n".join(f"{field}: {value}" for field, value in head.items() if value))
    if plain.strip():
        for paragraph in plain.replace("\r\n", "\n").split("\n\n"):
            builder.add(paragraph)
    elif page:
        add_html(builder, decode_text(page.encode("utf-8")) if isinstance(page, str) else decode_text(page))
    attachments = Attachments(name, builder, limits, parse_attachment)
    documents: list[ParsedDocument] = []
    for file in files:
        documents.extend(_attachment(file, attachments))
    if builder.empty and not documents:
        return Parsed((), tuple(builder.warnings))
    metadata = {field.lower(): value for field, value in head.items() if value and field != "Subject"}
    return Parsed((builder.document(name, "mail", title=subject, metadata=metadata), *documents))


def _head(message: Any) -> dict[str, str]:  # noqa: ANN401 - the library carries no types
    recipients = [f"{one_line(entry.name or '')} <{entry.email_address or ''}>".strip() for entry in message.recipients]
    sent = message.sent_date
    return {
        "From": one_line(message.sender or ""),
        "To": ", ".join(recipients),
        "Date": sent.isoformat() if sent is not None else "",
        "Subject": one_line(message.subject or ""),
    }


def _attachment(file: Any, attachments: Attachments) -> tuple[ParsedDocument, ...]:  # noqa: ANN401
    name, kind = file.file_name or "attachment", file.mime_type or ""
    content = file.file_bytes
    if content is None:
        attachments.note(f"The attachment '{one_line(name)}' is a message or link and was left out.")
        return ()
    if kind.startswith(("image/", "audio/", "video/")):
        attachments.note(f"The attachment '{one_line(name)}' ({kind}) holds no text and was left out.")
        return ()
    return attachments.read(content, name, kind)
