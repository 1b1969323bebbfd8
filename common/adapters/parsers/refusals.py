"""Why a file is not read, in words for the person who uploaded it: one constructor per failure code."""

from common.domain.errors import DocumentError


def encrypted(what: str) -> DocumentError:
    """The file opens only with a password or a key."""
    return DocumentError(
        "ENCRYPTED",
        f"The {what} is protected and cannot be opened without its password or key.",
        "Remove the protection (save a copy without a password) and upload the file again.",
    )


def corrupt(what: str, detail: str = "") -> DocumentError:
    """The file says what it is but cannot be read as that."""
    why = f": {detail.rstrip('. ')}" if detail else ""
    return DocumentError(
        "CORRUPT",
        f"The {what} is damaged or incomplete{why}.",
        "Open it in the program that made it, save it again, and upload the new copy.",
    )


def unsupported(what: str, next_step: str) -> DocumentError:
    """A kind of file that is not read at all."""
    return DocumentError("UNSUPPORTED", f"{what} cannot be read.", next_step)


def limit(what: str, detail: str) -> DocumentError:
    """Reading the file would take more than its bounds allow."""
    return DocumentError(
        "PARSER_LIMIT",
        f"The {what} was not read: {detail.rstrip('. ')}.",
        "Split it into smaller files or save it in a simpler form, then upload it again.",
    )


def no_text(what: str, detail: str) -> DocumentError:
    """Pictures only: text would have to be recognised."""
    return DocumentError(
        "NO_TEXT",
        f"The {what} holds no text, {detail.rstrip('. ')}.",
        "Turn on text recognition (OCR) with KB_OCR=tesseract, or upload a copy that holds its text.",
    )


def bad_encoding(what: str) -> DocumentError:
    """Bytes that are no text in any encoding."""
    return DocumentError(
        "BAD_ENCODING",
        f"The {what} is not text in any encoding that could be recognised.",
        "Save it as UTF-8 and upload it again.",
    )
