"""Identifiers of a code corpus are found by the whole name and by its parts. When one fails, a developer who asks for a
name as it stands in the code, or as it is said aloud, gets nothing.
"""

import pytest

from common.bootstrap import local_runtime
from common.domain.search import Search
from common.settings import read_settings
from functions.local.workers import drain
from tests.integration.one_machine import BASE, HashingEmbedder

CORPUS = {
    "src/users.ts": "export function getUserName(id: string): string {\n  return directory[id].displayName;\n}\n",
    "src/orders.ts": "export function listOrders(page: number): Order[] {\n  return orders.slice(page * 20);\n}\n",
    "infra/main.tf": 'resource "aws_eks_cluster" "main" {\n  name    = "prod"\n  version = "1.29"\n}\n',
    "infra/bucket.tf": 'resource "aws_s3_bucket" "files" {\n  bucket = "files"\n}\n',
    "deploy/settings.sh": 'export KB_CACHE_TTL="600"\nexport KB_LOG_LEVEL="INFO"\n',
    "deploy/start.sh": "start_server() {\n  exec python -m server --port 8765\n}\n",
}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    settings = read_settings({"KB_DATA_DIR": str(tmp_path_factory.mktemp("code"))})
    opened = local_runtime(settings, embedder=HashingEmbedder())
    for name, text in CORPUS.items():
        opened.manage.upload(BASE, name, text.encode(), "")
    drain(opened)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("getUserName", "src/users.ts"),
        ("user name", "src/users.ts"),
        ("aws_eks_cluster", "infra/main.tf"),
        ("eks", "infra/main.tf"),
        ("cluster", "infra/main.tf"),
        ("KB_CACHE_TTL", "deploy/settings.sh"),
        ("cache ttl", "deploy/settings.sh"),
        ("kb_cache_ttl", "deploy/settings.sh"),
    ],
)
def test_an_identifier_is_found_whole_and_by_part(runtime, question, source):
    found = runtime.answers.answer(BASE, Search(question, mode="lexical"))
    assert found.match
    assert found.passages[0].source == source
