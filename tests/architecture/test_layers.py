"""The layout's rules: one direction of imports, small modules, thin entry points, a query function without parsers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = sorted([*(ROOT / "common").rglob("*.py"), *(ROOT / "functions").rglob("*.py")])
MAX_MODULE = 300
MAX_ENTRY = 60
LEAVES = ("common.identity", "common.models", "common.tokens")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def _violations(layer: str, allowed: tuple[str, ...]) -> list[str]:
    """Imports of our own packages from a layer that are not of the allowed ones."""
    return [
        f"{_name(path)} imports {name}"
        for path in PRODUCT
        if _name(path).startswith(layer)
        for name in _imports(path)
        if name.split(".")[0] in {"common", "functions"} and not name.startswith(allowed)
    ]


def test_import_linter_keeps_every_contract():
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports"))], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("layer", "allowed"),
    [
        ("common/domain/", ("common.domain",)),
        ("common/ports/", ("common.domain", "common.ports")),
        ("common/stages/", ("common.domain", "common.ports", "common.stages")),
        ("common/adapters/", ("common.domain", "common.ports", "common.adapters", *LEAVES)),
        ("common/cli/", ("common.domain", "common.cli", "common.settings", "common.models", "common.prepare")),
        ("functions/", ("common", "functions")),
    ],
)
def test_a_layer_imports_only_what_lies_below_it(layer, allowed):
    assert _violations(layer, allowed) == []


def test_the_domain_and_the_ports_stand_on_the_standard_library():
    foreign = [
        f"{_name(path)} imports {name}"
        for path in PRODUCT
        if _name(path).startswith(("common/domain/", "common/ports/"))
        for name in _imports(path)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "common"}
    ]
    assert foreign == []


def test_only_the_composition_root_and_the_entry_points_name_adapters_outside_their_layer():
    roots = ("asking", "bootstrap", "bootstrap_query", "loading", "reading", "runtime")
    wiring = {f"common/{root}.py" for root in roots}
    named = {
        _name(path)
        for path in PRODUCT
        if not _name(path).startswith(("common/adapters/", "common/prepare/", "functions/local/"))
        and any(name.startswith("common.adapters") for name in _imports(path))
    }
    assert named - wiring == set()


def test_the_functions_do_not_know_where_they_run():
    local = [
        f"{_name(path)} imports {name}"
        for path in PRODUCT
        if _name(path).startswith(("functions/ingest/", "functions/query/", "functions/manage/", "functions/reindex/"))
        for name in _imports(path)
        if name.startswith(("functions.local", "common.adapters", "common.cli"))
    ]
    assert local == []


@pytest.mark.parametrize("path", PRODUCT, ids=_name)
def test_a_module_stays_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_MODULE


@pytest.mark.parametrize("path", sorted((ROOT / "functions").glob("*/main.py")), ids=_name)
def test_an_entry_point_stays_thin(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_ENTRY


def test_query_imports_no_parser_and_no_web_server():
    script = (
        "import sys, functions.query.handle\n"
        "loaded = [m for m in sys.modules if m.startswith(('common.adapters.parsers', 'common.adapters.plain_parser',"
        " 'unstructured', 'pypdfium2', 'yaml', 'fastembed', 'onnx.', 'click', 'qdrant_client', 'redis',"
        " 'tree_sitter'))]\n"
        "print(loaded)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_shipped_code_prints_nothing_and_swallows_nothing():
    found = []
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                found.append(f"{_name(path)}:{node.lineno} prints")
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                found.append(f"{_name(path)}:{node.lineno} catches everything")
            if isinstance(node, ast.ExceptHandler) and all(isinstance(s, ast.Pass) for s in node.body):
                found.append(f"{_name(path)}:{node.lineno} swallows an error")
    assert found == []


def test_no_test_patches_what_it_tests():
    words = ("mock" + ".patch", "pytest.mark." + "skip(", "time." + "sleep(")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for word in words
        if word in path.read_text(encoding="utf-8") and "bench" not in path.parts
    ]
    assert found == []
