"""Which files of a folder or repository belong into a corpus. Pure rules: a name, a size, a text in; a reason out."""

from collections.abc import Collection
from typing import Final

from common.cli.flatten.plan import MAX_FILE_BYTES, Kind
from common.domain.languages import is_markdown, language_of
from common.domain.objects import ignored_name, source_problem
from common.domain.unfit import unfit_reason

NOISE: Final = "vendored or generated folder"
HIDDEN: Final = "hidden"
LINK: Final = "symbolic link"
TOO_LARGE: Final = "over 1 MiB"
BINARY: Final = "binary"
EMPTY: Final = "empty"
NOT_MARKDOWN: Final = "not Markdown (--kind code or auto takes more)"
NOT_SOURCE: Final = "neither Markdown nor source (--kind auto takes all text)"

_NOISE_FOLDERS: Final = frozenset(
    {
        "__pycache__",
        "bower_components",
        "dist",
        "jspm_packages",
        "node_modules",
        "site-packages",
        "third_party",
        "vendor",
        "vendored",
        "venv",
    }
)
_NOISE_MARKS: Final = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})
_BINARY_HEAD: Final = 8_192


def folder_reason(name: str) -> str | None:
    """Why a folder is not entered, by its own name; `.terraform`, `.git` and their like are hidden."""
    if name.lower() in _NOISE_FOLDERS or name.lower().endswith(".egg-info"):
        return NOISE
    return HIDDEN if name.startswith(".") else None


def holds_noise(names: Collection[str]) -> bool:
    """A folder says of itself that it is a cache, a build's output or an installed environment."""
    return not _NOISE_MARKS.isdisjoint(names)


def name_reason(source: str, size: int, kind: Kind) -> str | None:
    """Why a file is left out before it is read: `source` is its path, `size` in bytes."""
    last = source.rsplit("/", 1)[-1]
    unfit = unfit_reason(source, "")
    if unfit:
        return unfit
    if last.startswith("."):
        return HIDDEN
    if ignored_name(source):
        return "temporary or system file"
    if source_problem(source):
        return "a name that no document can have"
    if kind == "docs" and not is_markdown(source):
        return NOT_MARKDOWN
    if kind == "code" and "." in last and not is_markdown(source) and language_of(source) is None:
        return NOT_SOURCE
    if size > MAX_FILE_BYTES:
        return TOO_LARGE
    return None if size else EMPTY


def is_binary(data: bytes) -> bool:
    """NUL bytes without the byte order mark of a wide encoding."""
    return b"\x00" in data[:_BINARY_HEAD] and not data.startswith((b"\xff\xfe", b"\xfe\xff"))


def text_reason(source: str, text: str, kind: Kind) -> str | None:
    """Why a file is left out after it was read."""
    if not text.strip():
        return EMPTY
    if kind == "code" and not is_markdown(source) and language_of(source, text) is None:
        return NOT_SOURCE
    return unfit_reason(source, text)


def stable_id(source: str) -> str:
    """The same for the same path in every run: a Markdown page is called as front matter would by default, without its
    extension; other files keep theirs, since `main.c` and `main.h` are two.
    """
    return source.rsplit(".", 1)[0] if is_markdown(source) else source
