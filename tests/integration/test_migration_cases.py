"""RIX-01: 384 to 768 dimensions, two tenants, questions, an upload and a delete during the run."""

import pytest

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.search import Search
from tests.integration.moving_machine import Moving
from tests.integration.one_machine import content, whole

TENANTS = ("acme", "globex")
DOCUMENTS = 12


class Wider(Moving):
    """A machine of 384 dimensions that knows a model of 768."""

    other = HashingEmbedder(768)

    def __init__(self, folder):
        super().__init__(folder, embedder=HashingEmbedder(384), settings={"KB_CACHE_TTL": "600"})


@pytest.fixture
def machine(tmp_path):
    opened = Wider(tmp_path)
    for tenant in TENANTS:
        for number in range(DOCUMENTS):
            upload(opened, tenant, f"{tenant}{number}")
    opened.settle()
    yield opened
    opened.runtime.close()


def upload(machine, tenant, name):
    machine.runtime.manage.upload(tenant, f"{name}.md", content(name, 1, 2), "")


def asked(machine, tenant):
    """The question that is asked all the time."""
    return machine.runtime.answers.answer(tenant, Search("fala do lugar da casa grande", threshold=None))


def dimension(machine, answer, tenant):
    return machine.runtime.catalog.collection(tenant, answer.collection).space.embedding.dimension


def test_rix_01_the_old_index_serves_until_one_switch_and_late_changes_and_every_tenant_are_in_the_new_one(machine):
    before = {tenant: asked(machine, tenant) for tenant in TENANTS}
    changes = iter(
        [
            lambda: upload(machine, "acme", "tarde"),
            lambda: machine.runtime.manage.delete("acme", "acme3.md"),
        ]
    )
    steps = []

    def meanwhile(name):
        steps.append(name)
        for tenant in TENANTS:
            answer = asked(machine, tenant)
            assert (answer.collection, answer.degraded) == (before[tenant].collection, False)
            assert dimension(machine, answer, tenant) == 384
        if name == "carried" and (change := next(changes, None)) is not None:
            change()

    machine.on_step = meanwhile
    for tenant in TENANTS:
        machine.reindexing.start(tenant, machine.other.space.model)
    machine.settle()
    machine.on_step = None
    assert next(changes, None) is None
    assert steps.count("carried") >= 2 * DOCUMENTS
    for tenant in TENANTS:
        blue, green = before[tenant].collection, machine.runtime.catalog.base(tenant).reindex.green
        assert set(machine.runtime.index.collections(tenant)) == {blue, green}
        machine.reindexing.switch(tenant, force=True)
        answer = asked(machine, tenant)
        assert (answer.collection, answer.cache, answer.degraded) == (green, "miss", False)
        assert dimension(machine, answer, tenant) == 768
        assert asked(machine, tenant).cache == "hit"
        assert set(machine.runtime.index.collections(tenant)) == {blue, green}
        machine.settle()
        machine.reindexing.retire(tenant)
        assert machine.runtime.index.collections(tenant) == [green]
        names = {f"{tenant}{number}" for number in range(DOCUMENTS)}
        wanted = names if tenant == "globex" else (names - {"acme3"}) | {"tarde"}
        found = {name for name in names | {"tarde"} if whole(machine.runtime.answers, name, tenant)}
        assert found == wanted
        stored = {name for name, _ in machine.runtime.index.generations(tenant, green)}
        assert stored == {f"{name}.md" for name in wanted}
