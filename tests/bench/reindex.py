"""A migration's rebuild from stored text against the bare embedder over the same passages, its plan against what it
took, and the times of its commands. `python -m tests.bench reindex [FILES] [ROUNDS]`; FILES 0 is all of
docs/markdown-pt.

The bare embedder is fastembed at whichever batch size is fastest here, and beside it the product's own in one call; one
thread each. The files are dealt out to rounds, each a base that is built with one model and moved to the other, twice:
rebuild and bare embedder take turns at who begins. The plan's minutes are held against all that its orders took.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.ports import Embedder
from common.runtime import LocalRuntime
from functions.local.workers import HOLD_SECONDS, deliver
from tests.bench.ingest import Recorded, bare, fastest
from tests.bench.reporting import Spent, middle, report, table, timed
from tests.bench.setting import index, load, markdown, one_machine, put

BEFORE, AFTER = "e5-small-enpt", "all-MiniLM-L6-v2"
REQUIRED, PLANNED = 0.95, 0.25
Alone = Callable[[Sequence[str]], Spent]
"""Embeds texts without anything of the product around it; answers what it took."""


@dataclass
class Moved:
    """What one migration took: the bare embedder, the product's own, each kind of order, and what its plan said."""

    passages: int
    bare: Spent
    own: Spent
    orders: dict[str, Spent]
    planned: float

    @property
    def rebuild(self) -> Spent:
        return self.orders["rebuild"]

    @property
    def whole(self) -> Spent:
        return sum(self.orders.values(), Spent(0, 0))


def obey(runtime: LocalRuntime) -> dict[str, Spent]:
    """Take every order that waits; answers what each kind took."""
    topic, took = runtime.settings.kb_topic_reindex, {}
    while (delivery := runtime.queue.take(topic, HOLD_SECONDS)) is not None:
        done, spent = timed(lambda delivery=delivery: deliver(runtime, delivery))
        assert done, "an order was not carried out"
        kind = delivery.message.data["command"]
        took[kind] = took.get(kind, Spent(0, 0)) + spent
    return took


def moved(runtime: LocalRuntime, base: str, alone: Sequence[Alone], after: Recorded) -> list[Moved]:
    """The base moved twice: rebuild first, then with the same passages the bare embedder first."""
    plan, orders, texts = rebuilt(runtime, base, after)
    bare_later = [embed(texts) for embed in alone]
    runtime.reindexing.cancel(base)
    bare_first = [embed(texts) for embed in alone]
    again, other, same = rebuilt(runtime, base, after)
    assert sorted(texts) == sorted(same), "both sides have to embed the same passages"
    return [Moved(len(texts), *bare_later, orders, plan), Moved(len(texts), *bare_first, other, again)]


def rebuilt(runtime: LocalRuntime, base: str, after: Recorded) -> tuple[float, dict[str, Spent], list[str]]:
    """Planned seconds, what each kind of order took, and the passages that were embedded."""
    plan = runtime.reindexing.start(base, AFTER)["plan"]
    after.texts = []
    orders = obey(runtime)
    return 60 * float(plan["minutes"]), orders, list(after.texts)


def commands(runtime: LocalRuntime, base: str) -> dict[str, float]:
    """Milliseconds until each command is in effect."""
    took = {}
    for name, more in (("switch", {"force": True}), ("rollback", {})):
        took[name] = 1000 * timed(lambda name=name, more=more: getattr(runtime.reindexing, name)(base, **more))[1].wall
        obey(runtime)
    took["retire"] = 1000 * timed(lambda: runtime.reindexing.retire(base))[1].wall
    return took


def main(files: str = "0", rounds: str = "4") -> None:
    corpus = markdown(int(files))
    names = sorted(corpus, key=lambda name: len(corpus[name]))
    before, after = load(BEFORE), Recorded(load(AFTER))
    embed, found, took = bare(after.inner.space.passage_prefix, AFTER), [], []
    with one_machine(embedder=before) as runtime:
        models: dict[str, Embedder] = {BEFORE: before, AFTER: after}
        object.__setattr__(runtime.spaces, "named", lambda name: models[name])
        object.__setattr__(runtime.spaces, "find", lambda space: models[space.model])
        for turn in range(int(rounds)):
            put(runtime, f"b{turn}", {name: corpus[name] for name in names[turn :: int(rounds)]})
        index(runtime)
        texts = sample(runtime, "b0")
        rates = fastest(embed, texts)
        batch = max(rates, key=rates.__getitem__)
        alone = (
            lambda texts: timed(lambda: embed(texts, batch))[1],
            lambda texts: timed(lambda: after.inner.embed_passages(texts))[1],
        )
        for turn in range(int(rounds)):
            found += moved(runtime, f"b{turn}", alone, after)
            took.append(commands(runtime, f"b{turn}"))
    told(found, took, rates, batch)


def sample(runtime: LocalRuntime, base: str) -> list[str]:
    record = runtime.catalog.base(base)
    return [
        point.payload["text"][:600]
        for known in runtime.catalog.objects(base)
        for point in runtime.index.stored(base, record.live, known.ref.name, known.live)
    ]


def told(found: Sequence[Moved], took: Sequence[dict[str, float]], rates: dict[int, float], batch: int) -> None:
    heads = ("move", "passages", "bare s", "own s", "rebuild s", "ratio", "by CPU", "of own", "whole s", "planned s")
    rows = [(n, m.passages, *_seconds(m), m.whole.wall, m.planned) for n, m in enumerate(found, 1)]
    table(heads, rows)
    ratio = middle([m.bare.wall for m in found]) / middle([m.rebuild.wall for m in found])
    figures = {
        "passages": sum(m.passages for m in found),
        "best_batch": batch,
        "bare_per_cpu_second_by_batch": rates,
        "ratio_of_medians": ratio,
        "ratio_of_medians_cpu": middle([m.bare.cpu for m in found]) / middle([m.rebuild.cpu for m in found]),
        "ratio_to_own": middle([m.own.wall for m in found]) / middle([m.rebuild.wall for m in found]),
        "seconds_by_order": {k: sum(m.orders.get(k, Spent(0, 0)).wall for m in found) for k in found[0].orders},
        "planned_over_real": sum(m.planned for m in found) / sum(m.whole.wall for m in found),
        "planned_over_rebuild": sum(m.planned for m in found) / sum(m.rebuild.wall for m in found),
        "command_ms": {name: middle([each[name] for each in took]) for name in took[0]},
        "required": REQUIRED,
        "plan_within": PLANNED,
    }
    print(f"\nrebuild {ratio:.3f} of bare (by CPU {figures['ratio_of_medians_cpu']:.3f}), required {REQUIRED}")
    print(f"planned {figures['planned_over_real']:.3f} of all orders, required within {PLANNED} of 1")
    report("reindex", figures)


def _seconds(m: Moved) -> tuple[float, ...]:
    bare, own, rebuild = m.bare.wall, m.own.wall, m.rebuild.wall
    return bare, own, rebuild, bare / rebuild, m.bare.cpu / m.rebuild.cpu, own / rebuild


if __name__ == "__main__":
    main(*sys.argv[1:])
