"""What one machine has of collections that are not ours: none, because its folder holds what we made alone."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from common.domain.errors import Unavailable

if TYPE_CHECKING:
    from common.domain.foreign import Foreign, ForeignPoint, PointKey


class NoForeign:
    """ForeignCollections (see the port) of a folder that is read by nobody else."""

    def bases(self) -> Sequence[str]:
        return ()

    def of(self, base: str) -> "Foreign | None":  # noqa: ARG002 - the port's
        return None

    def points(self, base: str) -> Iterator["ForeignPoint"]:
        raise Unavailable(f"there is no collection to adopt for base {base}")

    def read(self, base: str, ids: Sequence["PointKey"]) -> Sequence["ForeignPoint"]:  # noqa: ARG002 - the port's
        raise Unavailable(f"there is no collection to adopt for base {base}")

    def keep(self, base: str) -> None:
        """Nothing to keep."""

    def replace(self, base: str, collection: str) -> None:
        """Nobody else reads this folder."""

    def restore(self, base: str, name: str) -> None:
        """Nothing was kept."""

    def release(self, base: str) -> None:
        """Nothing was kept."""
