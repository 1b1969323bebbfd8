"""`python -m tests.bench` runs every measurement, each in a process of its own, `python -m tests.bench NAME [MORE]`
one of them, `python -m tests.bench list` says what there is. A module of this folder with a `main` is a measurement.
"""

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def measurements() -> dict[str, str]:
    """Names with the first sentence of what each measures."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not path.name.startswith("_") and any(
            isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body
        ):
            found[path.stem] = " ".join((ast.get_docstring(tree) or "").split()).split(". ")[0]
    return found


def run(name: str, arguments: list[str]) -> int:
    print(f"\n## {name}", flush=True)
    return subprocess.run([sys.executable, "-m", f"tests.bench.{name}", *arguments], cwd=ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    known = measurements()
    if arguments == ["list"]:
        width = max(map(len, known))
        print("\n".join(f"{name:{width}}  {says}" for name, says in known.items()))
        return 0
    if arguments and arguments[0] not in known:
        print(f"There is no measurement {arguments[0]}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    if arguments:
        return run(arguments[0], arguments[1:])
    failed = [name for name in known if run(name, [])]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
