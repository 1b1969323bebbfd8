"""The part of requirements.lock that an extra, or several, install, with its hashes: `locked.py query`.

Resolves nothing and asks no index: who needs whom stands in the lock itself. Needs the standard library only, since it
runs before anything is installed.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRAS: Final = re.compile(r"fichario\[([a-z,]+)\]")


def normal(name: str) -> str:
    """A distribution's name in the one spelling that a lock uses."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(project: Mapping[str, object], *given: str) -> set[str]:
    """Names that these extras ask for, beside those that every function needs. Raises KeyError for one there is not."""
    requirements: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    base: list[str] = project["dependencies"]  # type: ignore[assignment]
    names, extras = set[str](), list(given)
    for line in base:
        names |= {normal(_NAME.match(line)[0])}  # type: ignore[index]
    while extras:
        for line in requirements[extras.pop()]:
            more = _EXTRAS.match(line)
            if more:
                extras += more[1].split(",")
            else:
                names.add(normal(_NAME.match(line)[0]))  # type: ignore[index]
    return names


def entries(lock: str) -> Iterator[tuple[str, str, set[str]]]:
    """Each pinned distribution: its name, its lines, and the names of those that need it."""
    for entry in re.split(r"\n(?=[A-Za-z0-9])", lock):
        name = _NAME.match(entry)
        if name is None:
            continue
        lines = entry.splitlines()
        needed_by = {found for line in lines if line.startswith("    #") for found in _NAME.findall(line)}
        yield (
            normal(name[0]),
            "\n".join(line for line in lines if not line.startswith("    #")),
            {normal(by) for by in needed_by - {"via"}},
        )


def part(lock: str, names: set[str]) -> str:
    """The lines of `names` and of all that they need. Raises ValueError for a name that the lock lacks."""
    pinned = list(entries(lock))
    missing = names - {name for name, _, _ in pinned}
    if missing:
        raise ValueError(f"requirements.lock lacks {', '.join(sorted(missing))}: run `make lock`.")
    found = set[str]()
    following = names
    while following:
        found |= following
        following = {name for name, _, by in pinned if by & following} - found
    # One name may stand twice, for different Pythons.
    return "".join(f"{lines}\n" for name, lines, _ in sorted(pinned, key=lambda entry: entry[0]) if name in found)


def main() -> None:
    """Print the part of the extras that are named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    sys.stdout.write(part(lock, wanted(project, *sys.argv[1:])))


if __name__ == "__main__":
    main()
