"""A base of two real models whose spaces say nothing to each other, moved each way under questions and changes; a small
count of what `make soak` runs long.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.crowd import Crowd, Pace, fill
from tests.integration.ledger import Ledger
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


@dataclass(frozen=True)
class Walk:
    """A base of so many passages, moved to each of these models in turn, with so many answers and changes before and
    behind each switch.
    """

    passages: int
    pace: Pace
    answers: int
    changes: int
    models: tuple[str, ...] = (THERE, HERE)


def pace_of(site: str, clients: int) -> Pace:
    """The REST surface answers one request at a time: who asks leaves it some of its time."""
    return Pace(clients) if site == "edge" else Pace(clients, asking=0.5)


def walked(site: str, folder: Path, walk: Walk) -> tuple[Crowd, list[Moved]]:
    """What a crowd met and each move took."""
    with SITES[site](folder, MODELS, HERE) as opened:
        ledger, runtime = Ledger(), opened.runtime
        fill(runtime, ledger, walk.passages)
        with Crowd(runtime, opened.answers, opened.models, ledger, walk.pace) as crowd:
            crowd.wait_for(walk.answers, 0)
            moves = [move(runtime, model, crowd, answers=walk.answers, changes=walk.changes) for model in walk.models]
        settled(runtime, crowd)
        live = runtime.catalog.collection(BASE, runtime.catalog.base(BASE).live)
        assert live.space.embedding.model == walk.models[-1]
    return crowd, moves


@pytest.mark.slow
@pytest.mark.parametrize(
    ("site", "passages", "models", "answers"), [("edge", 120, (THERE, HERE), 100), ("qdrant-client", 20, (THERE,), 10)]
)
def test_a_base_moves_while_many_ask_and_one_writes(site, passages, models, answers, tmp_path):
    walk = Walk(passages, pace_of(site, 6), answers, 2, models)
    crowd, moves = walked(site, tmp_path, walk)
    assert dict(crowd.faults) == {}
    assert tuple(moved.after for moved in moves) == models
    assert len(crowd.answered) == 2
    assert crowd.compared > answers
    assert crowd.changes.total() >= 2 * 2 * len(models)
