"""What every ObjectStore keeps to: it reads, writes and deletes exactly one generation, or says why it does not."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from common.domain.errors import DocumentError, ObjectGone, Refused, Superseded, Unavailable
from common.domain.objects import ObjectRef
from common.ports import ObjectStore
from tests.contract.stores import NOT_SHOWN, OBJECT_STORES, StoreCase

REF = ObjectRef("acme", "manual/férias.md")

# NAM-01: what a decoder that runs too seldom, or twice, would turn into another name.
NAMES = [
    "relatório anual.md",
    "a+b.md",
    "50%25 off.md",
    "literal%2Fslash.md",
    "%2520.md",
    "what?#frag.md",
    "aspas 'simples' e \"duplas\".md",
    "🙂/👩‍👩‍👧.md",
    "back\\slash.md",
    "nfc-é.md",
    "nfd-e\u0301.md",
    " space at both ends ",
    "-rf",
    "~",
    "a&b=c;d:e|f<g>*.md",
    "sem extensão",
    "deep/er/and/deep/er.md",
]


@pytest.fixture(params=list(OBJECT_STORES))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreCase]:
    reason = NOT_SHOWN.get((request.param, request.node.originalname))
    if reason:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    with OBJECT_STORES[request.param](tmp_path) as made:
        yield made


@pytest.fixture
def store(case: StoreCase) -> ObjectStore:
    return case.store


def told(case: StoreCase, kind: str) -> list[tuple[ObjectRef, int]]:
    """The generations announced; removals are deletes, or archives where the bucket keeps old versions."""
    return [(change.ref, change.generation) for change in case.changes if change.removes == (kind == "removal")]


def test_what_was_written_is_there_byte_for_byte(case):
    data = bytes(range(256)) * 9000
    stat = case.store.write(REF, data, "text/markdown")
    assert (stat.ref, stat.size) == (REF, len(data))
    now = case.store.stat(REF)
    assert (now.ref, now.generation, now.size) == (REF, stat.generation, len(data))
    assert case.store.read(REF, stat.generation, 0) == data
    assert case.store.read(REF, stat.generation, len(data)) == data
    assert [(change.kind, change.ref, change.generation, change.size) for change in case.changes] == [
        ("finalize", REF, stat.generation, len(data))
    ]


def test_an_empty_object_is_an_object(store):
    stat = store.write(REF, b"")
    assert stat.size == 0
    assert store.read(REF, stat.generation, 1) == b""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_kept_exactly(case, name):
    ref = ObjectRef("acme", name)
    stat = case.store.write(ref, name.encode())
    assert case.store.read(ref, stat.generation, 0) == name.encode()
    assert [each.ref for each in case.store.list("acme")] == [ref]
    assert case.store.delete(ref, stat.generation)
    assert told(case, "finalize") == told(case, "removal") == [(ref, stat.generation)]


def test_nothing_is_not_found(store):
    assert store.stat(REF) is None
    with pytest.raises(ObjectGone):
        store.read(REF, 1, 0)
    assert store.delete(REF, 1) is False
    assert list(store.list("acme")) == []
    assert list(store.bases()) == []


def test_an_overwrite_supersedes_the_older_generation(case):
    old = case.store.write(REF, b"old")
    new = case.store.write(REF, b"new")
    assert new.generation > old.generation
    with pytest.raises(Superseded):
        case.store.read(REF, old.generation, 0)
    with pytest.raises(Superseded):
        case.store.delete(REF, old.generation)
    with pytest.raises(Superseded):
        case.store.read(REF, new.generation + 1, 0)
    assert case.store.read(REF, new.generation, 0) == b"new"
    assert told(case, "finalize") == [(REF, old.generation), (REF, new.generation)]
    for change in case.changes:
        if change.removes:
            assert (change.generation, change.overwritten_by) == (old.generation, new.generation)


def test_the_same_bytes_written_again_are_a_new_generation(store):
    assert store.write(REF, b"same").generation < store.write(REF, b"same").generation


def test_an_older_generation_stays_superseded_when_its_bytes_come_back(store):
    first = store.write(REF, b"first")
    store.write(REF, b"other")
    again = store.write(REF, b"first")
    assert again.generation > first.generation
    with pytest.raises(Superseded):
        store.read(REF, first.generation, 0)


def test_a_deleted_object_is_gone_and_a_recreated_one_is_newer(case):
    old = case.store.write(REF, b"old")
    assert case.store.delete(REF, old.generation) is True
    assert case.store.delete(REF, old.generation) is False
    assert case.store.stat(REF) is None
    with pytest.raises(ObjectGone):
        case.store.read(REF, old.generation, 0)
    assert told(case, "removal") == [(REF, old.generation)]
    assert case.store.write(REF, b"old").generation > old.generation


def test_what_another_program_changed_is_noticed_at_the_next_look(case):
    old = case.store.write(REF, b"1234")
    case.replace(REF, b"5678")
    new = case.store.stat(REF)
    assert new.generation > old.generation
    assert case.store.stat(REF) == new
    assert case.store.read(REF, new.generation, 0) == b"5678"
    with pytest.raises(Superseded):
        case.store.read(REF, old.generation, 0)
    assert told(case, "finalize") == [(REF, old.generation), (REF, new.generation)]


def test_a_read_or_delete_meets_what_another_program_did(case):
    old = case.store.write(REF, b"1234")
    case.replace(REF, b"567")
    with pytest.raises(Superseded):
        case.store.delete(REF, old.generation)
    with pytest.raises(Superseded):
        case.store.read(REF, old.generation, 0)
    assert [generation for _, generation in told(case, "finalize")] == [old.generation, case.store.stat(REF).generation]
    case.remove(REF)
    with pytest.raises(ObjectGone):
        case.store.read(REF, old.generation, 0)


@pytest.mark.parametrize("data", [b"changed meanwhile", b"5678"])
def test_an_object_that_changes_while_it_is_read_is_superseded(case, data):
    stat = case.store.write(REF, b"1234")
    case.during_read(lambda: case.replace(REF, data))
    with pytest.raises(Superseded):
        case.store.read(REF, stat.generation, 0)
    newer = case.store.stat(REF)
    assert case.store.read(REF, newer.generation, 0) == data


def test_an_object_over_the_limit_is_refused_with_both_sizes(store):
    stat = store.write(REF, b"x" * (3 << 20))
    with pytest.raises(DocumentError) as refused:
        store.read(REF, stat.generation, 2 << 20)
    assert refused.value.code == "TOO_LARGE"
    assert "3.0 MB" in refused.value.reason
    assert "2.0 MB" in refused.value.reason
    assert "KB_MAX_FILE_MB" in refused.value.next_step


def test_the_generation_is_compared_before_the_size(store):
    old = store.write(REF, b"x" * 100)
    store.write(REF, b"x" * 100)
    with pytest.raises(Superseded):
        store.read(REF, old.generation, 10)


def test_listing_is_by_name_and_of_one_base(store):
    for base, name in (("acme", "b"), ("acme", "a/z"), ("acme", "Z"), ("acme", "é"), ("acme-2", "c"), ("acm", "d")):
        store.write(ObjectRef(base, name), b"12")
    listed = list(store.list("acme"))
    assert [each.ref.name for each in listed] == ["Z", "a/z", "b", "é"]
    assert [each.size for each in listed] == [2] * 4
    assert listed == [store.stat(each.ref) for each in listed]
    assert list(store.list("nobody")) == []


def test_bases_are_those_that_hold_objects(store):
    for base in ("b", "a", "c-1"):
        store.write(ObjectRef(base, "x"), b"1")
    store.delete(ObjectRef("a", "x"), store.stat(ObjectRef("a", "x")).generation)
    assert list(store.bases()) == ["b", "c-1"]


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("acme", ""),
        ("acme", "../other/x"),
        ("acme", "a/../../x"),
        ("acme", "/etc/passwd"),
        ("acme", "a//b"),
        ("acme", "./a"),
        ("acme", "a\x00b"),
        ("acme", "a\nb"),
        ("acme", "\ud800"),
        ("acme", "x" * 1025),
        ("..", "x"),
        ("", "x"),
        ("Acme", "x"),
        ("a/b", "x"),
    ],
)
def test_a_name_outside_the_bucket_is_refused_and_never_found(case, base, name):
    ref = ObjectRef(base, name)
    with pytest.raises(Refused) as refused:
        case.store.write(ref, b"x")
    assert refused.value.status == 400
    assert case.store.stat(ref) is None
    with pytest.raises(ObjectGone):
        case.store.read(ref, 1, 0)
    assert case.store.delete(ref, 1) is False
    assert case.changes == []


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that give way far more often than usual, so that races show."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("eager_threads")
def test_threads_writing_one_object_leave_one_whole_version_that_is_the_newest(case):
    contents = [bytes([number]) * 500 for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        stats = list(pool.map(lambda data: case.store.write(REF, data), contents))
    assert len({stat.generation for stat in stats}) == len(contents)
    newest = max(stat.generation for stat in stats)
    assert case.store.stat(REF).generation == newest
    assert case.store.read(REF, newest, 0) == contents[[stat.generation for stat in stats].index(newest)]
    assert sorted(told(case, "finalize")) == sorted((REF, stat.generation) for stat in stats)


def test_of_threads_deleting_one_generation_one_did_it(case):
    stat = case.store.write(REF, b"x")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: case.store.delete(REF, stat.generation), range(16)))
    assert answers.count(True) == 1
    assert told(case, "removal") == [(REF, stat.generation)]


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.stat(REF),
        lambda s: s.read(REF, 1, 0),
        lambda s: s.write(REF, b"x"),
        lambda s: s.delete(REF, 1),
        lambda s: list(s.list("acme")),
        lambda s: s.bases(),
    ],
)
def test_out_of_reach_is_unavailable_never_empty(case, call):
    case.store.write(REF, b"x")
    case.take_away()
    with pytest.raises(Unavailable):
        call(case.store)
    assert told(case, "removal") == []
