"""What a store answers for an object over the size limit, in the same words wherever it is kept."""

from typing import Final

from common.domain.errors import DocumentError

MEGABYTE: Final = 1 << 20


def too_large(size: int, limit: int) -> DocumentError:
    """The refusal of an object of `size` bytes where at most `limit` are read."""
    return DocumentError(
        "TOO_LARGE",
        f"The file has {size / MEGABYTE:,.1f} MB; at most {limit / MEGABYTE:,.1f} MB are read.",
        "Split the file into smaller ones, or raise KB_MAX_FILE_MB.",
    )
