"""What models were given to do: counted at no cost for who asks, written a little later, never lost by a failure."""

import threading

import pytest

from common.adapters.memory_catalog import MemoryCatalog
from common.domain.errors import Unavailable
from common.domain.usage import KINDS, Count, Prices, dollars, usage_line, usage_view
from common.stages.metering import Meter

NEVER = 3600.0


class ListeningCatalog(MemoryCatalog):
    """Tells when usage was written, or was refused."""

    def __init__(self):
        super().__init__()
        self.asked = threading.Event()
        self.writes = 0

    def add_usage(self, base, spent):
        try:
            super().add_usage(base, spent)
            self.writes += 1
        finally:
            self.asked.set()


@pytest.fixture
def catalog():
    return ListeningCatalog()


def test_many_counts_are_one_write_a_base(catalog):
    meter = Meter(catalog, NEVER)
    for _ in range(100):
        meter.count("acme", "questions", Count(1, 7))
        meter.count("acme", "rerank", Count(1, 500, 9))
    meter.count("globex", "ingest", Count(1, 40))
    assert catalog.writes == 0
    assert meter.usage("acme") == {"questions": Count(100, 700), "rerank": Count(100, 50_000, 900)}
    assert catalog.writes == 2
    meter.close()
    assert catalog.writes == 2
    assert catalog.usage("globex") == {"ingest": Count(1, 40)}


def test_it_is_written_by_itself_after_a_while(catalog):
    meter = Meter(catalog, 0.01)
    for number in range(1, 3):
        catalog.asked.clear()
        meter.count("acme", "questions", Count(1, 7))
        assert catalog.asked.wait(10)
        assert catalog.usage("acme") == {"questions": Count(number, 7 * number)}
    meter.close()


def test_what_cannot_be_written_is_kept_and_tried_again(catalog):
    meter = Meter(catalog, 0.01, again=0.01)
    catalog.broken = Unavailable("out of reach")
    meter.count("acme", "questions", Count(1, 7))
    assert catalog.asked.wait(10)
    with pytest.raises(Unavailable):
        meter.usage("acme")
    catalog.asked.clear()
    assert catalog.asked.wait(10), "nothing tried again by itself"
    catalog.broken = None
    assert meter.usage("acme") == {"questions": Count(1, 7)}
    meter.close()


def test_a_failure_half_way_writes_nothing_twice(catalog):
    meter = Meter(catalog, NEVER)
    meter.count("acme", "questions", Count(1, 7))
    meter.count("globex", "questions", Count(1, 8))
    add, refused = catalog.add_usage, {"globex"}

    def picky(base, spent):
        if base in refused:
            raise Unavailable("this one not")
        add(base, spent)

    catalog.add_usage = picky
    with pytest.raises(Unavailable):
        meter.flush()
    refused.clear()
    meter.close()
    assert catalog.usage("acme") == {"questions": Count(1, 7)}
    assert catalog.usage("globex") == {"questions": Count(1, 8)}


def test_who_reads_waits_for_a_write_under_way(catalog):
    meter = Meter(catalog, NEVER)
    meter.count("acme", "questions", Count(1, 7))
    add, begun, go_on = catalog.add_usage, threading.Event(), threading.Event()

    def slow(base, spent):
        begun.set()
        assert go_on.wait(10)
        add(base, spent)

    catalog.add_usage = slow
    writing = threading.Thread(target=meter.flush)
    writing.start()
    assert begun.wait(10)
    seen = []
    reading = threading.Thread(target=lambda: seen.append(meter.usage("acme")))
    reading.start()
    reading.join(0.05)
    go_on.set()
    for thread in (writing, reading):
        thread.join()
    assert seen == [{"questions": Count(1, 7)}]
    meter.close()


def test_a_closed_meter_starts_nothing_and_fails_nobody(catalog):
    meter = Meter(catalog, NEVER)
    catalog.broken = Unavailable("closed")
    meter.count("acme", "questions", Count(1, 7))
    meter.close()
    meter.count("acme", "questions", Count(1, 7))
    assert meter._batch._timer is None


def test_no_count_is_lost_between_threads_and_writes(catalog):
    meter = Meter(catalog, NEVER)

    def work():
        for _ in range(500):
            meter.count("acme", "questions", Count(1, 2))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        meter.flush()
    for thread in threads:
        thread.join()
    assert meter.usage("acme") == {"questions": Count(2000, 4000)}
    meter.close()


def test_costs_are_tokens_at_their_price():
    prices = Prices(embedding=0.02, rerank_input=1.5, rerank_output=6)
    usage = {"ingest": Count(3, 1_000_000), "questions": Count(2, 50), "rerank": Count(1, 2_000, 100)}
    view = usage_view("acme", usage, prices)
    assert view["embeddings"]["ingest"] == {"calls": 3, "tokens": 1_000_000, "cost": 0.02}
    assert view["embeddings"]["questions"] == {"calls": 2, "tokens": 50, "cost": 0.000001}
    assert view["embeddings"]["upkeep"] == {"calls": 0, "tokens": 0, "cost": 0.0}
    assert view["rerank"] == {"calls": 1, "input_tokens": 2_000, "output_tokens": 100, "cost": 0.0036}
    assert view["cost"] == pytest.approx(0.023601)
    assert set(view["embeddings"]) | {"rerank"} == set(KINDS)


def test_a_local_model_costs_nothing_and_is_counted():
    view = usage_view("acme", {"ingest": Count(3, 1_000_000)}, Prices())
    assert view["cost"] == 0.0
    assert view["embeddings"]["ingest"]["tokens"] == 1_000_000


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (0.0, "$0"),
        (0.02, "$0.02"),
        (1234.5, "$1,234.50"),
        (0.0036, "$0.0036"),
        (0.000001, "$0.000001"),
        (3e-9, "$0.000000003"),
    ],
)
def test_dollars_show_a_small_sum_too(cost, text):
    assert dollars(cost) == text


def test_a_line_for_people():
    assert usage_line("Embeddings", 1204, 345678, 0.0) == "Embeddings: 1,204 calls · ~345,678 tokens · $0"
