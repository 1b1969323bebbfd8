"""The sources that one function runs from: `python cloudbuild/sources.py query /app`. Standard library only."""

import shutil
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
EVERYWHERE: Final = ("common/cli", "common/prepare")
"""What no function imports: the command line, and what makes model folders."""
READING: Final = ("common/adapters/parsers",)
"""What reads documents, which ingest alone does."""


def copy(function: str, target: Path) -> None:
    """Lay out below `target` what the function needs; raises FileNotFoundError for one that does not exist."""
    left_out = {*EVERYWHERE, *(() if function == "ingest" else READING)}

    def ignored(folder: str, names: list[str]) -> set[str]:
        place = Path(folder).relative_to(ROOT)
        return {name for name in names if name == "__pycache__" or (place / name).as_posix() in left_out}

    for part in ("common", f"functions/{function}"):
        shutil.copytree(ROOT / part, target / part, ignore=ignored, dirs_exist_ok=True)
    shutil.copy(ROOT / "functions/__init__.py", target / "functions/__init__.py")


if __name__ == "__main__":
    copy(sys.argv[1], Path(sys.argv[2]))
