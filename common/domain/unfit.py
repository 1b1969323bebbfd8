"""What is text and yet answers no question: lock files, bundles, endless runs of characters. Pure rules over a name and
its text; whoever calls decides what to do about it.
"""

import re
from collections.abc import Sequence
from typing import Final

from common.domain.languages import extension

LONG_RUN: Final = 1_000
"""Characters without a break from which on a run carries no words: base64, hexadecimal, one character repeated."""
LONG_LINE: Final = 1_000
_MINIFIED_FROM: Final = 5_000
_LONG_LINES_SHARE: Final = 0.8
_REST: Final = 16
"""Visible characters beside the runs up to which a file says nothing else."""

LOCK_FILE: Final = "a lock file, written by a program for programs"
SOURCE_MAP: Final = "a source map, written by a program for programs"
MINIFIED: Final = "a minified bundle, not source that people read"
ENDLESS: Final = "one endless run of characters without words"

_LOCK_NAMES: Final = frozenset(
    {
        ".terraform.lock.hcl",
        "bun.lock",
        "bun.lockb",
        "cargo.lock",
        "chart.lock",
        "composer.lock",
        "conan.lock",
        "deno.lock",
        "flake.lock",
        "gemfile.lock",
        "go.sum",
        "go.work.sum",
        "gradle.lockfile",
        "mix.lock",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "package.resolved",
        "packages.lock.json",
        "paket.lock",
        "pdm.lock",
        "pipfile.lock",
        "pnpm-lock.yaml",
        "podfile.lock",
        "poetry.lock",
        "pubspec.lock",
        "uv.lock",
        "yarn.lock",
    }
)
_BUNDLE_NAME: Final = re.compile(r"[.-](?:min|bundle)\.(?:js|mjs|cjs|css)$")
_BUNDLED: Final = frozenset({"js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "css", "scss", "less", "php", "svg"})
# Natural scripts without spaces (Thai, Chinese) and compact JSON are no runs: letters of one encoding only, or repeats.
# The lookbehinds let a match begin only where a run does, which keeps the search linear.
_CODED: Final = "[A-Za-z0-9+/=_%-]"
_RUN: Final = re.compile(rf"(?<!{_CODED}){_CODED}{{{LONG_RUN},}}|(\S)(?<!\1\1)\1{{{LONG_RUN - 1},}}")


def unfit_reason(name: str, text: str) -> str | None:
    """Why a file is not worth embedding at all ("a lock file, ..."), or None when it is. Linear in the text."""
    last = name.rsplit("/", 1)[-1].lower()
    if last in _LOCK_NAMES:
        return LOCK_FILE
    kind = extension(last)
    if kind == "map" and last.endswith((".js.map", ".css.map", ".mjs.map", ".cjs.map", ".ts.map")):
        return SOURCE_MAP
    if _BUNDLE_NAME.search(last) or (kind in _BUNDLED and _is_minified(text)):
        return MINIFIED
    runs = _endless_runs(text)
    if runs and _visible(text) - sum(end - start for start, end in runs) <= _REST:
        return ENDLESS
    return None


def _endless_runs(text: str) -> Sequence[tuple[int, int]]:
    """The ranges that hold no words. Nothing but white space ends a line's run, so only long lines are searched."""
    runs: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if len(line) >= LONG_RUN:
            runs += [match.span() for match in _RUN.finditer(text, start, end)]
        start = end + 1
    return runs


def _is_minified(text: str) -> bool:
    """Most of the text stands in lines nobody wrote by hand."""
    if len(text) < _MINIFIED_FROM:
        return False
    long_lines = sum(len(line) for line in text.split("\n") if len(line) > LONG_LINE)
    return long_lines > _LONG_LINES_SHARE * len(text)


def _visible(text: str) -> int:
    return len(text) - sum(map(text.count, " \n\t\r"))
