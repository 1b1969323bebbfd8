"""A base of two real models whose spaces say nothing to each other, moved each way under questions and changes; a small
count of what `make soak` runs long.
"""

import os
from pathlib import Path

import pytest

from common.runtime import Runtime
from tests.integration.crowd import Crowd, Ledger, fill
from tests.integration.migrations import Moved, move, settled
from tests.integration.one_machine import BASE
from tests.integration.sites import edge_site, qdrant_site

MODELS = Path(os.environ.get("KB_MODEL_DIR", Path(__file__).parents[2] / ".models")).resolve()
HERE, THERE = "e5-small-enpt", "all-MiniLM-L6-v2"
SITES = {"edge": edge_site, "qdrant-client": qdrant_site}

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not all((MODELS / name / "manifest.json").exists() for name in (HERE, THERE)), reason="models are not prepared"
    ),
]


def there_and_back(
    site: str, folder: Path, *, passages: int, clients: int, answers: int, changes: int
) -> tuple[Crowd, list[Moved]]:
    """A base moved to the other model and back while it is asked and written."""
    with SITES[site](folder, MODELS, HERE) as opened:
        ledger, runtime = Ledger(), opened.runtime
        fill(runtime, ledger, passages)
        with Crowd(runtime, opened.answers, opened.models, ledger, clients) as crowd:
            crowd.wait_for(answers, 0)
            moves = [move(runtime, model, crowd, answers=answers, changes=changes) for model in (THERE, HERE)]
        settled(runtime, crowd)
        assert _model(runtime) == HERE
    return crowd, moves


def _model(runtime: Runtime) -> str:
    return runtime.catalog.collection(BASE, runtime.catalog.base(BASE).live).space.embedding.model


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES)
def test_a_base_moves_each_way_while_many_ask_and_one_writes(site, tmp_path):
    crowd, moves = there_and_back(site, tmp_path, passages=120, clients=8, answers=100, changes=6)
    assert dict(crowd.faults) == {}
    assert [moved.after for moved in moves] == [THERE, HERE]
    assert moves[0].worse_by, "English alone was to be worse at Portuguese"
    assert len(crowd.answered) == 2
    assert crowd.compared > 100
    assert set(crowd.changes) == {"upload", "overwrite", "delete"}
