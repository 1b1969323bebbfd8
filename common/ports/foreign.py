"""The port of collections that are not ours and stand where readers from outside look for a base."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from common.domain.foreign import Foreign, ForeignPoint, PointKey


class ForeignCollections(Protocol):
    """Finds them, reads them, and lets one of ours take the place of one without losing it. All methods raise
    Unavailable when the index is out of reach; none ever writes to a foreign collection.
    """

    def bases(self) -> Sequence[str]:
        """The bases under whose alias name a foreign collection is found, sorted."""

    def of(self, base: str) -> "Foreign | None":
        """What stands under the base's alias name and is not ours: a plain collection of that name, or one that an
        alias of that name points to.
        """

    def points(self, base: str) -> Iterator["ForeignPoint"]:
        """All its points without their vectors, page by page. Raises Unavailable when there is no such collection."""

    def read(self, base: str, ids: Sequence["PointKey"]) -> Sequence["ForeignPoint"]:
        """Those of the points that exist, in the order of `ids`."""

    def keep(self, base: str) -> None:
        """Make the copy by which `restore` works, where the collection has to be deleted for the alias: all points with
        all their vectors. Repeatable; a copy that holds as many points as the collection stays as it is.
        """

    def replace(self, base: str, collection: str) -> None:
        """Let the base's alias name this collection of ours. Where the alias takes a plain collection's name, that one
        is kept, deleted, and the alias made: in the moment between, who asks by the name finds nothing. Repeatable.
        """

    def restore(self, base: str, name: str) -> None:
        """Let the alias name the foreign collection again, in one atomic update: the one of that name, or the copy of
        it. Nothing happens where neither is there.
        """

    def release(self, base: str) -> None:
        """Drop the copy, unless the alias names it. Repeatable."""
