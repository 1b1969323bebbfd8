"""The limits of one base: megabytes and documents. Over one of them a file is refused, everything else stays."""

from dataclasses import dataclass

from common.domain.errors import DocumentError
from common.domain.objects import ObjectRef
from common.ports import Catalog

_NEXT = "Delete files that are no longer needed or raise the limit, then `fichario reconcile --repair`."


@dataclass(frozen=True, slots=True)
class Quota:
    """`base_limit` in bytes and `documents_limit`; 0 for none. What an object takes now is given back first."""

    catalog: Catalog
    base_limit: int
    documents_limit: int

    def check_size(self, ref: ObjectRef, size: int) -> None:
        """Raises DocumentError QUOTA when the base would hold too many bytes with this version of the object."""
        if not self.base_limit:
            return
        known = self.catalog.object(ref)
        total = self.catalog.totals(ref.base).size - (known.size if known else 0) + size
        if total > self.base_limit:
            raise DocumentError(
                "QUOTA",
                f"With this file of {_mb(size)} the base would hold {_mb(total)}; its limit is {_mb(self.base_limit)} "
                "(KB_MAX_BASE_MB).",
                _NEXT,
            )

    def check_documents(self, ref: ObjectRef, documents: int) -> None:
        """Raises DocumentError QUOTA when the base would hold too many documents with this version of the object. One
        that brings no more than are there already is not to blame: an adopted base may be over the limit.
        """
        if not self.documents_limit:
            return
        known = self.catalog.object(ref)
        before = known.documents if known else 0
        if documents <= before:
            return
        total = self.catalog.totals(ref.base).documents - before + documents
        if total > self.documents_limit:
            raise DocumentError(
                "QUOTA",
                f"With the {documents:,} documents of this file the base would hold {total:,}; its limit is "
                f"{self.documents_limit:,} (KB_MAX_DOCUMENTS).",
                _NEXT,
            )


def _mb(size: int) -> str:
    return f"{size / 2**20:.2f} MB"
