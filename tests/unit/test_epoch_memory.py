"""What is remembered under an epoch is never another epoch's, another base's or another collection's."""

from common.stages.caching import EpochMemory


def test_tables_of_two_collections_of_one_base_never_mix():
    memory = EpochMemory()
    memory.table("b", 3, "live", "b-old")["a.md"] = 1
    memory.table("b", 3, "live", "b-new")["a.md"] = 2
    assert memory.table("b", 3, "live", "b-old") == {"a.md": 1}
    assert memory.table("b", 3, "live", "b-new") == {"a.md": 2}
    assert memory.table("b", 3, "live") == {}


def test_a_newer_epoch_starts_from_nothing_and_an_older_one_finds_nothing():
    memory = EpochMemory()
    memory.table("b", 3, "live", "c")["a.md"] = 1
    assert memory.table("b", 4, "live", "c") == {}
    memory.table("b", 3, "live", "c")["a.md"] = 1
    assert memory.table("b", 3, "live", "c") == {}
    assert memory.table("b", 4, "live", "c") == {}


def test_the_bases_that_are_remembered_are_bounded():
    memory = EpochMemory(bases_kept=2)
    for base in ("a", "b", "c"):
        memory.table(base, 1, "live")["x"] = base
    assert memory.table("c", 1, "live") == {"x": "c"}
    assert memory.table("a", 1, "live") == {}
