"""Ids that front matter gives to more than one document: both stay under their sources, the later job says so."""

from collections.abc import Sequence
from posixpath import splitext
from typing import Final

from common.domain.records import DocumentRecord
from common.ports import Catalog

LOOKED_UP: Final = 200
"""A corpus of thousands of lines is not asked about line by line."""


def shared_id_warnings(catalog: Catalog, records: Sequence[DocumentRecord]) -> tuple[str, ...]:
    """A warning for each of these documents whose own id another live document has too."""
    own = [record for record in records if record.external_id not in {"", splitext(record.source)[0]}]
    warnings = []
    for record in own[:LOOKED_UP]:
        others = [
            other.source
            for other in catalog.documents_named(record.base, record.external_id)
            if other.external_id == record.external_id and other.document_id != record.document_id
        ]
        if others:
            warnings.append(
                f"The id {record.external_id!r} of {record.source} is also that of {others[0]}; both are kept."
            )
    return tuple(warnings)
