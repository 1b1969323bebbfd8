"""How much one file may unfold into while it is read, and a zip reader that holds to it."""

import io
import lzma
import zipfile
import zlib
from dataclasses import dataclass

from common.adapters.parsers.refusals import corrupt, encrypted, limit

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one file: bytes unless named otherwise. `ratio` applies to members above `ratio_from`."""

    expanded: int = 512 * MIB
    member: int = 192 * MIB
    ratio: int = 200
    ratio_from: int = 8 * MIB
    members: int = 20_000
    characters: int = 64_000_000
    nesting: int = 256
    mail_depth: int = 3
    attachments: int = 50
    attachment_bytes: int = 64 * MIB


DEFAULT_LIMITS = Limits()
_UNPACK_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    NotImplementedError,
    ValueError,
    RuntimeError,
)


class BoundedZip:
    """The members of a zip, read by name; what a member may unfold into is checked before a byte is unpacked."""

    def __init__(self, data: bytes, what: str, limits: Limits) -> None:
        """Raises DocumentError CORRUPT when it is no whole zip, PARSER_LIMIT when it would unfold past its bounds."""
        self._what = what
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
            raise corrupt(what, "its zip container cannot be opened") from error
        members = self._zip.infolist()
        if len(members) > limits.members:
            raise limit(what, f"it holds more than {limits.members} parts")
        for member in members:
            self._check(member, limits)
        if sum(member.file_size for member in members) > limits.expanded:
            raise limit(what, f"it would unfold into more than {limits.expanded // MIB} MiB")
        self._members = {member.filename.replace("\\", "/"): member for member in members}
        self._folded = {name.lower(): name for name in self._members}

    def _check(self, member: zipfile.ZipInfo, limits: Limits) -> None:
        if member.file_size > limits.member:
            raise limit(self._what, f"one of its parts would unfold into more than {limits.member // MIB} MiB")
        if member.file_size > limits.ratio_from and member.file_size > limits.ratio * max(member.compress_size, 1):
            raise limit(self._what, f"one of its parts unfolds more than {limits.ratio} times (a zip bomb)")

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._folded

    def read(self, name: str) -> bytes | None:
        """The member's bytes, None when there is none of that name (letter case aside)."""
        actual = self._folded.get(name.lower())
        if actual is None:
            return None
        member = self._members[actual]
        if member.flag_bits & 1:
            raise encrypted(self._what)
        try:
            return self._zip.read(member)
        except _UNPACK_ERRORS as error:
            raise corrupt(self._what, f"its part {actual} cannot be unpacked") from error
