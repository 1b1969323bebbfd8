"""The files of the hard cases through the deployed shape: each ends as it does on one machine, and is found alike."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from common.bootstrap import local_runtime
from common.loading import WorkerParser
from common.settings import read_settings
from functions.local.workers import drain
from tests.e2e.cloud import opened
from tests.e2e.conftest import MODELS
from tests.integration.one_machine import HashingEmbedder
from tests.integration.test_case_files import FILES, MARKERS

CASES = sorted(path for path in FILES.rglob("*") if path.is_file() and path.parent.name != "GZP-01")


@pytest.fixture(scope="module")
def cloud():
    if not (MODELS / "e5-small-enpt" / "manifest.json").exists():
        pytest.skip("model e5-small-enpt is not prepared")
    with opened() as whole:
        yield whole


def _name(path: Path) -> str:
    return path.relative_to(FILES).as_posix()


def _on_one_machine(folder: Path, base: str) -> Iterator[tuple[str, tuple[str, str | None]]]:
    settings = read_settings({"KB_DATA_DIR": str(folder), "KB_CACHE_TTL": "0"})
    parser = WorkerParser("off")
    runtime = local_runtime(settings, embedder=HashingEmbedder(), parser=parser)
    try:
        jobs = {}
        for path in CASES:
            jobs[_name(path)] = runtime.manage.upload(base, _name(path), path.read_bytes(), "")["job_id"]
        drain(runtime)
        for name, job_id in jobs.items():
            job = runtime.catalog.job(base, job_id)
            yield name, (job.state, job.code)
    finally:
        runtime.close()
        parser.close()


def test_every_file_ends_as_on_one_machine_and_is_found(cloud, tmp_path):
    base = f"t{uuid4().hex[:8]}"
    expected = dict(_on_one_machine(tmp_path / "data", base))
    generations = {_name(path): cloud.upload(f"{base}/{_name(path)}", path.read_bytes()) for path in CASES}

    jobs = {name: cloud.job(base, name, generation) for name, generation in generations.items()}
    assert {name: (job["state"], job["code"]) for name, job in jobs.items()} == expected
    for name, markers in MARKERS:
        for marker in markers:
            sources = {
                p["source"]
                for p in cloud.search(base, marker, mode="lexical", top_k=50)["passages"]
                if marker.casefold() in p["text"].casefold()
            }
            assert name in sources, (name, marker)
